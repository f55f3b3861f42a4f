"""Passwords of several words: telling `correct horse battery staple` from a sentence about passwords."""

import re

_GROUPS = re.compile(r"[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){3}")  # as mail providers print them
_WORDS = re.compile(r"[a-z]{3,9}(?:[ -][a-z]{3,9}){3,7}\d{0,4}")
_JOINED_GROUPS = re.compile(r"[a-z]{4}(?:-[a-z]{4}){3}")
_REST_IN_GROUPS = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}(?=[ \t.]*$)", re.MULTILINE)
_LISTED = """
    the this that these those your you our their its his her and but nor for from with without into onto about after
    before are was were will would shall should can could may might must has have had been being does did not never
    please enter type confirm repeat choose change changed reset forgot forgotten invalid wrong incorrect missing
    required optional new old current login user users username account email password passwords passwd passphrase
    secret secrets token tokens key keys hash hashed encrypted plain text field value values string set get use used
    uses using when where which who why how only one two at least than more less characters letters digits stored
    sent read written given found matches match expired
"""
_OF_SENTENCES = frozenset(_LISTED.split())


def is_passphrase(value: str) -> bool:
    """Say whether a value with spaces is a password: four groups of four, or four words that make no sentence."""
    bare = value.strip()
    if _WORDS.fullmatch(bare):
        words = bare.replace("-", " ").split()
        return _OF_SENTENCES.isdisjoint(words) and not any(word.startswith(("pass", "kenn")) for word in words)
    return _GROUPS.fullmatch(bare) is not None and any(c.isdigit() for c in bare)


def is_grouped(value: str) -> bool:
    """Say whether a value is four letters four times over, as Apple prints passwords: `abcd-efgh-ijkl-mnop`."""
    return _JOINED_GROUPS.fullmatch(value) is not None


def four_groups(text: str, start: int) -> str:
    """Return the four groups of four letters that make up the rest of a line, as Google prints passwords, if any."""
    found = _REST_IN_GROUPS.match(text, start)
    return found[0] if found and _OF_SENTENCES.isdisjoint(found[0].split()) else ""
