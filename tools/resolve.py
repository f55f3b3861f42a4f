"""Finding what an id names: one rule for memories, questions, dreams and events."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound
from reverie.ids import SHORTEST_PREFIX
from reverie.memory import LOCAL_PERSON, Memory, author_of
from reverie.storage.dream_records import DreamRecord, ReviewQuestion
from reverie.storage.filters import starts_with
from reverie.storage.journal import Event
from reverie.storage.scope import owner_in
from reverie.tools.requests import checked_ids
from reverie.tools.session import Session


class _Named(Protocol):
    @property
    def id(self) -> str: ...


Thing = TypeVar("Thing", bound=_Named)

_IDS_AT_ONCE = 500
_SEE_DREAMS = "`reverie dreams` lists them."


async def resolved(session: Session, given: str) -> Memory:
    """Return the memory in scope with this id, or the only one whose id begins so.

    Raises:
        MemoryNotFound: if there is none.
        AmbiguousId: if a prefix fits several.
        InvalidInput: if a prefix is too short to be meant.
    """
    try:
        memory = await session.store.resolve(given)
        fitting = [memory]
        if memory.id == given and not session.sees(memory):  # it may still be the prefix of one in scope
            fitting = await session.store.find(starts_with("id", given)) if len(given) >= SHORTEST_PREFIX else []
    except AmbiguousId as error:
        fitting = list((await session.store.get(list(error.candidates))).values())
    here = [memory for memory in fitting if session.sees(memory)]
    if not here:
        raise MemoryNotFound(given)
    if len(here) > 1:
        raise AmbiguousId(given, sorted(memory.id for memory in here))
    return here[0]


async def resolved_each(session: Session, ids: Sequence[str], argument: str = "ids") -> list[Memory]:
    """Return the memories that a list of ids names, each once, though a prefix and the whole id may both name it.

    Raises:
        MemoryNotFound: if one of them is unknown.
        AmbiguousId: if a prefix fits several.
        InvalidInput: if there are none, too many, or a prefix is too short to be meant.
    """
    memories = [await resolved(session, given) for given in checked_ids(ids, argument)]
    return list({memory.id: memory for memory in memories}.values())


async def resolved_to_read(session: Session, ids: Sequence[str]) -> list[Memory]:
    """Return the memories that a list of ids names to somebody who only reads: a whole id is found in any project.

    Raises:
        MemoryNotFound: if one of them is unknown.
        AmbiguousId: if a prefix fits several.
        InvalidInput: if there are none, too many, or a prefix is too short to be meant.
    """
    given = checked_ids(ids)
    whole = await session.store.get(list(dict.fromkeys(given)))
    memories = [whole[one] if one in whole else await resolved(session, one) for one in given]
    return list({memory.id: memory for memory in memories}.values())


async def resolved_question(session: Session, given: str) -> ReviewQuestion:
    """Return the question in scope with this id, whatever its status.

    Raises:
        InvalidInput: if there is none, several begin so, or a prefix is too short to be meant.
    """
    found = await session.store.review_queue.named(given) if given.strip() else []
    seen = [asked for asked in found if await sees_question(session, asked)]
    return _only("question_id", "question", given, seen, "Use review to see the open ones.")


async def resolved_dream(session: Session, given: str, argument: str = "dream_id") -> DreamRecord:
    """Return the dream with this id. Dreams are the store's: whoever tells one leaves out what it did elsewhere.

    Raises:
        InvalidInput: if there is none, several begin so, or a prefix is too short to be meant.
    """
    dream_log = await session.store.dream_log.named(given) if given.strip() else []
    return _only(argument, "dream", given, [one for one in dream_log if sees_dream(session, one)], _SEE_DREAMS)


async def resolved_batch(session: Session, given: str) -> str:
    """Return the id of a dream, an answer in review or a drift check that may be undone from here.

    Undoing is whole or not at all, so everything that it changed or asked must be in scope, or this session did it.

    Raises:
        InvalidInput: if there is none, several begin so, a prefix is too short, or it changed other projects too.
    """
    found: dict[str, _Batch] = {}
    asked_by: dict[str, Sequence[str]] = {}
    if given.strip():
        dream_log = [one for one in await session.store.dream_log.named(given) if sees_dream(session, one)]
        questions = await session.store.review_queue.named(given)
        events = await session.store.journal.beginning("batch", given)
        answers = [asked.id for asked in questions if await sees_question(session, asked)]
        hidden = {asked.id for asked in questions} - set(answers)
        batches = [event.batch for event in events if event.batch and event.batch not in hidden]
        found = {name: _Batch(name) for name in (*(record.id for record in dream_log), *answers, *batches)}
        asked_by = {record.id: record.report.get("questions", ()) for record in dream_log}
    shares = {name: await _effects_in_scope(session, name, asked_by.get(name, ())) for name in found}
    own = session.served.has_shown
    seen = [batch for name, batch in found.items() if shares[name] != _NONE or own(name)]
    batch = _only("dream_id", "dream", given, seen, _SEE_DREAMS)
    if shares[batch.id] != _ALL and not own(batch.id):
        raise InvalidInput(
            "dream_id",
            f"{batch.id} changed memories of other projects too, or asked about them",
            f"`reverie dreams {batch.id} --undo --all-projects` undoes all of it; restore(ids) single ones.",
        )
    return batch.id


async def resolved_event(session: Session, given: str) -> Event:
    """Return the event with this id, if the memory it is about is in scope or gone.

    Raises:
        InvalidInput: if there is none, several begin so, or a prefix is too short to be meant.
    """
    events = await session.store.journal.beginning("id", given) if given.strip() else []
    memories = await memories_of(session, events)
    seen = [event for event in events if _may_name(session, event, sees_event(session, event, memories))]
    return _only("event_id", "event", given, seen, "Use inspect to see a memory's events.")


async def sees_question(session: Session, asked: ReviewQuestion) -> bool:
    """Say whether a question is about nothing but memories in scope."""
    memories = await session.whole_store.get(list(asked.memory_ids))
    return all(map(session.sees, memories.values()))


def sees_dream(session: Session, record: DreamRecord) -> bool:
    """Say whether a dream was the team's, or one of this person's personal memories."""
    return session.store.viewer.sees_owner(record.owner)


async def count_questions(session: Session) -> int:
    """Count the open questions, without those about what this person may not see."""
    queue = session.store.review_queue
    if not await queue.count_open():
        return 0
    asked = await queue.open()
    memories = await session.whole_store.get(list({one for question in asked for one in question.memory_ids}))
    hidden = {one for one, memory in memories.items() if not session.store.viewer.sees(memory)}
    return sum(hidden.isdisjoint(question.memory_ids) for question in asked)


def sees_event(session: Session, event: Event, memories: Mapping[str, Memory]) -> bool | None:
    """Say whether an event is about a memory in scope; None if nothing tells whose it was.

    `memories` are those that the events are about, whoever may see them: see `memories_of`.
    """
    memory = memories.get(event.memory_id)
    if memory is not None:
        return session.sees(memory)
    values = {**event.before, **event.after}
    if not session.store.viewer.sees_owner(owner_in(values)):
        return False
    project = values.get("project")
    return None if project is None else session.sees_project(project) and session.store.viewer.sees_project(project)


def _may_name(session: Session, event: Event, seen: bool | None) -> bool:
    """Say whether an id may name an event; if nothing tells whose memory it was about, one of this person's doing."""
    return (author_of(event.session) or LOCAL_PERSON) == session.person if seen is None else seen


_NONE, _SOME, _ALL = "none", "some", "all"


class _Batch:
    def __init__(self, batch: str) -> None:
        self.id = batch


async def _effects_in_scope(session: Session, batch: str, asked: Sequence[str]) -> str:
    """Say how much of what a batch changed and asked is in scope; a batch that did neither is.

    Undoing a dream withdraws its questions: a dream that only asked belongs to those it asked.
    """
    events = await session.store.journal.of_batch(batch)
    memories = await memories_of(session, events)
    seen = {sees_event(session, event, memories) for event in events} - {None}
    if asked:
        wanted = set(asked)
        questions = [one for one in await session.store.review_queue.open() if one.id in wanted]
        seen |= {await sees_question(session, one) for one in questions}
    if seen <= {True}:
        return _ALL
    return _SOME if True in seen else _NONE


async def memories_of(session: Session, events: Iterable[Event]) -> dict[str, Memory]:
    """Return the memories that events are about, whoever may see them: to decide with, not to show."""
    ids = list(dict.fromkeys(event.memory_id for event in events if event.memory_id))
    found: dict[str, Memory] = {}
    for start in range(0, len(ids), _IDS_AT_ONCE):
        found |= await session.whole_store.get(ids[start : start + _IDS_AT_ONCE])
    return found


def _only(argument: str, noun: str, given: str, found: Sequence[Thing], hint: str) -> Thing:
    """Return the one thing that an id names: the one with that very id, else the only one that begins so."""
    exact = [thing for thing in found if thing.id == given]
    if exact:
        return exact[0]
    if len(given.strip()) < SHORTEST_PREFIX:
        raise InvalidInput(
            argument,
            f"no {noun} has the id {given!r}, and it is too short for a prefix",
            f"Give at least {SHORTEST_PREFIX} characters. {hint}",
        )
    if len(found) > 1:
        shown = ", ".join(sorted(thing.id for thing in found)[:5])
        raise InvalidInput(argument, f"the prefix {given!r} fits several ({shown})", "Give more of the id.")
    if not found:
        raise InvalidInput(argument, f"no {noun} has the id {given!r}", hint)
    return found[0]
