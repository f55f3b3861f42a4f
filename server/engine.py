"""The engine: the store, the model and the background work of a process, shared by every session it serves.

Nothing here imports LanceDB, numpy or a model before the first session needs them: the handshake must not wait.
"""

import asyncio
import gc
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.errors import InvalidInput, ReverieError, StoreBusy
from reverie.folders import CLIENT_FOLDERS
from reverie.process_memory import release_memory_periodically
from reverie.settings import Settings
from reverie.tools.catalog import TOOLS

if TYPE_CHECKING:
    from reverie.tools.session import OpenDomain, Session


SECONDS_AT_EXIT = 5.0
"""Writing takes a hundredth of one; it waits only where many sessions end at once."""

SECONDS_FOR_THE_FIRST_ANSWERS = 1.0
"""Somebody waits for them; background work begins after."""

SECONDS_OF_QUIET, MOST_SECONDS_UNTIL_QUIET = 0.3, 10.0
"""Loading the tokenizer holds Python up for a third of a second: it waits until nobody has called for so long, but no
longer than that."""

SECONDS_FOR_THE_CLIENTS_FOLDERS = 1.0
"""A client that has the folders at hand answers at once."""

SECONDS_BETWEEN_SWEEPS = 300.0
"""Working memories expire after half an hour: a sweep every five minutes is close enough."""

SECONDS_IDLE = 60.0
"""An engine that has not been called for so long may dream."""

SECONDS_AFTER_A_FAILURE = 3600.0
"""A dream that failed will hardly succeed a minute later, and reads the whole store each time."""

SECONDS_TO_HAND_OVER = 30.0
"""How long a command that needs the store alone waits for the calls under way."""

SECONDS_TO_WAIT_FOR_A_COMMAND = 50.0
"""How long a call waits for a command that has the store to itself; many clients give up after a minute."""

PROJECT_HEADER = "Reverie-Project"
"""In which a client over HTTP names its project."""

_A_COMMAND_HAS_IT = "Another command has the store to itself. Try again when it is done."
_MINUTES_IF_NOTHING_OPENED = 1.0

log = logging.getLogger(__name__)


_LOADED_WHEN_CALLED = frozenset({"consolidate", "restore", "review"})
"""They import the dream cycle. No session begins with them, and its first answers are waited for."""


def load_tools() -> None:
    """Import everything that takes long: LanceDB, Arrow, numpy and the tools on top of them."""
    for tool in TOOLS:
        if tool.name not in _LOADED_WHEN_CALLED:
            import_module(tool.module)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a client may send again if it gets no answer: its id, and whether it was sent before."""

    id: str
    repeated: bool = False


class Engine:
    """Opens one domain for all sessions of a process, when the first needs it, and works in the background."""

    def __init__(self, load_settings: Callable[[], Settings], about: str = "") -> None:
        self._load_settings = load_settings
        self._about = about  # what `status` says of it
        self._opening: asyncio.Task[OpenDomain] | None = None
        self._behind: asyncio.Task[None] | None = None
        self._last_call = time.monotonic()
        self._last_session: Session | None = None
        self._calls = 0
        self._no_calls = asyncio.Event()
        self._no_calls.set()
        self._free = asyncio.Event()  # cleared while a command has the store to itself
        self._free.set()
        self.is_dreaming = False
        self.one_behind = asyncio.Lock()
        self._done_behind: set[asyncio.Task[None]] = set()

    def do_behind(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what nobody waits for; an engine that is asked to leave lets it end as it does calls."""

        async def done() -> None:
            try:
                await work
            except Exception:
                log.exception("Work behind an answer failed.")

        task = asyncio.create_task(done())
        self._done_behind.add(task)
        task.add_done_callback(self._done_behind.discard)

    def start(self) -> None:
        """Begin to open the domain in the background, unless another process has the store to itself."""
        opening = self._opening
        if self._free.is_set() and (opening is None or (opening.done() and _must_be_repeated(opening))):
            self._opening = asyncio.create_task(self._open())

    async def domain(self) -> "OpenDomain":
        """Return the open domain, waiting for it if need be; a store that was replaced on disk is opened again.

        Raises:
            ReverieError: if it cannot be opened. The next call tries again, so a mended setting or folder
                needs no restart.
        """
        self._last_call = time.monotonic()
        self.start()
        opening = self._opening
        assert opening is not None  # noqa: S101 - start() has just seen to it
        domain = await asyncio.shield(opening)
        if domain.store.is_current() and domain.store.is_in_place():
            return domain
        if self._opening is opening:  # or else another call has begun to open the new one
            self._opening = None
        return await self.domain()

    @asynccontextmanager
    async def calling(self) -> AsyncIterator[None]:
        """Do the work of one call; it waits for a while if a command has the store to itself.

        Raises:
            StoreBusy: if the command takes longer.
        """
        if not self._free.is_set():
            try:
                await asyncio.wait_for(self._free.wait(), SECONDS_TO_WAIT_FOR_A_COMMAND)
            except TimeoutError:
                raise StoreBusy(_A_COMMAND_HAS_IT) from None
        self._calls += 1
        self._no_calls.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._no_calls.set()

    @asynccontextmanager
    async def handed_over(self) -> AsyncIterator[None]:
        """Leave the store to another process: calls under way end, the store is closed, others wait.

        Raises:
            StoreBusy: if the calls under way do not end in time.
        """
        if not self._free.is_set():
            raise StoreBusy(_A_COMMAND_HAS_IT)
        self._free.clear()
        try:
            try:
                await asyncio.wait_for(self._no_calls.wait(), SECONDS_TO_HAND_OVER)
            except TimeoutError:
                raise StoreBusy("A session's call still works on the store. Try again in a moment.") from None
            await self._close_domain()
            yield
        finally:
            self._free.set()

    def has_lost_its_store(self) -> bool:
        """Return whether the data folder was removed since the store was opened."""
        domain = self.opened
        return domain is not None and not domain.store.is_in_place()

    async def until_no_calls(self) -> None:
        """Wait until no call is under way, and nothing that was to be done behind one."""
        while self._done_behind:
            await asyncio.wait(self._done_behind)
        await self._no_calls.wait()

    @property
    def opened(self) -> "OpenDomain | None":
        """The domain, if it is open now."""
        opening = self._opening
        return None if opening is None or _failed_or_running(opening) else opening.result()

    def store_folder(self) -> str:
        """Return where the tables of this engine's domain are, whether or not they are open.

        Raises:
            SettingError: if a setting is wrong.
        """
        return self._load_settings().domain_uri

    @property
    def idle_minutes(self) -> float:
        """How long a resident engine stays after its last session, as far as that is known."""
        opening = self._opening
        if opening is None or _failed_or_running(opening):
            return _MINUTES_IF_NOTHING_OPENED
        return opening.result().settings.engine_idle

    def idle_seconds(self) -> float:
        """Return how long nobody has called."""
        return time.monotonic() - self._last_call

    def note_session(self, session: "Session") -> None:
        """Work in the background on behalf of this session from now on: the project it is in can be looked at."""
        self._last_session = session
        if self._behind is None:
            self._behind = asyncio.create_task(self._work_behind_the_answers(session.domain))

    async def close(self) -> None:
        """Write what waits; called when nobody is left to serve.

        Upkeep under way is cut short: the tables survive that as they survive a kill, and nobody waits for it.
        """
        if self._opening is None or not self._opening.done() or _failed(self._opening):
            return
        try:
            await asyncio.wait_for(self._opening.result().accesses.keep(), SECONDS_AT_EXIT)
        except (ReverieError, TimeoutError) as error:
            log.error("Some accesses could not be written at exit: %s", error)

    async def _open(self) -> "OpenDomain":
        await asyncio.to_thread(load_tools)
        from reverie.tools.session import OpenDomain

        # Read here and not at start: the first answer reports a wrong setting, where somebody sees it.
        domain = await OpenDomain.open(self._load_settings())
        if self._about:
            domain.engine = self._about
        return domain

    async def _close_domain(self) -> None:
        if self._behind is not None:
            self._behind.cancel()
            await asyncio.gather(self._behind, return_exceptions=True)
            self._behind = None
        opening, self._opening, self._last_session = self._opening, None, None
        if opening is not None:
            await asyncio.wait((opening,))  # or it would open the store while the command works on it
        if opening is not None and not _failed_or_running(opening):
            await opening.result().close()

    async def _work_behind_the_answers(self, domain: "OpenDomain") -> None:
        await domain.warm_model()
        await asyncio.sleep(SECONDS_FOR_THE_FIRST_ANSWERS)
        await self._until_quiet()
        await domain.warm()  # until the tokenizer is loaded answers use a bound
        _leave_what_stays_to_itself()
        await asyncio.gather(self._sweep(), self._dream(), release_memory_periodically())

    async def _until_quiet(self) -> None:
        """Wait until nobody has called for a moment, which no event tells, or until that has taken too long."""
        latest = time.monotonic() + MOST_SECONDS_UNTIL_QUIET
        while (self._calls or self.idle_seconds() < SECONDS_OF_QUIET) and time.monotonic() < latest:  # noqa: ASYNC110
            await asyncio.sleep(SECONDS_OF_QUIET / 3)

    async def _sweep(self) -> None:
        """Expire, move and promote what is due, at start and every few minutes."""
        tools = await asyncio.to_thread(import_module, "reverie.tools.sweep")  # a tenth of a second, off the loop
        while True:
            try:
                if self._last_session is not None:
                    await tools.sweep(self._last_session.in_nobodys_name())
            except ReverieError as error:
                log.warning("The sweep was put off: %s", error)
            await asyncio.sleep(SECONDS_BETWEEN_SWEEPS)

    async def _dream(self) -> None:
        def now_dreaming(is_dreaming: bool) -> None:
            self.is_dreaming = is_dreaming

        await dream_while_serving(lambda: self._last_session, self.idle_seconds, noting=now_dreaming)


def _leave_what_stays_to_itself() -> None:
    """Keep the collector of garbage from looking again and again at what start-up made and what stays to the end.

    That is nearly all there is, and a look at it takes 25 ms and more, in which nobody is answered. What an earlier
    store left behind is looked at once more.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


async def dream_while_serving(
    session_of: "Callable[[], Session | None]",
    idle_seconds: Callable[[], float],
    look_every: float = SECONDS_IDLE,
    noting: Callable[[bool], None] = lambda is_dreaming: None,
) -> None:
    """Dream once a day, when nobody has called for a while; other sessions on the store count as one with this."""
    while (session := session_of()) is None or session.settings.dream == "auto":
        await asyncio.sleep(look_every)
        session = session_of()
        if session is None or idle_seconds() < SECONDS_IDLE:
            continue
        from reverie.server.dream_process import consolidate_in_process  # not needed before, and much to import
        from reverie.tools.consolidate import dream_if_due

        noting(True)
        try:
            await dream_if_due(session, consolidate_in_process)
        except StoreBusy as error:
            log.info("The dream was left to another session: %s", error)
        except ReverieError as error:
            log.warning("The dream was put off: %s", error)
            await asyncio.sleep(SECONDS_AFTER_A_FAILURE)
        finally:
            noting(False)


class LazySession:
    """The session of one client, opened when first needed, and again when the engine opened its store again."""

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        session_id: str | None = None,
    ) -> None:
        self.engine = engine
        self._folder = folder
        self._environment = os.environ if environment is None else environment
        self._session_id = session_id
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._has_asked_where = False

    @property
    def folder(self) -> Path:
        """The folder that the session works in."""
        return self._folder

    @property
    def own_environment(self) -> dict[str, str]:
        """The variables that are the session's and not the engine's."""
        return {
            name: self._environment[name]
            for name in ("REVERIE_PROJECT", *CLIENT_FOLDERS)
            if name in self._environment
        }

    def start(self) -> None:
        """Begin to open the store in the background."""
        self.engine.start()

    async def session(self, call: Call | None = None) -> "Session":
        """Return the open session, for one call if it may be sent twice.

        Raises:
            ReverieError: if it cannot be opened; the next call tries again.
        """
        domain = await self.engine.domain()
        async with self._opening:
            if self._session is None or self._session.domain is not domain:
                previous = self._session
                self._session = await self._begin(domain)
                if previous is not None:
                    self._session.served = previous.served
        session = self._session
        await session.refresh()
        self.engine.note_session(session)
        return session if call is None else session.for_call(call.id, repeated=call.repeated)

    async def _begin(self, domain: "OpenDomain") -> "Session":
        from reverie.tools.session import Session

        return await Session.on(
            domain,
            folder=self._folder,
            environment=self._environment,
            session_id=self._session_id or domain.store.session,
        )

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

        if client_folder(self._environment) is not None or not is_no_project(self._folder):
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


class SessionElsewhere(LazySession):
    """The session of a client on another machine. What it calls its folders is not looked up on this one."""

    def __init__(
        self,
        engine: Engine,
        project: str | None,
        session_id: str,
        person: str,
        only_projects: frozenset[str] | None = None,
    ) -> None:
        super().__init__(engine, Path("/"), {}, session_id)
        self._project = project
        self._id = session_id
        self._person = person
        self._only_projects = only_projects

    async def _begin(self, domain: "OpenDomain") -> "Session":
        from reverie.tools.session import Session

        project = self._project or domain.settings.project
        if project is None:
            raise InvalidInput(
                "project",
                "nothing says which project this is about",
                f"Have your client send the header {PROJECT_HEADER}, or set REVERIE_PROJECT for the server.",
            )
        return await Session.elsewhere(
            domain,
            project=project,
            session_id=self._id,
            person=self._person,
            only_projects=self._only_projects,
        )

    async def ask_where(self, list_roots: Callable[[], Awaitable[Sequence[str]]]) -> None:
        """Ask nothing: the answer would name folders of another machine."""


def _failed(task: "asyncio.Task[OpenDomain]") -> bool:
    return task.cancelled() or task.exception() is not None


def _must_be_repeated(task: "asyncio.Task[OpenDomain]") -> bool:
    return _failed(task) or not task.result().store.is_current()


def _failed_or_running(task: "asyncio.Task[OpenDomain]") -> bool:
    return not task.done() or _failed(task)
