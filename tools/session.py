"""A session on one domain: the store, the embedder, the project, the clock, which memories it may see, and echoes.

An echo is a text that this session was shown and that comes back through `remember`. An audit of ten thousand stored
memories found most of them to be recalled text kept again as new. What restates a served text in all but case,
punctuation, articles and a leading phrase such as "Recalled:" is not stored; one number, name or `not` that differs
makes it news.

How long the last calls of each tool took is kept here too: a few hundred numbers that are written nowhere.
"""

import asyncio
import contextlib
import os
import re
import secrets
from collections import deque
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, Self

from reverie.codebase.evidence import Evidence
from reverie.codebase.identity import ProjectIdentity, identify_session
from reverie.embeddings import tokens
from reverie.embeddings.base import Embedder, Embedding, embedder_from
from reverie.errors import EmbedderError, InvalidInput, StoreError, WrongEmbedder
from reverie.ids import IdMaker, short_id
from reverie.lifecycle.rules import expired_if_overdue, overdue
from reverie.memory import GLOBAL_PROJECT, LOCAL_PERSON, Memory
from reverie.process_memory import machine_memory
from reverie.recall.results import IndexState
from reverie.settings import Settings, project_from
from reverie.storage.access_log import AccessRecorder
from reverie.storage.database import Stamp
from reverie.storage.filters import Condition, one_of
from reverie.storage.homes import home_of
from reverie.storage.maintenance import Maintenance
from reverie.storage.projects import Projects
from reverie.storage.scope import EVERYBODY, RECALLED, TEAM, Scope, Viewer, viewer_of
from reverie.storage.store import MemoryStore
from reverie.text.compare import Difference, differences
from reverie.text.tokenize import words
from reverie.time import Clock, clock_from
from reverie.tools.project_identity import PATIENCE_AT_START, RecognisedProject, recognise

MOST_KEPT = 500


@dataclass(frozen=True, slots=True)
class Times:
    """The milliseconds of calls, oldest first, with their middle and the one that a twentieth takes longer than."""

    milliseconds: list[float]
    p50: float | None
    p95: float | None


@dataclass(slots=True)
class CallTimes:
    """Keeps the durations of the last calls by the tool's name."""

    _kept: dict[str, deque[float]] = field(default_factory=dict)

    def note(self, tool: str, seconds: float) -> None:
        """Note that a call took so long; the oldest goes when there are too many."""
        self._kept.setdefault(tool, deque(maxlen=MOST_KEPT)).append(1_000 * seconds)

    def of(self, tool: str) -> Times:
        """Return what is known of a tool."""
        kept = list(self._kept.get(tool, ()))
        return Times(kept, percentile(kept, 50), percentile(kept, 95))


@dataclass(slots=True)
class CheckRun:
    """One kind of check of a domain, which runs behind answers: its last verdict, and how far the present run is."""

    is_running: bool = False
    share: float = 0.0
    doing: str = ""
    at: datetime | None = None  # of the last verdict
    seconds: float = 0.0  # that it took
    verdict: object = None
    failure: str = ""  # why the last run has none


def percentile(values: Sequence[float], percent: int) -> float | None:
    """Return the value that so many percent do not pass; None of nothing."""
    if len(values) < 2:
        return values[0] if values else None
    return quantiles(values, n=100, method="inclusive")[percent - 1]


SHARE_OF_MEMORY = 16
"""One part in so many of the machine's memory is for search, unless REVERIE_SEARCH_MEMORY says otherwise."""

MOST_SERVED = 200
MOST_IDS = 20_000
MOST_CLIENT_SESSIONS = 64
LONGEST_SERVED = 8_000
_LIKELY = 0.6
"""The share of words in common from which two texts are compared token by token; contractions cost some."""

_MOST_COMPARED = 3
_JOINING: Final = frozenset({"and", "which", "too", "there", "here"})
_LABEL: Final = re.compile(r"\s*[-*•>]?\s*(?P<id>[\w.:-]{1,64}) \([^()\n]*\):\s*")
_ID_AT_THE_END: Final = re.compile(r"\s*\[(?:…cut: inspect )?(?P<id>[\w.:-]{1,64})\]\s*$")
_OUTCOME: Final = re.compile(r"\s*\[(?:tried, |worked|superseded)[^\]\n]*\]\s*")  # as recall writes it
_FRAME: Final = re.compile(
    r"[\s>*•\"'-]*(?:(?:as |from )?(?:noted|note|remember|remembered|recall|recalled|reminder|memory|fyi)"
    r"(?: that|[:,–—]))?\s*",
    re.IGNORECASE,
)


@dataclass(slots=True)
class ServedTexts:
    """The texts that a session was shown lately, each with the memory it came from."""

    _texts: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    _ids: dict[str, None] = field(default_factory=dict)

    def note(self, texts: Iterable[tuple[str, str]]) -> None:
        """Add pairs of a memory's id and its text as shown, and drop the oldest."""
        for memory_id, text in texts:
            self.note_ids([memory_id])
            if len(text) <= LONGEST_SERVED:
                self._texts.pop(text, None)
                self._texts[text] = memory_id, frozenset(words(text))
        while len(self._texts) > MOST_SERVED:
            del self._texts[next(iter(self._texts))]

    def note_ids(self, ids: Iterable[str]) -> None:
        """Add ids of memories and dreams that an answer named, and drop the oldest."""
        for one in ids:
            self._ids.pop(one, None)
            self._ids[one] = None
        while len(self._ids) > MOST_IDS:
            del self._ids[next(iter(self._ids))]

    def has_shown(self, one: str) -> bool:
        """Return whether an answer of this session named this id; then it may be used, whatever its project."""
        return one in self._ids

    def restated_by(self, content: str) -> str | None:
        """Return the id of the memory whose served text this one restates, if any."""
        if len(content) > LONGEST_SERVED or not self._texts:
            return None
        bare = self._bare(content)
        found = frozenset(words(bare))
        shares = ((_shared(found, known), text) for text, (_, known) in self._texts.items())
        likely = sorted((pair for pair in shares if pair[0] >= _LIKELY), key=lambda pair: -pair[0])
        for _, text in likely[:_MOST_COMPARED]:
            if all(map(_joins_only, differences(self._bare(text), bare))):
                return self._texts[text][0]
        return None

    def _bare(self, text: str) -> str:
        """Return a text without the labels of recall and brief, and without phrases such as "Recalled:"."""
        label, end = _LABEL.match(text), _ID_AT_THE_END.search(text)
        ids: set[str] = set()
        if label is not None or end is not None:
            ids = {memory_id for memory_id, _ in self._texts.values()}
            ids |= {short_id(memory_id) for memory_id in ids}  # as texts write them
        if end is not None and end["id"] in ids:
            text = text[: end.start()]
        if label is not None and label["id"] in ids:
            text = text[label.end() :]
        outcome = _OUTCOME.match(text)
        text = text[outcome.end() :] if outcome else text
        frame = _FRAME.match(text)
        return text[frame.end() :] if frame else text


def _joins_only(difference: Difference) -> bool:
    """Return whether a difference lies in words that join sentences, where one text has a comma or a semicolon."""
    differing = (*difference.left, *difference.right)
    return bool(differing) and all(word.casefold() in _JOINING for word in differing)


@dataclass(slots=True)
class ShownToSessions:
    """Which memories hooks have put into which of a client's sessions, by the client's own name for it.

    A client's hooks come as processes and connections of their own; this is what they have in common. An engine that
    ends forgets it: then something is shown twice.
    """

    _ids: dict[str, set[str]] = field(default_factory=dict)

    def begin(self, client_session: str, ids: Iterable[str]) -> None:
        """Note that a session was given a briefing, and nothing else since."""
        self._ids.pop(client_session, None)
        self.note(client_session, ids)

    def note(self, client_session: str, ids: Iterable[str]) -> None:
        """Note that a session was given these; the session that was given something longest ago is dropped."""
        if client_session:
            self._ids[client_session] = self._ids.pop(client_session, set()) | set(ids)
        if len(self._ids) > MOST_CLIENT_SESSIONS:
            del self._ids[next(iter(self._ids))]

    def ids(self, client_session: str) -> set[str]:
        """Return what a session was given."""
        return self._ids.get(client_session, set())


async def echoed(session: "Session", draft: Memory) -> Memory | None:
    """Return the memory that a draft merely repeats.

    A memory that expired since, or that the draft's project does not see, may be stored again.
    """
    memory_id = session.served.restated_by(draft.content)
    if memory_id is None:
        return None
    known = (await session.store.get([memory_id])).get(memory_id)
    if known is None or session.as_read(known).status not in RECALLED or known.owner != draft.owner:
        return None
    return known if known.project in session.visible_from(draft.project) else None


def _shared(ours: frozenset[str], theirs: frozenset[str]) -> float:
    both = len(ours & theirs)
    return both / (len(ours) + len(theirs) - both or 1)


@dataclass(slots=True)
class OpenDomain:
    """A domain that is open: what all sessions of a process share."""

    settings: Settings
    clock: Clock
    embedder: Embedder
    store: MemoryStore
    accesses: AccessRecorder
    maintenance: Maintenance
    engine: str = "none: this process works alone"  # what serves it, in words
    embedder_fault: str | None = None  # why the embedder could not be warmed
    shown_to: ShownToSessions = field(default_factory=ShownToSessions)
    capture_cents: dict[str, float] = field(default_factory=dict)  # what a model's captures of a session cost
    call_times: CallTimes = field(default_factory=CallTimes)
    checks: dict[str, CheckRun] = field(default_factory=dict)
    _warming: "asyncio.Task[None] | None" = None
    _behind: "set[asyncio.Task[None]]" = field(default_factory=set)

    @classmethod
    async def open(cls, settings: Settings, *, embedder: Embedder | None = None, clock: Clock | None = None) -> Self:
        """Open the store of the settings' domain.

        Raises:
            ReverieError: if a setting is wrong or the store cannot be opened.
        """
        clock = clock or clock_from(settings.clock)
        embedder = embedder or embedder_from(settings)
        stamp = Stamp(embedder.stamp, await asyncio.to_thread(lambda: embedder.dimensions))
        store = await _opened(settings, stamp, clock)
        if not settings.is_local:
            await _carry_over_log(store, embedder)
        maintenance = Maintenance(store)
        return cls(settings, clock, embedder, store, AccessRecorder(store, maintenance.note_write), maintenance)

    async def close(self) -> None:
        """Write what still waits and let background work end."""
        await self.work_behind()
        await self.accesses.stop()
        await self.store.close()
        await self.maintenance.stop()

    def run_behind(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something behind an answer; closing waits for it."""
        task = asyncio.create_task(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def work_behind(self) -> None:
        """Wait for what runs behind answers."""
        while self._behind:
            await asyncio.wait(self._behind)

    async def warm(self) -> None:
        """Load the embedding model, then the tokenizer, then the indexes. One answer needs only the first."""
        await self.warm_model()
        await asyncio.to_thread(tokens.warm)
        with contextlib.suppress(StoreError):  # whoever asks is told
            await self.store.vectors.indexes(Scope())
            await self.store.vectors.fill_row_caches()

    async def warm_model(self) -> None:
        """Load the embedding model; if that fails, recall goes on by words and `status` says why."""
        if self._warming is None or self._warming.done():
            self._warming = asyncio.create_task(self._load())
        await asyncio.shield(self._warming)

    async def _load(self) -> None:
        try:
            await asyncio.to_thread(self.embedder.warm)
        except EmbedderError as error:
            self.embedder_fault = str(error)


@dataclass(slots=True)
class Session:
    """One client's work on a domain: the project and folder it works in, and what it was shown."""

    domain: OpenDomain
    settings: Settings  # the domain's, with the project that this client set
    store: MemoryStore  # the domain's, writing under this session's id
    here: ProjectIdentity
    seen: ProjectIdentity  # `here` before it was recognised: what the folder itself says
    recognised: RecognisedProject
    evidence: Evidence
    folder: Path
    environment: Mapping[str, str]  # the client's, as far as a session reads it
    has_named_alike: bool = False  # whether a recall has named the projects that look like this one
    meta_version: int = 0  # of the table that `recognised` was read from
    served: ServedTexts = field(default_factory=ServedTexts)  # what this session was shown
    met_ids: set[str] = field(default_factory=set)  # memories without anchors that it looked at: see first_anchors.py
    all_projects: bool = False  # a person asked for it on the command line: an id may name anything in the store
    repeats: bool = False  # this call was sent before and may have been done: see `for_call`
    person: str = LOCAL_PERSON  # who works in it, by their token; on this machine there is one, without a name
    only_projects: frozenset[str] | None = None  # what the person's token is limited to; None: to no project

    @classmethod
    async def open(
        cls,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Open the store of the settings' domain for the only session of a process.

        Raises:
            ReverieError: if a setting is wrong or the store cannot be opened.
        """
        domain = await OpenDomain.open(settings, embedder=embedder, clock=clock)
        environment = os.environ if environment is None else environment
        return await cls.on(domain, folder=folder, environment=environment, session_id=domain.store.session)

    @classmethod
    async def on(cls, domain: OpenDomain, *, folder: Path, environment: Mapping[str, str], session_id: str) -> Self:
        """Begin a session in a folder on a domain that is open.

        Raises:
            ReverieError: if the store cannot be read.
        """
        seen, folder = await asyncio.to_thread(identify_session, folder, environment)
        project = project_from(environment) or domain.settings.project
        return await cls._begun(domain, seen, folder, environment, session_id, project)

    @classmethod
    async def elsewhere(
        cls,
        domain: OpenDomain,
        *,
        project: str,
        session_id: str,
        person: str,
        only_projects: frozenset[str] | None = None,
    ) -> Self:
        """Begin the session of a client on another machine: it names its project, and no folder here is looked at.

        Raises:
            InvalidInput: if the person's token is for other projects.
            ReverieError: if the store cannot be read.
        """
        seen = ProjectIdentity(project)
        session = await cls._begun(
            domain, seen, Path("/"), {}, session_id, project, person=person, only_projects=only_projects
        )
        session.refuse_other_projects(project)
        return session

    @classmethod
    async def _begun(
        cls,
        domain: OpenDomain,
        seen: ProjectIdentity,
        folder: Path,
        environment: Mapping[str, str],
        session_id: str,
        project: str | None,
        *,
        person: str = LOCAL_PERSON,
        only_projects: frozenset[str] | None = None,
    ) -> Self:
        session = cls(
            domain=domain,
            settings=replace(domain.settings, project=project),
            store=domain.store.for_session(session_id, viewer_of(person, only_projects)),
            here=seen,
            seen=seen,
            recognised=RecognisedProject(seen.project, Projects()),
            evidence=Evidence(seen, folder),
            folder=folder,
            environment=environment,
            person=person,
            only_projects=only_projects,
        )
        await session.refresh(PATIENCE_AT_START)
        return session

    def for_call(self, call_id: str, *, repeated: bool) -> "Session":
        """Return this session for one call that may be sent twice: the ids of what it writes follow from the call's.

        A repeated call finds by them what it wrote before it was cut short.
        """
        return replace(self, store=self.store.for_call(call_id), repeats=repeated)

    def in_nobodys_name(self) -> "Session":
        """Return this session for what the store does by itself: with everybody's memories, and as nobody's doing."""
        return replace(self, store=self.domain.store, person=LOCAL_PERSON)

    @property
    def clock(self) -> Clock:
        """The domain's clock."""
        return self.domain.clock

    @property
    def embedder(self) -> Embedder:
        """The domain's embedder."""
        return self.domain.embedder

    @property
    def accesses(self) -> AccessRecorder:
        """The domain's record of recalls."""
        return self.domain.accesses

    @property
    def maintenance(self) -> Maintenance:
        """The domain's maintenance."""
        return self.domain.maintenance

    async def change_folder(self, folder: Path) -> None:
        """Work in another folder from now on: the one that the client named when it was asked."""
        self.seen, self.folder = await asyncio.to_thread(identify_session, folder, {})
        self.evidence = Evidence(self.seen, self.folder)
        self.meta_version = -1
        await self.refresh()

    async def refresh(self, patience: float = 0.0) -> None:
        """Learn what other sessions noted about projects since; all it costs otherwise is a look at a folder."""
        version = await self.store.projects.version()
        if version == self.meta_version and self.recognised.is_noted:
            return
        if self.settings.project is None:
            self.recognised = await recognise(self.store, self.seen, patience)
        else:  # a name that was given is not looked behind
            projects = await self.store.projects.read()
            self.recognised = RecognisedProject(projects.canonical(self.settings.project), projects)
        self.meta_version = await self.store.projects.version()
        self.here = replace(self.seen, project=self.recognised.project)
        self.evidence.names = self.names_of(self.here.project)
        if self.only_projects is not None:
            names = frozenset(
                name for project in self.only_projects for name in self.names_of(self.project_for(project))
            )
            self.store = self.store.seen_by(viewer_of(self.person, names))

    async def close(self) -> None:
        """Close the domain of the only session on it."""
        await self.domain.close()

    async def warm(self) -> None:
        """Load all that answers need, ahead of the first: see OpenDomain."""
        await self.domain.warm()

    async def warm_model(self) -> None:
        """Load the embedding model; if that fails, recall goes on by words and `status` says why."""
        await self.domain.warm_model()

    async def warmed(self, *, within: float) -> bool:
        """Wait so many seconds for the model at most; return whether it is loaded.

        One that could not be loaded is not tried again by every question.
        """
        if not self.embedder.ready and self.domain.embedder_fault is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.warm_model(), within)
        return self.embedder.ready

    @property
    def now(self) -> datetime:
        """The present moment by this session's clock."""
        return self.clock()

    def is_overdue(self, memory: Memory) -> bool:
        """Whether a memory is past its deadline or tier, though no sweep has come by."""
        return overdue(memory, self.now, self.settings.tier, self.settings.parameters) is not None

    def as_read(self, memory: Memory) -> Memory:
        """Return a memory as readers see it: expired if it is overdue."""
        return expired_if_overdue(memory, self.now, self.settings.tier, self.settings.parameters)

    @property
    def index_state(self) -> IndexState:
        """How well recall works right now."""
        if self.embedder.ready:
            return "ready"
        return "lexical_only" if self.domain.embedder_fault else "warming"

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Turn texts into vectors without holding up other calls."""
        return await asyncio.to_thread(self.embedder.embed, texts)

    # -- which memories are seen: every rule about projects is one of these ----------------------------

    def project_for(self, given: str) -> str:
        """Return the project that a call means: the one it names, by whatever name, or the session's."""
        return self.recognised.projects.canonical(given) if given else self.here.project

    def names_of(self, project: str) -> tuple[str, ...]:
        """Return every name that the memories of a project may carry."""
        return self.recognised.projects.names_of(project)

    def of_project(self, project: str) -> Condition:
        """Match the memories of one project."""
        return one_of("project", self.names_of(project))

    def project_of(self, memories: Sequence[Memory]) -> str:
        """Return the one project that memories belong to; of several, or none, the session's."""
        found = {self.project_for(memory.project) for memory in memories}
        return found.pop() if len(found) == 1 else self.here.project

    def visible_from(self, project: str) -> tuple[str, ...]:
        """Return the projects whose memories are seen from one: itself, by all its names, and `global`."""
        return tuple(dict.fromkeys((*self.names_of(project), GLOBAL_PROJECT)))

    def sees_project(self, project: str) -> bool:
        """Whether the memories of a project are in this session's scope."""
        return self.all_projects or project in self.visible_from(self.here.project)

    def sees(self, memory: Memory) -> bool:
        """Whether an id may name this memory: it is for this person, and in scope or shown to this session."""
        in_scope = self.sees_project(memory.project) or self.served.has_shown(memory.id)
        return in_scope and self.store.viewer.sees(memory)

    @property
    def author(self) -> str | None:
        """Who says what this session writes; None for the person of this machine."""
        return self.person or None

    @property
    def whole_store(self) -> MemoryStore:
        """The store as nobody in particular sees it: to decide what this person may see, never to show it."""
        return self.store.seen_by(EVERYBODY)

    def named_by_client(self, client_session: str) -> str:
        """Return a client's name for its session, apart from the same name that a client of somebody else gives."""
        return f"{self.person}/{client_session}" if client_session and self.person else client_session

    def eyes_for(self, memory: Memory) -> Viewer:
        """Return who looks around a new memory: what the team will see is compared with what the team sees."""
        return self.store.viewer if memory.owner is not None else replace(self.store.viewer, owners=TEAM.owners)

    def refuse_other_projects(self, named: str) -> None:
        """Insist that this person's token is for a project, by whatever name; whether there is one is not said.

        Raises:
            InvalidInput: if it is for others.
        """
        if not self.store.viewer.sees_project(self.project_for(named)):
            raise InvalidInput(
                "project",
                f"this token is not for the project {named!r}",  # its present name may be news to them
                "Name one that it is for, or ask whoever runs this server for another token.",
            )


def search_memory_of(settings: Settings) -> int:
    """Return how many bytes of vectors and rows may be kept in memory."""
    if settings.search_memory is None:
        return machine_memory() // SHARE_OF_MEMORY
    return int(settings.search_memory * 1024 * 1024)


async def _carry_over_log(store: MemoryStore, embedder: Embedder) -> None:
    """Write what this host acknowledged before another host gave the store a new embedder."""
    from reverie.storage.reembed import carry_over_log  # seldom needed, and much to import

    await carry_over_log(
        store, lambda texts: [(one.vector, one.passages, one.pieces) for one in embedder.embed(texts)]
    )


async def _opened(settings: Settings, stamp: Stamp, clock: Clock) -> MemoryStore:
    """Open the store of the settings' domain; one without memories takes the embedder that is set."""
    home = home_of(settings.domain_uri, settings.domain_folder)

    async def attempt() -> MemoryStore:
        return await MemoryStore.open(
            home,
            stamp,
            session=secrets.token_hex(6),
            new_id=IdMaker(clock),
            now=clock(),
            installation=settings.installation,
            search_memory=search_memory_of(settings),
        )

    try:
        return await attempt()
    except WrongEmbedder:
        from reverie.storage.reembed import take_over_if_empty  # seldom needed, and much to import

        if not await take_over_if_empty(home, stamp, clock()):
            raise
    return await attempt()
