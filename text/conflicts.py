"""Return whether a newer statement contradicts an older one: certainly, possibly, or not at all."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, Literal

from reverie.text.compare import OPPOSING_PREFIXES, actives_of, restates
from reverie.text.measures import Measure, in_notation_of, measures_in, placeholder, surely_differ, with_placeholders
from reverie.text.tokenize import Token, every_token_of, kept_if_short, tokens_of
from reverie.text.word_forms import FILLERS, INTENSIFIERS, is_related, word_form

PartKind = Literal["measure", "version", "path", "name", "negation", "word", "code"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why an older statement may be out of date beside a newer one, and whether that is certain."""

    reason: str
    is_certain: bool

    @property
    def message(self) -> str:
        """The reason, with "may" if both statements could be true."""
        return self.reason if self.is_certain else f"may conflict: {self.reason}"


LONGEST_SENTENCE = 40
"""In tokens. A longer sentence is about many things, so a difference means nothing."""

MOST_SENTENCES = 6
_MOST_CHARACTERS = 600
_WIDEST_VALUE = 2
_LEAST_SHARED = 0.5
_FEWEST_SHARED = 2
_LEAST_IN_COMMON = 0.25
_LEAST_OF_SUBJECT = 2 / 3
"""`access tokens` and `refresh tokens` share half: two things. `nightly data import` may be called `data import`."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _forms(words: str) -> frozenset[str]:
    return frozenset(map(word_form, words.split()))


_BE: Final = _set("is are was were be been being am = ist sind es está son est sont")
_HAVE: Final = _set("has have had tiene tienen")
_AUXILIARIES: Final = _BE | _HAVE | _set("do does did will would")
_MODALS: Final = _set("must should can may might shall could needs")
_PAST: Final = _set("was were had did")
_VERBS: Final = _forms(
    "allow accept apply begin belong block bind build cache call check collect close come commit compile connect "
    "consist contain cost cover create default delete deploy depend detect drop emit enable end ensure exceed "
    "expect expire export fail fetch format get give go grow handle happen hold host import include index install "
    "keep last leave lease limit list listen live load lock log maintain make manage map mean measure merge "
    "migrate monitor need offer own parse pass pin point poll prefer process provide publish pull push put queue "
    "raise reach read receive refresh reject release render report require reside respond restart retry return "
    "review rotate run save scale scan send serve set ship show sign sit spend stand start stay stop store stream "
    "support sync take terminate test time tolerate treat trigger update upload use validate wait wake weigh work "
    "write lead läuft laufen escucha expira dura dauert beträgt liegt wait fix add avoid disable restrict "
    "configure reserve timeout ping"
)
_ONE_VALUE_VERBS: Final = _forms(
    "be belong build call come default deploy document declare define end expire go happen host keep live locate "
    "log manage name point release report reside run save serve ship sit start stay store write base listen"
)
"""Verbs that give a thing one location, day or form: with another one, the older statement may be out of date."""

_NAMING: Final = _forms("call name") | {"is"}
_COUNTING: Final = _forms("cover contain handle")
_REQUIRING: Final = _forms("require need use")
_OWNING: Final = _forms("own maintain lead manage")
_MANY_VALUE_VERBS: Final = _forms(
    "support test cover include contain handle accept offer provide fix add own review maintain work read"
)
"""Verbs that can have several objects at once."""

_ATTRIBUTES: Final = _forms(
    "port limit timeout size level version count retries retry ttl priority concurrency replicas threshold budget "
    "length width height depth rate score quota maximum minimum max min total capacity number value code weight "
    "year coverage interval delay age pid uid batch factor ratio scale timeouts"
)
"""Words that a value may follow; a number after another noun (ticket 12, shard 3) is the name of a thing."""

_PREPOSITIONS: Final = _set("in on at to from with under into onto within inside via through as in")
_CHANGING: Final = (
    "raised lowered increased decreased reduced extended shortened changed moved switched bumped upgraded downgraded "
    "rescheduled postponed renamed migrated converted grown adjusted set updated cut brought doubled halved"
)
_CHANGE_VERBS: Final = frozenset(_CHANGING.split())
_CUE_WORDS: Final = _set(
    "now currently instead again nowadays anymore longer henceforth jetzt nun inzwischen mittlerweile ahora "
    "actualmente désormais maintenant"
)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_STATED_AS_CHANGE: Final = re.compile(
    r"\b(?:now(?! (?:and|that)\b)|no longer|not? .{0,40}\b(?:anymore|any more)|instead|again|these days|nowadays|"
    r"from now on|as of|in favou?r of|(?:got|get) rid of|taken? over|took over|shut down|switched (?:on|off|to)|"
    rf"turned (?:on|off)|since (?:{_MONTHS}|the|last|this|\d)|"
    r"(?:was|were|been|got|is|are|we|has|have|gets?|it) (?:\w+ )?(?:raised|lowered|increased|reduced|extended|"
    r"shortened|changed|moved|switched|bumped|upgraded|downgraded|rescheduled|postponed|renamed|migrated|converted|"
    r"ported|replaced|dropped|removed|retired|abandoned|decommissioned|discontinued|reverted|lifted|rewritten|"
    r"deprecated|deleted|gone)|"
    r"(?:moved|extended|raised|lowered|renamed|upgraded|rescheduled|switched|increased|reduced|grown) "
    r"(?:\w+ ){0,2}to|"
    r"jetzt|inzwischen|mittlerweile|nicht mehr|umgezogen|geändert|erhöht|gesenkt|ersetzt|ahora|ya no|"
    r"hemos (?:subido|bajado|cambiado|movido)|désormais|maintenant|ne \w+ plus)\b",
    re.IGNORECASE,
)
_REASON: Final = re.compile(
    r",? (?:because|since(?= )|so that|due to|as of|as\b(?= (?:we|it|the))|in order to|thanks to|weil|porque|"
    r"parce que)\b.*$|,? at the request of .*$|\s*\([^()]*\)(?=\.?$)",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCES: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_PRONOUN: Final = re.compile(
    r"^\W*(?:it|he|she|they|this|that|these|those|both|some|many|several|most|another|one of)\b", re.IGNORECASE
)
_ADDED: Final = re.compile(
    r"\b(?:also|too|as well|in addition|additionally|another|auch|también|aussi)\b", re.IGNORECASE
)
"""A statement with such a word adds to another and does not replace it."""

_UNSURE: Final = re.compile(
    r"^\W*(?:an?|there|here)\b|\b(?:if|when|whenever|unless|while|until|once|in case|as long as|about|around|roughly|"
    r"approximately|circa|almost|nearly|sometimes|often|usually|e\.g\.|for example)\b|~|\?\W*$",
    re.IGNORECASE,
)
"""A condition, one among many, or an approximation: two such statements can both be true."""

_ONLY_ONE: Final = re.compile(r"^\W*(?:our|my|(?:the )?(?:default|only))\b", re.IGNORECASE)
_COLON: Final = re.compile(r"^([^:`]{2,60}): (?=\S)")
_CODE: Final = re.compile(r"`([^`\n]+)`")
_SURE_STATES: Final = (
    "enabled/disabled enable/disable enables/disables on/off true/false allow/deny allowed/denied allows/denies "
    "allowed/forbidden open/closed include/exclude public/private required/optional pass/fail passes/fails "
    "succeeds/fails mandatory/optional synchronous/asynchronous required/forbidden active/inactive always/never"
)
_STATES: Final = frozenset(_forms(pair.replace("/", " ")) for pair in _SURE_STATES.split())
"""States of which a thing has one. Pairs such as first/last and min/max name two different things."""

_BEFORE_A_STATE: Final = _BE | _set("turned switched stays remains still always set =")
_LOOSE_STATES: Final = frozenset(map(_forms, ("before after", "above below", "must may")))
_SURE_NEGATIONS: Final = frozenset({"not", "no", "never"})
_QUALIFIERS: Final = INTENSIFIERS | _set("at of also too always")
_DROPPED: Final = FILLERS | _QUALIFIERS | _AUXILIARIES | _CUE_WORDS
_DETERMINERS: Final = _set("a an the our all each every any this that these those its their")


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a statement; `key` is compared."""

    key: str
    kind: PartKind
    shown: str
    after: str = ""
    """The token before it, as written."""
    has_unit: bool = False
    measure: Measure | None = None


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence as its parts, and the index of its verb among them."""

    parts: tuple[_Part, ...]
    verb_at: int
    verb: str
    is_event: bool
    is_order: bool
    is_change: bool
    has_subject: bool
    is_of_one: bool
    """Whether its subject is named as the only one of its sort: `our registry`, `the default branch`."""

    @property
    def keys(self) -> list[str]:
        return [part.key for part in self.parts]


def find_conflict(older: str, newer: str) -> Conflict | None:
    """Return why the older of two statements conflicts with the newer, or None if both can be true."""
    all_ours, all_theirs = _sentences(older), _sentences(newer)
    ours = [sentence for sentence in all_ours if sentence not in all_theirs]
    theirs = [sentence for sentence in all_theirs if sentence not in all_ours]
    if not ours or not theirs or max(len(ours), len(theirs)) > MOST_SENTENCES:
        return None
    is_alone = len(ours) == len(theirs) == 1  # else the sentences around them may say what each is about
    if not is_alone and restates(older, newer):
        return None
    found = [conflict for one in ours for other in theirs if (conflict := _between(one, other)) is not None]
    if not found:
        return None
    best = max(found, key=lambda conflict: conflict.is_certain)
    return best if is_alone else replace(best, is_certain=False)


def _sentences(text: str) -> dict[str, None]:
    """Return the sentences of a text, each once, in order."""
    parts = (part.strip() for part in _SENTENCES.split(text.strip()))
    return dict.fromkeys(part for part in parts if re.search(r"\w", part))


def _between(older: str, newer: str) -> Conflict | None:
    if max(len(older), len(newer)) > _MOST_CHARACTERS or not _on_one_subject(older, newer):
        return None
    rewritten = in_notation_of(older, newer)
    if restates(older, rewritten):
        return None
    plain, said = _stripped(older), _stripped(rewritten)
    one, other = _statement(plain), _statement(said)
    if max(len(one.parts), len(other.parts)) > LONGEST_SENTENCE or not (one.parts and other.parts):
        return None
    if one.is_event or (other.is_event and not other.is_change) or _ADDED.search(f"{plain} {said}"):
        return None
    for ours, theirs in _readings(plain, one, said, other):
        found = _in_one_part(ours, theirs)
        if found is not None:
            unsure = _UNSURE.search(plain) or _UNSURE.search(said)
            found = replace(found, is_certain=found.is_certain and not unsure)
            return found if one.has_subject and other.has_subject else None
    changed = other.is_change or bool(_STATED_AS_CHANGE.search(newer))
    return _stated_as_change(one, other) if changed and one.has_subject else None


def _on_one_subject(one: str, other: str) -> bool:
    """Return whether two sentences share enough words to be compared; a quick first check."""
    ours, theirs = _word_forms(one), _word_forms(other)
    return len(ours & theirs) >= _LEAST_IN_COMMON * min(len(ours), len(theirs))


@kept_if_short
def _word_forms(text: str) -> frozenset[str]:
    return frozenset(word_form(token.form) for token in tokens_of(text))


def _readings(older: str, one: _Statement, newer: str, other: _Statement) -> Iterator[tuple[_Statement, _Statement]]:
    """Yield the two statements as written, then with the active form of either."""
    yield one, other
    for text in actives_of(newer):
        yield one, _statement(text)
    for text in actives_of(older):
        yield _statement(text), other


def _in_one_part(one: _Statement, other: _Statement) -> Conflict | None:
    codes = SequenceMatcher(None, one.keys, other.keys, autojunk=False).get_opcodes()
    differing = [code for code in codes if code[0] != "equal"]
    if len(differing) != 1 or len(differing) == len(codes):
        return None
    [(_, a, b, c, d)] = differing
    gone, come = one.parts[a:b], other.parts[c:d]
    if not come:
        return _negated(gone, a, one)
    if not gone:
        return _negated(come, c, other)
    if len(gone) == len(come) == 1:
        return _exchanged(gone[0], come[0], a, c, one, other)
    if max(len(gone), len(come)) <= _WIDEST_VALUE:
        return _another_value(gone, come, a, one, other)
    return None


def _negated(said: Sequence[_Part], at: int, statement: _Statement) -> Conflict | None:
    """Return a conflict if a `not` negates the whole sentence: at the verb, or as its first word."""
    if len(said) != 1 or said[0].kind != "negation" or 0 < at < statement.verb_at - 1:
        return None
    return Conflict("one negates", said[0].shown.casefold() in _SURE_NEGATIONS)


def _exchanged(gone: _Part, come: _Part, at: int, place: int, one: _Statement, other: _Statement) -> Conflict | None:
    if gone.measure is not None and come.measure is not None:
        return _another_amount(gone, come, at, place, one, other)
    if gone.kind == come.kind == "word":
        pair = frozenset((gone.key, come.key))
        reason = f"opposites: {gone.shown} / {come.shown}"
        if pair in _STATES or _is_prefixed(gone.key, come.key):
            is_state = {gone.after.casefold(), come.after.casefold()} <= _BEFORE_A_STATE
            is_verb = at == one.verb_at and place == other.verb_at
            return Conflict(reason, True) if is_state or (is_verb and not one.is_order) else None
        if pair in _LOOSE_STATES and at >= one.verb_at and place >= other.verb_at:
            return Conflict(reason, False)
    if (
        gone.kind == come.kind == "version"
        and at >= one.verb_at
        and not one.is_order
        and one.verb not in _MANY_VALUE_VERBS
    ):
        return Conflict(f"versions differ: {gone.shown} / {come.shown}", other.is_change)
    return _another_value((gone,), (come,), at, one, other)


def _another_amount(
    gone: _Part, come: _Part, at: int, place: int, one: _Statement, other: _Statement
) -> Conflict | None:
    if gone.measure is None or come.measure is None or not surely_differ(gone.measure, come.measure):
        return None
    if at < one.verb_at or place < other.verb_at or one.verb in _MANY_VALUE_VERBS - _COUNTING:
        is_tool = gone.after == come.after and gone.after[:1].isupper() and not gone.has_unit
        return (
            Conflict(f"numbers differ: {gone.shown} / {come.shown}", is_certain=False)
            if (is_tool and one.verb in _REQUIRING)
            else None
        )  # Node 18 is required, Node 22 is required
    reason = f"numbers differ: {gone.shown} / {come.shown}"
    dimension = gone.measure.dimension
    if dimension == "date" or gone.after.casefold() in ("and", "or"):
        return Conflict(reason, is_certain=other.is_change and dimension == "date")
    if dimension == "clock":
        return Conflict(reason, other.is_change or one.verb == "is")
    if dimension != "count" or gone.has_unit:
        return Conflict(reason, True)
    before = gone.after
    if before[:1].isupper() and word_form(before.casefold()) not in _ATTRIBUTES:
        return None if one.verb in _MANY_VALUE_VERBS else Conflict(reason, False)  # the version of a tool
    form = word_form(before.casefold())
    if form in _ATTRIBUTES or form in _VERBS or before.casefold() in _PREPOSITIONS | _AUXILIARIES | _QUALIFIERS:
        return Conflict(reason, True)
    return None  # the number of a thing: ticket 12, shard 3


def _another_value(
    gone: Sequence[_Part], come: Sequence[_Part], at: int, one: _Statement, other: _Statement
) -> Conflict | None:
    """Find another location, day, name or owner of the same thing, which may replace the first."""
    values = ("name", "path", "word", "version")
    if any(part.kind not in values for part in (*gone, *come)) or one.is_order:
        return None
    if all(x.key == y.key for x, y in zip(gone, come, strict=False)):
        return None
    kind = "paths" if gone[-1].kind == "path" else "names" if gone[-1].kind == "name" else "words"
    found = Conflict(
        f"{kind} differ: {' '.join(p.shown for p in gone)} / {' '.join(p.shown for p in come)}", is_certain=False
    )
    if at < one.verb_at:
        alone = at == 0 and one.verb_at == len(gone)
        return found if alone and one.verb in _OWNING else None
    if other.is_change:
        return found
    before = gone[0].after.casefold()
    named = one.verb in _NAMING and (
        before in ("called", "named")
        or (before in _BE and (one.is_of_one or all(p.kind in ("name", "path") for p in (*gone, *come))))
    )
    placed = one.verb in _ONE_VALUE_VERBS and before in _PREPOSITIONS
    return found if named or placed else None


def _stated_as_change(one: _Statement, other: _Statement) -> Conflict | None:
    """Find a change of the same subject, in whatever words."""
    ours, theirs = _content_keys(one.parts), _content_keys(other.parts)
    shared = {word for word in ours if any(is_related(word, its) for its in theirs)}
    subject = [part.key for part in one.parts[: one.verb_at] if part.key in ours]
    if len(shared) < max(_FEWEST_SHARED, _LEAST_SHARED * len(ours)):
        return None
    if not subject and shared != ours:
        return None
    if subject and (subject[-1] not in shared or len(shared & set(subject)) < _LEAST_OF_SUBJECT * len(subject)):
        return None
    return Conflict("told as a change", is_certain=False)


def _content_keys(parts: Sequence[_Part]) -> set[str]:
    return {part.key for part in parts if part.kind not in ("negation", "measure") and part.key not in _PREPOSITIONS}


def _is_prefixed(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and any(longer == prefix + shorter for prefix in OPPOSING_PREFIXES)


@kept_if_short
def _stripped(sentence: str) -> str:
    """Return a sentence without its reason; `label: value` becomes `label is value`."""
    bare = _REASON.sub("", sentence.strip())
    return _COLON.sub(r"\1 is ", bare.rstrip(".!;"))


@lru_cache(maxsize=256)
def _statement(sentence: str) -> _Statement:
    measures = measures_in(sentence)
    tokens = every_token_of(with_placeholders(sentence, measures))
    amounts = {placeholder(number): measure for number, measure in enumerate(measures)}
    coded = {token.form for span in _CODE.findall(sentence) for token in every_token_of(span)}
    verb_index, verb = verb_of(tokens, amounts)
    is_change = any(token.form in _CUE_WORDS for token in tokens) or _changes(tokens)
    parts: list[_Part] = []
    verb_at = 0 if verb_index is None else -1
    for index in range(len(tokens)):
        if index == verb_index:
            verb_at = len(parts)
        part = _part(tokens, index, amounts, coded, sentence)
        if part is not None:
            parts.append(part)
    is_order = verb_index == 0 or (verb_index is not None and _is_imperative_prefix(tokens[:verb_index]))
    if verb_index is None:  # "Upload limit 20 MB": what has a unit is the value
        verb_at = next(
            (at for at, part in enumerate(parts) if part.measure is not None and part.has_unit), len(parts)
        )
    return _Statement(
        tuple(parts),
        verb_at,
        verb,
        is_event(tokens, verb_index) and not is_change,
        is_order,
        is_change,
        not _PRONOUN.match(sentence),
        bool(_ONLY_ONE.match(sentence)),
    )


def _part(
    tokens: Sequence[Token], index: int, amounts: dict[str, Measure], coded: set[str], sentence: str
) -> _Part | None:
    token = tokens[index]
    before = next((one.shown for one in reversed(tokens[:index]) if one.form not in _DETERMINERS), "")
    if token.form in amounts:
        measure = amounts[token.form]
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        counted = following is not None and following.kind in ("word", "name") and not _is_structure(following)
        return _Part(
            f"{measure.dimension} {measure.value:.12g} {measure.unit}",
            "measure",
            sentence[measure.start : measure.end],
            before,
            counted or measure.dimension != "count",
            measure,
        )
    if token.kind == "negation":
        return _Part("not" if token.form in _SURE_NEGATIONS else token.form, "negation", token.shown, before)
    if token.form in coded and token.kind != "path":
        return _Part(token.form, "code", token.shown, before)
    if _is_dropped(tokens, index):
        return None
    if token.kind == "name":
        return _Part(word_form(token.form), "name", token.shown, before)  # as at the start, where it is a word
    if token.kind in ("path", "version"):
        return _Part(token.form, "path" if token.kind == "path" else "version", token.shown, before)
    return _Part(word_form(token.form), "word", token.shown, before)


def _is_dropped(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    form = token.form
    is_acronym = token.kind == "name" and token.shown.isupper()
    if not is_acronym and form in _DROPPED:
        return True
    if form in _CHANGE_VERBS and _is_changing(tokens, index):
        return True
    return form == "to" and index > 0 and tokens[index - 1].form in _CHANGE_VERBS


def _is_changing(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a participle states a change: `was raised to`, `moved to`, not `a set of`."""
    follows = [token.form for token in tokens[index + 1 : index + 2]]
    return follows in (["to"], ["from"])


def _changes(tokens: Sequence[Token]) -> bool:
    return any(token.form in _CHANGE_VERBS and _is_changing(tokens, at) for at, token in enumerate(tokens))


def _is_structure(token: Token) -> bool:
    return (
        token.form in _PREPOSITIONS
        or token.form in _AUXILIARIES
        or token.form in _MODALS
        or token.form in _CUE_WORDS
        or token.form in ("and", "or", "by", "for", "per", "before", "after", "when", "if", "than", "of")
    )


def verb_of(tokens: Sequence[Token], amounts: dict[str, Measure]) -> tuple[int | None, str]:
    """Return the index of the first finite verb, and its word form ("is" for every copula)."""
    for index, token in enumerate(tokens):
        form = token.form
        if form in _BE:
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            participle = following is not None and following.kind == "word" and _is_participle(following.form)
            return index, word_form(following.form) if participle and following is not None else "is"
        if form in _AUXILIARIES or form in _MODALS:
            return index, word_form("have") if form in _HAVE else "is" if form in _BE else form
        if token.kind == "word" and word_form(form) in _VERBS and _is_finite(tokens, index):
            return index, word_form(form)
    return None, ""


def _is_finite(tokens: Sequence[Token], index: int) -> bool:
    form = tokens[index].form
    if index == 0 or _is_imperative_prefix(tokens[:index]):
        return form.endswith("ss") or not form.endswith("s")  # an order; `Releases happen` is none
    before = tokens[index - 1].form
    if before in _DETERMINERS | _PREPOSITIONS | {"of", "for"}:
        return False
    if form.endswith(("s", "ed")) or form in _IRREGULAR_PASTS:
        return True
    return before.endswith("s") or before in ("we", "you", "they", "i", "to", "people")


def _is_imperative_prefix(tokens: Sequence[Token]) -> bool:
    return all(token.form in ("always", "never", "please", "not", "do", "only", "just", "first") for token in tokens)


def _is_participle(form: str) -> bool:
    return (form.endswith(("ed", "en")) or form in _IRREGULAR_PARTICIPLES) and len(form) > 3


_IRREGULAR_PARTICIPLES: Final = _set("built kept sent run set put held found made sold read cut stored")
_IRREGULAR_PASTS: Final = _set(
    "took ran met sent fell broke wrote went began found made got left lost held built kept told gave came grew "
    "chose brought bought caught rose spent won sold said thought became put"
)


def is_event(tokens: Sequence[Token], verb_index: int | None) -> bool:
    """Return whether the main verb states an event: two events do not conflict."""
    forms = [token.form for token in tokens]
    helped = [at for at, form in enumerate(forms) if form in _AUXILIARIES or form in _MODALS]
    if helped:
        first = helped[0]
        perfect = forms[first] in ("has", "have") and first + 1 < len(forms) and _is_participle(forms[first + 1])
        perfect = perfect or forms[first : first + 2] in (["has", "been"], ["have", "been"])
        if forms[first] in _PAST or forms[first] in ("will", "would") or perfect:
            return True
    for at, token in enumerate(tokens):
        if token.kind != "word":
            continue
        past = (token.form.endswith("ed") and len(token.form) > 4) or token.form in _IRREGULAR_PASTS
        adjective = at > 0 and forms[at - 1] in _DETERMINERS | _PREPOSITIONS
        if past and not adjective and not helped:
            return True
    return False
