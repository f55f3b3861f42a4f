"""Giving a store the vectors of another model.

First every text is embedded into a staging table; that takes the time, can be stopped and goes on where it
was. Then, with other writers held off, a fresh generation of tables is written beside the old one and made
current in one step. Until that step the old store is untouched.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from reverie.memory import LAYERS, Memory
from reverie.storage.database import Stamp, connect_to, create_database, open_tables, read_stamp
from reverie.storage.faults import retried
from reverie.storage.filters import one_of
from reverie.storage.generations import Generations
from reverie.storage.lock import ProcessLock
from reverie.storage.rows import FIELDS, Embedded, Vector, from_table, to_table, vector_column
from reverie.storage.schema import SIDE_TABLES, vector_type
from reverie.storage.shelf import as_matrix
from reverie.storage.store import passage_rows
from reverie.storage.table import Table

Embed = Callable[[Sequence[str]], Sequence[tuple[Vector, tuple[Vector, ...]]]]
Progress = Callable[[int, int], None]

_TEXTS_AT_ONCE = 256
_ROWS_AT_ONCE = 2_000


async def reembed(folder: Path, stamp: Stamp, embed: Embed, *, now: datetime, progress: Progress) -> int:
    """Convert the store in a folder to another embedder; return how many memories it holds.

    Raises:
        StoreError: if the store cannot be read or written; it is then as it was.
        EmbedderError: if the new embedder fails; what was embedded so far is kept for the next try.
    """
    generations = Generations(folder)
    generations.prepare()
    async with ProcessLock(folder / "locks" / "reembed.lock").held(patience=1.0):
        old = await _open(generations.path(generations.current()))
        staging = await _staging(folder / "staging", stamp)
        await _embed_all(old, staging, embed, progress)
        async with ProcessLock(folder / "locks" / "write.lock").held():
            await _embed_all(old, staging, embed, lambda _done, _total: None)  # what came in meanwhile
            number = generations.current() + 1
            fresh_path = generations.path(number)
            shutil.rmtree(fresh_path, ignore_errors=True)  # the remains of a try that was killed
            fresh = await create_database(fresh_path, stamp, now)
            await _copy(old, fresh, staging, stamp)
            generations.switch(number)
            # A memory written to the old tables just before the switch is carried over; one written after
            # it is refused by its writer, which sees that they are no longer current.
            await _embed_all(old, staging, embed, lambda _done, _total: None)
            await _copy_missing(old, fresh, staging, stamp)
        kept = sum([await fresh[layer].count() for layer in LAYERS])
        generations.drop_others(number)
        shutil.rmtree(folder / "staging")
        return kept


async def _open(path: Path) -> dict[str, Table]:
    return await open_tables(await connect_to(path))


async def stamp_of(folder: Path) -> Stamp:
    """Return what the store in a folder is embedded with now."""
    generations = Generations(folder)
    return await read_stamp(await connect_to(generations.path(generations.current())))


async def _staging(path: Path, stamp: Stamp) -> Table:
    """Open the staging table of this embedder, or start one."""
    connection = await connect_to(path)
    name = "vectors"
    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),  # the hash of the text
            pa.field("number", pa.int64(), nullable=False),  # -1 for the whole, else which passage
            pa.field("vector", vector_type(stamp.dimensions), nullable=False),
        ],
        metadata={"embedder": stamp.embedder},
    )
    if name in await connection.table_names(limit=10):
        table = Table(name, await connection.open_table(name))
        if await table.lance.schema() == schema and await _embedder_of(table) == stamp.embedder:
            return table
        await connection.drop_table(name)
    return Table(name, await retried(name, lambda: connection.create_table(name, schema=schema)))


async def _embedder_of(table: Table) -> str:
    metadata = (await table.lance.schema()).metadata or {}
    return str(metadata.get(b"embedder", b"").decode())


async def _embed_all(old: dict[str, Table], staging: Table, embed: Embed, progress: Progress) -> None:
    done = set((await staging.rows(["id"])).column("id").to_pylist())
    texts: dict[str, str] = {}
    for layer in LAYERS:
        rows = await old[layer].rows(["content_hash", "content"])
        texts |= dict(zip(rows.column("content_hash").to_pylist(), rows.column("content").to_pylist(), strict=True))
    waiting = [(key, text) for key, text in texts.items() if key not in done]
    progress(len(texts) - len(waiting), len(texts))
    for start in range(0, len(waiting), _TEXTS_AT_ONCE):
        part = waiting[start : start + _TEXTS_AT_ONCE]
        embedded = embed([text for _, text in part])
        await staging.add(_staged(part, embedded, await staging.lance.schema()))
        progress(len(texts) - len(waiting) + start + len(part), len(texts))


def _staged(
    part: Sequence[tuple[str, str]], embedded: Sequence[tuple[Vector, tuple[Vector, ...]]], schema: pa.Schema
) -> pa.Table:
    rows = [
        (key, number, vector)
        for (key, _), (whole, passages) in zip(part, embedded, strict=True)
        for number, vector in [(-1, whole), *enumerate(passages)]
    ]
    dimensions = schema.field("vector").type.list_size
    return pa.table(
        [
            pa.array([key for key, _, _ in rows], pa.string()),
            pa.array([number for _, number, _ in rows], pa.int64()),
            vector_column([vector for _, _, vector in rows], dimensions),
        ],
        schema=schema,
    )


async def _copy(old: dict[str, Table], fresh: dict[str, Table], staging: Table, stamp: Stamp) -> None:
    for layer in LAYERS:
        memories = from_table(await old[layer].rows(FIELDS))
        await _write(memories, fresh, layer, staging, stamp)
    for side in SIDE_TABLES:
        if side in ("passages", "meta"):  # both are made anew with the vectors
            continue
        rows = await old[side].rows((await old[side].lance.schema()).names)
        if len(rows):
            await fresh[side].add(rows)


async def _copy_missing(old: dict[str, Table], fresh: dict[str, Table], staging: Table, stamp: Stamp) -> None:
    for layer in LAYERS:
        known = set((await fresh[layer].rows(["id"])).column("id").to_pylist())
        ids = [key for key in (await old[layer].rows(["id"])).column("id").to_pylist() if key not in known]
        if ids:
            memories = from_table(await old[layer].rows(FIELDS, one_of("id", ids)))
            await _write(memories, fresh, layer, staging, stamp)


async def _write(
    memories: Sequence[Memory], fresh: dict[str, Table], layer: str, staging: Table, stamp: Stamp
) -> None:
    for part in _parts(memories):
        items = await _with_vectors(part, staging, stamp)
        await fresh[layer].add(to_table(items, stamp.dimensions))
        passages = passage_rows(items, stamp.dimensions)
        if len(passages):
            await fresh["passages"].add(passages)


def _parts(memories: Sequence[Memory]) -> Iterator[Sequence[Memory]]:
    for start in range(0, len(memories), _ROWS_AT_ONCE):
        yield memories[start : start + _ROWS_AT_ONCE]


async def _with_vectors(memories: Sequence[Memory], staging: Table, stamp: Stamp) -> list[Embedded]:
    wanted = one_of("id", {memory.content_hash for memory in memories})
    rows = await staging.rows(["id", "number", "vector"], wanted)
    vectors = {
        (key, number): vector
        for key, number, vector in zip(
            rows.column("id").to_pylist(),
            rows.column("number").to_pylist(),
            as_matrix(rows.column("vector"), stamp.dimensions),
            strict=True,
        )
    }
    items = []
    for memory in memories:
        passages: list[Vector] = []
        while (memory.content_hash, len(passages)) in vectors:
            passages.append(vectors[memory.content_hash, len(passages)])
        stamped = replace(memory, embedder=stamp.embedder)
        items.append(Embedded(stamped, vectors[memory.content_hash, -1], tuple(passages)))
    return items
