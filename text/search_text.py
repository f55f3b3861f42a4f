"""The text that is searched: what was written, with identifiers split so that their words are found, as stemmed
terms.
"""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any
from zlib import crc32

import Stemmer  # type: ignore[import-not-found, unused-ignore] # publishes no types

# In two linear steps: one pattern for both takes minutes over a minified line of a few thousand characters.
_RUN = re.compile(r"\w[\w\-./:\\]*")
_IN_AN_IDENTIFIER = re.compile(r"[_\-./:\\]\w|[a-z][A-Z]|[A-Z]{2}[a-z]|\d")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,}")


_WORD = re.compile(r"\w+")
_STEMS_HELD = 8_192

# Questions are full of them and answers are not told by them: they count for less, never for nothing.
_FUNCTION_WORDS = """a about after all also am an and any are as at be because been before being both but by can could
    did do does doing done during each few for from get got had has have having he her here hers him his how i if in
    into is it its just me more most my no not now of off on once only or other our out over own same she should so
    some such than that the their them then there these they this those through to too under until up us very was we
    were what when where which while who whom why will with would you your yours s t d ll re ve m"""


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
            words = _HUMP.findall(run)
            if len(words) > 1:
                parts.extend(words)
    return parts


def _cjk_pairs(text: str) -> list[str]:
    """Chinese, Japanese and Korean write without spaces: index every pair of neighbours instead."""
    return [run[i : i + 2] for run in _CJK_RUN.findall(text) for i in range(len(run) - 1)]


def terms(text: str) -> list[int]:
    """Return the words of a text as numbers, in order: folded to plain small letters, stemmed, hashed."""
    return [_term(word) for word in _WORD.findall(_folded(text.lower()))]


@cache
def function_terms() -> frozenset[int]:
    """Return the terms that English builds sentences with."""
    return frozenset(map(_term, _FUNCTION_WORDS.split()))


@lru_cache(_STEMS_HELD)
def _term(word: str) -> int:
    return crc32(_stemmer().stemWord(word).encode("utf-8", "replace")) or 1  # zero stands for no term


@cache
def _stemmer() -> Any:
    return Stemmer.Stemmer("english")


def _folded(text: str) -> str:
    """Take accents off: `café` is found by `cafe`."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))
