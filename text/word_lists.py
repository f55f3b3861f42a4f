"""Word lists: ordinary words, well-known software, and small groups of words, in text files beside this module.

`ordinary_words.txt` is counted by training/ordinary_words.py; the others are written by hand.
"""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from reverie.text.tokenize import NUMBER_WORDS
from reverie.text.word_forms import FUNCTION_WORDS, stem

_ORDINARY_ENDING: Final = re.compile(
    r"(?:ing|ings|tion|tions|ness|ment|ments|able|ible|ously|ly|ized|ised|ity|less)$"
)
_CACHED_SPELLINGS = 1 << 14


@lru_cache(maxsize=_CACHED_SPELLINGS)
def is_ordinary(word: str) -> bool:
    """Whether a word is one of ordinary prose, in any inflection."""
    lower = word.casefold()
    return (
        stem(lower) in _ordinary_stems()
        or lower in NUMBER_WORDS
        or bool(len(lower) > 5 and _ORDINARY_ENDING.search(lower))
    )


def is_software(phrase: str) -> bool:
    """Whether a phrase, as it is spelled, is a well-known name of software."""
    known = _software().get(phrase.casefold())
    return known is not None and (not known[1] or phrase[:1].isupper())


def needs_capital(phrase: str) -> bool:
    """Whether a well-known name is also a word, so that only its capital tells it from that."""
    known = _software().get(phrase.casefold())
    return known is not None and known[1]


def usual_name(phrase: str) -> str:
    """Return the first of the names of a well-known thing, in lower case; any other phrase in lower case."""
    lower = phrase.casefold()
    known = _software().get(lower)
    return lower if known is None else known[0]


def word_groups(name: str) -> Mapping[str, frozenset[str]]:
    """Return the sections of a file of words."""
    return {
        title: frozenset(word for line in section for word in line.split())
        for title, section in line_groups(name).items()
    }


def line_groups(name: str) -> Mapping[str, list[str]]:
    """Return the sections of a file of lines."""
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in _lines(name):
        if title := _SECTION.fullmatch(line):
            section = found.setdefault(title[1], [])
        else:
            section.append(line)
    return found


_SECTION: Final = re.compile(r"\[([\w ]+)\]")


@cache
def _ordinary_stems() -> frozenset[str]:
    listed = {word for line in _lines("ordinary_words.txt") for word in line.split()}
    return frozenset(listed | {stem(word) for word in FUNCTION_WORDS})


@cache
def _software() -> Mapping[str, tuple[str, bool]]:
    """Return well-known names in lower case, each with the usual one and whether it must have a capital."""
    found: dict[str, tuple[str, bool]] = {}
    for line in _lines("software_names.txt"):
        for group in line.split(","):
            names = [name.strip() for name in group.split("=")]
            found |= {name.casefold(): (names[0].casefold(), name[:1].isupper()) for name in names}
    return found


def _lines(name: str) -> list[str]:
    text = (files("reverie.text") / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
