"""The amounts a text states: a value, what it counts, and the words around it that say of what.

Two texts may be about quite different things and yet state the same amount differently: "the library has 45
sources", and weeks later "I have now added 52 sources to the library". So amounts are compared one by one.
"""

import re
from dataclasses import dataclass
from typing import Final

from reverie.lifecycle.tokens import Token, tokens_of
from reverie.lifecycle.wordforms import plain_form

_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_DIGIT: Final = re.compile(r"\d")
_CUES: Final = re.compile(
    r"\b(now|new|newly|recently|lately|since then|updated?|changed|adjusted|increased|raised|reduced|lowered|"
    r"extended|shortened|improved|grown|reached|moved|switched|bumped|instead|no longer|rescheduled|postponed|"
    r"upgraded)\b",
    re.IGNORECASE,
)
_ORDINARY = (
    "about after all also any because been before being but can could day each for from get had has have help how "
    "into just like make many more most much need new now one only other our out over per recently should so some "
    "such than that the their them then there these they this time to too try up use user assistant very want was "
    "were what when where which while who will with would year you your month week i'm i've i my me we us it is are"
)
_NOT_TELLING: Final = frozenset(plain_form(word) for word in _ORDINARY.split())
_BEFORE, _AFTER = 9, 9
LONGEST_STATEMENT = 600
"""In characters."""

FEWEST_SHARED = 2
LEAST_OVERLAP = 0.4
_SIGNS: Final = frozenset({"%", "$", "€", "£"})
_JOINING: Final = frozenset({"and", "or", "by", "in", "on", "at", "of"})
_SHORTEST_WORD = 3


@dataclass(frozen=True, slots=True)
class Amount:
    """One value, its unit (the word after it, or a sign), the telling words near it, and whether it is news."""

    value: str
    unit: str
    context: frozenset[str]
    is_news: bool


def amounts_in(text: str) -> tuple[Amount, ...]:
    """Return the amounts of a text, in order; none of one so long that it is about many things."""
    found: list[Amount] = []
    if len(text) > LONGEST_STATEMENT:
        return ()
    for sentence in _SENTENCE.split(text):
        if _DIGIT.search(sentence):
            tokens = tokens_of(sentence)
            news = bool(_CUES.search(sentence))
            found += [
                _amount(tokens, place, news)
                for place, token in enumerate(tokens)
                if token.kind == "number" and _DIGIT.search(token.shown)
            ]
    return tuple(amount for amount in found if amount.unit and amount.context)


def restated(old: Amount, new: Amount) -> bool:
    """Say whether a newer amount is told as news and stands in for an older one: the same unit and subject, another
    value."""
    shared = old.context & new.context
    return (
        new.is_news
        and old.unit == new.unit
        and old.value != new.value
        and len(shared) >= FEWEST_SHARED
        and len(shared) >= LEAST_OVERLAP * min(len(old.context), len(new.context))
    )


def _amount(tokens: tuple[Token, ...], place: int, news: bool) -> Amount:
    before = tokens[max(0, place - _BEFORE) : place]
    after = tokens[place + 1 : place + 1 + _AFTER]
    unit = _unit(tokens, place)
    context = {plain_form(token.form) for token in (*before, *after) if token.kind in ("word", "name")}
    telling = {word for word in context if len(word) >= _SHORTEST_WORD and word not in _NOT_TELLING}
    return Amount(tokens[place].form, unit, frozenset(telling), news)


def _unit(tokens: tuple[Token, ...], place: int) -> str:
    around = [tokens[place - 1].form] if place else []
    following = [tokens[place + 1].form] if place + 1 < len(tokens) else []
    sign = next((form for form in (*following, *around) if form in _SIGNS), None)
    if sign is not None:
        return sign
    word = next((token for token in tokens[place + 1 : place + 2] if token.kind in ("word", "name")), None)
    form = plain_form(word.form) if word else ""
    return "" if form in _NOT_TELLING or form in _JOINING else form
