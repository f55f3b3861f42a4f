"""The audit journal: what changed, before and after, by what and why. Enough to undo it.

Events are appended to a log file (see write_ahead_log.py) and flushed to their table later; readers read both.
They form a hash chain, in which tampering shows. Its head is stored outside the data folder, sealed with the
installation's key.
"""

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reverie.errors import KeyUnavailable, StoreDamaged
from reverie.installation import Installation
from reverie.memory import FIELDS, Anchor, Memory, decode, encode
from reverie.storage.filters import Condition, after, differs, equals, one_of, starts_with
from reverie.storage.host_chains import SHARED, HostChain, chain_of
from reverie.storage.lance_table import Table
from reverie.storage.locks import HeldLease, ProcessLock, held_lease
from reverie.storage.rows import moment_texts
from reverie.storage.schema import side_schema
from reverie.storage.write_ahead_log import LogFile, lines_of
from reverie.time import iso, parse_iso

CHAINED = ("id", "at", "action", "memory_id", "actor", "session", "batch")
TEXTS = ("reason", "before", "after")

GONE = "gone"
"""The state of a memory that an event left without a row."""

_COUNTERS = ("access_count", "access_times", "last_accessed_at", "stability", "sessions")
"""Recalls count these without an event."""

_ROW_FIELDS = ("id", "updated_at", "embedder", "precision")
"""Fields about the row, not about the memory."""

_TEXT = ("content", "content_hash", "title")
_STATUS = ("status", "status_reason", "expired_at", "superseded_by", "layer", "project", "pinned")
_OTHER_FIELDS = tuple(name for name in sorted(FIELDS) if name not in (*_COUNTERS, *_ROW_FIELDS, *_TEXT, *_STATUS))
PARTS: Mapping[str, tuple[str, ...]] = {"text": _TEXT, "status": _STATUS, "other fields": _OTHER_FIELDS}
"""The parts of a state. `reverie audit` names them; "status" is the status, layer, project and pin."""

_DEFAULTS = {one.name: one.default for one in fields(Memory)}
STATE_DIGITS = 24


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the chain: the number of an event and its hash."""

    number: int
    hash: str


START = Link(0, "")


def text_digest(row: Mapping[str, Any]) -> str:
    """Return the digest of the texts of an event."""
    return _sha256([row[name] for name in TEXTS])


def link_after(previous: Link, row: Mapping[str, Any], digest: str, number: int | None = None) -> Link:
    """Return the link of an event that follows another; its moment must be text. Hosts give numbers of their own."""
    number = previous.number + 1 if number is None else number
    state = row.get("state")  # events from before states were kept have none, and keep their hashes
    covered = [previous.hash, number, *(row[name] for name in CHAINED), digest, *([state] if state else [])]
    return Link(number, _sha256(covered))


def state_of(memory: Memory) -> str:
    """Return the digests that the row of a memory must keep until the next event about it.

    What has its default is left out, so that a field which a later version adds changes no state of an older row.
    """
    parts = (
        [pair for name in names if (pair := state_field(name, getattr(memory, name)))] for names in PARTS.values()
    )
    return ".".join(_sha256(part)[:STATE_DIGITS] for part in parts)


def state_field(name: str, value: Any) -> list[Any]:
    """Return a field's name and value, as a state covers them; nothing if it has its default."""
    if value == _DEFAULTS.get(name, MISSING):
        return []
    if name == "anchors":
        return [name, [_parts_of(anchor) for anchor in value]]
    return [name, encode(value)]


def _parts_of(anchor: Anchor) -> dict[str, Any]:
    # Where a folder was seen depends on who looks.
    parts = {one.name: (getattr(anchor, one.name), one.default) for one in fields(Anchor) if one.name != "root"}
    return {name: encode(value) for name, (value, default) in sorted(parts.items()) if value != default}


def differing(state: str, other: str) -> list[str]:
    """Name the parts in which two states differ."""
    pairs = zip(PARTS, state.split("."), other.split("."), strict=True)
    return [part for part, one, two in pairs if one != two]


def _sha256(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()


_FOLDER = "heads"
_PURPOSE = "journal"
_LENGTH = 1_024  # each write covers the whole file, so that a shorter head leaves nothing of a longer one

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Head:
    """How far the journal had come when this installation last wrote to it."""

    link: Link
    since: int  # events up to this number are older than the head and are not proved by it
    lost: Link | None = None  # an earlier head that the journal did not continue from


@dataclass(frozen=True, slots=True)
class KnownHead:
    """The head of a journal as the configuration folder has it, or why there is none."""

    head: Head | None
    reason: str = ""


class SealedHead:
    """Reads and moves the head of one data folder."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        self._installation = installation
        self._folder = str(folder.resolve())
        name = hashlib.sha256(self._folder.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._file = installation.folder / _FOLDER / f"{name}.json"
        self._left: Head | None = None  # as this process wrote it last
        self._complained = False

    def seal(self, link: Link) -> str | None:
        """Return the seal of an event; None where there is no key, which `reverie audit` then says."""
        try:
            return self._installation.seal(_PURPOSE, _bytes_of(link))
        except KeyUnavailable as error:
            self._complain(error)
            return None

    def fits(self, link: Link, seal: str | None) -> bool:
        """Whether this installation wrote an event."""
        if seal is None or not self._installation.has_key:
            return False
        try:
            return self._installation.fits(_PURPOSE, _bytes_of(link), seal)
        except KeyUnavailable as error:
            self._complain(error)
            return False

    def known(self) -> KnownHead:
        """Return the head of this folder's journal. Call it before the journal is read, not after."""
        if not self._installation.has_key:
            return KnownHead(None, f"there is no key in {self._installation.folder}")
        try:
            head, seal = self._read()
        except FileNotFoundError:
            return KnownHead(None, f"this installation has not written to {self._folder} yet")
        except (OSError, ValueError, KeyError, TypeError) as error:
            return KnownHead(None, f"the head in {self._file} cannot be read ({error})")
        if not self.fits(head.link, seal):
            return KnownHead(None, f"the head in {self._file} was sealed with another key")
        return KnownHead(head)

    def follow(self, previous: Link, previous_seal: str | None, last: Link, seal: str | None) -> None:
        """Move the head on to the last of the events that were just written after a link."""
        if seal is None:
            return
        # Whoever appends moves the head: while the journal ends where we left it, so does the head.
        head = self._left if self._left is not None and self._left.link == previous else self.known().head
        if head is None:
            head = Head(last, since=previous.number)
        elif head.link == previous or (previous.number > head.link.number and self.fits(previous, previous_seal)):
            head = replace(head, link=last)
        else:  # the journal continues from another link than ours: keep ours, or the audit could not see it
            head = replace(head, link=last, lost=head.lost or head.link)
        self._write(head, seal)

    def accept(self, link: Link, seal: str | None) -> None:
        """Take the journal as it is, up to a link."""
        if seal is not None:
            self._write(Head(link, since=link.number), seal)

    def _read(self) -> tuple[Head, str]:
        stored = json.loads(self._file.read_bytes())
        lost = stored["lost"]
        return Head(Link(*stored["link"]), int(stored["since"]), Link(*lost) if lost else None), str(stored["seal"])

    def _write(self, head: Head, seal: str) -> None:
        stored = {
            "folder": self._folder,
            "link": [head.link.number, head.link.hash],
            "since": head.since,
            "lost": [head.lost.number, head.lost.hash] if head.lost else None,
            "seal": seal,
        }
        self._left = None
        try:
            self._file.parent.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                written = os.write(descriptor, json.dumps(stored).encode().ljust(_LENGTH) + b"\n")
                os.ftruncate(descriptor, written)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._complain(error)
        else:
            self._left = head

    def _complain(self, error: Exception) -> None:
        """Log once what is missing: without a key everything works but the proof."""
        if not self._complained:
            self._complained = True
            log.warning("The journal is not sealed: %s", error)


def _bytes_of(link: Link) -> bytes:
    return f"{link.number} {link.hash}".encode()


_COLUMNS = ("id", "at", "action", "memory_id", "actor", "session", "batch", "reason", "before", "after", "state")
_LINKS = ("digest", "number", "hash", "seal")
_WRITTEN = {*_COLUMNS, *_LINKS} - {"state", "seal"}  # a line from before these were kept has none
_IDS_PER_READ = 500
_WRITE_LEASE = "/write"

FLUSH_LOCK = "settle-journal.lock"

FOLDED = "folded"
"""The action of an event that replaces older ones."""

ACCEPTED = "accepted"
"""The action of an event by which a person accepts the store as it is."""

REDACTED = "redacted"
"""The action of an event that names another one from which a quotation of something purged was removed."""

Row = dict[str, Any]
_NOTHING = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change of one memory."""

    id: str
    at: datetime
    action: str
    memory_id: str
    actor: str
    session: str
    batch: str | None = None
    reason: str | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    state: str | None = None  # the digest of the row after the change; see state_of


class _NothingToFollow(Exception):
    """The file with the last link of the chain is missing."""


class Journal:
    """Writes and reads events."""

    def __init__(
        self,
        table: Table,
        folder: Path,
        is_current: Callable[[], bool],
        head: SealedHead | None = None,
        host_chain: HostChain | None = None,
    ) -> None:
        """Take the table of events, the folder of the domain, and what says whether no newer tables are in use.

        A host that shares the table with others has a chain of its own.
        """
        self._table = table
        self.host_chain = host_chain
        self._is_current = is_current
        self.sealed_head = head
        locks = folder / "locks"
        self._log_file = LogFile(folder / "journal", locks / "journal.lock", keep=_link_of)
        self._flush_lock = ProcessLock(locks / FLUSH_LOCK)
        self._started = False
        self.check_current: Callable[[], Awaitable[None]] | None = None
        """In a bucket looks up whether the tables are still those in use, and raises StoreBusy if they are not."""

    async def write(self, events: Sequence[Event]) -> None:
        """Append events; on return they survive the process."""
        if not events:
            return
        rows = [_to_row(event) for event in events]
        try:
            await self._append(rows)
        except _NothingToFollow:  # deleted since this session began: the table has it as well
            self._started = False
            await self._append(rows)

    async def _append(self, rows: Sequence[Row]) -> None:
        await self._start()
        head, numbers = self.sealed_head, _Numbers(self.host_chain, held_lease(_WRITE_LEASE))

        def follow(previous: bytes, last: bytes) -> None:
            if head is not None:
                head.follow(_as_link(previous), _seal_in(previous), _as_link(last), _seal_in(last))

        await self._log_file.append(lambda last: _chained(rows, last, head, numbers), follow)

    async def flush(self) -> int:
        """Write what is pending to the table, in one commit; return how many events that were."""
        if not self._log_file.pending_bytes():
            return 0
        async with self._flush_lock.held():
            return await self._flush_now()

    @asynccontextmanager
    async def flushed(self) -> AsyncIterator[None]:
        """Flush, and let nobody else flush until the block ends: what is written meanwhile stays pending."""
        async with self._flush_lock.held():
            await self._flush_now()
            yield

    async def _flush_now(self) -> int:
        if not self._is_current():
            return 0  # sessions on the newer tables see to it
        earlier, now = await self._log_file.rotate()
        rows = await self._not_yet_flushed(earlier) + _rows_of(now)
        if rows:
            await self._table.add(_as_table(rows))
            if self.check_current is not None:  # else the table may have been copied without these; the files stay
                await self.check_current()
        for path in (*earlier, *now):
            path.unlink(missing_ok=True)
        return len(rows)

    def pending_bytes(self) -> int:
        """Return how much is pending."""
        return self._log_file.pending_bytes()

    async def about(self, memory_id: str) -> list[Event]:
        """Return everything that happened to a memory, oldest first."""
        return await self._read_where("memory_id", memory_id)

    async def beginning(self, column: Literal["id", "batch"], given: str) -> list[Event]:
        """Return the events whose id or batch is this one or begins so, oldest first."""
        return await self._read(
            starts_with(column, given), lambda row: (row[column] or "").startswith(given), containing=given
        )

    async def of_batch(self, batch: str) -> list[Event]:
        """Return the events of one batch of changes, oldest first."""
        return await self._read_where("batch", batch)

    async def with_action(self, action: str) -> list[Event]:
        """Return every event of one kind, oldest first."""
        return await self._read_where("action", action)

    async def by_actor(self, actor: str) -> list[Event]:
        """Return every event that one actor wrote, oldest first."""
        return await self._read_where("actor", actor)

    async def changes_after(self, moment: datetime) -> list[Event]:
        """Return every change of a memory that was there before it, later than a moment, oldest first."""
        return await self._read(
            after("at", moment) & differs("before", _NOTHING),
            lambda row: parse_iso(row["at"], "at") > moment and row["before"] != _NOTHING,
        )

    async def blank(self, memory_ids: Sequence[str]) -> None:
        """Blank the texts of events about purged memories; call it inside `flushed()`."""
        for start in range(0, len(memory_ids), _IDS_PER_READ):
            part = one_of("memory_id", memory_ids[start : start + _IDS_PER_READ])
            await self._table.update(part, {"before": _NOTHING, "after": _NOTHING, "reason": None})

    async def reword(self, event_id: str, texts: Mapping[str, Any]) -> None:
        """Write other texts over those of one event; call it inside `flushed()`."""
        await self._table.update(equals("id", event_id), texts)

    async def rows(self, columns: Sequence[str] = (*_COLUMNS, *_LINKS)) -> list[Row]:
        """Return every event as it is stored, in the order of the chain; `id`, `at` and `number` are needed."""
        pending = _parsed(await self._log_file.lines())
        flushed = await self._table.rows(columns)
        found = {row["id"]: _with_text_moment(row) for row in flushed.to_pylist()}
        found |= {row["id"]: row for row in pending}
        return sorted(found.values(), key=_number)

    async def columns(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return what `rows` returns as columns, and the order of the chain: which row of them comes first."""
        pending = _parsed(await self._log_file.lines())
        flushed = await self._table.rows([*_COLUMNS, *_LINKS])
        return await asyncio.to_thread(_in_order, flushed, pending)

    async def head(self) -> Link | None:
        """Return the last link of the chain as the log file has it; None if it has none."""
        last = await self._log_file.last()
        return _as_link(last) if last else None

    async def accept_head(self) -> None:
        """Set the sealed head to the last link of the chain."""
        last = await self._log_file.last()
        if self.sealed_head is not None and last:
            self.sealed_head.accept(_as_link(last), _seal_in(last))

    async def go_on_after(self, link: Link) -> None:
        """Continue the chain from a link, whatever the log file says; call it inside `flushed()`."""
        await self._log_file.start_from(
            json.dumps({"number": link.number, "hash": link.hash}).encode(), overwrite=True
        )

    async def remove(self, event_ids: Sequence[str]) -> None:
        """Delete events from the table; the event that accounts for the gaps is written before."""
        for start in range(0, len(event_ids), _IDS_PER_READ):
            await self._table.delete(one_of("id", event_ids[start : start + _IDS_PER_READ]))

    async def _read_where(self, column: str, value: str) -> list[Event]:
        return await self._read(equals(column, value), lambda row: row[column] == value, containing=value)

    async def _read(self, where: Condition, fits: Callable[[Row], bool], *, containing: str = "") -> list[Event]:
        """Return the events that fit: `where` selects them in the table, `fits` among the pending lines."""
        # The file first: what leaves it meanwhile is in the table by then.
        pending = _parsed(await self._log_file.lines(containing=containing.encode()))
        flushed = await self._table.rows([*_COLUMNS, "number"], where)
        found = {row["id"]: _with_text_moment(row) for row in flushed.to_pylist()}
        found |= {row["id"]: row for row in pending if fits(row)}
        return [_from_row(row) for row in sorted(found.values(), key=_number)]

    async def _start(self) -> None:
        """Start the log file from the last event in the table: in a new store, or one from before the chain."""
        if self._started or await self._log_file.last():
            self._started = True
            return
        own = SHARED if self.host_chain is None else self.host_chain.index
        known = (await self._table.rows(["number", "hash", "seal"])).to_pylist()
        rows = [row for row in known if chain_of(row["number"] or 0) == own]
        # A host that is new goes on counting from what others wrote, in a chain of its own.
        counted = 0 if self.host_chain is None else max((row["number"] or 0 for row in known), default=0)
        last = max(rows, key=lambda row: row["number"], default={"number": counted, "hash": START.hash})
        await self._log_file.start_from(json.dumps(last).encode())

    async def _not_yet_flushed(self, earlier: Sequence[Path]) -> list[Row]:
        """Return the rows of files whose flush was cut short, without those that reached the table."""
        rows = _rows_of(earlier)
        there: set[str] = set()
        for start in range(0, len(rows), _IDS_PER_READ):
            ids = [row["id"] for row in rows[start : start + _IDS_PER_READ]]
            there |= set((await self._table.rows(["id"], one_of("id", ids))).column("id").to_pylist())
        return [row for row in rows if row["id"] not in there]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What the numbers of new events follow from."""

    host_chain: HostChain | None
    lease: HeldLease | None  # the write lease, if whoever writes the events holds it

    def after(self, previous: int) -> int:
        return previous + 1 if self.host_chain is None else self.host_chain.number_after(previous, self.lease)


def _chained(rows: Sequence[Row], last: bytes, head: SealedHead | None, numbers: _Numbers) -> list[bytes]:
    """Write rows as lines, each linked to the one before and sealed."""
    if not last:
        raise _NothingToFollow
    link, lines = _as_link(last), []
    for row in rows:
        digest = text_digest(row)
        link = link_after(link, row, digest, numbers.after(link.number))
        seal = head.seal(link) if head is not None else None
        chained = {**row, "digest": digest, "number": link.number, "hash": link.hash, "seal": seal}
        lines.append(json.dumps(chained, ensure_ascii=False).encode() + b"\n")
    return lines


def _link_of(line: bytes) -> bytes:
    """Return what the next line needs of this one, without texts: a purge does not look here."""
    row = _values_in(line)
    return json.dumps({name: row.get(name) for name in ("number", "hash", "seal")}).encode()


def _as_link(line: bytes) -> Link:
    known = _values_in(line)
    return Link(known["number"], known["hash"])


def _seal_in(line: bytes) -> str | None:
    seal: str | None = _values_in(line).get("seal")
    return seal


def _number(row: Row) -> int:
    return int(row["number"])


def _parsed(lines: Sequence[bytes]) -> list[Row]:
    rows = [_values_in(line) for line in lines]
    for row in rows:
        missing = _WRITTEN - row.keys()
        if missing:
            raise StoreDamaged("journal", f"a line of its file has no {sorted(missing)[0]}")
    return rows


def _values_in(line: bytes) -> Row:
    """Read a line of the file, or what was kept of the last one.

    Raises:
        StoreDamaged: if it is not one of ours.
    """
    try:
        row = json.loads(line)
    except ValueError as error:
        raise StoreDamaged("journal", f"a line of its file is not one of ours: {error}") from error
    if not isinstance(row, dict) or not isinstance(row.get("number"), int) or "hash" not in row:
        raise StoreDamaged("journal", "a line of its file is not one of ours")
    return row


def _with_text_moment(row: Row) -> Row:
    # A row without a number was written by hand: it is not part of the chain.
    return {**row, "at": iso(row["at"]), "number": row["number"] or 0}


def _in_order(flushed: pa.Table, pending: Sequence[Row]) -> tuple[pa.Table, NDArray[np.int64]]:
    """Return events with their moments as texts, and their order; of two with one id the later, pending ones last."""
    schema = pa.schema([_as_text(one) if one.name == "at" else one for one in flushed.schema])
    moments = pa.array(moment_texts(flushed.column("at")), pa.string())
    texts = flushed.set_column(flushed.schema.get_field_index("at"), schema.field("at"), moments)
    lines = pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in pending], schema=schema)
    events = pa.concat_tables([texts, lines])
    numbers = events.column("number").fill_null(0)  # written by hand: it is not part of the chain
    events = events.set_column(events.schema.get_field_index("number"), "number", numbers)
    known = {one: index for index, one in enumerate(events.column("id").to_pylist())}
    rows = np.fromiter(known.values(), np.int64, len(known))
    return events, rows[np.argsort(numbers.to_numpy()[rows], kind="stable")]


def _as_text(column: pa.Field) -> pa.Field:
    return pa.field(column.name, pa.string(), column.nullable)


def _rows_of(files: Sequence[Path]) -> list[Row]:
    return _parsed([line for path in files for line in lines_of(path)])


def _to_row(event: Event) -> Row:
    row: Row = {name: getattr(event, name) for name in _COLUMNS}
    row["at"] = iso(event.at)
    for side in ("before", "after"):
        row[side] = json.dumps({name: encode(value) for name, value in row[side].items()}, ensure_ascii=False)
    return row


def _from_row(row: Mapping[str, Any]) -> Event:
    values: Row = {name: row.get(name) for name in _COLUMNS}
    for side in ("before", "after"):
        values[side] = {name: decode(name, value) for name, value in json.loads(values[side]).items()}
    return Event(**{**values, "at": parse_iso(values["at"], "at")})


def _as_table(rows: Sequence[Row]) -> pa.Table:
    parsed = [{**row, "at": parse_iso(row["at"], "at")} for row in rows]
    return pa.Table.from_pylist(parsed, schema=side_schema("events", 1))
