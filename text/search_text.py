"""What search indexes: the text, the parts of its identifiers, and its words as hashed stems.

A module of its own because the lexical index and the ranking share it; both sides of a match come from here.
"""

import re
from functools import cache, lru_cache
from zlib import crc32

from reverie.text.stems import FUNCTION_WORDS, stem
from reverie.text.tokenize import words

# In two linear steps: one pattern for both takes minutes over a minified line of a few thousand characters.
_RUN = re.compile(r"\w[\w\-./:\\]*")
_IN_AN_IDENTIFIER = re.compile(r"[_\-./:\\]\w|[a-z][A-Z]|[A-Z]{2}[a-z]|\d")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,}")
_CACHED_TERMS = 8_192


def search_text(*texts: str) -> str:
    """Return the texts with the parts of each identifier, and of each unspaced run of CJK, added."""
    written = "\n".join(text for text in texts if text)
    added = [*_identifier_parts(written), *_cjk_pairs(written)]
    return f"{written}\n{' '.join(dict.fromkeys(added))}" if added else written


def _identifier_parts(text: str) -> list[str]:
    """Split `getUserById`, `HTTPServer2`, `snake_case` and `a/path-like.name` into their words."""
    parts: list[str] = []
    for run in _RUN.findall(text):
        if _IN_AN_IDENTIFIER.search(run):
            humps = _HUMP.findall(run)
            if len(humps) > 1:
                parts.extend(humps)
    return parts


def _cjk_pairs(text: str) -> list[str]:
    """Return every pair of neighbouring characters in Chinese, Japanese and Korean, which use no spaces."""
    return [run[i : i + 2] for run in _CJK_RUN.findall(text) for i in range(len(run) - 1)]


def terms(text: str) -> list[int]:
    """Return the words of a text in order, each stemmed and hashed."""
    return [_term(word) for word in words(text)]


@cache
def function_terms() -> frozenset[int]:
    """Return the terms of the stop list."""
    return frozenset(map(_term, FUNCTION_WORDS))


@lru_cache(_CACHED_TERMS)
def _term(word: str) -> int:
    return crc32(stem(word).encode("utf-8", "replace")) or 1  # zero means no term
