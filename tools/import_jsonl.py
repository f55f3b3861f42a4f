"""Import: memories from JSON Lines, written by an export or by anyone else."""

import asyncio
import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, BinaryIO

from reverie.embeddings.base import Embedding
from reverie.errors import InvalidInput, StoreError
from reverie.ids import content_hash, derived_id
from reverie.lifecycle.vitals import first_stability, imported_trust, trust_of
from reverie.lifecycle.voices import counted
from reverie.memory import FIELDS, Anchor, Memory, Source, decode, encode
from reverie.storage.filters import one_of
from reverie.storage.rows import Embedded
from reverie.storage.scope import RECALLED, owner_in
from reverie.text.shorten import title_of
from reverie.tools.classify import Reading, classified, classify, readings_for
from reverie.tools.entities import with_names
from reverie.tools.export_jsonl import SEAL, BadLine, Line, is_ours, payload_of, read_lines
from reverie.tools.requests import MOST_IDS, RestoreRequest, checked_content, checked_label
from reverie.tools.restore import restore
from reverie.tools.screening import quarantined_if_suspect, says_the_same, screened_fields, still_quarantined
from reverie.tools.session import Session

_MADE_ANEW = ("vector", "content_hash", "embedder")
_MAY_BE_NULL = frozenset(part.name for part in dataclasses.fields(Memory) if part.default is None)
_LET_GO = ("expired", "superseded")
_AN_INSTANT = timedelta(microseconds=1)
_VOUCHED = ("source", "trust", "confirmations", "confirmed_by", "outcome")


def checked_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line gives, read and checked; null where there must be a value counts as not given.

    Raises:
        InvalidInput: naming the first field that is wrong.
    """
    if values.get("content") is None:
        raise InvalidInput("content", "is missing", "Every memory needs its text there.")
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name in _MADE_ANEW or (value is None and name not in _MAY_BE_NULL):
            continue
        fields[name] = decode(name, value)
    checked_content("content", fields["content"])
    for name in ("title", "project"):
        checked_label(name, fields.get(name, ""))
    if any(not checked_label("tags", tag).strip() for tag in fields.get("tags", ())):
        raise InvalidInput("tags", "a tag is empty", "Leave it out.")
    return fields


@dataclass(frozen=True, slots=True)
class Read:
    """A line that was read: its fields, its time, and whether it is trusted."""

    fields: Mapping[str, Any]
    at: datetime
    believed: bool
    ours: bool = False  # proved to be an export of this installation: then it also says who said it


def drafted(session: Session, read: Read, base: Memory | None, now: datetime) -> Memory:
    """Return the memory of a line: an update of an existing one, or new with the defaults of `remember`.

    A line that proves nothing speaks for itself only: its source is the import, its trust is capped, nobody has
    confirmed it or told what came of it, its evidence is of no folder, and its text is judged whatever status it
    claims.
    """
    fields = _as_said(session, read, base)
    if base is None:
        memory = _new(session, fields, read.at, now)
        return (
            _with_voices(memory)
            if read.believed
            else quarantined_if_suspect(
                _unproven(memory, fields.get("trust"), max(now, read.at)), None, session.embedder
            )
        )
    given = {name: value for name, value in fields.items() if name in FIELDS}
    given["content_hash"] = content_hash(fields["content"])
    if given["content_hash"] != base.content_hash:
        given.setdefault("title", title_of(fields["content"]))
        if given.get("updated_at") == base.updated_at:
            del given["updated_at"]
    if read.believed:
        given["trust"] = _trust(fields, base)
    memory = replace(base, **given, embedder=session.embedder.stamp)
    if read.believed:
        memory = still_quarantined(_with_voices(memory, base), base)
    elif says_the_same(memory, base):  # what was said here before is worth what it was
        vouched = {name: getattr(base, name) for name in _VOUCHED}
        memory = quarantined_if_suspect(
            replace(memory, **vouched, anchors=_nowhere(memory.anchors, base)), base, session.embedder
        )
    else:
        trust = min(base.trust, imported_trust(fields.get("trust")))
        memory = quarantined_if_suspect(_unproven(memory, trust, now, base), base, session.embedder)
    if memory == base or "updated_at" in given:
        return memory
    # Never the moment it had: other sessions tell by it that the vector is another.
    return replace(memory, updated_at=max(now, base.updated_at + _AN_INSTANT))


def _as_said(session: Session, read: Read, base: Memory | None) -> Mapping[str, Any]:
    """Return the fields of a line with whoever imports it as the author, unless it is an export of our own.

    Who said a memory that is here already, and who sees it, no file changes.
    """
    if base is not None:
        return {name: value for name, value in read.fields.items() if name not in ("author", "visibility")}
    return read.fields if read.ours else {**read.fields, "author": session.author}


def _with_voices(memory: Memory, base: Memory | None = None) -> Memory:
    """Return a memory confirmed by the voices that its line names and by those known here, each counted once."""
    return replace(memory, **counted(memory, also=() if base is None else base.confirmed_by))


def _unproven(memory: Memory, trust: float | None, now: datetime, base: Memory | None = None) -> Memory:
    return replace(
        memory,
        created_at=min(memory.created_at, now),  # what was said last counts more, and nothing was said tomorrow
        source="import",
        trust=imported_trust(trust),
        confirmations=0,
        confirmed_by=(),
        outcome=None,
        anchors=_nowhere(memory.anchors, base),
    )


def _nowhere(anchors: tuple[Anchor, ...], base: Memory | None) -> tuple[Anchor, ...]:
    """Return anchors without the folder that a file names: where to look comes from the session, not from data."""
    known = base.anchors if base is not None else ()
    return tuple(anchor if anchor in known else replace(anchor, root=None) for anchor in anchors)


def completed(session: Session, memory: Memory, fields: Mapping[str, Any], reading: Reading | None) -> Memory:
    """Return a new memory with the kind and layer that its line leaves open, now that its vector is known."""
    return classified(
        memory,
        reading,
        kind_given="kind" in fields,
        layer_given="layer" in fields,
        default_tier=session.settings.tier,
    )


def _new(session: Session, fields: Mapping[str, Any], at: datetime, now: datetime) -> Memory:
    content = fields["content"]
    guess = classify(content, kind=fields.get("kind"))  # by words, until its vector is there
    created_at = fields.get("created_at", at)
    defaults: dict[str, Any] = {
        "title": title_of(content),
        "kind": guess.kind,
        "layer": guess.layer,
        "project": session.here.project,
        "source": "import",
        "stability": first_stability(fields.get("importance", 0.5)),
        "created_at": created_at,
        "happened_at": created_at,
        "updated_at": now,
        "expired_at": now if fields.get("status") in _LET_GO else None,
    }
    made = {
        "trust": _trust(fields, None),
        "content_hash": content_hash(content),
        "embedder": session.embedder.stamp,
    }
    return Memory(**{**defaults, **fields, **made})


def _trust(fields: Mapping[str, Any], base: Memory | None) -> float:
    """Return the trust of a line that is trusted: its own, or that of its source."""
    if "trust" in fields:
        return float(fields["trust"])
    if base is not None and "source" not in fields:
        return base.trust
    source: Source = fields.get("source") or "import"
    return trust_of(source)


_LINES_AT_ONCE = 500
_TEXTS_AT_ONCE = 128  # an interrupted import waits for no more than these
_CHARACTERS_AT_ONCE = 2_000_000  # long memories have a vector for each passage
_MOST_BAD_LINES_TOLD = 1_000


@dataclass(slots=True)
class Imported:
    """Counts of the lines so far: added, updated, unchanged, skipped."""

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
    forgotten: int = 0  # lines about memories that were forgotten here; they stay so unless they are to be revived
    revived: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)  # the first thousand

    forgotten_ids: list[str] = field(default_factory=list)

    def skip(self, bad: BadLine) -> None:
        """Count a line that is not imported."""
        self.skipped += 1
        if len(self.bad_lines) < _MOST_BAD_LINES_TOLD:
            self.bad_lines.append(bad)


Progress = Callable[[Imported], None]


async def import_memories(
    session: Session, file: BinaryIO, progress: Progress, *, trust: bool = False, revive: bool = False
) -> Imported:
    """Write the memory of every line of a file; see `import_lines`."""
    return await import_lines(session, read_lines(file), progress, trust=trust, revive=revive)


async def import_lines(
    session: Session,
    lines: Iterable[Line | BadLine],
    progress: Progress,
    *,
    trust: bool = False,
    revive: bool = False,
    planned: bool = False,
) -> Imported:
    """Write the memory of every line that can be read; an existing id is updated. Every import comes this way.

    With `trust` every line is taken at its word. With `revive` memories that were forgotten here and that the file
    has as active are brought back, as `restore` does. The lines of a plan have been compared with what is known.

    Raises:
        KeyUnavailable: if a line has a seal and the key that proves it cannot be read.
        EmbedderError: if the texts cannot be embedded.
        StoreError: if they cannot be written. What `progress` told before is kept, and the same file can be
            imported again.
    """
    tally = Imported()
    own: set[str] = set()  # the ids of this file: two of them may say the same
    for part in _parts(_checked(session, lines, tally, trust=trust)):
        own.update(read.fields["id"] for read in part)
        await _keep(session, part, tally, None if planned else own)
        progress(tally)
    if revive:
        await _revive(session, tally)
    progress(tally)
    if tally.added or tally.updated:
        await _compact(session)
    return tally


async def _revive(session: Session, tally: Imported) -> None:
    ids = list(dict.fromkeys(tally.forgotten_ids))
    session.served.note_ids(ids)  # the file named them
    for start in range(0, len(ids), MOST_IDS):
        tally.revived += len(
            (await restore(session, RestoreRequest(ids=tuple(ids[start : start + MOST_IDS])))).restored
        )


async def _compact(session: Session) -> None:
    """Bring the indexes up to date at once: searching three thousand unindexed texts takes ten times as long."""
    with suppress(StoreError):  # everything is written; the next maintenance comes soon
        await session.maintenance.compact()


def _checked(session: Session, lines: Iterable[Line | BadLine], tally: Imported, *, trust: bool) -> Iterator[Read]:
    installation, now = session.settings.installation, session.now
    for line in lines:
        tally.lines += 1
        if isinstance(line, BadLine):
            tally.skip(line)
            continue
        try:
            values = {name: value for name, value in line.values.items() if name != SEAL}
            fields, found = screened_fields(checked_fields(values))
            checked_content("content", fields["content"])  # nothing may be left of it
        except InvalidInput as error:
            tally.skip(BadLine.because(line.number, error))
            continue
        for name in ("title", "project"):
            if not fields.get(name, "x"):
                del fields[name]
        ours = is_ours(line.values, installation)
        believed = trust or ours
        if ours and not session.store.viewer.sees_owner(owner_in(fields)):
            tally.skip(BadLine(line.number, "a personal memory of somebody else"))
            continue
        tally.unproven += not believed
        tally.broken_seals += not believed and SEAL in line.values
        tally.redacted += bool(found)
        fields.setdefault("id", _id_of(session, fields))
        # A microsecond apart, so that lines without a date keep their order.
        yield Read(fields, now + timedelta(microseconds=tally.lines - 1), believed, ours)


def _id_of(session: Session, fields: Mapping[str, Any]) -> str:
    """Return the id of a line without one: always the same, so that importing it again adds nothing."""
    said = {name: encode(value) for name, value in fields.items() if value is not None}
    return derived_id(payload_of({"project": session.here.project} | said))


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


async def _keep(session: Session, part: Sequence[Read], tally: Imported, own: Set[str] | None) -> None:
    """Write one part of a file: everything new in it at once, everything updated at once."""
    now = session.now
    purged = session.store.purged_texts.among(read.fields["content"] for read in part)
    if purged:
        wanted = [read for read in part if read.fields["content"] not in purged]
        tally.purged += len(part) - len(wanted)
        part = wanted
    part = await _with_free_ids(session, part)
    if own is not None:
        part = await _without_known_texts(session, part, tally, own)
    ids = list(dict.fromkeys(read.fields["id"] for read in part))
    before = await session.store.get(ids)
    drafts = await _named(session, part, _drafts(session, part, before), before)
    vectors = await _embedded(session, drafts, before, {})
    async with session.store.changing():
        known = await session.store.get(ids)
        if known != before:  # another session was at them while we embedded
            drafts = await _named(session, part, _drafts(session, part, known), known)
            vectors = await _embedded(session, drafts, known, vectors)
        changed = [
            Embedded(memory, made.vector, made.passages, made.pieces)
            for memory in drafts.values()
            if memory != known.get(memory.id)
            for made in [vectors[memory.content]]
        ]
        updated = [item for item in changed if item.memory.id in known]
        added = await _completed(session, part, [item for item in changed if item.memory.id not in known])
        if added:
            await session.store.add(added, actor="import", at=now)
        if updated:
            await session.store.replace(updated, actor="import", at=now)
        forgotten = [read.fields["id"] for read in part if _was_forgotten(read, known)]
    tally.forgotten += len(forgotten)
    tally.forgotten_ids += forgotten
    tally.added += len(added)
    tally.quarantined += sum(item.memory.status == "quarantined" for item in added)
    tally.updated += len(updated)
    tally.unchanged += len(part) - len(added) - len(updated) - len(forgotten)


async def _with_free_ids(session: Session, part: Sequence[Read]) -> Sequence[Read]:
    """Return the lines, with another id for those whose id is that of a memory which this person may not see."""
    ids = list(dict.fromkeys(read.fields["id"] for read in part))
    hidden = {
        one for one, memory in (await session.whole_store.get(ids)).items() if not session.store.viewer.sees(memory)
    }
    return [
        replace(read, fields={**read.fields, "id": derived_id(f"{session.person}\0{read.fields['id']}".encode())})
        if read.fields["id"] in hidden
        else read
        for read in part
    ]


async def _without_known_texts(
    session: Session, part: Sequence[Read], tally: Imported, own: Set[str]
) -> Sequence[Read]:
    """Return the lines, without those that prove nothing, have a new id, and say what was known before this file.

    A text that was let go here would else come back by leaving its id out.
    """
    doubted = {read.fields["id"] for read in part if not read.believed}
    doubted -= (await session.whole_store.get(list(doubted))).keys()
    if not doubted:
        return part
    hashes = {content_hash(read.fields["content"]) for read in part if read.fields["id"] in doubted}
    same: dict[tuple[str, str], list[Memory]] = defaultdict(list)
    for memory in await session.store.find(one_of("content_hash", sorted(hashes))):
        if memory.id not in own:
            same[memory.content, memory.project].append(memory)
    kept = []
    for read in part:
        fields = read.fields
        at = fields.get("happened_at", fields.get("created_at"))  # the same may happen again
        alike = same.get((fields["content"], fields.get("project", session.here.project)), ())
        alike = [one for one in alike if at in (None, one.happened_at)]
        if fields["id"] not in doubted or not alike:
            kept.append(read)
        elif fields.get("status", "active") in RECALLED and all(one.status in _LET_GO for one in alike):
            tally.forgotten += 1
            tally.forgotten_ids.append(alike[-1].id)
        else:
            tally.unchanged += 1
    return kept


async def _completed(session: Session, part: Sequence[Read], added: list[Embedded]) -> list[Embedded]:
    """Return new memories with the kind and layer that their lines leave open."""
    lines = {read.fields["id"]: read.fields for read in part}
    open_still = {i.memory.id: i for i in added if not {"kind", "layer"} <= lines[i.memory.id].keys()}
    if not open_still:
        return added
    texts = [item.memory.content for item in open_still.values()]
    made = [Embedding(item.vector) for item in open_still.values()]
    readings = await asyncio.to_thread(readings_for, session.embedder, texts, made)
    for item, reading in zip(list(open_still.values()), readings, strict=True):
        memory = completed(session, item.memory, lines[item.memory.id], reading)
        open_still[memory.id] = replace(item, memory=memory)
    return [open_still.get(item.memory.id, item) for item in added]


def _drafts(session: Session, part: Iterable[Read], known: Mapping[str, Memory]) -> dict[str, Memory]:
    """Apply the lines in order; of two with one id the last wins."""
    drafts: dict[str, Memory] = {}
    for read in part:
        if _was_forgotten(read, known):
            continue
        memory_id = read.fields["id"]
        base = drafts.get(memory_id, known.get(memory_id))
        drafts[memory_id] = drafted(session, read, base, session.now)
    return drafts


async def _named(
    session: Session, part: Iterable[Read], drafts: dict[str, Memory], known: Mapping[str, Memory]
) -> dict[str, Memory]:
    """Return the drafts with the names in their texts, where a text is new and its line says nothing of names.

    An export says it always, so that it comes back exactly.
    """
    given = {read.fields["id"] for read in part if "entities" in read.fields}
    unnamed = [
        memory
        for memory in drafts.values()
        if memory.id not in given and (memory.id not in known or memory.content != known[memory.id].content)
    ]
    return drafts | {memory.id: memory for memory in await with_names(session, unnamed)}


def _was_forgotten(read: Read, known: Mapping[str, Memory]) -> bool:
    """Return whether a line would restore what expired or was forgotten here after the file was written."""
    memory = known.get(read.fields["id"])
    return memory is not None and memory.status in _LET_GO and read.fields.get("status", "active") in RECALLED


async def _embedded(
    session: Session,
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
        made |= zip(texts, await session.embed(texts), strict=True)
    return made
