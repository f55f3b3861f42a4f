"""Going through the journal's chain to see whether anybody has tampered with it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from reverie.storage.chain import START, Link, link_after, text_digest
from reverie.storage.journal import FOLDED, Journal, Row

_BLANK = {"reason": None, "before": "{}", "after": "{}"}


@dataclass(frozen=True, slots=True)
class Audit:
    """What a look through the journal found."""

    events: int
    folded: int  # how many earlier events were folded into one
    purged: int  # how many have had their texts removed by a purge
    head: Link
    faults: list[str] = field(default_factory=list)

    @property
    def intact(self) -> bool:
        """Whether the journal is as it was written."""
        return not self.faults


async def audit(journal: Journal) -> Audit:
    """Follow the chain from its first event to its last.

    A reader of the head's hash can tell later whether everything up to it is still the same.

    Raises:
        StoreError: if the journal cannot be read.
    """
    head = await journal.head()  # first: events may be written while we read
    rows = await journal.rows()
    link, faults = _start(rows), list[str]()
    folded = link.number
    allowed_blank = {row["memory_id"] for row in rows if row["action"] == "purged"}
    for row in (row for row in rows if row["number"] > folded):
        faults += _faults(row, link, allowed_blank)
        link = Link(row["number"], row["hash"])
    if link.number < head.number:
        faults.append(f"events {link.number + 1} to {head.number} are missing at the end")
    purged = sum(_is_blank(row) and row["memory_id"] in allowed_blank for row in rows)
    return Audit(len(rows), folded, purged, head, faults)


def _start(rows: Sequence[Row]) -> Link:
    """Return where the chain begins: at its start, or after what was folded."""
    told = [json.loads(row["reason"]) for row in rows if row["action"] == FOLDED and row["reason"]]
    last = max(told, key=lambda folded: int(folded["through"]), default=None)
    return Link(last["through"], last["hash"]) if last else START


def _faults(row: Row, previous: Link, allowed_blank: set[str]) -> list[str]:
    name = f"event {row['number']} ({row['id']}, {row['action']})"
    if row["number"] != previous.number + 1:
        return [f"events {previous.number + 1} to {row['number'] - 1} are missing"]
    if row["hash"] != link_after(previous, row, row["digest"]).hash:
        return [f"{name} does not follow from the one before it: one of the two was changed"]
    if row["digest"] != text_digest(row) and not (_is_blank(row) and row["memory_id"] in allowed_blank):
        return [f"{name} had its texts changed"]
    return []


def _is_blank(row: Row) -> bool:
    return all(row[name] == value for name, value in _BLANK.items())
