"""Two statements beside each other: what of the older one the newer one repeats, exchanges, denies or retires.

`alignment_of` gives the features by which the pair classifier (`embeddings/classifier.py`) tells an update from a
restatement and from two statements that can both be true. Each feature has a name and a reason; the weights are
learnt (`training/pairs.py`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Final

from reverie.text.conflicts import is_event, verb_of
from reverie.text.measures import Measure, in_notation_of, measures_in, placeholder, with_placeholders
from reverie.text.tokenize import Token, every_token_of, kept_if_short
from reverie.text.word_forms import FUNCTION_WORDS, WordForms, is_related, word_form

LONGEST_ALIGNED = 600
"""In characters. A longer text states many things, and a difference between two of them says little."""

_MOST_CACHED = 1_024
"""Texts of which the reading is kept: the neighbours of a new text are often those of the next one."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CHANGE: Final = re.compile(
    r"\b(?:now(?! (?:and|that)\b)|no longer|any ?more|any longer|instead|again|these days|nowadays|from now on|"
    r"as of|in favou?r of|rid of|taken? over|took over|since (?!(?:we|it|the \w+ (?:is|was|are|were|could|can))\b)|"
    r"(?:raised|lowered|increased|reduced|extended|shortened|changed|moved|switched|bumped|upgraded|downgraded|"
    r"rescheduled|postponed|renamed|migrated|converted|ported|replaced|rewritten|rewrote|rebuilt|reverted|lifted|"
    r"relicensed|updated|scaled|halved|doubled|transferred|handed|reassigned|tightened|loosened|"
    r"simplified|restored|re-?enabled)|"
    r"replaces|became|becomes|went (?:up|down|from|to|back)|new (?:price|date|target|home|owner|limit|name|default)|"
    r"grew|slipped|after all|finally|used to|previously|formerly|meanwhile|by now|turned out|swapped|stepped|"
    r"back (?:on|to|in)|left|joined|from this|starting (?:with|in|from)|effective|"
    r"jetzt|nun|inzwischen|mittlerweile|nicht mehr|statt|seit|umgezogen|geändert|erhöht|gesenkt|ersetzt|verlegt|"
    r"umgestellt|abgelöst|ahora|ya no|sino|hemos (?:subido|bajado|cambiado|movido|pasado)|desde|"
    r"désormais|maintenant|ne \w+ plus|remplace|repris|dorénavant)\b",
    re.IGNORECASE,
)
_RETIRED: Final = re.compile(
    r"\b(?:gone|dropped|removed|retired|abandoned|decommissioned|discontinued|deprecated|deleted|shut ?down|"
    r"shutting down|switched off|turned off|disabled|closed|cancell?ed|ended|ended up|expired|obsolete|outdated|"
    r"stopped|gave up|given up|thrown away|history|sunset|phased out|killed|is out|are out|no more|lifted|left|"
    r"no longer|not .{0,30}any ?more|any longer|got rid|ripped out|unsupported|read-only|freed?|"
    r"uninstalled|revoked|scrapped|ditched|(?:taken|took|take) (?:out|off|away)|taken? the place of|"
    r"nobody (?:has|needs) to|replaced (?=\S+(?: (?:at|in|on|for|with|by|as)\b|[.,;]|$))|quit|"
    r"abgeschaltet|eingestellt|entfernt|gelöscht|abgeschafft|weg|eliminado|retirado|dejó|dejamos|ya no|"
    r"supprimé|abandonné|a quitté)\b",
    re.IGNORECASE,
)
_ADDED: Final = re.compile(
    r"\b(?:also|too|as well|in addition|additionally|another|besides|both|auch|también|aussi)\b", re.IGNORECASE
)
_REASON: Final = re.compile(
    r"\b(?:because|so that|due to|in order to|thanks to|weil|porque|parce que|at the request of|"
    r"as agreed|which|since (?=(?:we|it|they|he|she)\b))\b",
    re.IGNORECASE,
)
_BEFORE_A_REASON: Final = re.compile(r"(?:,|;|:| -| –)? ?\Z")
_LONGEST_BEFORE = 3
_TIMES: Final = re.compile(
    r"\b(?:january|february|march|april|may(?= \d|[,:.])|june|july|august|september|october|november|december|"
    r"januar|februar|märz|mai|juni|juli|oktober|dezember|enero|febrero|marzo|abril|mayo|junio|julio|agosto|"
    r"(?:19|20)\d\d|(?:last|this|next|first|second|previous) (?:sprint|week|month|year|quarter|night|time)|"
    r"yesterday|today|tomorrow|tonight|Q[1-4]|(?:january|february|march|april|june|july|august|september|"
    r"october|november|december)(?='s))\b",
    re.IGNORECASE,
)
"""A moment in a statement; with another moment, two statements tell of two things that happened."""

_FORBIDS: Final = re.compile(
    r"\b(?:(?:may|must|can|should|do|does|is|are) not|cannot|nobody|no one|never|forbidden|prohibited|banned|frozen|"
    r"only|no)\b|\b\w+n't\b",
    re.IGNORECASE,
)
_PERMITS: Final = re.compile(
    r"\b(?:may|can|allowed|permitted|fine|okay|ok|possible|accepted|offered|supported|welcome|as well|too)\b",
    re.IGNORECASE,
)
_ONE_CASE: Final = re.compile(
    r"\b(?:one of|some of|part of|for example|e\.g\.|such as|except|only for|among)\b|"
    r"`[^`]+\(?\)?` (?:was|is|were)\b",
    re.IGNORECASE,
)
_OWNER: Final = re.compile(
    r"\b(?:owns?|owned|owner(?:ship)?|responsible|maintain(?:s|ed|er)|reviews?|reviewed|reviewer|leads?|led|lead|"
    r"in charge|takes? care|looks? after|on the hook|belongs?|contact|ask|took over|taken over|manages?|managed|"
    r"approves?|approved|runs?|verantwortlich|betreut|responsable|encarga)\b",
    re.IGNORECASE,
)
_STRUCTURE: Final = FUNCTION_WORDS | _set(
    "us may might must shall should need needs per via within under onto every each used uses use using via "
    "like there everything anything nothing everybody nobody somebody someone thing things way one der die "
    "das den dem ein eine einen und ist sind im in am um auf zu von für mit wird werden wir bei als es el la "
    "los las un una y es son está están en de del por para con se que al lo le les et est sont dans du des "
    "pour par sur au aux"
)
_CHANGE_WORDS: Final = frozenset(
    word_form(word)
    for word in _set(
        "raised lowered increased reduced extended shortened changed moved switched bumped upgraded downgraded "
        "rescheduled postponed renamed migrated converted ported replaced rewritten reverted lifted updated now "
        "longer anymore instead again currently nowadays new old finally gone dropped removed retired abandoned "
        "since became went grew joined finished deleted decommissioned"
    )
)
_STATE_PAIRS: Final = (
    "enabled/disabled enable/disable on/off allowed/forbidden allow/deny open/closed public/private "
    "required/optional mandatory/optional manual/automatic manually/automatically synchronous/asynchronous "
    "sync/async before/after "
    "always/never always/only everyone/only supported/unsupported signed/unsigned hourly/daily daily/weekly "
    "weekly/monthly encrypted/plain read-only/writable active/inactive free/paid hosted/self-hosted shared/own "
    "shared/separate all/none hand/automatically live/dark in-house/agency single/several must/may without/with"
)
_STATES: Final = frozenset(
    frozenset((word_form(one), word_form(other)))
    for one, _, other in (pair.partition("/") for pair in _STATE_PAIRS.split())
)

NAMES: Final = (
    *("words of the older repeated", "words of the newer repeated", "fewest words repeated", "order alike"),
    *("subject repeated", "subject of the newer repeated", "first of the subject repeated", "subjects exchanged"),
    *("words exchanged", "names exchanged", "names shared", "names only in the older", "names only in the newer"),
    *("amounts exchanged", "amounts shared", "amounts only in the older", "amounts only in the newer"),
    *("all facts shared", "facts exchanged", "places exchanged", "places shared"),
    *("change in the newer", "change in the older", "retired in the newer", "retired in the older", "added"),
    *("one negates", "opposites", "dates in both", "owner in both", "newer is longer", "short", "parallel"),
    *("old value retired", "change of the subject", "change with exchange", "exchange of the subject"),
    *("parallel with another subject", "same facts and words", "qualifier exchanged"),
    *("times differ", "older is an event", "newer is an event", "both are events", "newer tells of one case"),
    "a ban against a permission",
)


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    """A word, name, amount or location of a statement; its keys are compared: a full name has one for each part.

    Two of a statement may have the same keys. They are told apart as objects, which is quicker than by all they have.
    """

    keys: tuple[str, ...]
    kind: str
    is_subject: bool
    qualifies: bool  # after `for`, `of`, `in`: says which thing is meant


@dataclass(frozen=True, slots=True)
class _Reading:
    items: tuple[_Item, ...]
    keys: WordForms
    """The keys of all items."""
    negations: int
    dates: frozenset[str]
    times: frozenset[str]
    is_event: bool

    def of(self, *kinds: str) -> list[_Item]:
        return [item for item in self.items if item.kind in kinds]

    def has(self, item: _Item) -> bool:
        """Return whether an item of the other statement is in this one too."""
        if item.kind in ("amount", "place") or _is_identifier(item):
            return not self.keys.forms.isdisjoint(item.keys)
        return any(map(self.keys.has_related, item.keys))


@dataclass(frozen=True, slots=True)
class _Cues:
    """Which patterns of words a text has."""

    changes: bool
    retires: bool
    adds: bool
    names_owner: bool
    tells_of_one_case: bool
    forbids: bool
    permits: bool


def alignment_of(older: str, newer: str) -> tuple[float, ...]:
    """Return the features of a pair in the order of `NAMES`."""
    older, newer = older[:LONGEST_ALIGNED], newer[:LONGEST_ALIGNED]
    rewritten = in_notation_of(older, newer)
    names = _names(older) | _names(rewritten)
    return _features(_cues(older), _cues(newer), _read(older, names), _read(rewritten, names))


def read_for_alignment(text: str) -> None:
    """Read a text that will be compared with others, so that comparing finds it read."""
    text = text[:LONGEST_ALIGNED]
    _cues(text)
    _read(text, _names(text))


_CUES: Final = (_CHANGE, _RETIRED, _ADDED, _OWNER, _ONE_CASE, _FORBIDS, _PERMITS)


@lru_cache(maxsize=_MOST_CACHED)
def _cues(text: str) -> _Cues:
    starts = [word.start() for word in _WORD_OR_CODE.finditer(text)]
    return _Cues(*(_fits_at(starts, pattern, text) for pattern in _CUES))


def _fits_at(starts: Sequence[int], pattern: re.Pattern[str], text: str) -> bool:
    """Return what `bool(pattern.search(text))` does, for a pattern whose matches all begin at one of the starts."""
    if text.isascii():
        text, pattern = text.lower(), _of_lower_case(pattern)
    fits = pattern.match
    for start in starts:  # noqa: SIM110 - `any` of a generator takes twice as long, for every text
        if fits(text, start):
            return True
    return False


@cache
def _of_lower_case(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Return a pattern of small letters without the flag to ignore their case: that makes it several times slower."""
    return re.compile(pattern.pattern, pattern.flags & ~re.IGNORECASE)


_WORD_OR_CODE: Final = re.compile(r"\w+|`")
"""What the cues begin with."""


def _features(older: _Cues, newer: _Cues, one: _Reading, other: _Reading) -> tuple[float, ...]:
    kept = {item: other.has(item) for item in one.items}
    told = {item: one.has(item) for item in other.items}
    ours, theirs = one.of("word"), other.of("word")
    words_kept, words_added = _share(ours, kept), _share(theirs, told)
    subject = [item for item in one.items if item.is_subject and item.kind in ("word", "name")]
    topic = [item for item in other.items if item.is_subject and item.kind in ("word", "name")]
    subject_kept, topic_known = _share(subject, kept), _share(topic, told)
    first_kept = float(bool(subject) and kept[subject[0]])
    subjects_exchanged = float(subject_kept < 1 and topic_known < 1 and bool(subject) and bool(topic))
    names, amounts, places = (_sides(one, other, kept, told, kind) for kind in ("name", "amount", "place"))
    facts = _sides(one, other, kept, told, "name", "amount", "place")
    change, retired = float(newer.changes), float(newer.retires)
    words_exchanged = min(_missing(ours, kept), _missing(theirs, told), 4) / 4
    opposites = _opposites(ours, theirs)
    alike = SequenceMatcher(None, [i.keys for i in one.items], [i.keys for i in other.items], autojunk=False).ratio()
    parallel = float(alike >= _PARALLEL)
    qualifier = _exchanged_qualifier(kept, told)
    all_shared = float(bool(facts.shared) and not facts.only_older and not facts.only_newer)
    negates = float(one.negations % 2 != other.negations % 2)  # `not possible without` negates nothing
    exchange = max(facts.exchanged, opposites, negates)
    longest = max(len(one.items), len(other.items), 1)
    return (
        words_kept,
        words_added,
        min(words_kept, words_added),
        alike,
        subject_kept,
        topic_known,
        first_kept,
        subjects_exchanged,
        words_exchanged,
        names.exchanged,
        min(names.shared, 2) / 2,
        min(names.only_older, 2) / 2,
        min(names.only_newer, 2) / 2,
        amounts.exchanged,
        min(amounts.shared, 2) / 2,
        min(amounts.only_older, 2) / 2,
        min(amounts.only_newer, 2) / 2,
        all_shared,
        facts.exchanged,
        places.exchanged,
        min(places.shared, 2) / 2,
        change,
        float(older.changes),
        retired,
        float(older.retires),
        float(newer.adds or older.adds),
        negates,
        opposites,
        float(bool(one.dates) and bool(other.dates) and one.dates != other.dates),
        float(older.names_owner and newer.names_owner),
        max(-1.0, min(1.0, (len(other.items) - len(one.items)) / longest)),
        float(longest <= _SHORT),
        parallel,
        float(bool(retired) and facts.shared > 0),
        change * subject_kept,
        change * exchange,
        exchange * subject_kept * topic_known,
        parallel * subjects_exchanged,
        all_shared * min(words_kept, words_added),
        qualifier,
        float(bool(one.times) and bool(other.times) and not one.times & other.times),
        float(one.is_event),
        float(other.is_event),
        float(one.is_event and other.is_event),
        float(newer.tells_of_one_case and not older.tells_of_one_case),
        float(_is_ban_lifted(older, newer) or _is_ban_lifted(newer, older)),
    )


def _is_ban_lifted(older: _Cues, newer: _Cues) -> bool:
    return older.forbids and newer.permits and not newer.forbids


_PARALLEL = 0.6
_SHORT = 6


@dataclass(frozen=True, slots=True)
class _Sides:
    """How many items of some kinds both statements share, and how many only one of them has."""

    shared: int
    only_older: int
    only_newer: int

    @property
    def exchanged(self) -> float:
        return float(self.only_older > 0 and self.only_newer > 0)


_Found = Mapping[_Item, bool]
"""The items of a statement, and whether the other statement has them too, as whatever kind."""


def _sides(one: _Reading, other: _Reading, kept: _Found, told: _Found, *kinds: str) -> _Sides:
    ours, theirs = one.of(*kinds), other.of(*kinds)
    shared = sum(kept[item] and _has(item, theirs) for item in ours)
    return _Sides(shared, _missing(ours, kept), _missing(theirs, told))


def _share(items: Sequence[_Item], found: _Found) -> float:
    return sum(found[item] for item in items) / len(items) if items else 1.0


def _missing(items: Sequence[_Item], found: _Found) -> int:
    return sum(not found[item] for item in items)


def _has(item: _Item, others: Sequence[_Item]) -> bool:
    if item.kind in ("amount", "place") or _is_identifier(item):
        return any(not set(item.keys).isdisjoint(other.keys) for other in others)
    return any(is_related(key, its) for other in others for its in other.keys for key in item.keys)


def _is_identifier(item: _Item) -> bool:
    """Whether an item is a name in code, of which one like it is another: `LEDGER_DSN` is no `ledger_entries`."""
    return item.kind == "name" and any("_" in key for key in item.keys)


def _exchanged_qualifier(kept: _Found, told: _Found) -> float:
    return float(
        all(
            any(not there and item.qualifies and item.kind in ("word", "name") for item, there in found.items())
            for found in (kept, told)
        )
    )


def _opposites(ours: Sequence[_Item], theirs: Sequence[_Item]) -> float:
    left, right = {item.keys[0] for item in ours}, {item.keys[0] for item in theirs}
    return float(
        any(
            frozenset((one, other)) in _STATES and not (one in right or other in left)
            for one in left
            for other in right
        )
    )


@kept_if_short
def _names(text: str) -> frozenset[str]:
    return frozenset(token.form for token in every_token_of(text) if token.kind == "name")


@dataclass(frozen=True, slots=True)
class _Statement:
    """What of a text is the same whatever it is compared with."""

    tokens: tuple[Token, ...]
    measures: tuple[Measure, ...]
    verb: int | None
    words: frozenset[str]
    """The words that are names where the other text has them as names."""
    times: frozenset[str]
    is_event: bool


@lru_cache(maxsize=_MOST_CACHED)
def _statement(text: str) -> _Statement:
    bare = _without_reason(text) or text
    measures = measures_in(bare)
    tokens = every_token_of(with_placeholders(bare, measures))
    verb, _ = verb_of(tokens, {placeholder(number): measure for number, measure in enumerate(measures)})
    return _Statement(
        tokens,
        measures,
        verb,
        frozenset(token.form for token in tokens if token.kind == "word"),
        frozenset(found.group().casefold() for found in _TIMES.finditer(text)),
        is_event(tokens, verb),
    )


def _without_reason(text: str) -> str:
    """Return a text up to where it gives a reason, and up to the comma or dash before that."""
    starts = (word.start() for word in _WORD_OR_CODE.finditer(text))
    lower, pattern = (text.lower(), _of_lower_case(_REASON)) if text.isascii() else (text, _REASON)
    start = next((start for start in starts if pattern.match(lower, start)), None)
    if start is None:
        return text
    before = _BEFORE_A_REASON.search(text, max(0, start - _LONGEST_BEFORE), start)
    return text[: start if before is None else before.start()]


def _read(text: str, names: frozenset[str]) -> _Reading:
    """Read a text in which the words among `names` are names."""
    return _read_with(text, names & _statement(text).words)


@lru_cache(maxsize=_MOST_CACHED)  # nearly always with no names but its own
def _read_with(text: str, names: frozenset[str]) -> _Reading:
    statement = _statement(text)
    tokens, measures = statement.tokens, statement.measures
    amounts = {placeholder(number): measure for number, measure in enumerate(measures)}
    end = len(tokens) if statement.verb is None else statement.verb
    items: list[_Item] = []
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else None
        item = _item(token, names, amounts, is_subject=index < end, qualifies=_qualifies(before))
        if item is None:
            continue
        if item.kind == "name" and items and before is not None and _is_full_name(before, token):
            items[-1] = replace(items[-1], keys=(*items[-1].keys, *item.keys), kind="name")
        else:
            items.append(item)
    return _Reading(
        tuple(items),
        WordForms(key for item in items for key in item.keys),
        sum(token.kind == "negation" or token.form in _DENYING for token in tokens),
        frozenset(f"{measure.value}" for measure in measures if measure.dimension == "date"),
        statement.times,
        statement.is_event,
    )


def _is_full_name(before: Token, token: Token) -> bool:
    """Return whether two neighbouring tokens are the parts of one name: `Amara Diallo`."""
    return all(
        one.shown[:1].isupper() and one.shown[1:].islower() and one.kind != "number" for one in (before, token)
    )


def _qualifies(before: Token | None) -> bool:
    return before is not None and before.form in _QUALIFYING


def _item(
    token: Token, names: frozenset[str], amounts: dict[str, Measure], *, is_subject: bool, qualifies: bool
) -> _Item | None:
    if token.form in amounts:
        return _Item(_amount_keys(amounts[token.form]), "amount", is_subject, qualifies)
    if token.form == "single":
        return _Item(_count_keys("1"), "amount", is_subject, qualifies)
    if token.kind in ("number", "version") or _PERCENTILE.fullmatch(token.form):
        return _Item(_count_keys(token.form), "amount", is_subject, qualifies)
    if token.kind == "path":
        return _Item((token.form,), "place", is_subject, qualifies)
    if token.kind == "negation" or not any(map(str.isalnum, token.form)):
        return None
    form = _ALIASES.get(token.form, token.form)
    if token.kind == "name" or token.form in names:
        return _Item((word_form(form),), "name", is_subject, qualifies)
    if form in _STRUCTURE or word_form(form) in _CHANGE_WORDS:
        return None
    return _Item((word_form(form),), "word", is_subject, qualifies)


def _amount_keys(measure: Measure) -> tuple[str, ...]:
    """Return the ways to write an amount: every 10 s is an interval of 10 s, 3 am may be told as 3."""
    keys = [f"{measure.dimension} {measure.value:.6g} {measure.unit}".strip()]
    match measure.dimension:
        case "count":
            keys = [*_count_keys(f"{measure.value:.6g}"), *keys]
        case "rate" if measure.value > 0:
            keys.append(f"time {1 / measure.value:.6g}")
        case "clock" if measure.value % _MINUTES_AN_HOUR == 0:
            keys += _count_keys(f"{measure.value / _MINUTES_AN_HOUR:.6g}")
        case "months":
            keys += [f"time {measure.value * days * _SECONDS_A_DAY:.6g}" for days in (30, 365 / 12)]
    return tuple(keys)


def _count_keys(form: str) -> tuple[str, ...]:
    """Return the key of a plain number: `20`, `v20`, `:8080`, `p95` and `95th`."""
    number = re.sub(r"^[pv:]+(?=\d)|(?<=\d)(?:st|nd|rd|th)$", "", form)
    return (f"number {number}",)


_PERCENTILE: Final = re.compile(r"p\d\d")
_MINUTES_AN_HOUR = 60
_SECONDS_A_DAY = 86_400

_DENYING: Final = _set(
    "forbidden prohibited banned disallowed denied rejected reject rejects refused refuses impossible unable "
    "lacks lack missing avoid unsupported optional kein keine keinen nicht nie sin nunca jamais sans"
)
_QUALIFYING: Final = _set("for of on at für de para von pour")
_ALIASES: Final = {
    one: other
    for other, ones in (
        ("production", "prod live"),
        ("staging", "stage stg"),
        ("postgres", "postgresql pg"),
        ("kubernetes", "k8s"),
        ("request", "prs pr mr mrs"),
        ("javascript", "js"),
        ("typescript", "ts"),
        ("development", "dev"),
        ("repository", "repo repos"),
        ("database", "db"),
        ("documentation", "docs doc"),
        ("application", "app apps"),
        ("environment", "env envs"),
        ("configuration", "config"),
    )
    for one in ones.split()
}
"""Short names that developers use for one thing."""
