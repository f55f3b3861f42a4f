"""The peer_cards step: one card for each person, service, module or tool with five or more memories (002-dream).

A card stands for an entity by whatever name: Alice, Alice Johnson and @alice share one. It says what the entity is
and what it is also called, quotes the facts in force, each with who said it, when, and the id of its memory, and says
which are in question, by which memory, and what is in doubt. What it is, what it does and who answers for it come
first; of two statements the newer is quoted rather than the older one that it may replace. When its sources have
changed, a new card supersedes it, and time alone changes nothing; when fewer than five are left it expires, so that
nothing forgotten is still quoted.

A language model, if one is set, words the facts of a card. Each of its lines must name memories that it was shown and
say nothing that they do not; what it left out or shortened is quoted, and without any such line the whole card is.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reverie.dream.derived_memories import derived_memory, line_of, may_be_built_on, may_be_written
from reverie.dream.judge import CardLine, Judge
from reverie.dream.plan import Change, ChangeSet, NewMemory, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.ids import content_hash, creation_order, short_id
from reverie.lifecycle.outcomes import Outcome, read_outcome
from reverie.lifecycle.vitals import adjusted_importance_of
from reverie.memory import Memory
from reverie.settings import Settings
from reverie.text.aliases import Entity, entities_of, key_of
from reverie.text.entities import what_is

FEWEST_FOR_A_CARD = 5
MOST_LINES = 8
MOST_DOUBTS = 3
MOST_ALIASES = 6
FEWEST_CARDS, MOST_CARDS = 10, 40
MEMORIES_PER_CARD = 20
"""A project has a card for every twenty memories, within these bounds. The subjects with the most memories
have one, and a card stays while its sources do."""

Subject = tuple[str, str]
"""A project, and what all spellings of an entity's name in it have in common."""


@dataclass(frozen=True, slots=True)
class _Sources:
    """An entity with the memories that a card of it rests on, and those that are in doubt."""

    project: str
    entity: Entity
    facts: Sequence[Memory]
    doubts: Sequence[Memory]  # challenged
    questioned: Mapping[str, str]  # the ids of facts that an open question is about, and of what questions each


def peer_cards(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Write, rewrite or expire cards so that each entity has one that is up to date."""
    sources, subjects = _sources(snapshot)
    current = _current(snapshot, subjects)
    change_sets: list[ChangeSet] = []
    for subject, cards in current.items():
        change_sets += _update(cards, sources.get(subject), snapshot, judge)
    cards_in = Counter(project for project, _ in current)
    most_cards = _most_cards(snapshot)
    for subject, found in sorted(sources.items(), key=lambda item: (-len(item[1].facts), item[0])):
        project = subject[0]
        if subject in current or len(found.facts) < FEWEST_FOR_A_CARD or cards_in[project] >= most_cards[project]:
            continue
        cards_in[project] += 1
        change_sets.append(_card_change_set(found, (), snapshot, judge))
    return Proposal(tuple(change_sets))


def _most_cards(snapshot: Snapshot) -> dict[str, int]:
    sizes = Counter(memory.project for memory in snapshot.original_memories)
    return {p: min(MOST_CARDS, max(FEWEST_CARDS, size // MEMORIES_PER_CARD)) for p, size in sizes.items()}


def _sources(snapshot: Snapshot) -> tuple[dict[Subject, _Sources], dict[Subject, Subject]]:
    """Return what each entity's card would rest on, and which entity the key of any spelling belongs to."""
    memories: dict[str, list[Memory]] = {}
    for memory in snapshot.original_memories:
        doubted = may_be_built_on(replace(memory, status="active")) and memory.status == "challenged"
        if memory.layer not in ("working", "codebase") and (may_be_built_on(memory) or doubted):
            memories.setdefault(memory.project, []).append(memory)
    asked = (ids for kind, ids in snapshot.open_questions.values() if kind in ("belief", "drift"))
    questioned = {first: rest[0] if rest else "" for first, *rest in asked}
    sources: dict[Subject, _Sources] = {}
    subjects: dict[Subject, Subject] = {}
    for project, own in memories.items():
        naming: dict[str, list[Memory]] = {}
        for memory in own:
            for name in snapshot.texts.names(memory):
                naming.setdefault(name, []).append(memory)
        for entity in entities_of({name: len(named) for name, named in naming.items()}):
            subject = project, key_of(entity.name)
            subjects |= {(project, key_of(name)): subject for name in entity.spellings}
            found = {one.id: one for name in entity.spellings for one in naming[name]}.values()
            facts = [memory for memory in found if memory.status == "active"]
            doubts = [memory for memory in found if memory.status == "challenged"]
            sources[subject] = _Sources(project, entity, facts, doubts, questioned)
    return sources, subjects


def _current(snapshot: Snapshot, subjects: Mapping[Subject, Subject]) -> dict[Subject, list[Memory]]:
    cards: dict[Subject, list[Memory]] = {}
    for memory in snapshot.memories:
        if memory.kind == "peer_card" and memory.source == "dream" and memory.entities:
            named = [(memory.project, key_of(name)) for name in memory.entities]
            subject = next((subjects[one] for one in named if one in subjects), named[0])
            cards.setdefault(subject, []).append(memory)
    return cards


def _update(cards: Sequence[Memory], sources: _Sources | None, snapshot: Snapshot, judge: Judge) -> list[ChangeSet]:
    if any(card.pinned for card in cards):
        return []  # somebody keeps it as it is, and an entity has one card
    if sources is None or len(sources.facts) < FEWEST_FOR_A_CARD:
        return [_expiring(card, snapshot) for card in cards]
    newest = max(cards, key=lambda card: (card.created_at, creation_order(card.id)))
    if len(cards) == 1 and _is_up_to_date(newest, sources):
        return []
    if len(cards) == 1 and newest.created_at == snapshot.now:
        return [_correcting(newest, sources, snapshot, judge)]
    return [_card_change_set(sources, cards, snapshot, judge)]


def _is_up_to_date(card: Memory, sources: _Sources) -> bool:
    """Whether a card says what its sources say: in their words, or in a model's words for the same."""
    quoted = _text(sources)
    return card.content == quoted or card.source_ref == _reference_of(quoted)


def _reference_of(quoted: str) -> str:
    """Return what a card in a model's words keeps of the quoted one, by which it is known when that changes."""
    return f"sources:{content_hash(quoted)[:24]}"


def _card_change_set(sources: _Sources, replaced: Sequence[Memory], snapshot: Snapshot, judge: Judge) -> ChangeSet:
    lines, doubts = _chosen(sources.facts, MOST_LINES, sources), _chosen(sources.doubts, MOST_DOUBTS, sources)
    entity = sources.entity
    quoted = _text(sources)
    worded = [line for line in judge.card_lines(entity.name, lines, MOST_LINES) if may_be_written(line.text)]
    card = derived_memory(
        _text(sources, worded),
        kind="peer_card",
        layer="semantic",
        project=sources.project,
        sources=[*lines, *doubts],
        now=snapshot.now,
        entities=(entity.name, *entity.aliases[:MOST_ALIASES]),
        tags=("peer-card",),
        title=f"About {entity.name}",
        source_ref=_reference_of(quoted) if worded else None,
    )
    card = replace(card, confidence=min(memory.confidence for memory in lines))  # doubts are called so
    reason = f"rewritten as {card.id}: what it rests on has changed"
    values = {"status": "superseded", "superseded_by": card.id, "expired_at": snapshot.now, "status_reason": reason}
    return ChangeSet(
        summary="card rewritten" if replaced else "card written",
        new_memories=(NewMemory(memory=card, reason=f"rests on {len(lines)} memories"),),
        changes=tuple(Change(memory_id=old.id, action="rewritten", reason=reason, values=values) for old in replaced),
    )


def _correcting(card: Memory, sources: _Sources, snapshot: Snapshot, judge: Judge) -> ChangeSet:
    """Return the change that updates a card written in this dream after later steps changed its sources."""
    better = _card_change_set(sources, (), snapshot, judge).new_memories[0].memory
    names = ("content", "content_hash", "derived_from", "trust", "confidence", "title", "entities", "source_ref")
    values = {name: getattr(better, name) for name in names}
    change = Change(
        memory_id=card.id, action="rewritten", reason="its sources changed in the same dream", values=values
    )
    return ChangeSet(summary="card corrected", changes=(change,))


def _expiring(card: Memory, snapshot: Snapshot) -> ChangeSet:
    reason = f"fewer than {FEWEST_FOR_A_CARD} memories are left that it could rest on"
    # "ground-gone" is the stored status reason and journal action.
    values = {"status": "expired", "expired_at": snapshot.now, "status_reason": "ground-gone"}
    return ChangeSet(
        summary="card retired",
        changes=(Change(memory_id=card.id, action="ground-gone", reason=reason, values=values),),
    )


_ROLE: Final = re.compile(
    r"\b(?:is|are) (?:an?|the|our|in charge|on call|owned|maintained|used|where)\b"
    r"|\b(?:owns?|owner|maintain(?:s|ed|er)|responsible|leads?|contact|in charge|keeps?|holds?|stores?|handles?|runs"
    r"|serves?|takes care|decided|depends?|reviews?|approves?|zuständig|verantwortlich|betreut|responsable|encarga"
    r"|gère)\b|担当|负责",
    re.IGNORECASE,
)
"""Words of a statement that says what something is, what it does or who answers for it."""

_FOR_THE_SUBJECT, _FOR_A_ROLE, _FOR_THE_NEWER, _IN_QUESTION = 0.1, 0.15, 0.2, -0.15


def _worth(memory: Memory, sources: _Sources) -> float:
    """Return how much a memory belongs on a card, on the scale of importance.

    Only what stays the same from dream to dream counts, so that time alone rewrites no card.
    """
    text = memory.content.casefold().removeprefix("the ").removeprefix("our ")
    return (
        adjusted_importance_of(memory)
        + _FOR_THE_SUBJECT * text.startswith(tuple(name.casefold() for name in sources.entity.spellings))
        + _FOR_A_ROLE * bool(_ROLE.search(memory.content))
        + _FOR_THE_NEWER * (memory.id in sources.questioned.values())
        + _IN_QUESTION * (memory.id in sources.questioned)
    )


def _chosen(memories: Sequence[Memory], most: int, sources: _Sources) -> list[Memory]:
    """Return the memories to quote: those that say what the entity is or does, then the others, each oldest first."""
    best = sorted(memories, key=lambda m: (-_worth(m, sources), -m.created_at.timestamp(), creation_order(m.id)))
    return sorted(best[:most], key=lambda m: (not _ROLE.search(m.content), m.happened_at, creation_order(m.id)))


def _text(sources: _Sources, worded: Sequence[CardLine] = ()) -> str:
    """Return a card: what the entity is and is called, its facts, and what is in doubt, each with its memory."""
    entity = sources.entity
    also = f"also {', '.join(entity.aliases[:MOST_ALIASES])}" if entity.aliases else ""
    what = what_is(entity.name, [memory.content for memory in sources.facts])
    notes = "; ".join(part for part in (what, also) if part)
    lines = [f"{entity.name} ({notes}):" if notes else f"{entity.name}:"]
    said = {memory_id for line in worded for memory_id in line.in_full}
    lines += [f"- {line.text} ({'; '.join(_said(one, sources) for one in line.sources)})" for line in worded]
    lines += [
        _quoted(memory, sources) for memory in _chosen(sources.facts, MOST_LINES, sources) if memory.id not in said
    ]
    if len(sources.facts) > MOST_LINES:
        lines.append(f'More is known: recall(entity="{entity.name}").')
    if sources.doubts:
        lines.append("In doubt:")
        lines += [_quoted(memory, sources) for memory in _chosen(sources.doubts, MOST_DOUBTS, sources)]
    return "\n".join(lines)


def _quoted(memory: Memory, sources: _Sources) -> str:
    return f"- {line_of(memory, list(sources.entity.spellings))} ({_said(memory, sources)})"


def _said(memory: Memory, sources: _Sources) -> str:
    """Return who said something, when, and the id of the memory; what came of it, and whether it is in question."""
    said = [memory.source, f"{memory.happened_at:%Y-%m-%d}", short_id(memory.id)]
    outcome = read_outcome(memory.outcome)
    said += [Outcome(outcome.result, outcome.day).described()] if outcome is not None else []
    if memory.id in sources.questioned:
        by = sources.questioned[memory.id]
        said.append(f"in question: see {short_id(by)}" if by else "in question")
    return ", ".join(said)
