"""The audit journal: what changed, before and after, by what and why. Enough to undo it.

Events are appended to a log file (see write_ahead_log.py) and flushed to their table later; readers read both.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from reverie.errors import StoreDamaged
from reverie.record import decode, encode
from reverie.storage.database import Database
from reverie.storage.filters import Condition, after, differs, equals, one_of, starts_with
from reverie.storage.hash_chain import START, Link, SealedHead, link_after, text_digest
from reverie.storage.locks import ProcessLock
from reverie.storage.schema import side_schema
from reverie.storage.write_ahead_log import LogFile, lines_of
from reverie.time import iso, parse_iso

_COLUMNS = ("id", "at", "action", "memory_id", "actor", "session", "batch", "reason", "before", "after", "state")
_LINKS = ("digest", "number", "hash", "seal")
_WRITTEN = {*_COLUMNS, *_LINKS} - {"state", "seal"}  # a line from before these were kept has none
_IDS_PER_READ = 500

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
    state: str | None = None  # the digest of the row after the change; see hash_chain.state_of


class _NothingToFollow(Exception):
    """The file with the last link of the chain is missing."""


class Journal:
    """Writes and reads events."""

    def __init__(self, database: Database, head: SealedHead | None = None) -> None:
        self._database = database
        self.sealed_head = head
        self._table = database.raw_table("events")
        locks = database.generations.folder / "locks"
        self._log_file = LogFile(database.generations.folder / "journal", locks / "journal.lock", keep=_link_of)
        self._flush_lock = ProcessLock(locks / "settle-journal.lock")
        self._started = False

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
        head = self.sealed_head

        def follow(previous: bytes, last: bytes) -> None:
            if head is not None:
                head.follow(_as_link(previous), _seal_in(previous), _as_link(last), _seal_in(last))

        await self._log_file.append(lambda last: _chained(rows, last, head), follow)

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
        if not self._database.is_current():
            return 0  # sessions on the newer tables see to it
        earlier, now = await self._log_file.rotate()
        rows = await self._not_yet_flushed(earlier) + _rows_of(now)
        if rows:
            await self._table.add(_as_table(rows))
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

    async def rows(self) -> list[Row]:
        """Return every event as it is stored, in the order of the chain."""
        pending = _parsed(await self._log_file.lines())
        flushed = await self._table.rows([*_COLUMNS, *_LINKS])
        found = {row["id"]: _with_text_moment(row) for row in flushed.to_pylist()}
        found |= {row["id"]: row for row in pending}
        return sorted(found.values(), key=_number)

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
        rows = (await self._table.rows(["number", "hash", "seal"])).to_pylist()
        last = max(rows, key=lambda row: row["number"], default={"number": START.number, "hash": START.hash})
        await self._log_file.start_from(json.dumps(last).encode())

    async def _not_yet_flushed(self, earlier: Sequence[Path]) -> list[Row]:
        """Return the rows of files whose flush was cut short, without those that reached the table."""
        rows = _rows_of(earlier)
        there: set[str] = set()
        for start in range(0, len(rows), _IDS_PER_READ):
            ids = [row["id"] for row in rows[start : start + _IDS_PER_READ]]
            there |= set((await self._table.rows(["id"], one_of("id", ids))).column("id").to_pylist())
        return [row for row in rows if row["id"] not in there]


def _chained(rows: Sequence[Row], last: bytes, head: SealedHead | None) -> list[bytes]:
    """Write rows as lines, each linked to the one before and sealed."""
    if not last:
        raise _NothingToFollow
    link, lines = _as_link(last), []
    for row in rows:
        digest = text_digest(row)
        link = link_after(link, row, digest)
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
