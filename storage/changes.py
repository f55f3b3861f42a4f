"""Many changes at once, exactly as given: for dreams, and to undo them.

New rows are written before old ones go, so a crash leaves a duplicate, never a loss. The caller writes the journal
first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from reverie.memory import LAYERS, Layer, Memory
from reverie.storage.filters import one_of
from reverie.storage.rows import FIELDS, Embedded, column_value, passage_rows, to_table
from reverie.storage.schema import memory_schema
from reverie.storage.store import MemoryStore

_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Edit:
    """A memory before and after a change; every field that differs is written, `updated_at` included."""

    before: Memory
    after: Memory


async def write_batch(
    store: MemoryStore, added: Sequence[Embedded] = (), edits: Sequence[Edit] = (), removed: Sequence[Memory] = ()
) -> None:
    """Write new memories, then edits, then removals; call it inside `changing()`. Repeating it does no harm."""
    await _add(store, added)
    moves = [edit for edit in edits if edit.before.layer != edit.after.layer]
    await _move(store, moves)
    await _set(store, [edit for edit in edits if edit.before.layer == edit.after.layer])
    await _remove(store, removed)


async def _add(store: MemoryStore, added: Sequence[Embedded]) -> None:
    dimensions = store.database.stamp.dimensions
    passages = passage_rows(added, dimensions)
    if len(passages):
        await store.database.table("passages").upsert(passages)
    for layer in _layers(item.memory for item in added):
        rows = to_table([item for item in added if item.memory.layer == layer], dimensions)
        await store.database.table(layer).upsert(rows)


async def _set(store: MemoryStore, edits: Sequence[Edit]) -> None:
    """Set what differs, all rows with the same set of changed columns in one commit."""
    groups: dict[tuple[Layer, tuple[str, ...]], list[Edit]] = {}
    for edit in edits:
        columns = tuple(name for name in FIELDS if getattr(edit.before, name) != getattr(edit.after, name))
        if columns:
            groups.setdefault((edit.before.layer, columns), []).append(edit)
    schema = memory_schema(store.database.stamp.dimensions)
    for (layer, columns), group in groups.items():
        part = pa.schema([schema.field("id"), *(schema.field(name) for name in columns)])
        for start in range(0, len(group), _AT_ONCE):
            memories = [edit.after for edit in group[start : start + _AT_ONCE]]
            values = {name: [column_value(name, getattr(m, name)) for m in memories] for name in part.names}
            rows = pa.table([pa.array(values[field.name], field.type) for field in part], schema=part)
            await store.database.table(layer).merge(rows)
    moved: dict[str, list[str]] = {}
    for edit in edits:
        if edit.before.project != edit.after.project:
            moved.setdefault(edit.after.project, []).append(edit.after.id)
    for project, ids in moved.items():
        for start in range(0, len(ids), _AT_ONCE):
            await store.move_passages(ids[start : start + _AT_ONCE], project)


async def _move(store: MemoryStore, moves: Sequence[Edit]) -> None:
    """Write rows to their new layer, vectors and all, before they leave the old one."""
    everything = memory_schema(store.database.stamp.dimensions).names
    by_layers: dict[tuple[Layer, Layer], list[Edit]] = {}
    for edit in moves:
        by_layers.setdefault((edit.before.layer, edit.after.layer), []).append(edit)
    for (source, target), group in by_layers.items():
        for start in range(0, len(group), _AT_ONCE):
            part = {edit.after.id: edit.after for edit in group[start : start + _AT_ONCE]}
            here = one_of("id", part)
            rows = await store.database.table(source).rows(everything, here)
            await store.database.table(target).upsert(_with_fields(rows, part))
            await store.database.table(source).delete(here)


async def remove_strays(store: MemoryStore, homes: Mapping[str, Layer]) -> None:
    """Delete second rows that a move, cut short, left in another layer than the memory's own."""
    for layer in LAYERS:
        elsewhere = [memory_id for memory_id, home in homes.items() if home != layer]
        if elsewhere and await store.database.table(layer).count(one_of("id", elsewhere)):
            await store.database.table(layer).delete(one_of("id", elsewhere))


def _with_fields(rows: pa.Table, memories: dict[str, Memory]) -> pa.Table:
    ids = rows.column("id").to_pylist()
    for number, field in enumerate(rows.schema):
        if field.name in FIELDS:
            values = [column_value(field.name, getattr(memories[memory_id], field.name)) for memory_id in ids]
            rows = rows.set_column(number, field, pa.array(values, field.type))
    return rows


async def _remove(store: MemoryStore, removed: Sequence[Memory]) -> None:
    ids = [memory.id for memory in removed]
    if not ids:
        return
    for layer in _layers(removed):
        await store.database.table(layer).delete(one_of("id", ids))
    await store.database.table("passages").delete(one_of("memory_id", ids))


def _layers(memories: Iterable[Memory]) -> list[Layer]:
    return list(dict.fromkeys(memory.layer for memory in memories))
