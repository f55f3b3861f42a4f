"""The archive: where memories go that have been expired or superseded for a day, so that a search need not see them.

It is one table for all layers, with the schema of a layer, and one for the passages of what is in it. Nothing of a
memory changes when it is moved there or back: no event is written, and `layer` names the table it came from. Who asks
for what is expired or superseded (`include`, `as_of`, an id, a list) reads the archive too; a plain recall does not.

A move writes the copy before it deletes the original, as a move between layers does. So a process that is killed in
between leaves two equal rows, never none, and the next run finishes the move: the row is still due. Whoever changes a
memory brings it back first, and so changes rows in layer tables alone.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

import pyarrow as pa

from reverie.memory import LAYERS, Layer
from reverie.storage.database import Database
from reverie.storage.filters import Condition, equals, not_after, one_of
from reverie.storage.lance_table import Table
from reverie.storage.rows import OWNER_COLUMNS, owners_of
from reverie.storage.schema import ARCHIVE, ARCHIVED_PASSAGES, PASSAGES, memory_schema, side_schema
from reverie.storage.scope import RETIRED, Scope

GRACE: Final = timedelta(days=1)
"""What changed less than a day ago stays where it is: that is what people undo, restore and ask for. Until then
recall can also say how many of it share words with a query."""

KEEP_VERSIONS_FOR = timedelta(seconds=30)
_AT_ONCE = 1_000
_MOST_READS = 5
_WORTH_REWRITING = 0.1  # the share of a table's rows; LanceDB leaves fewer deleted rows where they are

Part = TypeVar("Part")
_Counts = Counter[tuple[str, str, str | None]]


class Archive:
    """Moves memories out of the layer tables and back, and reads those that are out."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: tuple[int, _Counts] | None = None  # by project, layer and owner, as of a version

    @property
    def table(self) -> Table:
        """The table of archived memories."""
        return self._database.table(ARCHIVE)

    # -- reading ---------------------------------------------------------------------------------------

    async def read_after(
        self, read_layers: Callable[[], Awaitable[Sequence[Part]]], read: Callable[[Table], Awaitable[Part]]
    ) -> list[Part]:
        """Read layer tables and then the archive, so that a memory on its way is not missed.

        One that moves out of its layer is in the archive before it leaves. If one comes back, the archive has a new
        version, and both are read again.
        """
        parts: list[Part] = []
        for _ in range(_MOST_READS):
            version = await self.table.version()
            parts = list(await read_layers())
            if await self.table.count():
                parts.append(await read(self.table))
            if await self.table.version() == version:
                break
        return parts

    async def passed_over(self, scope: Scope) -> int:
        """Return how many archived memories a scope leaves out that has their project and layer.

        They are counted, not searched, and counted again only when the archive has changed.
        """
        if scope.reads_archive:
            return 0
        counts = await self._counts()
        return sum(
            count
            for (project, layer, owner), count in counts.items()
            if layer in scope.layers
            and (scope.projects is None or project in scope.projects)
            and scope.viewer.sees_owner(owner)
        )

    async def _counts(self) -> _Counts:
        table = self._database.raw_table(ARCHIVE)  # nothing in the write-ahead log is for the archive
        version = await table.version()
        if self._counted is None or self._counted[0] != version:
            rows = await table.rows(["project", "layer", *OWNER_COLUMNS])
            rows = rows.select(["project", "layer"]).append_column("owner", owners_of(rows))
            grouped = rows.group_by(["project", "layer", "owner"]).aggregate([([], "count_all")]).to_pylist()
            counts = Counter({(row["project"], row["layer"], row["owner"]): row["count_all"] for row in grouped})
            self._counted = version, counts
        return self._counted[1]

    # -- moving ----------------------------------------------------------------------------------------

    async def take_in(self, now: datetime) -> int:
        """Move what has been expired or superseded for a day out of the layers; return how many memories that were.

        The write lock is held for a thousand at a time. A pinned memory stays where it is.

        Raises:
            StoreError: if the store cannot be read or written; the next run finishes a move that was cut short.
        """
        due = one_of("status", RETIRED) & not_after("updated_at", now - GRACE) & equals("pinned", False)
        moved: Counter[Layer] = Counter()
        for layer in LAYERS:
            while await self._database.table(layer).count(due):  # mostly none, and without the lock
                async with self._database.write_lock.held():
                    taken = await self._take_some_in(layer, due) if self._database.is_current() else 0
                if not taken:
                    break
                moved[layer] += taken
        if moved:
            await self._counts()  # here, not in the next recall
            await self._rewrite(moved)
        return moved.total()

    async def bring_back(self, ids: Iterable[str]) -> None:
        """Move these memories back into their layers, those that are archived. Call it inside `changing()`."""
        wanted = list(dict.fromkeys(ids))
        if not wanted or not await self.table.count():
            return
        for start in range(0, len(wanted), _AT_ONCE):
            archived = await self.table.row_ids(one_of("id", wanted[start : start + _AT_ONCE]))
            if archived:
                await self._bring_back(list(archived))

    async def _take_some_in(self, layer: Layer, due: Condition) -> int:
        table = self._database.table(layer)
        found = await table.rows(["id", "updated_at"], due, _AT_ONCE)
        cold = dict(zip(found.column("id").to_pylist(), found.column("updated_at").to_pylist(), strict=True))
        await self._drop_stray_rows(layer, cold)
        if cold:
            rows = await table.rows(self._columns(), one_of("id", cold))
            await self.table.upsert(rows)
            await self._move_passages(list(cold), PASSAGES, ARCHIVED_PASSAGES)
            await table.delete(one_of("id", cold))
        return len(cold)

    async def _drop_stray_rows(self, layer: Layer, cold: dict[str, datetime]) -> None:
        """Remove what a move between layers, cut short, left of these memories: the older row, here or elsewhere.

        In the archive the newer row would no longer hide the older one from a search.
        """
        here = self._database.table(layer)
        for other in LAYERS:
            if other == layer:
                continue
            rows = (await self._database.table(other).rows(["id", "updated_at"], one_of("id", cold))).to_pylist()
            older = [row["id"] for row in rows if row["updated_at"] <= cold[row["id"]]]
            newer = [row["id"] for row in rows if row["updated_at"] > cold[row["id"]]]
            if older:
                await self._database.table(other).delete(one_of("id", older))
            if newer:
                await here.delete(one_of("id", newer))
            for memory_id in newer:
                del cold[memory_id]

    async def _bring_back(self, ids: Sequence[str]) -> None:
        rows = await self.table.rows(self._columns(), one_of("id", ids))
        for layer in LAYERS:
            part = rows.filter(pa.array([name == layer for name in rows.column("layer").to_pylist()], pa.bool_()))
            table = self._database.table(layer)
            # A row that a move, cut short, left in the layer is the one that was read and changed since.
            there = await table.row_ids(one_of("id", part.column("id").to_pylist())) if len(part) else {}
            missing = part.filter(pa.array([i not in there for i in part.column("id").to_pylist()], pa.bool_()))
            if len(missing):
                await table.upsert(missing)
        await self._move_passages(ids, ARCHIVED_PASSAGES, PASSAGES)
        await self.table.delete(one_of("id", ids))

    async def _move_passages(self, ids: Sequence[str], source: str, target: str) -> None:
        of_these = one_of("memory_id", ids)
        rows = await self._database.table(source).rows(side_schema(source, 1).names, of_these)
        if len(rows):
            await self._database.table(target).upsert(rows)
            await self._database.table(source).delete(of_these)

    async def _rewrite(self, moved: Counter[Layer]) -> None:
        """Write tables out again that lost many rows, unless another process is at it."""
        async with self._database.maintenance_lock.held_if_free() as ours:
            if not ours:
                return
            for layer, count in moved.items():
                table = self._database.raw_table(layer)
                if count >= _WORTH_REWRITING * (count + await table.count()):
                    await table.tidy(KEEP_VERSIONS_FOR)
                await asyncio.sleep(0)

    def _columns(self) -> list[str]:
        return list(memory_schema(self._database.stamp.dimensions).names)
