"""The audit: checks journal and rows for tampering.

Four things must agree: each event with the one before it, the last event with the head that is kept outside the data
folder, the events after that head with the key that seals them, and each row with what the last event about it says.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from reverie.memory import LAYERS
from reverie.storage.host_chains import SHARED, chain_of
from reverie.storage.journal import (
    ACCEPTED,
    FOLDED,
    GONE,
    REDACTED,
    START,
    Event,
    KnownHead,
    Link,
    Row,
    differing,
    link_after,
    state_of,
    text_digest,
)
from reverie.storage.lance_table import Table
from reverie.storage.rows import FIELDS, from_row
from reverie.storage.store import MemoryStore

_BLANK = {"reason": None, "before": "{}", "after": "{}"}
_MOST_LISTED = 20
_ROWS_AT_A_TIME = 2_000
_SECONDS_TO_FINISH = 0.5
"""A `remember` takes no lock: its row may be there a moment before its event."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found."""

    events: int
    folded: int  # how many earlier events were folded away
    purged: int  # how many have had their texts removed by a purge
    memories: int  # how many rows were compared with the last event about them
    head: Link
    faults: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)  # what could not be checked, and why

    @property
    def intact(self) -> bool:
        """Whether everything that could be checked is as it was written."""
        return not self.faults


async def audit(store: MemoryStore) -> Audit:
    """Compare the journal with itself, with its sealed head, and with the rows.

    Others may write meanwhile. What looks like a fault is looked at again while nobody may change anything.

    Raises:
        StoreError: if the store cannot be read.
    """
    found = await _compare(store)
    if found.intact:
        return found
    await asyncio.sleep(_SECONDS_TO_FINISH)
    async with store.changing():
        found = await _compare(store)
        if not found.intact:
            await asyncio.sleep(_SECONDS_TO_FINISH)
            found = await _compare(store)
    return found


async def accept(store: MemoryStore, *, actor: str, at: datetime) -> Audit:
    """Take the store as it is, as a person who restored a backup on purpose does; say what was accepted.

    Raises:
        StoreError: if the store cannot be read or written.
    """
    async with store.changing():
        found = await _compare(store)
        async with store.journal.flushed():
            rows = await store.journal.rows()
            own = own_chain(store)
            chains = {own: START} | {one: _last_link(part) for one, part in _by_chain(rows).items()}
            await store.journal.go_on_after(chains[own])
            present = await _present(store)
            events = [
                Event(
                    id=store.new_id(),
                    at=at,
                    action=ACCEPTED,
                    memory_id="",
                    actor=actor,
                    session=store.session,
                    reason=json.dumps({"through": last.number, "hash": last.hash, "faults": len(found.faults)}),
                )
                for last in chains.values()
            ]
            states = _LastStates(rows)
            for memory_id, seen in present.items():
                if states.last.get(memory_id) != seen.state:
                    events.append(_accepted(store, memory_id, seen.state, actor, at))
            for memory_id, state in states.last.items():
                if state not in (None, GONE) and memory_id not in present:
                    events.append(_accepted(store, memory_id, GONE, actor, at))
            await store.journal.write(events)
            await store.journal.accept_head()
    return found


def _accepted(store: MemoryStore, memory_id: str, state: str, actor: str, at: datetime) -> Event:
    return Event(
        id=store.new_id(),
        at=at,
        action=ACCEPTED,
        memory_id=memory_id,
        actor=actor,
        session=store.session,
        state=state,
    )


async def _compare(store: MemoryStore) -> Audit:
    journal = store.journal
    known = KnownHead(None, "no key is configured") if journal.sealed_head is None else journal.sealed_head.known()
    in_log_file = await journal.head()  # both first: events may be written while we read
    before = await _last_changes(store)
    rows = await journal.rows()
    after = await _present(store)
    own = own_chain(store)
    chains = {one: _Chain(part, rows) for one, part in _by_chain(rows).items()}
    chain = chains.get(own) or _Chain([], rows)
    faults = [fault for one in chains.values() for fault in one.faults()]
    unchecked: list[str] = []
    if in_log_file is None:
        if known.head is not None and rows:
            faults.append("the file that says where the journal stands, journal/last, is missing")
    elif not chain.holds(in_log_file):
        faults.append(_ends_wrong(chain, in_log_file, "the file beside the table"))
    faults += _against_head(store, chains, known)
    if known.head is None:
        unchecked.append(
            f"{known.reason}: a journal rewritten whole, cut at its end or replaced by an older copy would not show"
        )
    elif known.head.since:
        unchecked.append(
            f"events up to {known.head.since:,} were there before this installation kept the head of this journal, "
            "or were accepted: they are taken as found"
        )
    others = len(chains.keys() - {own, SHARED})
    if others:
        unchecked.append(
            f"{others} other hosts write to this journal: where the chain of each ends is known there alone. Run "
            "`reverie audit` on each"
        )
    row_faults, row_notes = _rows_against(rows, before, after)
    faults += _shortened(row_faults)
    return Audit(
        events=len(rows),
        folded=chain.folded,
        purged=sum(one.purged for one in chains.values()),
        memories=len(after),
        head=chain.end,
        faults=faults,
        unchecked=unchecked + row_notes,
    )


def own_chain(store: MemoryStore) -> int:
    """Return the chain that this host writes to."""
    return SHARED if store.journal.host_chain is None else store.journal.host_chain.index


def _by_chain(rows: Sequence[Row]) -> dict[int, list[Row]]:
    chains: dict[int, list[Row]] = {}
    for row in rows:
        chains.setdefault(chain_of(row["number"]), []).append(row)
    return chains


def _last_link(rows: Sequence[Row]) -> Link:
    return Link(rows[-1]["number"], rows[-1]["hash"])


class _Chain:
    """The events of one chain in their order, and the folds that account for the gaps between them."""

    def __init__(self, own: Sequence[Row], rows: Sequence[Row]) -> None:
        """Take the events of the chain, and those of all chains: another host may have folded or purged some."""
        self.rows = own
        self._has_every_number = not own or chain_of(own[0]["number"]) == SHARED
        reasons = [_reason(row) for row in rows if row["action"] in (FOLDED, ACCEPTED) and not row["memory_id"]]
        starts = [Link(one["through"], one["hash"]) for one in reasons if "through" in one]
        gaps = {first: Link(last, digest) for one in reasons for first, last, digest in one.get("gaps", ())}
        if own:
            starts = [link for link in starts if self._is_ours(link.number)]
            gaps = {first: link for first, link in gaps.items() if self._is_ours(first)}
        self._start = max(starts, key=lambda link: link.number, default=START)
        self._gaps = dict(sorted(gaps.items()))
        folds = [_reason(row) for row in rows if row["action"] == FOLDED]
        self.folded = sum(sum(one.get("counts", {}).values()) for one in folds)
        self._may_be_blank = {row["memory_id"] for row in rows if row["action"] == "purged"}
        redacted = [_reason(row) for row in rows if row["action"] == REDACTED]
        self._reworded = {(one.get("event"), one.get("digest")) for one in redacted}
        self._hashes = {int(row["number"]): row["hash"] for row in own}
        self._hashes |= {link.number: link.hash for link in (self._start, *self._gaps.values())}

    def _is_ours(self, number: int) -> bool:
        return chain_of(number) == chain_of(self.rows[0]["number"])

    @property
    def end(self) -> Link:
        """The last link."""
        return Link(self.rows[-1]["number"], self.rows[-1]["hash"]) if self.rows else self._start

    @property
    def purged(self) -> int:
        """How many events lost their texts to a purge."""
        return sum(_is_blank(row) and row["memory_id"] in self._may_be_blank for row in self.rows)

    def holds(self, link: Link) -> bool:
        """Whether the chain goes through a link; a folded one counts, since the next one follows from it."""
        if link.number in self._hashes:
            return bool(self._hashes[link.number] == link.hash)
        return link == START or link.number < self._start.number or self._folded_away(link.number)

    def after(self, number: int) -> Iterator[Row]:
        """Return the events after a number."""
        return (row for row in self.rows if row["number"] > number)

    def faults(self) -> list[str]:
        """Follow the chain from its start to its end."""
        faults, link = list[str](), self._start
        for row in self.after(self._start.number):
            link = self._over_gaps(link, row["number"])
            faults += self._fault_of(row, link)
            link = Link(row["number"], row["hash"])
        return faults

    def _over_gaps(self, link: Link, number: int) -> Link:
        """Return the last link that was folded away between a link and the next event that is there."""
        if not self._has_every_number:
            between = [(first, to) for first, to in self._gaps.items() if link.number < first and to.number < number]
            return max((to for _, to in between), key=lambda to: to.number, default=link)
        while link.number + 1 in self._gaps and number > link.number + 1:
            link = self._gaps[link.number + 1]
        return link

    def _folded_away(self, number: int) -> bool:
        return any(first <= number < link.number for first, link in self._gaps.items())

    def _fault_of(self, row: Row, previous: Link) -> list[str]:
        name = f"event {row['number']} ({row['id']}, {row['action']})"
        if row["number"] <= previous.number:
            return [f"{name} has a number that another event has"]
        if self._has_every_number and row["number"] != previous.number + 1:
            return [f"events {previous.number + 1} to {row['number'] - 1} are missing"]
        if row["hash"] != link_after(previous, row, row["digest"], row["number"]).hash:
            return [
                f"{name} does not follow from the one before it: one of the two was changed"
                + ("" if self._has_every_number else ", or one between them is missing")
            ]
        digest = text_digest(row)
        blank = _is_blank(row) and row["memory_id"] in self._may_be_blank
        if row["digest"] != digest and not blank and (row["id"], digest) not in self._reworded:
            return [f"{name} had its texts changed"]
        return []


def _against_head(store: MemoryStore, chains: Mapping[int, _Chain], known: KnownHead) -> list[str]:
    """Compare the chains with the head that this installation keeps, and what came after it with the key."""
    sealed = store.journal.sealed_head
    head = known.head
    if head is None or sealed is None:
        return []
    nothing, own = _Chain([], []), own_chain(store)
    faults = [
        _ends_wrong(chain, link, "this installation")
        for link in (head.lost, head.link)
        # A store that was moved to or from a bucket has more than one chain.
        if link is not None and not (chain := chains.get(chain_of(link.number), nothing)).holds(link)
    ]
    last = head.lost or head.link
    bound = last.number if chain_of(last.number) == own else 0
    foreign = [
        row["number"]
        for row in chains.get(own, nothing).after(bound)
        if not sealed.fits(Link(row["number"], row["hash"]), row.get("seal"))
    ]
    if foreign:
        faults.append(
            f"events {_ranges(foreign)} were not written with the key of this installation: by another one that "
            "shares the data folder but not REVERIE_CONFIG, or by hand"
        )
    return faults


def _ends_wrong(chain: _Chain, link: Link, who: str) -> str:
    if chain.end.number < link.number:
        return (
            f"events {chain.end.number + 1} to {link.number} are missing at the end: {who} knows of them. "
            "The journal was cut, or the data folder was replaced by an older copy"
        )
    return f"event {link.number} is not the one that {who} knows: the journal was rewritten"


class _LastStates:
    """What the journal says of each memory: the state that the last event about it left."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.last: dict[str, str | None] = {}
        self.event: dict[str, Row] = {}
        self.previous: dict[str, str | None] = {}
        self.statuses: dict[str, str] = {}  # by events from before states were kept
        for row in rows:
            memory_id = row["memory_id"]
            if not memory_id:
                continue
            if row.get("state"):
                self.previous[memory_id] = self.last.get(memory_id)
            elif status := json.loads(row["after"]).get("status"):
                self.statuses[memory_id] = status
            self.last[memory_id] = row.get("state")
            self.event[memory_id] = row


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a row says."""

    updated_at: datetime
    state: str
    status: str


async def _last_changes(store: MemoryStore) -> set[tuple[str, datetime]]:
    """Return which memories there are and when each was last changed."""
    seen: set[tuple[str, datetime]] = set()
    for table in store.database.memory_tables.values():
        rows = await table.rows(["id", "updated_at"])
        seen |= {(row["id"], row["updated_at"].astimezone(UTC)) for row in rows.to_pylist()}
    return seen


async def _present(store: MemoryStore) -> dict[str, _Seen]:
    """Return what every row says, the newer where two have one id."""
    found: dict[str, _Seen] = {}

    async def see(table: Table) -> int:
        rows = await table.rows(FIELDS)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):  # piecewise: rows as Python values are large
            await asyncio.to_thread(_see, rows.slice(start, _ROWS_AT_A_TIME).to_pylist(), found)
        return len(rows)

    async def see_layers() -> Sequence[int]:
        found.clear()
        return [await see(store.database.table(layer)) for layer in LAYERS]

    await store.archive.read_after(see_layers, see)
    return found


def _see(rows: Sequence[Mapping[str, Any]], found: dict[str, _Seen]) -> None:
    for memory in map(from_row, rows):
        if memory.id not in found or memory.updated_at > found[memory.id].updated_at:
            found[memory.id] = _Seen(memory.updated_at, state_of(memory), memory.status)


def _rows_against(
    rows: Sequence[Row], before: set[tuple[str, datetime]], after: Mapping[str, _Seen]
) -> tuple[list[str], list[str]]:
    """Compare the rows with what the journal last said of each; `before` is what the rows were before it was read."""
    states, faults, untied = _LastStates(rows), list[str](), 0
    cut = any(row["action"] == FOLDED and "through" in _reason(row) for row in rows)
    for memory_id, seen in after.items():
        if (memory_id, seen.updated_at) not in before:
            continue  # it came or changed while we read, and its event may follow
        if memory_id not in states.last:
            untied += cut  # an older version folded its events away
            if not cut:
                faults.append(
                    f"memory {memory_id} is in no event: it was written behind the journal, "
                    "or its process was killed while writing it"
                )
            continue
        expected = states.last[memory_id]
        if expected is None:
            untied += 1
            if seen.status != states.statuses.get(memory_id, seen.status):
                faults.append(
                    f"memory {memory_id} is {seen.status}, and the journal says {states.statuses[memory_id]}"
                )
        elif expected == GONE:
            faults.append(f"memory {memory_id} is there although the journal says that it was removed")
        elif seen.state != expected:
            faults.append(_changed_behind(memory_id, seen.state, expected, states))
    for memory_id, expected in states.last.items():
        if expected not in (None, GONE) and memory_id not in after:
            faults.append(f"memory {memory_id} is gone from its table, and no event says so")
    notes = [f"{untied:,} memories have not changed since states are kept: only their status is tied to an event"]
    return faults, notes if untied else []


def _changed_behind(memory_id: str, state: str, expected: str, states: _LastStates) -> str:
    event = states.event[memory_id]
    name = f"event {event['number']} ({event['action']})"
    if states.previous.get(memory_id) == state:
        return (
            f"memory {memory_id} does not show its last change, {name}: "
            "the process was killed in between, or the row was set back"
        )
    parts = " and ".join(differing(state, expected))
    return f"memory {memory_id} was changed behind the journal: its {parts} differ from what {name} left"


def _shortened(faults: list[str]) -> list[str]:
    more = len(faults) - _MOST_LISTED
    return faults if more <= 0 else [*faults[:_MOST_LISTED], f"and {more:,} more memories like these"]


def _ranges(numbers: Sequence[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} ({len(numbers)})"


def _reason(row: Row) -> dict[str, Any]:
    """Return the JSON in an event's reason; nothing if it was tampered with."""
    try:
        reason = json.loads(row["reason"] or "{}")
    except ValueError:
        return {}
    return reason if isinstance(reason, dict) else {}


def _is_blank(row: Row) -> bool:
    return all(row[name] == value for name, value in _BLANK.items())
