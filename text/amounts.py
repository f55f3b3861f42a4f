"""Amounts: the numbers that a text states, what each counts, and whether a newer text replaces one.

An amount is a value, its unit, and the words around it that say what it is about.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reverie.text.tokenize import Token, tokens_of
from reverie.text.word_forms import FUNCTION_WORDS, word_form

_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_CLAUSE: Final = re.compile(r"(?<=[,:])\s+|\s+(?=but\b)|\s[-–—]\s")
_CODE_BLOCK: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_DIGIT: Final = re.compile(r"\d")
_CHANGES = (
    r"now|new|since then|updated?|changed|adjusted|increased|raised|reduced|lowered|extended|shortened|improved|"
    r"grown|reached|moved|switched|bumped|instead|no longer|rescheduled|postponed|upgraded"
)
_CUES: Final = re.compile(rf"\b({_CHANGES}|newly|recently|lately)\b", re.IGNORECASE)
_SURE_CUES: Final = re.compile(rf"\b({_CHANGES})\b", re.IGNORECASE)
"""The cues without "recently" and the like, which often introduce another thing of the same kind."""

_COMMON = (
    "day help i'm i've like make many month much need new one per recently time try use user want week year assistant"
)
_NO_CONTEXT: Final = frozenset(map(word_form, FUNCTION_WORDS.union(_COMMON.split())))
"""Words that do not show what an amount is about."""
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
    """One value, its unit (the word after it, or a sign), the content words near it, and whether it is news.

    `role` is "by" for the size of a change, "from" for the value before it, and empty for the value that holds.
    """

    value: str
    unit: str
    context: frozenset[str]
    is_news: bool
    is_news_itself: bool = False
    """Whether the clause with the amount states a change, not only its sentence."""
    role: str = ""


def amounts_in(text: str) -> tuple[Amount, ...]:
    """Return the amounts of a text in order; none if the text is so long that it is about many things."""
    found: list[Amount] = []
    text = _CODE_BLOCK.sub(" ", text)
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
            _amount_at(tokens, index, is_news=news, is_news_itself=itself[index])
            for index, token in enumerate(tokens)
            if token.kind == "number" and _DIGIT.search(token.shown)
        ]
    return tuple(amount for amount in found if amount.unit and amount.context)


def restated(old: Amount, new: Amount) -> bool:
    """Return whether a newer amount replaces an older one: stated as news, same unit and subject, another value."""
    shared = old.context & new.context
    return (
        new.is_news
        and old.unit == new.unit
        and old.value != new.value
        and len(shared) >= FEWEST_SHARED
        and len(shared) >= LEAST_OVERLAP * min(len(old.context), len(new.context))
    )


def surely_restated(old: Amount, new: Amount, olds: Sequence[Amount], news: Sequence[Amount]) -> bool:
    """Return whether the replacement is certain: the clause itself states news, and each text has one such amount.

    `olds` and `news` are all amounts of the two texts. A triangle of 7, 24 and 25 cm has no single length to update,
    a rise from 78 to 88 does not update 90, and access tokens are not refresh tokens. So the newer text must repeat
    the older value, or every word near it.
    """
    names_old_value = old.value in _values(news, new.unit, "from")
    return (
        (names_old_value or old.context <= new.context)
        and new.is_news_itself
        and restated(old, new)
        and _values(olds, old.unit, "") == {old.value}
        and _values(news, new.unit, "") == {new.value}
        and _values(news, new.unit, "from") <= {old.value}
    )


def _values(amounts: Sequence[Amount], unit: str, role: str) -> set[str]:
    return {amount.value for amount in amounts if amount.unit == unit and amount.role == role}


def _amount_at(tokens: tuple[Token, ...], index: int, *, is_news: bool, is_news_itself: bool) -> Amount:
    before = tokens[max(0, index - _BEFORE) : index]
    after = tokens[index + 1 : index + 1 + _AFTER]
    unit = _unit(tokens, index)
    context = {word_form(token.form) for token in (*before, *after) if token.kind in ("word", "name")}
    telling = {word for word in context if len(word) >= _SHORTEST_WORD and word not in _NO_CONTEXT}
    leading = next((token.form for token in reversed(before) if token.form not in _SIGNS), "")
    role = leading if leading in _OF_A_CHANGE else ""
    return Amount(tokens[index].form, unit, frozenset(telling), is_news, is_news_itself, role)


def _unit(tokens: tuple[Token, ...], index: int) -> str:
    around = [tokens[index - 1].form] if index else []
    following = [tokens[index + 1].form] if index + 1 < len(tokens) else []
    sign = next((form for form in (*following, *around) if form in _SIGNS), None)
    if sign is not None:
        return sign
    if [token.form for token in tokens[index + 1 : index + 2]] == ["to"] and tokens[index + 2 : index + 3]:
        return _unit(tokens, index + 2) if tokens[index + 2].kind == "number" else ""  # from 1,200 to 1,500 words
    word = next((token for token in tokens[index + 1 : index + 2] if token.kind in ("word", "name")), None)
    form = word_form(word.form) if word else ""
    return "" if form in _NO_CONTEXT or form in _JOINING else form
