"""The beliefs step: challenges statements that newer memories or the code contradict (002-dream).

In two stages: what may have become untrue is found cheaply (nearest neighbours, amounts beside the same words), then
judged: by rule if that is certain, else by a language model, else by a question to a person.

A belief that nothing contradicts may still be doubtful: nothing has confirmed it for long, and its neighbours changed
or the project leans on it. It is not changed; a person is asked, about a few at a time and about each once. A night
that reads only what changed needs every belief that became due since, and the neighbours of what changed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from reverie.dream.judge import Judge
from reverie.dream.outcomes import outcomes
from reverie.dream.plan import Change, ChangeSet, Proposal, ProposedQuestion, question_id, was_undone
from reverie.dream.snapshot import DERIVED_KINDS, Snapshot
from reverie.embeddings.bundled import STAMP
from reverie.embeddings.classifier import LEAST_COSINE
from reverie.lifecycle.outcomes import read_outcome
from reverie.lifecycle.rules import contradiction_reason
from reverie.lifecycle.voices import CODE, Voice, confirmed
from reverie.memory import Memory, Verdict
from reverie.settings import Settings
from reverie.text.alignment import LONGEST_ALIGNED
from reverie.text.amounts import Amount, amounts_in, restated, surely_restated
from reverie.text.compare import contradictions, restates
from reverie.text.conflicts import Conflict, find_conflict
from reverie.time import iso

SHARED_WORDS = 0.5
"""Two texts that share fewer of their words are about different things, whatever numbers they name."""


LONGEST_STATEMENT = 40
"""In tokens. In a longer text, numbers that differ say nothing: it is about many things."""


def conflict_between(older: Memory, newer: Memory, snapshot: Snapshot) -> Conflict | None:
    """Return why an older memory may not hold beside a newer one. Each pair is compared once in a dream."""
    if "event" in (older.kind, newer.kind):
        return None  # a later event does not contradict an earlier one
    known = snapshot.texts.conflicts
    pair = (older.id, newer.id)
    if pair not in known:
        known[pair] = find_conflict(older.content, newer.content)
    return known[pair]


def clashes(one: Memory, other: Memory, snapshot: Snapshot) -> tuple[str, ...]:
    """Return in what two memories differ too much to be merged. Each pair is compared once in a dream."""
    pair = (one.id, other.id)
    known = snapshot.texts.clashes.get(pair)
    if known is None:
        known = snapshot.texts.clashes[pair] = _compared(one, other, snapshot)
    return known


def _compared(one: Memory, other: Memory, snapshot: Snapshot) -> tuple[str, ...]:
    ours, theirs = snapshot.texts.of(one), snapshot.texts.of(other)
    if max(len(ours.forms), len(theirs.forms)) > LONGEST_STATEMENT:
        return ()
    fewer, more = sorted((ours.words, theirs.words), key=len)
    if not fewer or len(fewer & more) < SHARED_WORDS * len(more):
        return ()
    found = contradictions(one.content, other.content)
    return () if found and restates(one.content, other.content) else found


_MOST_COMPARED = 100
_COMMON_SHARE = 0.1
_COMMON_AT_LEAST = 6

SAME_SUBJECT = 0.5
"""Texts with a lower cosine are about different things, whatever words are beside their numbers."""


@dataclass(frozen=True, slots=True)
class Update:
    """A newer memory that may replace an older one, and why; `is_sure` if nothing else can be meant."""

    newer: Memory
    reason: str
    is_sure: bool = False


def updates_in(snapshot: Snapshot) -> dict[str, Update]:
    """Return by id the update of each memory whose amount has another value now.

    Of several updates it is the latest sure one, or else the earliest.
    """
    rows = {memory.id: row for row, memory in enumerate(snapshot.memories)}
    found: dict[str, Update] = {}
    for stated in _comparable_amounts(snapshot).values():
        for index, (newer, amount) in enumerate(stated):
            if not amount.is_news:
                continue
            for older, before in stated[max(0, index - _MOST_COMPARED) : index]:
                known = found.get(older.id)
                if older.id == newer.id or not restated(before, amount):
                    continue
                cosine = float(snapshot.vectors[rows[older.id]] @ snapshot.vectors[rows[newer.id]])
                sure = cosine >= SAME_SUBJECT and surely_restated(
                    before, amount, _amounts(snapshot, older), _amounts(snapshot, newer)
                )
                if known is None or (
                    sure and (not known.is_sure or _moment_and_id(newer) > _moment_and_id(known.newer))
                ):
                    reason = f"{before.value} {amount.unit} became {amount.value}"
                    found[older.id] = Update(newer, reason, is_sure=sure)
    return found


def _comparable_amounts(snapshot: Snapshot) -> dict[tuple[str, str, str], list[tuple[Memory, Amount]]]:
    """Return the amounts of each project by unit and by each rare word beside them, the oldest first."""
    stated = [
        (memory, amount)
        for memory in snapshot.memories
        if memory.kind not in DERIVED_KINDS and memory.layer not in ("working", "codebase")
        for amount in _amounts(snapshot, memory)
    ]
    common = _common_words(stated)
    comparable: dict[tuple[str, str, str], list[tuple[Memory, Amount]]] = {}
    for memory, amount in sorted(stated, key=lambda pair: _moment_and_id(pair[0])):
        for word in amount.context - common[memory.project]:
            comparable.setdefault((memory.project, amount.unit, word), []).append((memory, amount))
    return comparable


def _amounts(snapshot: Snapshot, memory: Memory) -> tuple[Amount, ...]:
    return snapshot.texts.amounts(memory, amounts_in)


def _moment_and_id(memory: Memory) -> tuple[datetime, datetime, str]:
    return memory.happened_at, memory.created_at, memory.id


def _common_words(stated: Sequence[tuple[Memory, Amount]]) -> dict[str, frozenset[str]]:
    """Return by project the words that are beside too many of its amounts to say which amount is meant."""
    by_project: dict[str, list[Amount]] = {}
    for memory, amount in stated:
        by_project.setdefault(memory.project, []).append(amount)
    return {project: _common_beside(amounts) for project, amounts in by_project.items()}


def _common_beside(amounts: Sequence[Amount]) -> frozenset[str]:
    counts = Counter(word for amount in amounts for word in amount.context)
    most = max(_COMMON_AT_LEAST, _COMMON_SHARE * len(amounts))
    return frozenset(word for word, count in counts.items() if count > most)


MOST_JUDGED = 20_000
"""Pairs of one project that the classifier looks at in a dream, those of the newest memories first; 2 ms each."""

_NEAREST_JUDGED = 8


def likely_updates(snapshot: Snapshot) -> dict[str, Update]:
    """Return by id the newer memory that, by the pair classifier, most likely replaces each.

    It is never sure: a person or a language model decides.
    """
    if snapshot.embedder != STAMP:
        return {}
    found: dict[str, tuple[float, Update]] = {}
    known, looked_at = snapshot.texts.verdicts, Counter[str]()
    for row in sorted(range(len(snapshot.memories)), key=lambda row: _moment(snapshot.memories[row]), reverse=True):
        newer = snapshot.memories[row]
        if not _may_be_compared(newer) or looked_at[newer.project] > MOST_JUDGED:
            continue
        for other, cosine in islice(snapshot.near.of(row, LEAST_COSINE), _NEAREST_JUDGED):
            older = snapshot.memories[other]
            if not _may_be_compared(older) or older.kind == "event" or _moment(older) >= _moment(newer):
                continue
            pair = (older.id, newer.id)
            if pair not in known:
                looked_at[newer.project] += 1
                if looked_at[newer.project] > MOST_JUDGED:
                    break
                known[pair] = snapshot.texts.judged(older, newer, cosine)
            verdict = known[pair]
            if verdict is None or verdict.label != "update" or verdict.update <= found.get(older.id, (0.0,))[0]:
                continue
            found[older.id] = verdict.update, Update(newer, verdict.receipt)
    return {memory_id: update for memory_id, (_, update) in found.items()}


def _may_be_compared(memory: Memory) -> bool:
    return memory.kind not in DERIVED_KINDS and memory.layer != "codebase" and len(memory.content) <= LONGEST_ALIGNED


UNTOUCHED = timedelta(days=14)
"""After this long without a recall or change a belief is checked again; each confirmation doubles the time."""

MOST_OPEN_QUESTIONS = 50
"""In one project: nobody answers more, and the rest waits until some are answered."""

BY_A_MODEL = "judged by a language model: {}"
CONFIDENCE_KEPT = 0.6
CONFIDENCE_FLOOR = 0.2
_MOST_DOUBLINGS = 4
_BELIEF_LAYERS = ("semantic", "procedural")
_VERDICTS: tuple[Verdict, ...] = ("outdated", "holds", "revise", "forget")
_SHOWN = 300
_LINE: Final = re.compile(r"(?<=\w):\d+\b")
"""A line number in a receipt: a line added above it must not make a new question."""


def beliefs(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Challenge what the evidence contradicts; confirm what the code confirms."""
    questioned = {ids[0] for kind, ids in snapshot.open_questions.values() if kind in ("belief", "outcome")}
    still_open = snapshot.open_by_project("belief")
    updates = {**likely_updates(snapshot), **updates_in(snapshot)}
    change_sets: list[ChangeSet] = [*outcomes(snapshot)]
    questioned |= {change.memory_id for one in change_sets for change in one.changes}  # judged already
    questioned |= {question.memory_ids[0] for one in change_sets for question in one.questions}
    doubted: set[str] = set()
    for row, belief in enumerate(snapshot.memories):
        update = updates.get(belief.id)
        if belief.id in questioned or not _is_belief(belief, stated_anew=update is not None):
            continue
        may_ask = still_open[belief.project] < MOST_OPEN_QUESTIONS
        change_set = _probed(row, belief, update, snapshot, judge, may_ask=may_ask)
        if change_set is not None:
            change_sets.append(change_set)
            doubted.add(belief.project)
            still_open[belief.project] += sum(question.model_verdict is None for question in change_set.questions)
    change_sets += _asked_unconfirmed(snapshot, judge, questioned, change_sets)
    full = any(still_open[project] >= MOST_OPEN_QUESTIONS for project in doubted)
    notes = ("more doubts wait until some of the open questions are answered",) if full else ()
    return Proposal(tuple(change_sets), notes)


def _asked_unconfirmed(
    snapshot: Snapshot, judge: Judge, questioned: set[str], change_sets: Sequence[ChangeSet]
) -> Iterator[ChangeSet]:
    """Yield the questions about beliefs that nothing contradicts, but that nothing has confirmed for long either.

    What changed around one is shown to the judge; that it is recalled often proves nothing, and a person is asked.
    """
    known = questioned | {change.memory_id for one in change_sets for change in one.changes}
    known |= {question.memory_ids[0] for one in change_sets for question in one.questions}
    rows = [
        row
        for row, belief in enumerate(snapshot.memories)
        if belief.id not in known and _is_belief(belief, stated_anew=False)
    ]
    for doubt in doubts(snapshot, rows):
        verdict = judge.still_holds(doubt.belief, doubt.evidence) if doubt.changed else None
        if verdict == "holds":
            evidence = (*doubt.evidence, BY_A_MODEL.format(verdict))
            question = replace(doubt.question, model_verdict="holds", evidence=evidence)
            yield ChangeSet(summary="held against evidence", questions=(question,))
        else:  # also if a model takes it for outdated: nothing contradicts it
            yield ChangeSet(summary="asked about a belief", questions=(doubt.question,))


def lowered_confidence(belief: Memory) -> float:
    """Return the confidence of a belief after a challenge, never below the floor."""
    return max(min(belief.confidence, CONFIDENCE_FLOOR), belief.confidence * CONFIDENCE_KEPT)


def is_due(belief: Memory, now: datetime) -> bool:
    """Whether a belief was not recalled or changed for so long that it is checked again."""
    last_use = max(belief.created_at, belief.updated_at, belief.last_accessed_at or belief.created_at)
    return now - last_use >= UNTOUCHED * float(2 ** min(belief.confirmations, _MOST_DOUBLINGS))


def _is_belief(memory: Memory, *, stated_anew: bool) -> bool:
    """Whether a memory is a statement to check; of episodes only those that were stated anew."""
    return (
        (memory.layer in _BELIEF_LAYERS or (memory.layer == "episodic" and stated_anew))
        and memory.kind not in DERIVED_KINDS
        and memory.status == "active"
        and not memory.pinned
        and _outcome_result(memory) in (None, "worked")  # how the others ended is known
    )


def _outcome_result(memory: Memory) -> str | None:
    outcome = read_outcome(memory.outcome)
    return None if outcome is None else outcome.result


def _probed(
    row: int, belief: Memory, update: Update | None, snapshot: Snapshot, judge: Judge, *, may_ask: bool
) -> ChangeSet | None:
    check = snapshot.checks.get(belief.id)
    if check is not None and check.refuted and may_ask:
        return _challenged(belief, (), (check.receipt,), snapshot, judge)
    undone: ChangeSet | None = None
    for newer, reason, is_certain in _contradicting(row, belief, update, snapshot) if may_ask else ():
        unsure = not (is_certain and belief.layer in _BELIEF_LAYERS)
        change_set = _challenged(belief, (newer,), _shown(newer, reason), snapshot, judge, unsure=unsure)
        if change_set is not None and was_undone(change_set, snapshot.undone_keys, snapshot.by_id):
            undone = change_set  # somebody undid this; another memory may still contradict the belief
        elif change_set is not None:
            return change_set
    if undone is not None:
        return undone
    if check is not None and check.checked.freshness == "verified" and is_due(belief, snapshot.now):
        return _confirmed(belief, check.receipt)
    return None


def _contradicting(
    row: int, belief: Memory, update: Update | None, snapshot: Snapshot
) -> Iterator[tuple[Memory, str, bool]]:
    """Yield newer memories that contradict a belief, why, and whether it is certain that both cannot be true."""
    reported_by = outcome.reported_by if (outcome := read_outcome(belief.outcome)) is not None else ""
    if update is not None and update.newer.id == reported_by:
        update = None  # it told how the decision ended
    if update is not None and update.is_sure:
        yield update.newer, update.reason, True
    possible: list[tuple[Memory, str, bool]] = []
    for other, _ in snapshot.near.of(row):
        newer = snapshot.memories[other]
        if newer.kind in DERIVED_KINDS or newer.layer == "codebase" or _moment(newer) <= _moment(belief):
            continue
        if newer.id == reported_by:
            continue
        found = conflict_between(belief, newer, snapshot)
        if found is not None and found.is_certain:
            yield newer, found.message, True
        elif found is not None:
            possible.append((newer, found.message, False))
    if update is not None and not update.is_sure:
        yield update.newer, update.reason, False
    yield from possible


def _moment(memory: Memory) -> tuple[datetime, datetime]:
    return memory.happened_at, memory.created_at


def _shown(newer: Memory, reason: str) -> tuple[str, ...]:
    return reason, f"{newer.id} says since {iso(newer.happened_at)[:10]}: {newer.content[:_SHOWN]}"


def _challenged(
    belief: Memory,
    newer: tuple[Memory, ...],
    evidence: tuple[str, ...],
    snapshot: Snapshot,
    judge: Judge,
    *,
    unsure: bool = False,
) -> ChangeSet | None:
    ids = (belief.id, *(memory.id for memory in newer))
    about = () if newer else (belief.id, *(_LINE.sub("", line) for line in evidence))
    if question_id("belief", ids, about) in snapshot.asked:
        return None
    verdict = judge.still_holds(belief, evidence)
    question = ProposedQuestion(
        kind="belief",
        memory_ids=ids,
        ask="Does the first memory still hold in the light of this? If not, revise gives the text that is true.",
        evidence=evidence,
        verdicts=_VERDICTS,
        about=about,
        model_verdict="holds" if verdict == "holds" else None,
    )
    if verdict == "holds":
        question = replace(question, evidence=(*evidence, BY_A_MODEL.format(verdict)))
        return ChangeSet(summary="held against evidence", questions=(question,))
    less_trusted = any(memory.trust < belief.trust for memory in newer)
    if (less_trusted or unsure) and verdict is None:  # worth a question, not a challenge
        return ChangeSet(summary="asked about a belief", questions=(question,))
    # Without the text of the other memory, which may be purged one day.
    reason = contradiction_reason(newer[0].id) if newer else f"challenged: {evidence[0]}"
    values = {"status": "challenged", "status_reason": reason, "confidence": lowered_confidence(belief)}
    judged = BY_A_MODEL.format(verdict) if verdict else "judged by rule, certain" if newer else "judged by the code"
    receipt = f"{reason}; {judged}; confidence {belief.confidence:g} → {values['confidence']:.3g}"
    change = Change(memory_id=belief.id, action="challenged", reason=receipt, values=values)
    return ChangeSet(summary="challenged", changes=(change,), questions=(question,))


def _confirmed(belief: Memory, receipt: str) -> ChangeSet | None:
    values = confirmed(belief, Voice(CODE))
    if values is None:
        return None  # one voice counts once
    change = Change(memory_id=belief.id, action="confirmed", reason=receipt, values=values)
    return ChangeSet(summary="confirmed by the code", changes=(change,))


LONG = timedelta(days=90)
"""After this long without a confirmation or a change a belief may be asked about; each confirmation doubles it."""

LEANED_ON = 10
"""Recalls, in three sessions or more and one of them lately, from which a project leans on a belief."""

MOST_OPEN = 3
"""Open questions of this kind in one project: a night adds no more than that, and waits for answers."""

VERDICTS: tuple[Verdict, ...] = ("holds", "outdated", "revise", "forget")
_SESSIONS = 3
_LATELY = timedelta(days=60)
_NEIGHBOUR = 0.6
_NEIGHBOURS = 8
_LONGEST_SHOWN = 200
_ABOUT = "long unconfirmed"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A belief that is worth a question, why, and how much depends on it."""

    belief: Memory
    evidence: tuple[str, ...]
    weight: int
    changed: tuple[Memory, ...] = ()

    @property
    def about(self) -> tuple[str, ...]:
        """What makes the question the same in every dream: a belief is asked about once in this way."""
        return _about(self.belief)

    @property
    def question(self) -> ProposedQuestion:
        """What a person is asked."""
        return ProposedQuestion(
            kind="belief",
            memory_ids=(self.belief.id,),
            ask="Nothing has confirmed this for long. Does it hold? If not, revise gives the text that is true.",
            evidence=self.evidence,
            verdicts=VERDICTS,
            about=self.about,
        )


def doubts(snapshot: Snapshot, beliefs: Sequence[int]) -> Iterator[Doubt]:
    """Yield what is worth a question among these rows, what most depends on first, a few of each project."""
    found = [doubt for row in beliefs if (doubt := _doubt(row, snapshot)) is not None]
    room = Counter({doubt.belief.project: MOST_OPEN for doubt in found}) - _open(snapshot)
    for doubt in sorted(found, key=lambda one: (-one.weight, one.belief.id)):
        if room[doubt.belief.project] > 0:
            room[doubt.belief.project] -= 1
            yield doubt


def confirmed_at(belief: Memory) -> datetime:
    """Return when a belief was last written, confirmed or otherwise changed; being recalled confirms nothing."""
    return max(belief.created_at, belief.updated_at)


def is_long_unconfirmed(belief: Memory, now: datetime) -> bool:
    """Whether nothing has confirmed a belief for long."""
    return now - confirmed_at(belief) >= LONG * float(2 ** min(belief.confirmations, _MOST_DOUBLINGS))


def _doubt(row: int, snapshot: Snapshot) -> Doubt | None:
    belief, now = snapshot.memories[row], snapshot.now
    if belief.kind == "event" or not is_long_unconfirmed(belief, now) or _id(belief) in snapshot.asked:
        return None
    check = snapshot.checks.get(belief.id)
    if check is not None and check.checked.freshness == "verified":
        return None  # the code says so
    since = iso(confirmed_at(belief))[:10]
    changed = () if snapshot.as_left else tuple(islice(_changed_neighbours(row, snapshot), 3))
    evidence = [f"nothing has confirmed it since {since}; compared by age, recalls and neighbours, which is no proof"]
    if _is_leaned_on(belief, now):
        evidence.append(f"recalled {belief.access_count} times in {len(belief.sessions)} sessions, last lately")
    evidence += [f"changed since: {m.id}, {iso(m.updated_at)[:10]}: {m.content[:_LONGEST_SHOWN]}" for m in changed]
    return Doubt(belief, tuple(evidence), belief.access_count, changed) if len(evidence) > 1 else None


def _is_leaned_on(belief: Memory, now: datetime) -> bool:
    lately = belief.last_accessed_at is not None and now - belief.last_accessed_at <= _LATELY
    return lately and belief.access_count >= LEANED_ON and len(belief.sessions) >= _SESSIONS


def _changed_neighbours(row: int, snapshot: Snapshot) -> Iterator[Memory]:
    """Yield the neighbours on the same subject that were corrected, replaced or challenged since the confirmation."""
    belief = snapshot.memories[row]
    names = {name.casefold() for name in snapshot.texts.names(belief)}
    for other, _ in islice(snapshot.near.of(row, _NEIGHBOUR), _NEIGHBOURS):
        memory = snapshot.memories[other]
        if memory.kind in DERIVED_KINDS or memory.layer == "codebase" or memory.updated_at <= confirmed_at(belief):
            continue
        is_changed = memory.status == "challenged" or bool(memory.derived_from)
        if is_changed and not names.isdisjoint(name.casefold() for name in snapshot.texts.names(memory)):
            yield memory


def _open(snapshot: Snapshot) -> Counter[str]:
    """Count the open questions of this kind by project."""
    asked = (ids for kind, ids in snapshot.open_questions.values() if kind == "belief" and len(ids) == 1)
    beliefs = (snapshot.by_id[ids[0]] for ids in asked if ids[0] in snapshot.by_id)
    return Counter(belief.project for belief in beliefs if _id(belief) in snapshot.open_questions)


def _about(belief: Memory) -> tuple[str, ...]:
    return belief.id, _ABOUT


def _id(belief: Memory) -> str:
    return question_id("belief", (belief.id,), _about(belief))
