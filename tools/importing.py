"""Reading memories from a file: JSON Lines, as an export writes them or as anyone else does."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from reverie.embeddings.embedder import Embedding
from reverie.errors import InvalidInput, StoreError
from reverie.memory import LAYERS, Memory
from reverie.storage.rows import Embedded
from reverie.storage.tombstones import purged_among
from reverie.storage.upkeep import KEEP_VERSIONS_FOR
from reverie.tools.arguments import checked_content
from reverie.tools.drafts import checked_fields, drafted
from reverie.tools.lines import BadLine, Line, read_lines
from reverie.tools.screening import screened_fields
from reverie.tools.workspace import Workspace

_LINES_AT_ONCE = 500
_TEXTS_AT_ONCE = 128  # an interrupted import waits for no more than these
_CHARACTERS_AT_ONCE = 2_000_000  # long memories have a vector for each passage
_MOST_BAD_LINES_TOLD = 1_000


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
    bad_lines: list[BadLine] = field(default_factory=list)  # the first thousand

    def skip(self, bad: BadLine) -> None:
        """Count a line that is not kept."""
        self.skipped += 1
        if len(self.bad_lines) < _MOST_BAD_LINES_TOLD:
            self.bad_lines.append(bad)


Progress = Callable[[Imported], None]


async def import_memories(workspace: Workspace, file: BinaryIO, progress: Progress) -> Imported:
    """Keep the memory of every line that can be read; an id that is there already is updated.

    Raises:
        EmbedderError: if the texts cannot be embedded.
        StoreError: if they cannot be written. What `progress` told before is kept, and the same file can be
            imported again.
    """
    tally = Imported()
    for part in _parts(_checked(workspace, read_lines(file), tally)):
        await _keep(workspace, part, tally)
        progress(tally)
    progress(tally)
    if tally.added or tally.updated:
        await _compact(workspace)
    return tally


async def _compact(workspace: Workspace) -> None:
    """Bring the indexes up to date at once: searching three thousand unindexed texts takes ten times as long."""
    database = workspace.store.database
    with suppress(StoreError):  # everything is written; the next upkeep comes soon
        async with database.upkeep_lock.held_if_free() as ours:
            if ours:
                for name in (*LAYERS, "passages", "events"):
                    await database.table(name).tidy(KEEP_VERSIONS_FOR)
        await workspace.upkeep.run()


def _checked(workspace: Workspace, lines: Iterable[Line | BadLine], tally: Imported) -> Iterator[dict[str, Any]]:
    for line in lines:
        tally.lines += 1
        if isinstance(line, BadLine):
            tally.skip(line)
            continue
        try:
            fields, found = screened_fields(checked_fields(line.values))
            checked_content(fields["content"])  # nothing may be left of it
        except InvalidInput as error:
            tally.skip(BadLine.because(line.number, error))
            continue
        tally.redacted += bool(found)
        fields.setdefault("id", workspace.store.new_id.memory())
        yield fields


def _parts(every: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    part: list[dict[str, Any]] = []
    characters = 0
    for fields in every:
        part.append(fields)
        characters += len(fields["content"])
        if len(part) >= _LINES_AT_ONCE or characters >= _CHARACTERS_AT_ONCE:
            yield part
            part, characters = [], 0
    if part:
        yield part


async def _keep(workspace: Workspace, part: Sequence[Mapping[str, Any]], tally: Imported) -> None:
    """Write one part of a file: everything new in it at once, everything updated at once."""
    now = workspace.now
    purged = purged_among(workspace.store.database, (fields["content"] for fields in part))
    if purged:
        wanted = [fields for fields in part if fields["content"] not in purged]
        tally.purged += len(part) - len(wanted)
        part = wanted
    ids = list(dict.fromkeys(fields["id"] for fields in part))
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
        added = [item for item in changed if item.memory.id not in known]
        if added:
            await workspace.store.add(added, actor="import", at=now)
        if updated:
            await workspace.store.replace(updated, actor="import", at=now)
    tally.added += len(added)
    tally.quarantined += sum(item.memory.status == "quarantined" for item in added)
    tally.updated += len(updated)
    tally.unchanged += len(part) - len(added) - len(updated)


def _drafts(
    workspace: Workspace, part: Iterable[Mapping[str, Any]], known: Mapping[str, Memory]
) -> dict[str, Memory]:
    """Apply the lines in their order, so that of two with one id the last has the say."""
    drafts: dict[str, Memory] = {}
    for fields in part:
        memory_id = fields["id"]
        base = drafts.get(memory_id, known.get(memory_id))
        drafts[memory_id] = drafted(workspace, fields, base, workspace.now)
    return drafts


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
