"""The amounts a text states: a value, what it counts, and the words around it that say of what.

Two texts may be about quite different things and yet state the same amount differently: "the library has 45
sources", and weeks later "I have now added 52 sources to the library". So amounts are compared one by one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reverie.lifecycle.tokens import Token, tokens_of
from reverie.lifecycle.wordforms import plain_form

_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_CLAUSE: Final = re.compile(r"(?<=[,:])\s+|\s+(?=but\b)|\s[-–—]\s")
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_DIGIT: Final = re.compile(r"\d")
_CHANGES = (
    r"now|new|since then|updated?|changed|adjusted|increased|raised|reduced|lowered|extended|shortened|improved|"
    r"grown|reached|moved|switched|bumped|instead|no longer|rescheduled|postponed|upgraded"
)
_CUES: Final = re.compile(rf"\b({_CHANGES}|newly|recently|lately)\b", re.IGNORECASE)
_SURE_CUES: Final = re.compile(rf"\b({_CHANGES})\b", re.IGNORECASE)
"""Without "recently" and the like, by which one also tells of another thing of the same kind."""

_ORDINARY = (
    "about after all also any because been before being but can could day each for from get had has have help how "
    "into just like make many more most much need new now one only other our out over per recently should so some "
    "such than that the their them then there these they this time to too try up use user assistant very want was "
    "were what when where which while who will with would year you your month week i'm i've i my me we us it is are"
)
_NOT_TELLING: Final = frozenset(plain_form(word) for word in _ORDINARY.split())
_BEFORE, _AFTER = 9, 9
LONGEST_STATEMENT = 600
"""In characters, code left out."""

FEWEST_SHARED = 2
LEAST_OVERLAP = 0.4
_SIGNS: Final = frozenset({"%", "$", "€", "£"})
_OF_A_CHANGE: Final = frozenset({"by", "from"})
_JOINING: Final = frozenset({"and", "or", "by", "in", "on", "at", "of"})
_SHORTEST_WORD = 3


@dataclass(frozen=True, slots=True)
class Amount:
    """One value, its unit (the word after it, or a sign), the telling words near it, and whether it is news.

    `role` is empty if it tells how things are, and else "by" or "from": by how much they changed, or from what.
    """

    value: str
    unit: str
    context: frozenset[str]
    is_news: bool
    is_news_itself: bool = False
    """Whether the clause that states it, not only the sentence, tells it as news."""
    role: str = ""


def amounts_in(text: str) -> tuple[Amount, ...]:
    """Return the amounts of a text, in order; none of one so long that it is about many things."""
    found: list[Amount] = []
    text = _CODE.sub(" ", text)
    if len(text) > LONGEST_STATEMENT:
        return ()
    for sentence in _SENTENCE.split(text):
        if not _DIGIT.search(sentence):
            continue
        clauses = [(tokens_of(clause), bool(_SURE_CUES.search(clause))) for clause in _CLAUSE.split(sentence)]
        tokens = tuple(token for clause, _ in clauses for token in clause)
        news = bool(_CUES.search(sentence))
        itself = [is_news for clause, is_news in clauses for _ in clause]
        found += [
            _amount(tokens, place, is_news=news, is_news_itself=itself[place])
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


def surely_restated(old: Amount, new: Amount, olds: Sequence[Amount], news: Sequence[Amount]) -> bool:
    """Say whether nothing else can be meant: the news is in the very clause, and each text states one such amount.

    `olds` and `news` are all amounts of the two texts. A triangle of 7, 24 and 25 cm has no one length to be updated,
    what went up from 78 to 88 is not what stood at 90, and access tokens are not refresh tokens: the news tells the
    older value too, or every word that stood beside it.
    """
    told_from = old.value in _values(news, new.unit, "from")
    return (
        (told_from or old.context <= new.context)
        and new.is_news_itself
        and restated(old, new)
        and _values(olds, old.unit, "") == {old.value}
        and _values(news, new.unit, "") == {new.value}
        and _values(news, new.unit, "from") <= {old.value}
    )


def _values(amounts: Sequence[Amount], unit: str, role: str) -> set[str]:
    return {amount.value for amount in amounts if amount.unit == unit and amount.role == role}


def _amount(tokens: tuple[Token, ...], place: int, *, is_news: bool, is_news_itself: bool) -> Amount:
    before = tokens[max(0, place - _BEFORE) : place]
    after = tokens[place + 1 : place + 1 + _AFTER]
    unit = _unit(tokens, place)
    context = {plain_form(token.form) for token in (*before, *after) if token.kind in ("word", "name")}
    telling = {word for word in context if len(word) >= _SHORTEST_WORD and word not in _NOT_TELLING}
    leading = next((token.form for token in reversed(before) if token.form not in _SIGNS), "")
    role = leading if leading in _OF_A_CHANGE else ""
    return Amount(tokens[place].form, unit, frozenset(telling), is_news, is_news_itself, role)


def _unit(tokens: tuple[Token, ...], place: int) -> str:
    around = [tokens[place - 1].form] if place else []
    following = [tokens[place + 1].form] if place + 1 < len(tokens) else []
    sign = next((form for form in (*following, *around) if form in _SIGNS), None)
    if sign is not None:
        return sign
    if [token.form for token in tokens[place + 1 : place + 2]] == ["to"] and tokens[place + 2 : place + 3]:
        return _unit(tokens, place + 2) if tokens[place + 2].kind == "number" else ""  # from 1,200 to 1,500 words
    word = next((token for token in tokens[place + 1 : place + 2] if token.kind in ("word", "name")), None)
    form = plain_form(word.form) if word else ""
    return "" if form in _NOT_TELLING or form in _JOINING else form
