"""The two steps that merge memories: dedupe and cluster.

The dedupe step: of near-identical memories the newer stays, with the recalls and confirmations of the others
(003-contradiction).

Texts are compared only with those that share one of their rarest tokens (the prefix filter of set-similarity
joins: two texts more than 0.9 alike must share one of the rarest tenth), so a store of a hundred thousand is not
compared all with all.

The cluster step: five or more memories on one thing become one that keeps every fact, if a judge can word it.

A cluster is a memory with its neighbours at a cosine above 0.8, all in one scope, layer and class of trust; each
member must be that near to at least half of the others, so that a chain of small steps is no cluster. Cosine never
decides: four of five contradicting pairs lie above 0.8. A second signal is needed, and no two members may
contradict each other.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from reverie.dream.beliefs import clashes
from reverie.dream.derived_memories import may_be_written, shared_by
from reverie.dream.judge import Judge, missing_facts
from reverie.dream.plan import Change, ChangeSet, NewMemory, Proposal, ProposedQuestion, derived_memory_id
from reverie.dream.snapshot import DERIVED_KINDS, Snapshot
from reverie.ids import content_hash, creation_order
from reverie.lifecycle.outcomes import joined_outcome
from reverie.lifecycle.rules import WHOLE
from reverie.lifecycle.vitals import highest_importance, inherited, longest_tier
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.text.compare import CONTRADICTION_SIMILARITY, restates
from reverie.text.shorten import title_of

_MOST_COMPARED = 200
"""Of the texts that share a rare token only the latest are compared; more than these come from a template."""

_ANOTHER_DAY = timedelta(days=1)


def dedupe(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Supersede each memory that a newer one repeats in the same words."""
    newest_first = sorted(
        snapshot.original_memories, key=lambda memory: (memory.created_at, creation_order(memory.id)), reverse=True
    )
    index = _TokenIndex(newest_first, snapshot)
    gone: set[str] = set()
    change_sets = []
    for row, newer in enumerate(newest_first):
        if newer.id in gone:
            continue
        repeated = [
            older
            for older in index.candidates(row)
            if older.id not in gone
            and older.id != newer.id
            and _may_be_one(older, newer)
            and index.is_restated(older, newer)
        ]
        twins = [older for older in repeated if older.trust <= newer.trust]
        if twins:
            gone |= {twin.id for twin in twins}
            change_sets.append(_superseding(newer, twins, snapshot))
        elif repeated:  # only more trusted ones say it: then this one is superseded
            gone.add(newer.id)
            change_sets.append(_superseding(repeated[0], [newer], snapshot))
    return Proposal(tuple(change_sets))


def _may_be_one(one: Memory, other: Memory) -> bool:
    """Whether one of two memories may replace the other: same project, layer, kind and tier, no pin, no deadline."""
    if one.kind == "event" and abs(one.happened_at - other.happened_at) >= _ANOTHER_DAY:
        return False  # the same event on two days is two events
    return (
        (one.project, one.layer, one.kind, one.tier) == (other.project, other.layer, other.kind, other.tier)
        and not (one.pinned or other.pinned)
        and one.forget_after is None
        and other.forget_after is None
    )


def _superseding(heir: Memory, twins: Sequence[Memory], snapshot: Snapshot) -> ChangeSet:
    vitals = inherited(heir, twins)
    vitals |= {"outcome": joined_outcome(heir, tuple(twins))}
    kept: dict[str, Any] = {name: value for name, value in vitals.items() if value != getattr(heir, name)}
    reason = f"says the same as {heir.id}"
    changes = [
        Change(
            memory_id=twin.id,
            action="duplicate",
            reason=reason,
            values={
                "status": "superseded",
                "superseded_by": heir.id,
                "expired_at": snapshot.now,
                "status_reason": reason,
            },
        )
        for twin in twins
    ]
    if kept:
        taken_over = f"takes over from {', '.join(twin.id for twin in twins[:3])}"
        changes.append(Change(memory_id=heir.id, action="inherited", reason=taken_over, values=kept))
    return ChangeSet(summary="said again", changes=tuple(changes))


class _TokenIndex:
    """An index of texts by their rarest tokens."""

    def __init__(self, memories: Sequence[Memory], snapshot: Snapshot) -> None:
        self._memories = memories
        self._forms = [snapshot.texts.of(memory).forms for memory in memories]
        self._forms_by_id = {memory.id: forms for memory, forms in zip(memories, self._forms, strict=True)}
        # By project: what is compared with what must not hang on memories of other projects.
        frequency: dict[str, Counter[str]] = {}
        for memory, forms in zip(memories, self._forms, strict=True):
            frequency.setdefault(memory.project, Counter()).update(set(forms))
        self._prefixes = [
            _rarest(forms, frequency[memory.project]) for memory, forms in zip(memories, self._forms, strict=True)
        ]
        # A restatement has the same numbers, names and paths, so most texts have few others to be compared with.
        self._groups = [(memory.project, memory.layer, snapshot.texts.of(memory).facts) for memory in memories]
        self._by_token: dict[tuple[tuple[str, str, int], str], list[int]] = {}
        for row, group in enumerate(self._groups):
            for form in self._prefixes[row]:
                self._by_token.setdefault((group, form), []).append(row)

    def candidates(self, row: int) -> Iterator[Memory]:
        """Yield the older memories that may be near-identical, the latest first."""
        length = len(self._forms[row])
        seen: set[int] = set()
        for form in self._prefixes[row]:
            same = self._by_token[self._groups[row], form]
            for other in same[bisect_right(same, row) :][:_MOST_COMPARED]:
                shorter, longer = sorted((length, len(self._forms[other])))
                if other not in seen and shorter > CONTRADICTION_SIMILARITY * longer:
                    seen.add(other)
                    yield self._memories[other]

    def is_restated(self, one: Memory, other: Memory) -> bool:
        """Whether two texts are more than 0.9 alike by tokens, and restate each other."""
        if one.content_hash == other.content_hash:
            return True
        left, right = Counter(self._forms_by_id[one.id]), Counter(self._forms_by_id[other.id])
        union = (left | right).total()
        similar = union > 0 and (left & right).total() / union > CONTRADICTION_SIMILARITY
        return similar and restates(one.content, other.content)


def _rarest(forms: Sequence[str], frequency: Counter[str]) -> list[str]:
    """Return the tokens of which two texts more than 0.9 alike must share one."""
    distinct = sorted(set(forms), key=lambda form: (frequency[form], form))
    return distinct[: len(forms) - int(CONTRADICTION_SIMILARITY * len(forms)) + 1]


CLUSTER_COSINE = 0.8
FEWEST_MEMBERS = 5
MOST_MEMBERS = 24
SHARED_WORDS = 0.3
MOST_OPEN_QUESTIONS = 20
"""In one project: the questions of another are answered by other sessions."""

_OVERLAP = 0.5


def cluster(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Merge clusters that a judge can word as one; ask about the others."""
    change_sets: list[ChangeSet] = []
    asked = [set(ids) for kind, ids in snapshot.open_questions.values() if kind == "merge"]
    still_open = snapshot.open_by_project("merge")
    waiting = 0
    for members in clusters_of(snapshot):
        question = _question(members)
        if question.id in snapshot.asked:
            continue
        text = judge.merged(members)
        if text is not None and not missing_facts(text, members) and may_be_written(text):
            change_sets.append(merging(members, text, snapshot.now))
        elif any(_overlap(ids, members) >= _OVERLAP for ids in asked):
            continue  # a question about nearly the same memories is open
        elif still_open[members[0].project] < MOST_OPEN_QUESTIONS:
            still_open[members[0].project] += 1
            asked.append({member.id for member in members})
            change_sets.append(ChangeSet(summary="asked whether to merge", questions=(question,)))
        else:
            waiting += 1
    notes = (f"{waiting} more clusters wait until some of the open questions are answered",) if waiting else ()
    return Proposal(tuple(change_sets), notes)


def clusters_of(snapshot: Snapshot) -> list[list[Memory]]:
    """Return coherent clusters, the largest first; no memory is in two."""
    candidates = [
        (row, [row, *(other for other, _ in snapshot.near.of(row, CLUSTER_COSINE))])
        for row, memory in enumerate(snapshot.memories)
        if _may_merge(memory) and len(snapshot.near.rows[row]) >= FEWEST_MEMBERS - 1
    ]
    candidates.sort(key=lambda candidate: (-len(candidate[1]), creation_order(snapshot.memories[candidate[0]].id)))
    taken: set[int] = set()
    found = []
    for row, near in candidates:
        if row in taken:
            continue
        members = _coherent([other for other in near if other not in taken], row, snapshot)
        if len(members) >= FEWEST_MEMBERS:
            taken |= set(members)
            found.append([snapshot.memories[member] for member in members])
    return found


def merging(members: Sequence[Memory], text: str, now: datetime) -> ChangeSet:
    """Return the change set that writes one memory for several and supersedes them."""
    merged = merged_memory(members, text, now)
    reason = f"merged into {merged.id}"
    values = {
        "status": "superseded",
        "superseded_by": merged.id,
        "expired_at": now,
        "status_reason": reason,
    }
    return ChangeSet(
        summary=f"merged {len(members)} into one",
        new_memories=(NewMemory(memory=merged, reason=f"merged from {len(members)} memories"),),
        changes=tuple(
            Change(memory_id=member.id, action="merged", reason=reason, values=values) for member in members
        ),
    )


def merged_memory(members: Sequence[Memory], text: str, now: datetime) -> Memory:
    """Return the merged memory: it has the recalls of all, the highest importance and the lowest trust."""
    newest = max(members, key=lambda memory: (memory.created_at, creation_order(memory.id)))
    heir = replace(
        newest,
        source="dream",
        access_count=0,
        last_accessed_at=None,
        access_times=(),
        sessions=(),
        confirmed_by=(),
        stability=0.0,
    )
    return replace(
        heir,
        id=derived_memory_id(now, "merge", *sorted(member.id for member in members)),
        content=text,
        content_hash=content_hash(text),
        title=title_of(text),
        kind=Counter(member.kind for member in members).most_common(1)[0][0],
        tags=tuple(dict.fromkeys(tag for member in members for tag in member.tags)),
        entities=tuple(dict.fromkeys(entity for member in members for entity in member.entities)),
        branch=None,
        session=None,
        source_ref=None,
        trust=min(member.trust for member in members),
        confidence=min(member.confidence for member in members),
        derived_from=tuple(member.id for member in members),
        importance=highest_importance(members),
        surprise=None,
        created_at=now,
        happened_at=max(member.happened_at for member in members),
        updated_at=now,
        core=any(member.core for member in members),
        tier=longest_tier(members),
        status="active",
        status_reason=None,
        precision=WHOLE,
        outcome=joined_outcome(newest, tuple(members)),
        **shared_by(members),
        anchors=tuple(dict.fromkeys(anchor for member in members for anchor in member.anchors)),
        **inherited(heir, members),
    )


def _coherent(near: Sequence[int], centre: int, snapshot: Snapshot) -> list[int]:
    """Return the neighbours that belong with the centre and with each other."""
    memories = snapshot.memories
    central = memories[centre]
    fitting = [row for row in near if row == centre or _belongs(memories[row], central, snapshot)][:MOST_MEMBERS]
    products = snapshot.vectors[fitting] @ snapshot.vectors[fitting].T > CLUSTER_COSINE
    together = [
        row for row, close in zip(fitting, products, strict=True) if 2 * (close.sum() - 1) >= len(fitting) - 1
    ]
    members: list[int] = []
    for row in together:
        if not any(clashes(memories[row], memories[other], snapshot) for other in members):
            members.append(row)
    return members


def _belongs(memory: Memory, central: Memory, snapshot: Snapshot) -> bool:
    return (
        _may_merge(memory)
        and (memory.project, memory.layer, memory.trust) == (central.project, central.layer, central.trust)
        and _on_one_subject(memory, central, snapshot)
    )


def _on_one_subject(memory: Memory, central: Memory, snapshot: Snapshot) -> bool:
    """Whether there is a second signal: a shared entity, or three tenths of the words in common."""
    ours, theirs = snapshot.texts.of(memory), snapshot.texts.of(central)
    if set(ours.entities) & set(theirs.entities):
        return True
    union = ours.words | theirs.words
    return bool(union) and len(ours.words & theirs.words) / len(union) >= SHARED_WORDS


def _may_merge(memory: Memory) -> bool:
    return (
        memory.status == "active"
        and not memory.pinned
        and memory.forget_after is None
        and memory.kind not in DERIVED_KINDS
        and memory.layer not in ("working", "codebase")
    )


def _question(members: Sequence[Memory]) -> ProposedQuestion:
    return ProposedQuestion(
        kind="merge",
        memory_ids=tuple(sorted(member.id for member in members)),
        ask="Do these say one thing? Then give one text that keeps every number, name, date and path of them.",
        evidence=(f"{len(members)} memories with a cosine above {CLUSTER_COSINE} and a shared subject",),
        verdicts=("merge", "separate"),
    )


def _overlap(ids: set[str], members: Sequence[Memory]) -> float:
    own = {member.id for member in members}
    return len(ids & own) / len(ids | own)
