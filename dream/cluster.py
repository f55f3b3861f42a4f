"""The cluster step: five or more memories on one thing become one that keeps every fact, if a judge can word it.

A cluster is a memory with its neighbours at a cosine above 0.8, all in one scope, layer and class of trust; each
member must be that near to at least half of the others, so that a chain of small steps is no cluster. Cosine never
decides: four of five contradicting pairs lie above 0.8. A second signal is needed, and no two members may
contradict each other.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reverie.dream.beliefs import clashes
from reverie.dream.derived_memories import may_be_written
from reverie.dream.judge import Judge, missing_facts
from reverie.dream.plan import Change, ChangeSet, NewMemory, Proposal, ProposedQuestion, derived_memory_id
from reverie.dream.snapshot import DERIVED_KINDS, Snapshot
from reverie.ids import content_hash, creation_order
from reverie.lifecycle.vitals import highest_importance, inherited, longest_tier
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.text.tokenize import title_of

CLUSTER_COSINE = 0.8
FEWEST_MEMBERS = 5
MOST_MEMBERS = 24
SHARED_WORDS = 0.3
MOST_OPEN_QUESTIONS = 20
"""In one project: the questions of another are answered by other sessions."""

_OVERLAP = 0.5


def cluster(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Merge clusters that a judge can word as one; ask about the others."""
    if snapshot.as_left:
        return Proposal()
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
