"""Whether one text says what another says in other words: the rule by which memories may be merged unasked.

Nothing is taken for a restatement on likeness. Numbers, versions, paths and names must be the same, `not` must
stand as often, and what is left of the words must be the same words in the same order, but for endings,
articles, a few sure synonyms and two turns of phrase: the passive, and a relative clause for an adjective.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reverie.lifecycle.likeness import OPPOSITES
from reverie.lifecycle.measures import in_notation_of
from reverie.lifecycle.tokens import Token, tokens_of
from reverie.lifecycle.wordforms import means_the_same, plain_form

_SAYS_LITTLE = (
    "some there and be being been while who which that has have very really quite currently already up any his her "
    "their its my your as well"
)
_SILENT: Final = frozenset(_SAYS_LITTLE.split())
_FACTS: Final = ("number", "version", "path", "name")
_CODE: Final = re.compile(r"`([^`\n]+)`")
"""`user` and `users` may be two tables: what stands in backquotes is compared to the letter."""

_DAYS: Final = frozenset(f"{day}days" for day in ["mon", "tues", "wednes", "thurs", "fri", "satur", "sun"])
"""Of names only days are the same in the plural: `on a Friday`, `on Fridays`. `Order` and `Orders` are two tables."""

_FARTHEST_STEP = 1
"""How far a word may stand from its place: `big green` for `green and big`, but no swap of who did it."""

_CLAUSE: Final = re.compile(
    r"\b(?P<noun>[^\W\d]+),? (?:which|who|that) (?:is|are|was|were) (?P<what>[^\W\d]+(?: and [^\W\d]+)?)"
    r"(?=,|\.|$| (?:is|are|was|were|and|in|on|at|with|by|to|near|over|through)\b),?",
    re.IGNORECASE,
)
_OF_AGE: Final = re.compile(r"\b(?P<noun>[^\W\d]+) of (?P<what>young|old) age\b,?", re.IGNORECASE)
_MADE_OF: Final = re.compile(r"\b(?P<noun>[^\W\d]+) made (?:out )?of (?P<what>[^\W\d]+)", re.IGNORECASE)
_ONE: Final = re.compile(r"^One (?=[a-z])")
"""At the start of a text, before a noun, `one` is hardly ever a count."""

_PASSIVE: Final = re.compile(
    r"^(?P<done_to>.+?) (?:is|are|was|were|gets?)(?: being| been)? (?P<verb>[^\W\d]+)(?P<rest>(?: .*?)?) by "
    r"(?P<doer>.+)$",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Gist:
    """What is left of a text: facts as they stand, words as plain forms, and how often it negates."""

    facts: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    negations: int


def restates(a: str, b: str) -> bool:
    """Say whether two texts say the same, so that either may stand for both."""
    b = in_notation_of(a, b)
    names = _names(a) | _names(b)
    ours, theirs = gist_of(a, names), gist_of(b, names)
    if ours.negations != theirs.negations or Counter(ours.facts) != Counter(theirs.facts):
        return False
    if _same_words(ours.words, theirs.words):
        return True
    return _turned(a, theirs) or _turned(b, ours)


def gist_of(text: str, names: frozenset[str] = frozenset()) -> Gist:
    """Reduce a text to what it says; a word at its start that is a name elsewhere is that name."""
    tokens = [_named(token, names) for token in tokens_of(_unfolded(text))]
    return Gist(
        (
            *((token.kind, token.form) for token in tokens if token.kind in _FACTS),
            *(("code", span) for span in _CODE.findall(text)),
        ),
        tuple(_words(tokens)),
        sum(token.kind == "negation" for token in tokens),
    )


def facts_of(text: str) -> frozenset[tuple[str, str]]:
    """Return the numbers, versions, paths and names of a text, each once."""
    return frozenset((token.kind, token.form) for token in tokens_of(text) if token.kind in _FACTS)


def actives_of(text: str) -> Iterator[str]:
    """Yield a passive sentence put into the active, the parts in each order that they may have there."""
    match = _PASSIVE.match(_unfolded(text).strip().rstrip("."))
    if match is None:
        return
    doer, place = _cut_at_preposition(match["doer"])
    done_to = match["done_to"][0].lower() + match["done_to"][1:]  # a capital in mid-sentence would make a name
    verb, rest = match["verb"], match["rest"]
    yield " ".join((doer, verb, done_to, rest, place))
    yield " ".join((doer, verb, rest, done_to, place))
    yield " ".join((doer, place, verb, done_to, rest))


def _names(text: str) -> frozenset[str]:
    return frozenset(token.form for token in tokens_of(text) if token.kind == "name")


def _named(token: Token, names: frozenset[str]) -> Token:
    if token.kind == "word" and token.form in names:
        return Token("name", token.form, token.shown)
    if token.kind == "name" and token.form in _DAYS:
        return Token("name", token.form.removesuffix("s"), token.shown)
    return token


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.kind == "negation":
            yield "not"
        elif token.kind in _FACTS:
            yield token.form
        elif token.form not in _SILENT:
            yield plain_form(token.form)


def _unfolded(text: str) -> str:
    """Write `a ball, which is big and green,` as `a big and green ball`."""
    turned = _ONE.sub("A ", text.strip())
    for clause in (_OF_AGE, _MADE_OF, _CLAUSE):
        turned = clause.sub(lambda match: f"{match['what']} {match['noun']}", turned)
    return turned


def _turned(passive: str, active: Gist) -> bool:
    """Compare a passive sentence, put into the active, with one that is active."""
    return any(_same_words(tuple(_words(tokens_of(text))), active.words) for text in actives_of(passive))


def _cut_at_preposition(doer: str) -> tuple[str, str]:
    found = re.search(
        r" (?=(?:in|on|at|into|onto|near|from|through|over|who|which|that|during|after|before)\b)", doer
    )
    return (doer, "") if found is None else (doer[: found.start()], doer[found.start() :])


def _same_words(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Match the words of two texts one to one, each within a step of its place."""
    if len(ours) != len(theirs):
        return False
    free = set(range(len(theirs)))
    for place, word in enumerate(ours):
        near = (place, *(place + step for step in range(-_FARTHEST_STEP, _FARTHEST_STEP + 1) if step))
        at = next((other for other in near if other in free and means_the_same(word, theirs[other])), None)
        if at is None or (word != theirs[at] and theirs[at] in OPPOSITES.get(word, ())):
            return False
        free.discard(at)
    return True
