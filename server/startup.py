"""Opens store and model after the handshake, and runs the background work of a server process."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import ReverieError, StoreBusy
from reverie.process_memory import release_memory_periodically
from reverie.settings import Settings
from reverie.tools.catalog import TOOLS

if TYPE_CHECKING:
    from reverie.tools.session import Session


SECONDS_AT_EXIT = 5.0
"""Writing takes a hundredth of one; it waits only where many sessions end at once."""

SECONDS_FOR_THE_FIRST_ANSWERS = 1.0
"""Somebody waits for them; background work begins after."""

SECONDS_FOR_THE_CLIENTS_FOLDERS = 1.0
"""A client that has the folders at hand answers at once."""

SECONDS_BETWEEN_SWEEPS = 300.0
"""Working memories expire after half an hour: a sweep every five minutes is close enough."""

SECONDS_IDLE = 60.0
"""A server that has not been called for so long may dream."""

SECONDS_AFTER_A_FAILURE = 3600.0
"""A dream that failed will hardly succeed a minute later, and reads the whole store each time."""

log = logging.getLogger(__name__)


_LOADED_WHEN_CALLED = frozenset({"consolidate", "restore", "review"})
"""They import the dream cycle. No session begins with them, and its first answers are waited for."""


def load_tools() -> None:
    """Import everything that takes long: LanceDB, Arrow, numpy and the tools on top of them."""
    for tool in TOOLS:
        if tool.name not in _LOADED_WHEN_CALLED:
            import_module(tool.module)


class Startup:
    """The session of a server process; opened once, by whoever needs it first."""

    def __init__(self, load_settings: Callable[[], Settings], folder: Path) -> None:
        self._load_settings = load_settings
        self._folder = folder
        self._opening: asyncio.Task[Session] | None = None
        self._behind: asyncio.Task[None] | None = None
        self._last_call = time.monotonic()
        self._has_asked_where = False

    def start(self) -> None:
        """Begin to open in the background."""
        if self._opening is None or (self._opening.done() and _failed(self._opening)):
            self._opening = asyncio.create_task(self._open())

    async def session(self) -> "Session":
        """Return the open session, waiting for it if need be; a store that was replaced on disk is opened again.

        Raises:
            ReverieError: if it cannot be opened. The next call tries again, so a mended setting or folder
                needs no restart.
        """
        self._last_call = time.monotonic()
        self.start()
        opening = self._opening
        assert opening is not None  # noqa: S101 - start() has just seen to it
        session = await asyncio.shield(opening)
        if session.store.is_current():
            await session.refresh()
            return session
        if self._opening is opening:  # or else another call has begun to open the new one
            self._opening = None
        return await self.session()

    async def ask_where(self, list_roots: Callable[[], Awaitable[Sequence[str]]]) -> None:
        """Ask the client, once, for its folders if it started us where no project is; the first that exists is it."""
        if self._has_asked_where:
            return
        self._has_asked_where = True
        from reverie.codebase.identity import (  # not needed for the handshake
            client_folder,
            is_no_project,
            path_on_disk,
        )

        if client_folder(os.environ) is not None or not is_no_project(self._folder):
            return
        try:
            named = await asyncio.wait_for(list_roots(), SECONDS_FOR_THE_CLIENTS_FOLDERS)
        except TimeoutError:
            return
        paths = [path for path in map(path_on_disk, named) if path]
        folders = await asyncio.to_thread(lambda: [Path(path) for path in paths if os.path.isdir(path)])
        if folders:
            self._folder = folders[0]
            await (await self.session()).change_folder(folders[0])

    def idle_seconds(self) -> float:
        """Return how long nobody has called."""
        return time.monotonic() - self._last_call

    async def close(self) -> None:
        """Write what waits; called when the client has gone.

        Upkeep under way is cut short: the tables survive that as they survive a kill, and nobody waits for it.
        """
        if self._opening is None or not self._opening.done() or _failed(self._opening):
            return
        try:
            await asyncio.wait_for(self._opening.result().accesses.keep(), SECONDS_AT_EXIT)
        except (ReverieError, TimeoutError) as error:
            log.error("Some accesses could not be written at exit: %s", error)

    async def _open(self) -> "Session":
        await asyncio.to_thread(load_tools)
        from reverie.tools.session import Session

        # Read here and not at start: the first answer reports a wrong setting, where somebody sees it.
        session = await Session.open(self._load_settings(), folder=self._folder)
        self._behind = asyncio.create_task(_behind_the_answers(session, self.idle_seconds))
        return session


async def _behind_the_answers(session: "Session", idle_seconds: Callable[[], float]) -> None:
    await session.warm()
    await asyncio.sleep(SECONDS_FOR_THE_FIRST_ANSWERS)
    await asyncio.gather(
        _sweep_while_serving(session), dream_while_serving(session, idle_seconds), release_memory_periodically()
    )


async def _sweep_while_serving(session: "Session") -> None:
    """Expire, move and promote what is due, at start and every few minutes."""
    tools = await asyncio.to_thread(import_module, "reverie.tools.sweep")  # a tenth of a second, off the loop
    while True:
        try:
            await tools.sweep(session)
        except ReverieError as error:
            log.warning("The sweep was put off: %s", error)
        await asyncio.sleep(SECONDS_BETWEEN_SWEEPS)


async def dream_while_serving(
    session: "Session", idle_seconds: Callable[[], float], look_every: float = SECONDS_IDLE
) -> None:
    """Dream once a day, when nobody has called for a while; other sessions on the store count as one with this."""
    while session.settings.dream == "auto":
        await asyncio.sleep(look_every)
        if idle_seconds() < SECONDS_IDLE:
            continue
        from reverie.server.dream_process import consolidate_in_process  # not needed before, and much to import
        from reverie.tools.consolidate import dream_if_due

        try:
            await dream_if_due(session, consolidate_in_process)
        except StoreBusy as error:
            log.info("The dream was left to another session: %s", error)
        except ReverieError as error:
            log.warning("The dream was put off: %s", error)
            await asyncio.sleep(SECONDS_AFTER_A_FAILURE)


def _failed(task: "asyncio.Task[Session]") -> bool:
    return task.cancelled() or task.exception() is not None
