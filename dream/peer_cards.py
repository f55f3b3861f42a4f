"""One current card for each person, service, module or tool with five or more memories (002-dream).

A card quotes what it rests on and names the ids. When its ground has changed it is rewritten in place of the last;
when the ground is gone the card goes too, so that nothing forgotten lives on in it.
"""

from collections import Counter
from collections.abc import Sequence

from reverie.dream.derived_memories import derived_memory, line_of, may_be_built_on, spelled
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, NewMemory, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.ids import creation_order
from reverie.lifecycle.importance import adjusted_importance_of
from reverie.memory import Memory
from reverie.settings import Settings

FEWEST_MEMORIES = 5
MOST_LINES = 8
FEWEST_CARDS, MOST_CARDS = 10, 40
MEMORIES_PER_CARD = 20
"""A project has a card for every twenty memories, within these bounds. The most spoken-of have one, and a card that
is there stays while its ground does."""

Subject = tuple[str, str]


def peer_cards(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Write, rewrite or retire cards so that each subject has one that is true now."""
    grounds = _grounds(snapshot)
    current = _current(snapshot)
    change_sets: list[ChangeSet] = []
    for subject, cards in current.items():
        change_sets += _upkeep(cards, subject, grounds.get(subject, ()), snapshot)
    held = Counter(project for project, _ in current)
    room = _room(snapshot)
    for subject, ground in sorted(grounds.items(), key=lambda item: (-len(item[1]), item[0])):
        project = subject[0]
        if subject in current or len(ground) < FEWEST_MEMORIES or held[project] >= room[project]:
            continue
        held[project] += 1
        change_sets.append(_writing(subject, ground, (), snapshot))
    return Proposal(tuple(change_sets))


def _room(snapshot: Snapshot) -> dict[str, int]:
    sizes = Counter(memory.project for memory in snapshot.told)
    return {p: min(MOST_CARDS, max(FEWEST_CARDS, size // MEMORIES_PER_CARD)) for p, size in sizes.items()}


def _grounds(snapshot: Snapshot) -> dict[Subject, list[Memory]]:
    grounds: dict[Subject, list[Memory]] = {}
    for memory in snapshot.told:
        if memory.layer not in ("working", "codebase") and may_be_built_on(memory):
            for entity in snapshot.reading.of(memory).entities:
                grounds.setdefault((memory.project, entity), []).append(memory)
    return grounds


def _current(snapshot: Snapshot) -> dict[Subject, list[Memory]]:
    cards: dict[Subject, list[Memory]] = {}
    for memory in snapshot.memories:
        if memory.kind == "peer_card" and memory.source == "dream" and memory.entities:
            cards.setdefault((memory.project, memory.entities[0].casefold()), []).append(memory)
    return cards


def _upkeep(
    cards: Sequence[Memory], subject: Subject, ground: Sequence[Memory], snapshot: Snapshot
) -> list[ChangeSet]:
    if any(card.pinned for card in cards):
        return []  # held by someone as it is; a second card beside it would be one too many
    if len(ground) < FEWEST_MEMORIES:
        return [_retiring(card, snapshot) for card in cards]
    lines = _chosen(ground)
    newest = max(cards, key=lambda card: (card.created_at, creation_order(card.id)))
    if len(cards) == 1 and newest.content == _text(subject[1], lines, ground):
        return []
    if len(cards) == 1 and newest.created_at == snapshot.now:
        return [_correcting(newest, subject, ground, snapshot)]
    return [_writing(subject, ground, cards, snapshot)]


def _writing(subject: Subject, ground: Sequence[Memory], replaced: Sequence[Memory], snapshot: Snapshot) -> ChangeSet:
    project, entity = subject
    lines = _chosen(ground)
    card = derived_memory(
        _text(entity, lines, ground),
        kind="peer_card",
        layer="semantic",
        project=project,
        ground=lines,
        now=snapshot.now,
        entities=(entity,),
        tags=("peer-card",),
        title=f"About {spelled(entity, tuple(ground))}",
    )
    reason = f"rewritten as {card.id}: what it rests on has changed"
    values = {"status": "superseded", "superseded_by": card.id, "expired_at": snapshot.now, "status_reason": reason}
    return ChangeSet(
        summary="card rewritten" if replaced else "card written",
        new_memories=(NewMemory(memory=card, reason=f"rests on {len(lines)} memories"),),
        changes=tuple(Change(memory_id=old.id, action="rewritten", reason=reason, values=values) for old in replaced),
    )


def _correcting(card: Memory, subject: Subject, ground: Sequence[Memory], snapshot: Snapshot) -> ChangeSet:
    """Return the deed that brings a card of this very night in step with what later steps did."""
    better = _writing(subject, ground, (), snapshot).new_memories[0].memory
    names = ("content", "content_hash", "derived_from", "trust", "confidence", "title")
    values = {name: getattr(better, name) for name in names}
    change = Change(
        memory_id=card.id, action="rewritten", reason="its ground changed in the same night", values=values
    )
    return ChangeSet(summary="card corrected", changes=(change,))


def _retiring(card: Memory, snapshot: Snapshot) -> ChangeSet:
    reason = f"fewer than {FEWEST_MEMORIES} memories are left that it could rest on"
    values = {"status": "expired", "expired_at": snapshot.now, "status_reason": "ground-gone"}
    return ChangeSet(
        summary="card retired",
        changes=(Change(memory_id=card.id, action="ground-gone", reason=reason, values=values),),
    )


def _chosen(ground: Sequence[Memory]) -> list[Memory]:
    """Return the lines worth quoting, by what does not change from night to night, oldest first."""
    best = sorted(
        ground, key=lambda m: (-adjusted_importance_of(m), -m.created_at.timestamp(), creation_order(m.id))
    )[:MOST_LINES]
    return sorted(best, key=lambda memory: (memory.happened_at, creation_order(memory.id)))


def _text(entity: str, lines: Sequence[Memory], ground: Sequence[Memory]) -> str:
    quoted = "".join(f"\n- {line_of(memory, entity)}" for memory in lines)
    return f"{spelled(entity, tuple(ground))}:{quoted}"
