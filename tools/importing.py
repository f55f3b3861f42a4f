"""Reading memories from a file: JSON Lines, as an export writes them or as anyone else does.

A line that carries this installation's seal is taken at its word and comes back exactly. Any other is believed no
further than a stranger, unless a person vouches for the file (see drafts.py).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, BinaryIO

from reverie.embeddings.embedder import Embedding
from reverie.errors import InvalidInput, StoreError
from reverie.identity import derived_id
from reverie.memory import LAYERS, Memory
from reverie.record import encode
from reverie.storage.rows import Embedded
from reverie.storage.scope import RECALLED
from reverie.storage.tombstones import purged_among
from reverie.storage.upkeep import KEEP_VERSIONS_FOR
from reverie.tools.arguments import MOST_IDS, checked_content
from reverie.tools.classify import vectors_for
from reverie.tools.drafts import Read, checked_fields, completed, drafted
from reverie.tools.lines import SEAL, BadLine, Line, is_ours, payload_of, read_lines
from reverie.tools.restore import restore
from reverie.tools.screening import screened_fields
from reverie.tools.workspace import Workspace

_LINES_AT_ONCE = 500
_TEXTS_AT_ONCE = 128  # an interrupted import waits for no more than these
_CHARACTERS_AT_ONCE = 2_000_000  # long memories have a vector for each passage
_MOST_BAD_LINES_TOLD = 1_000
_LET_GO = ("expired", "superseded")


@dataclass(slots=True)
class Imported:
    """What became of the lines so far; those that are neither added, updated nor unchanged were skipped."""

    lines: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    redacted: int = 0  # lines that something secret or private was taken out of
    quarantined: int = 0  # memories held back for review, new ones only
    purged: int = 0  # lines whose text was purged here and stays out
    unproven: int = 0  # lines that were not taken at their word
    broken_seals: int = 0  # of those, lines with a seal that does not fit: edited, or of another installation
    forgotten: int = 0  # lines about memories that were let go here; they stay so unless they are to be revived
    revived: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)  # the first thousand

    forgotten_ids: list[str] = field(default_factory=list)

    def skip(self, bad: BadLine) -> None:
        """Count a line that is not kept."""
        self.skipped += 1
        if len(self.bad_lines) < _MOST_BAD_LINES_TOLD:
            self.bad_lines.append(bad)


Progress = Callable[[Imported], None]


async def import_memories(
    workspace: Workspace, file: BinaryIO, progress: Progress, *, trust: bool = False, revive: bool = False
) -> Imported:
    """Keep the memory of every line that can be read; an id that is there already is updated.

    With `trust` every line is taken at its word. With `revive` memories that were let go here and that the file has
    as active are brought back, as `restore` does.

    Raises:
        KeyUnavailable: if a line has a seal and the key that proves it cannot be read.
        EmbedderError: if the texts cannot be embedded.
        StoreError: if they cannot be written. What `progress` told before is kept, and the same file can be
            imported again.
    """
    tally = Imported()
    for part in _parts(_checked(workspace, read_lines(file), tally, trust=trust)):
        await _keep(workspace, part, tally)
        progress(tally)
    if revive:
        await _revive(workspace, tally)
    progress(tally)
    if tally.added or tally.updated:
        await _compact(workspace)
    return tally


async def _revive(workspace: Workspace, tally: Imported) -> None:
    ids = list(dict.fromkeys(tally.forgotten_ids))
    workspace.served.note_ids(ids)  # the file named them
    for start in range(0, len(ids), MOST_IDS):
        tally.revived += len((await restore(workspace, ids=ids[start : start + MOST_IDS])).restored)


async def _compact(workspace: Workspace) -> None:
    """Bring the indexes up to date at once: searching three thousand unindexed texts takes ten times as long."""
    database = workspace.store.database
    with suppress(StoreError):  # everything is written; the next upkeep comes soon
        async with database.upkeep_lock.held_if_free() as ours:
            if ours:
                for name in (*LAYERS, "passages", "events"):
                    await database.table(name).tidy(KEEP_VERSIONS_FOR)
        await workspace.upkeep.run()


def _checked(
    workspace: Workspace, lines: Iterable[Line | BadLine], tally: Imported, *, trust: bool
) -> Iterator[Read]:
    installation, now = workspace.settings.installation, workspace.now
    for line in lines:
        tally.lines += 1
        if isinstance(line, BadLine):
            tally.skip(line)
            continue
        try:
            values = {name: value for name, value in line.values.items() if name != SEAL}
            fields, found = screened_fields(checked_fields(values))
            checked_content(fields["content"])  # nothing may be left of it
        except InvalidInput as error:
            tally.skip(BadLine.because(line.number, error))
            continue
        for name in ("title", "project"):
            if not fields.get(name, "x"):
                del fields[name]
        believed = trust or is_ours(line.values, installation)
        tally.unproven += not believed
        tally.broken_seals += not believed and SEAL in line.values
        tally.redacted += bool(found)
        fields.setdefault("id", _id_of(workspace, fields))
        # A microsecond apart, so that lines without a date keep their order.
        yield Read(fields, now + timedelta(microseconds=tally.lines - 1), believed)


def _id_of(workspace: Workspace, fields: Mapping[str, Any]) -> str:
    """Return the id of a line without one: always the same, so that importing it again adds nothing."""
    said = {name: encode(value) for name, value in fields.items() if value is not None}
    return derived_id(payload_of({"project": workspace.here.project} | said))


def _parts(every: Iterable[Read]) -> Iterator[list[Read]]:
    part: list[Read] = []
    characters = 0
    for read in every:
        part.append(read)
        characters += len(read.fields["content"])
        if len(part) >= _LINES_AT_ONCE or characters >= _CHARACTERS_AT_ONCE:
            yield part
            part, characters = [], 0
    if part:
        yield part


async def _keep(workspace: Workspace, part: Sequence[Read], tally: Imported) -> None:
    """Write one part of a file: everything new in it at once, everything updated at once."""
    now = workspace.now
    purged = purged_among(workspace.store.database, (read.fields["content"] for read in part))
    if purged:
        wanted = [read for read in part if read.fields["content"] not in purged]
        tally.purged += len(part) - len(wanted)
        part = wanted
    ids = list(dict.fromkeys(read.fields["id"] for read in part))
    before = await workspace.store.get(ids)
    drafts = _drafts(workspace, part, before)
    vectors = await _embedded(workspace, drafts, before, {})
    async with workspace.store.changing():
        known = await workspace.store.get(ids)
        if known != before:  # another session was at them while we embedded
            drafts = _drafts(workspace, part, known)
            vectors = await _embedded(workspace, drafts, known, vectors)
        changed = [
            Embedded(memory, made.vector, made.passages, made.pieces)
            for memory in drafts.values()
            if memory != known.get(memory.id)
            for made in [vectors[memory.content]]
        ]
        updated = [item for item in changed if item.memory.id in known]
        added = await _completed(workspace, part, [item for item in changed if item.memory.id not in known])
        if added:
            await workspace.store.add(added, actor="import", at=now)
        if updated:
            await workspace.store.replace(updated, actor="import", at=now)
        forgotten = [read.fields["id"] for read in part if _was_forgotten(read, known)]
    tally.forgotten += len(forgotten)
    tally.forgotten_ids += forgotten
    tally.added += len(added)
    tally.quarantined += sum(item.memory.status == "quarantined" for item in added)
    tally.updated += len(updated)
    tally.unchanged += len(part) - len(added) - len(updated) - len(forgotten)


async def _completed(workspace: Workspace, part: Sequence[Read], added: list[Embedded]) -> list[Embedded]:
    """Return new memories with the kind and layer that their lines leave open."""
    lines = {read.fields["id"]: read.fields for read in part}
    open_still = {i.memory.id: i for i in added if not {"kind", "layer"} <= lines[i.memory.id].keys()}
    if not open_still:
        return added
    texts = [item.memory.content for item in open_still.values()]
    made = [Embedding(item.vector) for item in open_still.values()]
    vectors = await asyncio.to_thread(vectors_for, workspace.embedder, texts, made)
    for item, vector in zip(list(open_still.values()), vectors, strict=True):
        memory = completed(workspace, item.memory, lines[item.memory.id], vector)
        open_still[memory.id] = replace(item, memory=memory)
    return [open_still.get(item.memory.id, item) for item in added]


def _drafts(workspace: Workspace, part: Iterable[Read], known: Mapping[str, Memory]) -> dict[str, Memory]:
    """Apply the lines in their order, so that of two with one id the last has the say."""
    drafts: dict[str, Memory] = {}
    for read in part:
        if _was_forgotten(read, known):
            continue
        memory_id = read.fields["id"]
        base = drafts.get(memory_id, known.get(memory_id))
        drafts[memory_id] = drafted(workspace, read, base, workspace.now)
    return drafts


def _was_forgotten(read: Read, known: Mapping[str, Memory]) -> bool:
    """Say whether a line would bring back what was let go here: an older file does not know of it."""
    memory = known.get(read.fields["id"])
    return memory is not None and memory.status in _LET_GO and read.fields.get("status", "active") in RECALLED


async def _embedded(
    workspace: Workspace,
    drafts: Mapping[str, Memory],
    known: Mapping[str, Memory],
    vectors: Mapping[str, Embedding],
) -> dict[str, Embedding]:
    """Return the vectors of every text that has to be written."""
    changed = (memory.content for memory in drafts.values() if memory != known.get(memory.id))
    missing = [text for text in dict.fromkeys(changed) if text not in vectors]
    made = dict(vectors)
    for start in range(0, len(missing), _TEXTS_AT_ONCE):
        texts = missing[start : start + _TEXTS_AT_ONCE]
        made |= zip(texts, await workspace.embed(texts), strict=True)
    return made
