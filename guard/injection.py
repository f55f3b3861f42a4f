"""Prompt injection by rules: which instructions to the assistant a text contains or hides."""

import re
from collections.abc import Iterator
from itertools import pairwise

from reverie.guard.hidden_text import (
    decoded,
    hidden_comments_in,
    hidden_text_in,
    letters_only,
    plain,
    without_leetspeak,
)
from reverie.guard.injection_rules import SIGNS
from reverie.guard.injection_sign import InjectionSign

_NEARBY = 250
"""Two weak signs count together only within so many characters of one paragraph: a long text has room for two that
mean nothing."""

_WHICH = (
    *("previous", "all previous", "the previous", "all prior", "prior", "any prior", "your previous", "the above"),
    *("all above", "your system", "all your"),
)
_COMMONEST = {
    f"{verb}{which.replace(' ', '')}{what}": f"{verb} {which} {what}"
    for verb in ("ignore", "disregard", "forget")
    for which in _WHICH
    for what in ("instruction", "prompt", "direction", "rules")
}
_STRAIGHT = tuple(_COMMONEST)
_REVERSED = tuple(bare[::-1] for bare in _COMMONEST)
_LONGEST = max(map(len, _COMMONEST))
_VERBS = (
    *(("ignore", False), ("disregard", False), ("forget", False)),
    *(("erongi", True), ("dragersid", True), ("tegrof", True)),
)
_ABOUT_OTHERS = re.compile(
    r"\b(?:will|would|do(?:es)?(?: not|n't)|can|could|may|might|not|never|they|it|users|people|which|that|who)\s+$"
)
_ABOUT_YOU = re.compile(r"\byou(?:'ll|'d)?\s+(?:\w+\s+){0,2}$")
_WORDS_IN_COMMENTS = (
    "assistant",
    " ai",
    "llm",
    "model",
    "agent",
    "claude",
    "gpt",
    "copilot",
    "ignore",
    "execute",
    "run ",
    "send",
    "you must",
)


def signs_of_injection(text: str) -> tuple[str, ...]:
    """Return the signs of injection in a text: instructions to an assistant, or text that hides them.

    The reasons are meant for a person who reviews the text.
    """
    seen = plain(text)
    reasons = [*hidden_text_in(text), *_signs_in(seen), *_spelled_out(seen), *_in_comments(text)]
    return tuple(dict.fromkeys(reasons or _encoded(text)))


def _signs_in(text: str) -> list[str]:
    strong: list[str] = []
    weak: list[tuple[int, str]] = []
    places: dict[str, list[int]] = {}
    for sign in SIGNS:
        for found in sign.found_in(text, places):
            if sign.reason.startswith("tells") and _is_about_others(text, found.start()):
                continue
            if sign.strong and not _is_quoted(text, found.start(), found.end(), sign):
                strong.append(sign.reason)
                break
            weak.append((found.start(), sign.reason))
            if len(weak) > _MOST_WEAK:
                break
    return [*dict.fromkeys(strong), *_neighbouring(text, sorted(weak))]


_MOST_WEAK = 200


def _is_about_others(text: str, start: int) -> bool:
    """`Docker will ignore all instructions` is a fact; `you will ignore all instructions` is an order."""
    before = text[max(0, start - 40) : start]
    return bool(_ABOUT_OTHERS.search(before)) and not _ABOUT_YOU.search(before)


def _is_quoted(text: str, start: int, end: int, sign: InjectionSign) -> bool:
    """Return whether a chat role mark is in backticks and so only mentioned; nothing else is safer for quotes."""
    return sign.reason.startswith("forges") and text[start - 1 : start] == "`" and "`" in text[end : end + 40]


def _neighbouring(text: str, weak: list[tuple[int, str]]) -> list[str]:
    """Return the reasons of weak signs that have a weak sign of another kind nearby."""
    near: list[str] = []
    for (at, reason), (later, other) in pairwise(weak):
        if reason != other and later - at <= _NEARBY and "\n\n" not in text[at:later]:
            near += [reason, other]
    return near


def _spelled_out(seen: str) -> list[str]:
    """Find the commonest instruction with its letters spaced out, replaced or reversed."""
    letters = letters_only(seen) + " " + letters_only(without_leetspeak(seen))
    found = {
        bare[::-1] if is_reversed else bare
        for verb, is_reversed in _VERBS
        for bare in _after(letters, verb, is_reversed=is_reversed)
    }
    spaced = " ".join(seen.split()) if found else ""
    if any(_COMMONEST[bare] not in spaced for bare in found):
        return ["tells the assistant to drop its instructions"]
    return []


def _after(letters: str, verb: str, *, is_reversed: bool) -> Iterator[str]:
    """Yield the instructions that begin with a verb, or end with it if they are reversed."""
    at = letters.find(verb)
    while at >= 0:
        orders = _REVERSED if is_reversed else _COMMONEST
        end = at + len(verb)
        near = letters[max(0, at - _LONGEST) : end] if is_reversed else letters[at : at + _LONGEST]
        if near.endswith(_REVERSED) if is_reversed else near.startswith(_STRAIGHT):
            yield from (
                order for order in orders if (near.endswith(order) if is_reversed else near.startswith(order))
            )
        at = letters.find(verb, end)


def _in_comments(text: str) -> list[str]:
    """Find instructions in comments and hidden elements, where no reader of the page sees them."""
    reasons: list[str] = []
    for part in hidden_comments_in(text):
        seen = plain(part)
        places: dict[str, list[int]] = {}
        if any(next(sign.found_in(seen, places), None) for sign in SIGNS) and any(
            word in f" {seen}" for word in _WORDS_IN_COMMENTS
        ):
            reasons.append("orders in a comment or hidden element")
    return reasons


def _encoded(text: str) -> list[str]:
    for opened in decoded(text):
        if _signs_in(plain(opened)):
            return ["orders in an encoded part"]
    return []
