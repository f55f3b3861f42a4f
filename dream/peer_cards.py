"""The peer_cards step: one card for each person, service, module or tool with five or more memories (002-dream).

A card quotes its sources and stores their ids. When they have changed, a new card supersedes it; when fewer than five
are left it expires, so that nothing forgotten is still quoted.
"""

from collections import Counter
from collections.abc import Sequence

from reverie.dream.derived_memories import derived_memory, line_of, may_be_built_on, spelled
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, ChangeSet, NewMemory, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.ids import creation_order
from reverie.lifecycle.vitals import adjusted_importance_of
from reverie.memory import Memory
from reverie.settings import Settings

FEWEST_MEMORIES = 5
MOST_LINES = 8
FEWEST_CARDS, MOST_CARDS = 10, 40
MEMORIES_PER_CARD = 20
"""A project has a card for every twenty memories, within these bounds. The subjects with the most memories
have one, and a card stays while its sources do."""

Subject = tuple[str, str]


def peer_cards(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Write, rewrite or expire cards so that each subject has one that is up to date."""
    sources = _sources(snapshot)
    current = _current(snapshot)
    change_sets: list[ChangeSet] = []
    for subject, cards in current.items():
        change_sets += _update(cards, subject, sources.get(subject, ()), snapshot)
    cards_in = Counter(project for project, _ in current)
    most_cards = _most_cards(snapshot)
    for subject, memories in sorted(sources.items(), key=lambda item: (-len(item[1]), item[0])):
        project = subject[0]
        if subject in current or len(memories) < FEWEST_MEMORIES or cards_in[project] >= most_cards[project]:
            continue
        cards_in[project] += 1
        change_sets.append(_writing(subject, memories, (), snapshot))
    return Proposal(tuple(change_sets))


def _most_cards(snapshot: Snapshot) -> dict[str, int]:
    sizes = Counter(memory.project for memory in snapshot.original_memories)
    return {p: min(MOST_CARDS, max(FEWEST_CARDS, size // MEMORIES_PER_CARD)) for p, size in sizes.items()}


def _sources(snapshot: Snapshot) -> dict[Subject, list[Memory]]:
    sources: dict[Subject, list[Memory]] = {}
    for memory in snapshot.original_memories:
        if memory.layer not in ("working", "codebase") and may_be_built_on(memory):
            for entity in snapshot.texts.of(memory).entities:
                sources.setdefault((memory.project, entity), []).append(memory)
    return sources


def _current(snapshot: Snapshot) -> dict[Subject, list[Memory]]:
    cards: dict[Subject, list[Memory]] = {}
    for memory in snapshot.memories:
        if memory.kind == "peer_card" and memory.source == "dream" and memory.entities:
            cards.setdefault((memory.project, memory.entities[0].casefold()), []).append(memory)
    return cards


def _update(
    cards: Sequence[Memory], subject: Subject, sources: Sequence[Memory], snapshot: Snapshot
) -> list[ChangeSet]:
    if any(card.pinned for card in cards):
        return []  # somebody keeps it as it is, and a subject has one card
    if len(sources) < FEWEST_MEMORIES:
        return [_expiring(card, snapshot) for card in cards]
    lines = _chosen(sources)
    newest = max(cards, key=lambda card: (card.created_at, creation_order(card.id)))
    if len(cards) == 1 and newest.content == _text(subject[1], lines, sources):
        return []
    if len(cards) == 1 and newest.created_at == snapshot.now:
        return [_correcting(newest, subject, sources, snapshot)]
    return [_writing(subject, sources, cards, snapshot)]


def _writing(
    subject: Subject, sources: Sequence[Memory], replaced: Sequence[Memory], snapshot: Snapshot
) -> ChangeSet:
    project, entity = subject
    lines = _chosen(sources)
    card = derived_memory(
        _text(entity, lines, sources),
        kind="peer_card",
        layer="semantic",
        project=project,
        sources=lines,
        now=snapshot.now,
        entities=(entity,),
        tags=("peer-card",),
        title=f"About {spelled(entity, tuple(sources))}",
    )
    reason = f"rewritten as {card.id}: what it rests on has changed"
    values = {"status": "superseded", "superseded_by": card.id, "expired_at": snapshot.now, "status_reason": reason}
    return ChangeSet(
        summary="card rewritten" if replaced else "card written",
        new_memories=(NewMemory(memory=card, reason=f"rests on {len(lines)} memories"),),
        changes=tuple(Change(memory_id=old.id, action="rewritten", reason=reason, values=values) for old in replaced),
    )


def _correcting(card: Memory, subject: Subject, sources: Sequence[Memory], snapshot: Snapshot) -> ChangeSet:
    """Return the change that updates a card written in this dream after later steps changed its sources."""
    better = _writing(subject, sources, (), snapshot).new_memories[0].memory
    names = ("content", "content_hash", "derived_from", "trust", "confidence", "title")
    values = {name: getattr(better, name) for name in names}
    change = Change(
        memory_id=card.id, action="rewritten", reason="its sources changed in the same dream", values=values
    )
    return ChangeSet(summary="card corrected", changes=(change,))


def _expiring(card: Memory, snapshot: Snapshot) -> ChangeSet:
    reason = f"fewer than {FEWEST_MEMORIES} memories are left that it could rest on"
    # "ground-gone" is the stored status reason and journal action.
    values = {"status": "expired", "expired_at": snapshot.now, "status_reason": "ground-gone"}
    return ChangeSet(
        summary="card retired",
        changes=(Change(memory_id=card.id, action="ground-gone", reason=reason, values=values),),
    )


def _chosen(sources: Sequence[Memory]) -> list[Memory]:
    """Return the memories to quote, oldest first, chosen by values that do not change from dream to dream."""
    best = sorted(
        sources, key=lambda m: (-adjusted_importance_of(m), -m.created_at.timestamp(), creation_order(m.id))
    )[:MOST_LINES]
    return sorted(best, key=lambda memory: (memory.happened_at, creation_order(memory.id)))


def _text(entity: str, lines: Sequence[Memory], sources: Sequence[Memory]) -> str:
    quoted = "".join(f"\n- {line_of(memory, entity)}" for memory in lines)
    return f"{spelled(entity, tuple(sources))}:{quoted}"
