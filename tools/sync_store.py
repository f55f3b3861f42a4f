"""The store's side of a sync with a folder: which memories are shared, what became of others, one sync at a time."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from reverie.dream.batch import review_question
from reverie.dream.plan import ProposedQuestion
from reverie.memory import Memory
from reverie.storage.filters import Condition, one_of
from reverie.storage.locks import PATIENCE_SECONDS, ProcessLock
from reverie.storage.scope import RECALLED
from reverie.tools.session import Session

StoredState = Literal["quarantined", "expired", "forgotten", "elsewhere"]

UNSHARED_LAYER = "codebase"
"""What `reverie index` reads from the code, and reads again anywhere."""

UNSHARED_KINDS = ("digest", "peer_card", "bridge")
"""What dreams write about one store's own memories."""

_GENERATIONS = 50
_AT_ONCE = 500
_PEOPLE = ("forget", "review", "quarantine", "sync")
"""The actors of events by which somebody forgot a memory; a dream lets it fade."""


@dataclass(slots=True)
class SharedMemories:
    """The living memories of a project that a folder has, and what became of ids that it names."""

    living: dict[str, Memory] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    states: dict[str, StoredState] = field(default_factory=dict)


def is_shared(memory: Memory) -> bool:
    """Return whether a memory goes to a folder: alive, the team's, and neither read from code nor dreamt."""
    if memory.owner is not None:  # others read the folder
        return False
    return memory.status in RECALLED and memory.layer != UNSHARED_LAYER and memory.kind not in UNSHARED_KINDS


async def shared_memories(session: Session, project: str, ids: Iterable[str] = ()) -> SharedMemories:
    """Return what a folder shares of one project, or of all if none is named, and what became of the ids.

    Raises:
        StoreError: if the store cannot be read.
    """
    where: Condition = one_of("status", RECALLED)
    if project:
        where &= session.of_project(project)
    found = [memory for memory in await session.store.find(where) if is_shared(memory)]
    shared = SharedMemories(
        {
            memory.id: memory
            for memory in sorted(found, key=lambda m: (m.created_at, m.id))
            if not session.is_overdue(memory)
        }
    )
    for memory_id in dict.fromkeys(ids):
        if memory_id not in shared.living:
            await _follow(session, shared, memory_id)
    return shared


async def _follow(session: Session, shared: SharedMemories, memory_id: str) -> None:
    """Note what stands in for a memory that is not among the living, or how it went."""
    current = (await session.store.get([memory_id])).get(memory_id)
    for _ in range(_GENERATIONS):
        if current is None:
            return
        if current.id in shared.living:
            shared.heads[memory_id] = current.id
            return
        if current.status == "quarantined":
            shared.states[memory_id] = "quarantined"
            return
        if current.status in RECALLED and not session.is_overdue(current):
            shared.states[memory_id] = "elsewhere"
            return
        if not (current.status == "superseded" and current.superseded_by):
            shared.states[memory_id] = await _why_expired(session, current)
            return
        current = (await session.store.get([current.superseded_by])).get(current.superseded_by)


async def _why_expired(session: Session, memory: Memory) -> StoredState:
    events = await session.store.journal.about(memory.id)
    last = next((event for event in reversed(events) if event.after.get("status") == "expired"), None)
    return "forgotten" if last is not None and last.actor in _PEOPLE else "expired"


@asynccontextmanager
async def one_sync_at_a_time(
    session: Session, folder: Path, patience: float = PATIENCE_SECONDS
) -> AsyncIterator[Path]:
    """Hold the lock of a folder, which every store of this user shares; yield where this store notes the last sync.

    Raises:
        StoreBusy: if another sync of the folder takes longer than `patience` seconds.
        StoreUnavailable: if the lock cannot be written.
    """
    name = hashlib.sha256(str(await asyncio.to_thread(folder.resolve)).encode()).hexdigest()[:24]
    locks = session.settings.installation.folder
    locks.mkdir(parents=True, exist_ok=True, mode=0o700)
    noted = session.settings.domain_folder / "sync"
    noted.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with ProcessLock(locks / f"sync-{name}.lock").held(patience):
        yield noted / f"{name}.json"


async def ask_which_holds(session: Session, pairs: Sequence[tuple[str, str, str]]) -> int:
    """Put a question into the review queue for each pair of texts that both changed: store's id, file's id, path."""
    questions = []
    memories = await session.store.get([one for first, second, _ in pairs for one in (first, second)])
    for first, second, path in pairs:
        if any(one not in memories or memories[one].status not in RECALLED for one in (first, second)):
            continue
        newer = memories[second]
        question = ProposedQuestion(
            kind="belief",
            memory_ids=(first, second),
            ask="A sync found this memory and its file both changed. Does the first still hold beside the other?",
            evidence=(f"{second} says in {path}: {newer.content[:300]}",),
            verdicts=("holds", "outdated", "revise", "forget"),
        )
        questions.append(review_question(question, session.now))
    await session.store.review_queue.write(questions)
    return len(questions)
