"""Whether two texts say the same thing.

`differences` and `contradictions` list what two near-duplicates differ in (002-surprise, 003-contradiction).
`restates` is the stricter rule by which memories are merged unasked: one text says what the other says.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reverie.text.measures import in_notation_of
from reverie.text.tokenize import Token, TokenKind, is_mixed_case, kept_if_short, tokens_of
from reverie.text.word_forms import INTENSIFIERS, same_meaning, word_form

DifferenceKind = Literal["numbers", "versions", "paths", "names", "negation", "opposites", "words", "more", "order"]

CONTRADICTION_SIMILARITY = 0.9
"""The token similarity above which seed 003 takes the newer of two memories for the older one's successor."""

_PAIRS: Final = (
    "enabled/disabled enable/disable enables/disables on/off true/false before/after add/remove "
    "added/removed adds/removes allow/deny allowed/denied allows/denies start/stop open/closed up/down "
    "include/exclude first/last min/max minimum/maximum sync/async public/private required/optional "
    "pass/fail passes/fails succeeds/fails more/less above/below </> <=/>= ==/!= in/out from/to must/may"
)
_OPPOSED: Final = tuple((one, other) for one, _, other in (pair.partition("/") for pair in _PAIRS.split()))
OPPOSITES: Final = {
    word: frozenset(y if x == word else x for x, y in _OPPOSED if word in (x, y))
    for pair in _OPPOSED
    for word in pair
}
OPPOSING_PREFIXES: Final = ("un", "in", "im", "ir", "dis", "de", "non-", "non", "no-", "not-")

_PLURALS: Final[dict[TokenKind, DifferenceKind]] = {
    "number": "numbers",
    "version": "versions",
    "path": "paths",
    "name": "names",
}
_SHOWN_EACH = 4
_FEW_WORDS = 2
_MOSTLY_ALIKE = 0.5


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two texts differ: its kind, both sides as spelled, and a reason to show."""

    kind: DifferenceKind
    left: tuple[str, ...]
    right: tuple[str, ...]
    reason: str


def substantive_differences(a: str, b: str) -> tuple[str, ...]:
    """Return every reason why two texts differ in meaning; none means that one restates the other."""
    return tuple(difference.reason for difference in differences(a, b))


def contradictions(a: str, b: str) -> tuple[str, ...]:
    """Return the reasons why two texts about one subject cannot both be true.

    Saying more, or in another order, is no reason; another word is one only where all else is alike.
    """
    left, right = tokens_of(a), tokens_of(b)
    alike = bool(left or right) and _shared(left, right) >= _MOSTLY_ALIKE
    return tuple(found.reason for found in _between(a, left, b, right) if _contradicts(found, alike=alike))


def differences(a: str, b: str) -> tuple[Difference, ...]:
    """Return what two texts differ in, the most important kinds first."""
    return _between(a, tokens_of(a), b, tokens_of(b))


def _shared(left: Sequence[Token], right: Sequence[Token]) -> float:
    ours, theirs = Counter(_forms(left)), Counter(_forms(right))
    return (ours & theirs).total() / (ours | theirs).total()


def _between(a: str, left: Sequence[Token], b: str, right: Sequence[Token]) -> tuple[Difference, ...]:
    if _forms(left) == _forms(right):
        return _without_tokens(a, b) if not left else _differ_in_case(left, right)
    only_left, only_right = _lacking(left, right), _lacking(right, left)
    if not only_left and not only_right:
        same = next(at for at, (x, y) in enumerate(zip(left, right, strict=True)) if x.form != y.form)
        return (_difference("order", left[same:], right[same:], "order differs"),)
    return _by_kind(only_left, only_right)


def _by_kind(left: Sequence[Token], right: Sequence[Token]) -> tuple[Difference, ...]:
    found = []
    for kind, plural in _PLURALS.items():
        ours, theirs = _of(kind, left), _of(kind, right)
        if ours or theirs:
            found.append(_difference(plural, ours, theirs, f"{plural} differ"))
    ours, theirs = _of("negation", left), _of("negation", right)
    if len(ours) != len(theirs):
        found.append(Difference("negation", _spelled(ours), _spelled(theirs), "one negates"))
    elif ours:
        found.append(_difference("words", ours, theirs, "words differ"))
    ours, theirs = _of("word", left), _of("word", right)
    opposed = _opposed(ours, theirs)
    if opposed:
        x, y = opposed
        found.append(_difference("opposites", [x], [y], "opposites"))
        ours = tuple(token for token in ours if token != x)
        theirs = tuple(token for token in theirs if token != y)
    if ours and theirs:
        found.append(_difference("words", ours, theirs, "words differ"))
    elif ours or theirs:
        more = ours or theirs
        shown = ", ".join(_spelled(more)[:_SHOWN_EACH])
        found.append(Difference("more", _spelled(ours), _spelled(theirs), f"one says more: {shown}"))
    return tuple(found)


def _contradicts(found: Difference, *, alike: bool) -> bool:
    if found.kind in ("negation", "opposites"):
        return True
    if found.kind in ("more", "order") or not (found.left and found.right):
        return False
    few = len(found.left) <= _FEW_WORDS and len(found.right) <= _FEW_WORDS
    return found.kind != "words" or (alike and few)


def _opposed(left: Sequence[Token], right: Sequence[Token]) -> tuple[Token, Token] | None:
    theirs = {token.form: token for token in right}
    for token in left:
        for form in _opposites_of(token.form):
            if form in theirs:
                return token, theirs[form]
    return None


def _opposites_of(form: str) -> Iterator[str]:
    yield from OPPOSITES.get(form, ())
    for prefix in OPPOSING_PREFIXES:
        yield prefix + form
        if form.startswith(prefix):
            yield form.removeprefix(prefix)


def _differ_in_case(left: Sequence[Token], right: Sequence[Token]) -> tuple[Difference, ...]:
    """Find names that differ only in case, such as `userId` and `userID`."""
    pairs = [
        (x, y)
        for x, y in zip(left, right, strict=True)
        if x.shown != y.shown and is_mixed_case(x) and is_mixed_case(y)
    ]
    if not pairs:
        return ()
    return (_difference("names", [x for x, _ in pairs], [y for _, y in pairs], "names differ"),)


def _without_tokens(a: str, b: str) -> tuple[Difference, ...]:
    """Compare two texts that have no tokens, such as `?` and `!`, as strings."""
    ours, theirs = a.strip(), b.strip()
    if ours == theirs:
        return ()
    return (Difference("words", (ours,), (theirs,), f"words differ: {ours or 'none'} / {theirs or 'none'}"),)


def _difference(kind: DifferenceKind, left: Sequence[Token], right: Sequence[Token], label: str) -> Difference:
    sides = _spelled(left), _spelled(right)
    shown = " / ".join(", ".join(side[:_SHOWN_EACH]) or "none" for side in sides)
    return Difference(kind, *sides, f"{label}: {shown}")


def _lacking(tokens: Sequence[Token], others: Sequence[Token]) -> tuple[Token, ...]:
    """Return the tokens that the others lack, in order and as often as they lack them."""
    matched = Counter(_forms(others))
    left = []
    for token in tokens:
        if matched[token.form] > 0:
            matched[token.form] -= 1
        else:
            left.append(token)
    return tuple(left)


def _of(kind: TokenKind, tokens: Sequence[Token]) -> tuple[Token, ...]:
    return tuple(token for token in tokens if token.kind == kind)


def _forms(tokens: Sequence[Token]) -> list[str]:
    return [token.form for token in tokens]


def _spelled(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.shown for token in tokens)


_ALSO_DROPPED = "and being been has have currently his her their my your as well"
_DROPPED: Final = INTENSIFIERS.union(_ALSO_DROPPED.split())
_FACTS: Final = ("number", "version", "path", "name")
_FIXED: Final = ("number", "version", "path")
_CODE: Final = re.compile(r"`([^`\n]+)`")
"""`user` and `users` may be two tables: code in backquotes is compared exactly."""

_DAYS: Final = frozenset(f"{day}days" for day in ["mon", "tues", "wednes", "thurs", "fri", "satur", "sun"])
"""Of names only days are the same in the plural: `on a Friday`, `on Fridays`. `Order` and `Orders` are two tables."""

_FARTHEST_STEP = 1
"""How far a word may move: `big green` matches `green and big`, but subject and object do not swap."""

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
    """What a text says: its facts as written, its words as word forms, and how often it negates."""

    facts: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    negations: int


def restates(a: str, b: str) -> bool:
    """Return whether two texts say the same, so that either can replace the other."""
    b = in_notation_of(a, b)
    if _fixed_facts(a) != _fixed_facts(b):
        return False
    names = _names(a) | _names(b)
    ours, theirs = gist_of(a, names), gist_of(b, names)
    if ours.negations != theirs.negations or Counter(ours.facts) != Counter(theirs.facts):
        return False
    if _same_words(ours.words, theirs.words):
        return True
    return _matches_active(a, theirs) or _matches_active(b, ours)


@kept_if_short
def _fixed_facts(text: str) -> Counter[tuple[str, str]]:
    """Return the facts and negations of a gist that are the same whatever the names are; the quickest to differ."""
    tokens = tokens_of(_without_clauses(text))
    return Counter(
        (
            *((token.kind, token.form) for token in tokens if token.kind in _FIXED),
            *(("code", span) for span in _CODE.findall(text)),
            *(("negation", "") for token in tokens if token.kind == "negation"),
        )
    )


def gist_of(text: str, names: frozenset[str] = frozenset()) -> Gist:
    """Return the gist of a text; a word in `names` is taken for that name, also at the start of a sentence."""
    tokens = [_named(token, names) for token in tokens_of(_without_clauses(text))]
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
    """Yield the active forms of a passive sentence, one for each possible order of its parts."""
    match = _PASSIVE.match(_without_clauses(text).strip().rstrip("."))
    if match is None:
        return
    doer, where = _cut_at_preposition(match["doer"])
    done_to = match["done_to"][0].lower() + match["done_to"][1:]  # a capital in mid-sentence would make a name
    verb, rest = match["verb"], match["rest"]
    yield " ".join((doer, verb, done_to, rest, where))
    yield " ".join((doer, verb, rest, done_to, where))
    yield " ".join((doer, where, verb, done_to, rest))


@kept_if_short
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
        elif token.form not in _DROPPED:
            yield word_form(token.form)


@kept_if_short
def _without_clauses(text: str) -> str:
    """Write `a ball, which is big and green,` as `a big and green ball`."""
    turned = _ONE.sub("A ", text.strip())
    for clause in (_OF_AGE, _MADE_OF, _CLAUSE):
        turned = clause.sub(lambda match: f"{match['what']} {match['noun']}", turned)
    return turned


def _matches_active(passive: str, active: Gist) -> bool:
    """Return whether an active form of a passive sentence says the same as an active one."""
    return any(_same_words(tuple(_words(tokens_of(text))), active.words) for text in actives_of(passive))


def _cut_at_preposition(doer: str) -> tuple[str, str]:
    found = re.search(
        r" (?=(?:in|on|at|into|onto|near|from|through|over|who|which|that|during|after|before)\b)", doer
    )
    return (doer, "") if found is None else (doer[: found.start()], doer[found.start() :])


def _same_words(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether the words of two texts match one to one, each at most a step from its position."""
    if len(ours) != len(theirs):
        return False
    free = set(range(len(theirs)))
    for index, word in enumerate(ours):
        near = (index, *(index + step for step in range(-_FARTHEST_STEP, _FARTHEST_STEP + 1) if step))
        at = next((other for other in near if other in free and same_meaning(word, theirs[other])), None)
        if at is None:
            return False
        free.discard(at)
    return True
