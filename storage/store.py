"""The memory store: everything that other folders read and write goes through a MemoryStore.

No other folder names a table. What is done to the store as a whole (bulk.py, purge.py, maintenance.py,
access_log.py) are functions and classes here in storage/ that take the store.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound, StoreBusy, StoreError
from reverie.ids import SHORTEST_PREFIX, IdMaker, creation_order
from reverie.installation import Installation
from reverie.memory import LAYERS, LOCAL_PERSON, Layer, Memory
from reverie.storage.archive import Archive
from reverie.storage.candidates import CandidateSearch
from reverie.storage.database import REEMBEDDED, Database, Stamp
from reverie.storage.dream_records import DreamLog, ReviewQueue
from reverie.storage.entity_names import EntityNames
from reverie.storage.filters import Condition, equals, one_of, starts_with
from reverie.storage.homes import DomainHome
from reverie.storage.journal import Event, Journal, SealedHead, state_of
from reverie.storage.lance_table import Table, TextHit
from reverie.storage.memory_index import VectorHit
from reverie.storage.packed_vectors import VECTOR_COLUMNS, vectors_in
from reverie.storage.projects import ProjectTable
from reverie.storage.rows import (
    CANDIDATE_COLUMNS,
    FIELDS,
    CandidateRows,
    Embedded,
    RowLocation,
    RowsRead,
    Vector,
    as_rows,
    as_values,
    by_layer,
    column_value,
    from_table,
    passage_rows,
    to_table,
)
from reverie.storage.schema import PASSAGE_TABLES
from reverie.storage.scope import EVERYBODY, Scope, Viewer, past_state_of
from reverie.storage.vector_search import MemoryBudget, VectorSearch
from reverie.storage.write_ahead_log import MOST_AT_ONCE
from reverie.time import parse_iso

DEFAULT_SEARCH_MEMORY = 256 * 1024 * 1024
"""Bytes of vectors and rows in memory where no setting says it, as in tests."""


@dataclass(frozen=True, slots=True)
class NearMemories:
    """Vector hits, best first, and the memories among all that wait in the write-ahead log, by id."""

    hits: Sequence[VectorHit]
    pending: Mapping[str, Memory] = field(default_factory=dict)


class MemoryStore:
    """The memories of one domain, shared with every other process that has it open."""

    def __init__(
        self,
        database: Database,
        session: str,
        new_id: IdMaker,
        installation: Installation | None = None,
        search_memory: int = DEFAULT_SEARCH_MEMORY,
    ) -> None:
        self.database = database  # for storage/ alone
        self.session = session
        self.viewer = EVERYBODY  # whose eyes `get`, `resolve`, `find` and `count` see with
        self.new_id = new_id
        self.folder = database.home.folder
        head = None if installation is None else SealedHead(installation, self.folder)
        self.journal = Journal(
            database.raw_table("events"), self.folder, database.is_current, head, database.home.host_chain
        )
        self.dream_log = DreamLog(database.table("dreams"))
        self.review_queue = ReviewQueue(database.table("questions"))
        self.projects = ProjectTable(database)
        self.purged_texts = database.home.purged_texts
        self.archive = Archive(database)
        self.vectors = VectorSearch(database, MemoryBudget(search_memory))
        self.search = CandidateSearch(database, self.vectors)
        self.entity_names = EntityNames(database)
        self.write_lock = database.write_lock
        self.dream_lock = database.home.lock("dream")
        database.write_ahead_log.on_flush = self._note_added
        if database.home.state is not None:
            database.write_ahead_log.flush_events = self.journal.flush
            self.journal.check_current = database.check_current

    @classmethod
    async def open(
        cls,
        place: Path | DomainHome,
        stamp: Stamp,
        *,
        session: str,
        new_id: IdMaker,
        now: datetime,
        installation: Installation | None = None,
        search_memory: int = DEFAULT_SEARCH_MEMORY,
    ) -> Self:
        """Open a domain's folder or home; see Database.open for what can go wrong. Without a key nothing is sealed.

        `search_memory` is how many bytes of vectors and rows are kept in memory.
        """
        return cls(await Database.open(place, stamp, now), session, new_id, installation, search_memory)

    async def close(self) -> None:
        """Stop the background flush; what is pending is safe in the write-ahead log."""
        await self.database.write_ahead_log.stop()

    def for_session(self, session: str, viewer: Viewer | None = None) -> Self:
        """Return this store as another session reads and writes it; all else is shared."""
        view = copy(self)
        view.session = session
        view.viewer = self.viewer if viewer is None else viewer
        return view

    def seen_by(self, viewer: Viewer) -> Self:
        """Return this store as somebody sees it; with EVERYBODY, as it is."""
        return self.for_session(self.session, viewer)

    def for_call(self, call_id: str) -> Self:
        """Return this store as one call writes to it: the ids of what it makes follow from the call's id."""
        view = copy(self)
        view.new_id = self.new_id.for_call(call_id)
        return view

    def is_current(self) -> bool:
        """Whether the tables are still those in use: a re-embedding replaces them."""
        return self.database.is_current()

    def is_in_place(self) -> bool:
        """Whether the tables are still where they were opened: somebody may have removed the data folder."""
        return self.database.is_in_place()

    @property
    def away_note(self) -> str:
        """What to tell readers while the object store does not answer; empty while it does, and for a folder."""
        state = self.database.home.state
        seconds = None if state is None else state.seconds_away
        if state is None or seconds is None:
            return ""
        waiting = self.database.write_ahead_log.pending_bytes()
        return (
            f"the object store has not answered for {seconds:.0f} s: this is what this host has in memory and in its "
            f"log, where {waiting / 1024:.0f} KB of new memories wait until it does, without what others wrote since"
        )

    async def disk_bytes(self) -> int:
        """Return what the domain's files or objects take; 0 while an object store does not answer."""
        try:
            return sum((await self.database.home.sizes()).values())
        except StoreError:
            return 0

    async def created_at(self) -> datetime:
        """Return when the store was created."""
        return parse_iso((await self.database.read_meta())["created_at"], "created_at")

    # -- reading ---------------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that have these ids, in the order asked for; unknown ids are left out."""
        found = await self._stored(ids)
        return {memory_id: memory for memory_id, memory in found.items() if self.viewer.sees(memory)}

    async def _stored(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that have these ids, whoever may see them."""
        found = {memory.id: memory for memory in await self._read(one_of("id", ids))} if ids else {}
        return {memory_id: found[memory_id] for memory_id in ids if memory_id in found}

    async def resolve(self, given: str) -> Memory:
        """Return the memory with this id, or the only one whose id begins so.

        Raises:
            MemoryNotFound: if there is none.
            AmbiguousId: if a prefix fits several.
            InvalidInput: if a prefix is too short to be meant.
        """
        exact = await self.get([given])
        if exact:
            return exact[given]
        if len(given) < SHORTEST_PREFIX:
            raise InvalidInput(
                "id",
                f"{given!r} is no id and too short for a prefix",
                f"Give at least {SHORTEST_PREFIX} characters.",
            )
        fitting = self._seen(await self._read(starts_with("id", given)))
        if not fitting:
            # The layers are read in parallel: a memory that is moving may be seen in neither.
            fitting = self._seen(await self._read(starts_with("id", given)))
        if not fitting:
            raise MemoryNotFound(given)
        if len(fitting) > 1:
            raise AmbiguousId(given, sorted(memory.id for memory in fitting))
        return fitting[0]

    async def find(self, where: Condition | None = None, layers: Sequence[Layer] = LAYERS) -> list[Memory]:
        """Return every memory that a condition matches, oldest first."""

        async def read_layers() -> list[pa.Table]:
            return await asyncio.gather(*(self.database.table(layer).rows(FIELDS, where) for layer in layers))

        async def read(archive: Table) -> pa.Table:
            return await archive.rows(FIELDS, _within(where, layers))

        parts = await self.archive.read_after(read_layers, read)
        memories = self._seen(_newest_of_each([memory for part in parts for memory in from_table(part)]))
        return sorted(memories, key=lambda memory: (memory.created_at, creation_order(memory.id)))

    async def find_few(self, where: Mapping[Layer, Condition]) -> list[Memory]:
        """Return the memories that each layer's condition matches, oldest first; fastest where they are few.

        The archive is not read.
        """
        parts = await asyncio.gather(
            *(self._read_from(self.database.table(layer), condition) for layer, condition in where.items())
        )
        memories = self._seen(_newest_of_each([memory for part in parts for memory in part]))
        return sorted(memories, key=lambda memory: (memory.created_at, creation_order(memory.id)))

    async def find_with_pending(self, scope: Scope) -> list[Memory]:
        """Return every active memory in a scope, those not written to the tables yet included.

        Unlike `find` it does not wait for them to be written. The archive is not read.
        """
        pending = await self.database.write_ahead_log.pending()
        where = scope.condition()
        parts = await asyncio.gather(
            *(self._read_from(self.database.raw_table(layer), where) for layer in scope.layers)
        )
        waiting = [item.memory for item in pending if scope.admits(as_values(item.memory))]
        return _newest_of_each([*waiting, *(memory for part in parts for memory in part)])

    def _seen(self, memories: Sequence[Memory]) -> list[Memory]:
        return [memory for memory in memories if self.viewer.sees(memory)]

    async def count(self, where: Condition | None = None, layers: Sequence[Layer] = LAYERS) -> int:
        """Count memories."""
        where = self.viewer.narrowed(where)

        async def count_layers() -> list[int]:
            return await asyncio.gather(*(self.database.table(layer).count(where) for layer in layers))

        return sum(await self.archive.read_after(count_layers, lambda table: table.count(_within(where, layers))))

    async def count_by_project(self, names: Sequence[str] | None = None) -> dict[str, Counter[str]]:
        """Count the memories of each project by status; of these projects, or of all."""
        counts: dict[str, Counter[str]] = {}
        where = self.viewer.narrowed(None if names is None else one_of("project", names))
        for rows in await self._columns_of_all(["project", "status"], where):
            grouped = rows.group_by(["project", "status"]).aggregate([([], "count_all")])
            for row in grouped.to_pylist():
                counts.setdefault(row["project"], Counter())[row["status"]] += row["count_all"]
        return counts

    async def owners(self) -> list[str]:
        """Return the people who have personal memories, as far as the viewer sees them."""
        where = self.viewer.narrowed(equals("visibility", "personal"))
        parts = await asyncio.gather(*(self.database.table(layer).rows(["author"], where) for layer in LAYERS))
        return sorted({author or LOCAL_PERSON for rows in parts for author in rows.column("author").to_pylist()})

    async def ids_oldest_first(self, where: Condition | None = None) -> list[str]:
        """Return the ids of every memory that a condition matches."""
        created: dict[str, datetime] = {}
        for rows in await self._columns_of_all(["id", "created_at"], self.viewer.narrowed(where)):
            created |= dict(zip(rows.column("id").to_pylist(), rows.column("created_at").to_pylist(), strict=True))
        return sorted(created, key=lambda memory_id: (created[memory_id], creation_order(memory_id)))

    async def nearest(self, vector: Vector, scope: Scope, limit: int) -> list[VectorHit]:
        """Return the memories closest to a vector, best first."""
        return await self.vectors.nearest(vector, scope, limit)

    async def nearest_with_pending(self, vector: Vector, scope: Scope, limit: int) -> NearMemories:
        """Return the memories closest to a vector, those not written to the tables yet included, best first.

        Unlike `nearest` it does not wait for them to be written, so that one `remember` need not wait for the last.
        """
        pending = await self.database.write_ahead_log.pending()
        hits = await self.vectors.nearest_with_pending(vector, scope, limit, pending)
        return NearMemories(hits, {item.memory.id: item.memory for item in pending})

    async def matching(self, text: str, scope: Scope, limit: int) -> list[TextHit]:
        """Return the memories that share words with a text, best first by BM25."""
        return await self.search.matching(text, scope, limit)

    async def candidate_rows(self, locations: Mapping[str, RowLocation | None], scope: Scope) -> CandidateRows:
        """Return what ranking and an answer need of memories that are still in scope.

        `locations` says where each was seen; None if its table is not known. Most are held in memory by the index
        that the search has just refreshed; the others are read from all tables at once.
        """
        cached, rows = self.vectors.cached_rows(locations)
        seen = {memory_id: location for memory_id, location in locations.items() if location is not None}
        ids = [memory_id for memory_id in locations if memory_id not in cached]
        vectors = self.vectors.cached_vectors(locations)
        columns = CANDIDATE_COLUMNS if vectors.keys() >= set(ids) else (*CANDIDATE_COLUMNS, *VECTOR_COLUMNS)
        read: list[pa.Table] = []
        if ids:
            parts = await asyncio.gather(*(self._rows_from(name, seen, ids, columns, scope) for name in scope.tables))
            read = [part for part in parts if part is not None]
            if columns != CANDIDATE_COLUMNS:
                vectors |= vectors_in(read, self.database.stamp.dimensions)
        return CandidateRows([*rows, *map(RowsRead, read)], vectors)

    async def as_of_scope(self, scope: Scope) -> Scope:
        """Return the scope with what the journal says of its moment; one without a moment stays as it is."""
        if scope.as_of is None:
            return scope
        return replace(scope, past=await past_state_of(self.journal, self.database.memory_tables, scope))

    async def past_texts(self, scope: Scope) -> list[Memory]:
        """Return the memories in a scope of the past whose text of then is in no table to be searched."""
        if scope.past is None:
            return []
        now = await self.get(scope.past.reworded) if scope.past.reworded else {}
        return [*scope.past.gone, *(scope.as_asked(memory) for memory in now.values())]

    async def waiting(self, scope: Scope) -> list[Embedded]:
        """Return the memories in scope that wait in this host's log because the object store could not take them.

        Read it after a search: what the search could flush is not among them.
        """
        if self.database.home.state is None or scope.as_of is not None:
            return []
        pending = await self.database.write_ahead_log.pending()
        return [item for item in pending if scope.admits({name: getattr(item.memory, name) for name in FIELDS})]

    async def memories_of(self, near: NearMemories, scope: Scope) -> dict[str, Memory]:
        """Return the memories behind vector hits, with the fields that recall reads."""
        found = {hit.id: near.pending[hit.id] for hit in near.hits if hit.id in near.pending}
        locations: dict[str, RowLocation | None] = {hit.id: hit.location for hit in near.hits if hit.id not in found}
        rows = (await self.candidate_rows(locations, scope)).of(locations) if locations else []
        return found | {row.memory.id: row.memory for row in rows}

    async def _rows_from(
        self, name: str, seen: Mapping[str, RowLocation], ids: Sequence[str], columns: Sequence[str], scope: Scope
    ) -> pa.Table | None:
        table = self.database.raw_table(name)  # what was seen is there
        known = {i: seen[i].row_id for i in ids if i in seen and seen[i].table == name}
        row_ids = {i: row_id for i, row_id in known.items() if row_id is not None}
        # A passage names its memory but not the layer, nor whether it is in scope.
        unknown = [i for i in ids if (i not in seen) or (i in known and i not in row_ids)]
        if unknown and await table.count():
            row_ids |= await table.row_ids(one_of("id", unknown) & scope.condition())
        return await table.take_by_id(row_ids, columns) if row_ids else None

    async def _columns_of_all(self, columns: Sequence[str], where: Condition | None) -> list[pa.Table]:
        """Read columns of every memory, whatever its status and wherever it is."""

        async def read_layers() -> list[pa.Table]:
            return [await self.database.table(layer).rows(columns, where) for layer in LAYERS]

        return await self.archive.read_after(read_layers, lambda table: table.rows(columns, where))

    async def _read(self, where: Condition) -> list[Memory]:
        async def read_layers() -> list[list[Memory]]:
            tables = [self.database.table(layer) for layer in LAYERS]
            return await asyncio.gather(*(self._read_from(table, where) for table in tables))

        parts = await self.archive.read_after(read_layers, lambda table: self._read_from(table, where))
        return _newest_of_each([memory for part in parts for memory in part])

    async def _read_from(self, table: Table, where: Condition) -> list[Memory]:
        row_ids = await table.row_ids(where) if await table.count() else {}
        return from_table(await table.take_by_id(row_ids, FIELDS)) if row_ids else []

    # -- writing ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """Keep other processes from changing memories while this block reads, decides and writes.

        Raises:
            StoreBusy: if others hold the store for too long, or it was re-embedded since it was opened.
        """
        async with self.database.write_lock.held():
            if self.database.home.state is None:
                self._check_still_current()
                yield
                return
            await self.database.check_current()
            yield
            # The next holder may be another host: it must find these events, and a purge their texts.
            await self.journal.flush()

    async def add(self, items: Sequence[Embedded], *, actor: str, at: datetime, reason: str | None = None) -> None:
        """Write new memories and then the journal; if either fails, neither stays."""
        self._check_still_current()  # the old tables may be gone, which reads like damage
        events = [self.written_event(item.memory, actor=actor, at=at, reason=reason) for item in items]
        try:
            if len(items) <= MOST_AT_ONCE:
                await self.database.write_ahead_log.write(items)
            else:
                await self._append(items)
            await self.journal.write(events)
        except StoreError:
            await self._remove_incomplete(items)
            raise
        self._check_still_current()

    async def _append(self, items: Sequence[Embedded]) -> None:
        """Write directly to the tables while nobody flushes the log: a purge waits for both."""
        async with self.database.write_ahead_log.paused():
            for name, rows in as_rows(items, self.database.stamp.dimensions).items():
                self._note_added(name, await self.database.raw_table(name).add(rows), rows)

    def _note_added(self, table: str, version: int, rows: pa.Table) -> None:
        for layer in LAYERS:
            if layer == table:
                self.vectors.note_added(layer, version, rows)
                self.entity_names.note_added(layer, version, rows)

    async def _remove_incomplete(self, items: Sequence[Embedded]) -> None:
        """Remove memories whose write was not completed: from the log, which needs no room, or from the tables."""
        ids = [item.memory.id for item in items]
        with suppress(StoreError):  # the first failure is the one to report
            if await self.database.write_ahead_log.take_back(items):
                return
            async with self.database.write_ahead_log.paused():
                for layer in by_layer(items):
                    await self.database.raw_table(layer).delete(one_of("id", ids))
                if any(item.passages for item in items):
                    await self.database.raw_table("passages").delete(one_of("memory_id", ids))

    async def replace(self, items: Sequence[Embedded], *, actor: str, at: datetime) -> None:
        """Write memories over those that have the same ids. Call it inside `changing()`."""
        ids = [item.memory.id for item in items]
        await self.archive.bring_back(ids)
        known = await self._stored(ids)
        await self.journal.write(
            [
                self.event(
                    "imported",
                    item.memory,
                    actor=actor,
                    at=at,
                    before=as_values(known[item.memory.id]) if item.memory.id in known else {},
                )
                for item in items
            ]
        )
        if known:
            await self.database.table("passages").delete(one_of("memory_id", known))
        await self._write_passages(items)
        for layer, part in by_layer(items).items():
            await self.database.table(layer).upsert(to_table(part, self.database.stamp.dimensions))
        for memory in known.values():
            moved_to = next(item.memory.layer for item in items if item.memory.id == memory.id)
            if moved_to != memory.layer:
                await self.database.table(memory.layer).delete(equals("id", memory.id))
        self._check_still_current()

    async def change(
        self,
        memories: Sequence[Memory],
        values: Mapping[str, Any],
        *,
        action: str,
        actor: str,
        at: datetime,
        reason: str | None = None,
        batch: str | None = None,
    ) -> list[Memory]:
        """Set fields of memories to the same new values and record it. Call it inside `changing()`.

        What the journal records as `before` is read now: the caller may have read it before it had the lock.
        A memory that was purged meanwhile is left out.
        """
        await self.archive.bring_back(memory.id for memory in memories)
        memories = await self._reread(memories)
        if not memories:
            return []
        await self.journal.write(
            [
                self.event(
                    action,
                    memory,
                    actor=actor,
                    at=at,
                    reason=reason,
                    batch=batch,
                    before={name: getattr(memory, name) for name in values},
                    after=values,
                )
                for memory in memories
            ]
        )
        columns = {name: column_value(name, value) for name, value in values.items()} | {"updated_at": at}
        by_layer: dict[Layer, list[str]] = {}
        for memory in memories:
            by_layer.setdefault(memory.layer, []).append(memory.id)
        for layer, ids in by_layer.items():
            await self.database.table(layer).update(one_of("id", ids), columns)
        if "project" in values:
            await self.move_passages([memory.id for memory in memories], values["project"])
        self._check_still_current()
        return [replace(memory, **values, updated_at=at) for memory in memories]

    async def move(self, memory: Memory, to: Layer, *, actor: str, at: datetime, reason: str | None = None) -> Memory:
        """Move a memory to another layer. Call it inside `changing()`.

        The new row is written before the old one goes: a crash in between leaves two, and readers take
        the newer.

        Raises:
            MemoryNotFound: if it was purged meanwhile.
        """
        await self.archive.bring_back([memory.id])
        current = await self._reread([memory])
        if not current:
            raise MemoryNotFound(memory.id)
        [memory] = current
        if memory.layer == to:
            return memory  # somebody else has just moved it
        event = self.event(
            "moved",
            memory,
            actor=actor,
            at=at,
            reason=reason,
            before={"layer": memory.layer},
            after={"layer": to},
        )
        await self.journal.write([event])
        source, target = self.database.table(memory.layer), self.database.table(to)
        here = equals("id", memory.id)
        rows = await source.rows([*FIELDS, "search_text", "pieces", *VECTOR_COLUMNS], here)
        moved = replace(memory, layer=to, updated_at=at)
        rows = rows.set_column(*_column(rows, "layer", pa.array([to], pa.string())))
        rows = rows.set_column(*_column(rows, "updated_at", pa.array([at], rows.schema.field("updated_at").type)))
        await target.upsert(rows)
        await source.delete(here)
        self._check_still_current()
        return moved

    def written_event(self, memory: Memory, *, actor: str, at: datetime, reason: str | None = None) -> Event:
        """Describe a new memory for the journal, with the names that were found in it and whose it is."""
        after: dict[str, Any] = {"entities": memory.entities} if memory.entities else {}
        if memory.owner is not None:  # its events tell who may see them, also when it is gone
            after |= {"visibility": memory.visibility, "author": memory.author}
        return self.event("remembered", memory, actor=actor, at=at, reason=reason, after=after)

    def event(self, action: str, memory: Memory, *, actor: str, at: datetime, **details: Any) -> Event:
        """Describe a change of a memory for the journal: the memory as it was, and what of it is new in `after`."""
        state = details.pop("state", None) or state_of(replace(memory, **details.get("after", {})))
        return Event(
            id=self.new_id(),
            at=at,
            action=action,
            memory_id=memory.id,
            actor=actor,
            session=self.session,
            state=state,
            **details,
        )

    async def remove_passages(self, memory_ids: Sequence[str]) -> None:
        """Remove the passages of memories whose text is about to change."""
        for name in PASSAGE_TABLES:
            await self.database.table(name).delete(one_of("memory_id", memory_ids))

    async def move_passages(self, memory_ids: Sequence[str], project: str) -> None:
        """Set the project of memories' passages: a search filters passages by their own."""
        passages = self.database.table("passages")
        if await passages.count(one_of("memory_id", memory_ids)):
            await passages.update(one_of("memory_id", memory_ids), {"project": project})

    async def _reread(self, memories: Sequence[Memory]) -> list[Memory]:
        """Return memories as their rows are now, in the same order; most are still in the same layer."""
        by_table: dict[Layer, list[str]] = {}
        for memory in memories:
            by_table.setdefault(memory.layer, []).append(memory.id)
        found: dict[str, Memory] = {}
        for layer, ids in by_table.items():
            read = await self._read_from(self.database.table(layer), one_of("id", ids))
            found |= {memory.id: memory for memory in read}
        elsewhere = [memory.id for memory in memories if memory.id not in found]
        found |= await self._stored(elsewhere)
        return [found[memory.id] for memory in memories if memory.id in found]

    async def _write_passages(self, items: Sequence[Embedded]) -> None:
        if any(item.passages for item in items):
            await self.database.table("passages").add(passage_rows(items, self.database.stamp.dimensions))

    def _check_still_current(self) -> None:
        """A write that raced with `reverie reembed` may have gone to tables that were just replaced."""
        if not self.is_current():
            raise StoreBusy(REEMBEDDED)


def _within(where: Condition | None, layers: Sequence[Layer]) -> Condition:
    """Limit a condition on the archive to the memories of some layers."""
    home = one_of("layer", layers)
    return home if where is None else where & home


def _column(rows: pa.Table, name: str, values: pa.Array) -> tuple[int, pa.Field, pa.Array]:
    number = rows.schema.get_field_index(name)
    return number, rows.schema.field(number), values


def _newest_of_each(memories: Sequence[Memory]) -> list[Memory]:
    """Of two rows with one id, left by a move that was cut short, take the newer."""
    newest: dict[str, Memory] = {}
    for memory in memories:
        other = newest.get(memory.id)
        if other is None or memory.updated_at > other.updated_at:
            newest[memory.id] = memory
    return list(newest.values())
