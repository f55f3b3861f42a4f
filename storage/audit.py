"""The audit: checks journal and rows for tampering.

Four things must agree: each event with the one before it, the last event with the head that is kept outside the data
folder, the events after that head with the key that seals them, and each row with what the last event about it says.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from reverie.memory import LAYERS
from reverie.storage.audit_columns import Events, micros_of, states_of
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
    text_digest,
)
from reverie.storage.lance_table import Table
from reverie.storage.rows import FIELDS
from reverie.storage.store import MemoryStore

_BLANK: dict[str, str | None] = {"reason": None, "before": "{}", "after": "{}"}
_MOST_LISTED = 20
_ROWS_AT_A_TIME = 5_000
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


Report = Callable[[float, str], Awaitable[None]]
"""Takes how much of an audit is done, from 0 to 1, and what it does now."""


async def ignore_report(share: float, doing: str) -> None:
    """Report to nobody."""


async def audit(store: MemoryStore, report: Report = ignore_report) -> Audit:
    """Compare the journal with itself, with its sealed head, and with the rows.

    Others may write meanwhile. What looks like a fault is looked at again while nobody may change anything.

    Raises:
        StoreError: if the store cannot be read.
    """
    found = await _compare(store, report)
    if found.intact:
        return found
    await report(0.95, "looking again at what looks wrong")
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
        async with store.database.write_ahead_log.paused(), store.journal.flushed():
            found_events = await _events(store)
            own = own_chain(store)
            chains = {own: START} | {
                one: found_events.link(part[-1]) for one, part in found_events.by_chain().items()
            }
            await store.journal.go_on_after(chains[own])
            waiting = {item.memory.id for item in await store.database.write_ahead_log.pending()}
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
            states = _LastStates(found_events)
            second = {one for one, _ in present.others}
            events += [_accepted(store, one, seen.state, actor, at) for one, seen in present.others]
            for memory_id, seen in present.items():
                if memory_id in second or states.last.get(memory_id) != seen.state:
                    events.append(_accepted(store, memory_id, seen.state, actor, at))
            for memory_id, state in states.last.items():
                if state not in (None, GONE) and memory_id not in present and memory_id not in waiting:
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


async def _compare(store: MemoryStore, report: Report = ignore_report) -> Audit:
    journal = store.journal
    await report(0.0, "reading the events")
    known = KnownHead(None, "no key is configured") if journal.sealed_head is None else journal.sealed_head.known()
    in_log_file = await journal.head()  # both first: events may be written while we read
    before = await _last_changes(store)
    events = await _events(store)
    after = await _present(store, report)
    own = own_chain(store)
    await report(0.6, "following the chain")
    chains = {one: _Chain(part, events) for one, part in events.by_chain().items()}
    chain = chains.get(own) or _Chain([], events)
    faults = [fault for one in chains.values() for fault in await asyncio.to_thread(one.faults)]
    unchecked: list[str] = []
    if in_log_file is None:
        if known.head is not None and len(events):
            faults.append("the file that says where the journal stands, journal/last, is missing")
    elif not chain.holds(in_log_file):
        faults.append(_ends_wrong(chain, in_log_file, "the file beside the table"))
    faults += _against_head(store, events, chains, known)
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
    await report(0.85, "comparing memories with events")
    row_faults, row_notes = await asyncio.to_thread(_rows_against, events, before, after)
    faults += _shortened(row_faults)
    return Audit(
        events=len(events),
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


async def _events(store: MemoryStore) -> Events:
    return await asyncio.to_thread(Events, *await store.journal.columns())


class _Chain:
    """The events of one chain in their order, and the folds that account for the gaps between them."""

    def __init__(self, own: Sequence[int], events: Events) -> None:
        """Take the events of the chain, and those of all chains: another host may have folded or purged some."""
        self._own, self._events = own, events
        self._has_every_number = not own or chain_of(events.numbers[own[0]]) == SHARED
        reasons = [_reason(row) for row in events.rows_with(FOLDED, ACCEPTED) if not row["memory_id"]]
        starts = [Link(one["through"], one["hash"]) for one in reasons if "through" in one]
        gaps = {first: Link(last, digest) for one in reasons for first, last, digest in one.get("gaps", ())}
        if own:
            starts = [link for link in starts if self._is_ours(link.number)]
            gaps = {first: link for first, link in gaps.items() if self._is_ours(first)}
        self._start = max(starts, key=lambda link: link.number, default=START)
        self._gaps = dict(sorted(gaps.items()))
        folds = [_reason(row) for row in events.rows_with(FOLDED)]
        self.folded = sum(sum(one.get("counts", {}).values()) for one in folds)
        may_be_blank = {row["memory_id"] for row in events.rows_with("purged")}
        blank = events.with_texts(_BLANK) if may_be_blank else set()
        self._blanked = {index for index in blank if events.memory_ids[index] in may_be_blank}
        redacted = [_reason(row) for row in events.rows_with(REDACTED)]
        self._reworded = {(one.get("event"), one.get("digest")) for one in redacted}
        self._hashes = {events.numbers[index]: events.hashes[index] for index in own}
        self._hashes |= {link.number: link.hash for link in (self._start, *self._gaps.values())}

    def _is_ours(self, number: int) -> bool:
        return chain_of(number) == chain_of(self._events.numbers[self._own[0]])

    @property
    def end(self) -> Link:
        """The last link."""
        return self._events.link(self._own[-1]) if self._own else self._start

    @property
    def purged(self) -> int:
        """How many events lost their texts to a purge."""
        return len(self._blanked.intersection(self._own))

    def holds(self, link: Link) -> bool:
        """Whether the chain goes through a link; a folded one counts, since the next one follows from it."""
        if link.number in self._hashes:
            return bool(self._hashes[link.number] == link.hash)
        return link == START or link.number < self._start.number or self._folded_away(link.number)

    def after(self, number: int) -> Iterator[int]:
        """Return the events after a number."""
        return (index for index in self._own if self._events.numbers[index] > number)

    def faults(self) -> list[str]:
        """Follow the chain from its start to its end."""
        faults, link = list[str](), self._start
        for index in self.after(self._start.number):
            number = self._events.numbers[index]
            if self._gaps and number != link.number + 1:
                link = self._over_gaps(link, number)
            faults += self._fault_of(index, link)
            link = self._events.link(index)
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

    def _fault_of(self, index: int, previous: Link) -> list[str]:
        events, number = self._events, self._events.numbers[index]
        if number <= previous.number:
            return [f"{self._name(index)} has a number that another event has"]
        if self._has_every_number and number != previous.number + 1:
            return [f"events {previous.number + 1} to {number - 1} are missing"]
        if events.hashes[index] != events.hash_after(previous.hash, index):
            return [
                f"{self._name(index)} does not follow from the one before it: one of the two was changed"
                + ("" if self._has_every_number else ", or one between them is missing")
            ]
        if index in events.changed_texts and index not in self._blanked:
            row = events.row(index)
            if (row["id"], text_digest(row)) not in self._reworded:
                return [f"{self._name(index)} had its texts changed"]
        return []

    def _name(self, index: int) -> str:
        row = self._events.row(index)
        return f"event {row['number']} ({row['id']}, {row['action']})"


def _against_head(store: MemoryStore, events: Events, chains: Mapping[int, _Chain], known: KnownHead) -> list[str]:
    """Compare the chains with the head that this installation keeps, and what came after it with the key."""
    sealed = store.journal.sealed_head
    head = known.head
    if head is None or sealed is None:
        return []
    nothing, own = _Chain([], Events.none()), own_chain(store)
    faults = [
        _ends_wrong(chain, link, "this installation")
        for link in (head.lost, head.link)
        # A store that was moved to or from a bucket has more than one chain.
        if link is not None and not (chain := chains.get(chain_of(link.number), nothing)).holds(link)
    ]
    last = head.lost or head.link
    bound = last.number if chain_of(last.number) == own else 0
    foreign = [
        events.numbers[index]
        for index in chains.get(own, nothing).after(bound)
        if not sealed.fits(events.link(index), events.row(index).get("seal"))
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

    def __init__(self, events: Events) -> None:
        self.last: dict[str, str | None] = {}
        self.event: dict[str, int] = {}
        self.previous: dict[str, str | None] = {}
        self.statuses = dict(events.statuses_without_state())
        for index, (memory_id, state) in enumerate(zip(events.memory_ids, events.states, strict=True)):
            if not memory_id:
                continue
            if state:
                self.previous[memory_id] = self.last.get(memory_id)
            self.last[memory_id] = state
            self.event[memory_id] = index


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a row says; the moment in microseconds."""

    updated_at: int
    state: str
    status: str


async def _last_changes(store: MemoryStore) -> set[tuple[str, int]]:
    """Return which memories there are and when each was last changed."""
    seen: set[tuple[str, int]] = set()
    for table in store.database.memory_tables.values():
        rows = await table.rows(["id", "updated_at"])
        seen.update(zip(rows.column("id").to_pylist(), micros_of(rows.column("updated_at")).tolist(), strict=True))
    return seen


@dataclass(slots=True)
class _Present(Mapping[str, _Seen]):
    """What the rows say: the newest of each id, and the others where several have one id."""

    newest: dict[str, _Seen] = field(default_factory=dict)
    others: list[tuple[str, _Seen]] = field(default_factory=list)

    def __getitem__(self, memory_id: str) -> _Seen:
        return self.newest[memory_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.newest)

    def __len__(self) -> int:
        return len(self.newest)

    def clear(self) -> None:
        self.newest.clear()
        self.others.clear()

    def add(self, memory_id: str, seen: _Seen) -> None:
        known = self.newest.setdefault(memory_id, seen)
        if known is seen:
            return
        if seen.updated_at > known.updated_at:
            self.newest[memory_id], seen = seen, known
        self.others.append((memory_id, seen))


async def _present(store: MemoryStore, report: Report = ignore_report) -> _Present:
    """Return what every row says."""
    found = _Present()
    total = sum([await table.count() for table in store.database.memory_tables.values()])

    async def see(table: Table) -> int:
        rows = await table.rows(FIELDS)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            await report(0.1 + 0.5 * min(1.0, len(found) / (total or 1)), f"reading memories: {table.name}")
            await asyncio.to_thread(_see, rows.slice(start, _ROWS_AT_A_TIME), found)
        return len(rows)

    async def see_layers() -> Sequence[int]:
        found.clear()
        return [await see(store.database.table(layer)) for layer in LAYERS]

    await store.archive.read_after(see_layers, see)
    return found


def _see(rows: pa.Table, found: _Present) -> None:
    ids, statuses = rows.column("id").to_pylist(), rows.column("status").to_pylist()
    moments = micros_of(rows.column("updated_at")).tolist()
    for memory_id, moment, state, status in zip(ids, moments, states_of(rows), statuses, strict=True):
        found.add(memory_id, _Seen(moment, state, status))


def _rows_against(events: Events, before: set[tuple[str, int]], after: _Present) -> tuple[list[str], list[str]]:
    """Compare the rows with what the journal last said of each; `before` is what the rows were before it was read."""
    states, faults, untied = _LastStates(events), list[str](), 0
    cut = any("through" in _reason(row) for row in events.rows_with(FOLDED))
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
            faults.append(_changed_behind(memory_id, seen.state, expected, states, events))
    faults += _second_rows(events, before, after)
    for memory_id, expected in states.last.items():
        if expected not in (None, GONE) and memory_id not in after:
            faults.append(f"memory {memory_id} is gone from its table, and no event says so")
    notes = [f"{untied:,} memories have not changed since states are kept: only their status is tied to an event"]
    return faults, notes if untied else []


def _second_rows(events: Events, before: set[tuple[str, int]], after: _Present) -> Iterator[str]:
    """Yield the faults of rows whose id a newer row has too.

    A move between layers that was killed leaves a row as an event once left it; anything else was put there.
    """
    others = [(one, seen) for one, seen in after.others if (one, seen.updated_at) in before]
    if not others:
        return
    ids = {memory_id for memory_id, _ in others}
    known: dict[str, set[str | None]] = {one: set() for one in ids}
    for memory_id, state in zip(events.memory_ids, events.states, strict=True):
        if memory_id in ids:
            known[memory_id].add(state)
    for memory_id, seen in others:
        if seen.state not in known[memory_id] and None not in known[memory_id]:
            yield f"memory {memory_id} has a second row, which no event left so: it was written behind the journal"


def _changed_behind(memory_id: str, state: str, expected: str, states: _LastStates, events: Events) -> str:
    event = events.row(states.event[memory_id])
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
