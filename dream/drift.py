"""Claims about code, against the code: moved anchors are mended, missing ones challenged, and only what stays missing
night after night is softly let go.

One look that finds nothing proves little: another branch may be checked out, a file on its way. So a memory goes
after three failed nights over at least a week, and what cannot be looked at from here is never held against it.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from reverie.dream.evidence import Check
from reverie.dream.judge import Judge
from reverie.dream.plan import Change, Deed, Proposal
from reverie.dream.snapshot import Snapshot
from reverie.memory import Anchor, Memory
from reverie.settings import Settings

NIGHTS_MISSING = 3
DAYS_MISSING = timedelta(days=7)
_REASON = "drift"
_NOTE = re.compile(r"missing since (\S+), last on (\S+), (\d+) nights?")


def drift(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Bring anchors in step with what was found, and act on what is no longer there."""
    deeds = [
        deed
        for memory in snapshot.memories
        if not memory.pinned
        and (check := snapshot.checks.get(memory.id))
        and (deed := _drifted(memory, check, snapshot))
    ]
    return Proposal(tuple(deeds))


def _drifted(memory: Memory, check: Check, snapshot: Snapshot) -> Deed | None:
    now = snapshot.now
    if check.verdict == "unverifiable":
        return None
    anchors = tuple(_counted(anchor, _before(anchor, memory), now) for anchor in check.anchors)
    values: dict[str, object] = {} if anchors == memory.anchors else {"anchors": anchors}
    action = "anchors checked"
    if check.verdict == "missing" and all(_long_missing(anchor, now) for anchor in anchors):
        action = "drifted away"
        values |= {"status": "expired", "expired_at": now, "status_reason": _REASON}
    elif check.verdict == "missing" and memory.status == "active":
        action = "challenged"
        values |= {"status": "challenged", "status_reason": f"{_REASON}: {check.receipt}"}
    elif check.verdict != "missing" and memory.status == "challenged" and _by_drift(memory):
        action = "found again"
        values |= {"status": "active", "status_reason": None}
    if not values:
        return None
    change = Change(memory_id=memory.id, action=action, reason=check.receipt, values=values)
    return Deed(summary=action, changes=(change,))


def _before(anchor: Anchor, memory: Memory) -> Anchor | None:
    """Return how this anchor stood before, which is where its failed nights are counted."""
    return next((old for old in memory.anchors if (old.path, old.symbol) == (anchor.path, anchor.symbol)), None)


def _counted(anchor: Anchor, before: Anchor | None, now: datetime) -> Anchor:
    """Note on a missing anchor since when and how many nights; a second look on one day is the same night."""
    if anchor.freshness != "missing":
        return anchor if not _NOTE.fullmatch(anchor.note or "") else replace(anchor, note=None)
    today = f"{now.astimezone(UTC):%Y-%m-%d}"
    counted = _NOTE.fullmatch((before.note if before else None) or "")
    if counted is None:
        return replace(anchor, note=f"missing since {today}, last on {today}, 1 night")
    since, last, nights = counted.groups()
    if last == today:
        return replace(anchor, note=counted[0])
    return replace(anchor, note=f"missing since {since}, last on {today}, {int(nights) + 1} nights")


def _long_missing(anchor: Anchor, now: datetime) -> bool:
    counted = _NOTE.fullmatch(anchor.note or "")
    if counted is None:
        return False
    since = datetime.fromisoformat(counted[1]).replace(tzinfo=UTC)
    return int(counted[3]) >= NIGHTS_MISSING and now - since >= DAYS_MISSING


def _by_drift(memory: Memory) -> bool:
    return (memory.status_reason or "").startswith(_REASON)
