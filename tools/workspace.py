"""The open parts that every tool works with."""

import asyncio
import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Self

from reverie.clock import Clock, clock_from
from reverie.codebase.evidence import Evidence
from reverie.codebase.project import ProjectIdentity, identify_project
from reverie.embeddings.choose import embedder_from
from reverie.embeddings.embedder import Embedder, Embedding
from reverie.errors import EmbedderError, SettingError
from reverie.identity import IdMaker
from reverie.memory import GLOBAL_PROJECT
from reverie.settings import HOME, Settings
from reverie.storage.accesses import AccessRecorder
from reverie.storage.database import Stamp
from reverie.storage.store import MemoryStore
from reverie.storage.upkeep import Upkeep
from reverie.tools.echo import Served
from reverie.tools.results import IndexState


@dataclass(slots=True)
class Workspace:
    """A session on one domain: the store, the embedder, the project, the clock."""

    settings: Settings
    clock: Clock
    embedder: Embedder
    store: MemoryStore
    accesses: AccessRecorder
    upkeep: Upkeep
    here: ProjectIdentity
    evidence: Evidence
    folder: Path
    embedder_fault: str | None = None  # why the embedder could not be warmed
    served: Served = field(default_factory=Served)  # what this session was shown
    _warming: "asyncio.Task[None] | None" = None

    @classmethod
    async def open(
        cls, settings: Settings, *, embedder: Embedder | None = None, clock: Clock | None = None, folder: Path
    ) -> Self:
        """Open the store of the settings' domain for a session that works in a folder.

        Raises:
            ReverieError: if a setting is wrong or the store cannot be opened.
        """
        if not settings.is_local:
            raise SettingError(
                HOME.variable, settings.home, "an absolute path; object stores come in a later version"
            )
        clock = clock or clock_from(settings.clock)
        embedder = embedder or embedder_from(settings)
        here = await asyncio.to_thread(identify_project, folder)
        if settings.project is not None:
            here = replace(here, project=settings.project)
        stamp = Stamp(embedder.stamp, await asyncio.to_thread(lambda: embedder.dimensions))
        store = await MemoryStore.open(
            Path(settings.domain_uri),
            stamp,
            session=secrets.token_hex(6),
            new_id=IdMaker(clock),
            now=clock(),
        )
        upkeep = Upkeep(store.database, store.journal)
        accesses = AccessRecorder(store, upkeep.note_write)
        return cls(settings, clock, embedder, store, accesses, upkeep, here, Evidence(here, folder), folder)

    async def close(self) -> None:
        """Write what still waits and let background work end."""
        await self.accesses.stop()
        await self.store.database.additions.stop()
        await self.upkeep.stop()

    async def warm(self) -> None:
        """Load the embedding model; if that fails, recall goes on by words and `status` says why."""
        if self._warming is None or self._warming.done():
            self._warming = asyncio.create_task(self._load())
        await asyncio.shield(self._warming)

    async def warmed(self, *, within: float) -> bool:
        """Wait so many seconds for the model at most; return whether it is loaded.

        One that could not be loaded is not tried again by every question.
        """
        if not self.embedder.ready and self.embedder_fault is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.warm(), within)
        return self.embedder.ready

    async def _load(self) -> None:
        try:
            await asyncio.to_thread(self.embedder.warm)
        except EmbedderError as error:
            self.embedder_fault = str(error)

    @property
    def now(self) -> datetime:
        """The present moment by this session's clock."""
        return self.clock()

    @property
    def index_state(self) -> IndexState:
        """How well recall works right now."""
        if self.embedder.ready:
            return "ready"
        return "lexical_only" if self.embedder_fault else "warming"

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Turn texts into vectors without holding up other calls."""
        return await asyncio.to_thread(self.embedder.embed, texts)

    def project_for(self, given: str) -> str:
        """Return the project that a call means: the one it names, or the session's."""
        return given or self.here.project

    def visible_from(self, project: str) -> tuple[str, ...]:
        """Return the projects whose memories are seen from one: itself and what belongs to none."""
        return tuple(dict.fromkeys((project, GLOBAL_PROJECT)))
