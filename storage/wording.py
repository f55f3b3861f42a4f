"""The text that is searched: what was written, with identifiers split so that their words are found."""

import re

# In two linear steps: one pattern for both takes minutes over a minified line of a few thousand characters.
_RUN = re.compile(r"\w[\w\-./:\\]*")
_IN_AN_IDENTIFIER = re.compile(r"[_\-./:\\]\w|[a-z][A-Z]|[A-Z]{2}[a-z]|\d")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,}")


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
