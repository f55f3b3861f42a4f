"""Logs past their 90 days. Recalls are already counted on the memories; events that replaced nothing are folded
into counts by kind, while what a change replaced is kept: it is what `as_of` goes by.

What is pruned is a log, not a memory, so undoing a dream does not bring it back. Newer tables are then merged and
old versions dropped by upkeep.
"""

from datetime import timedelta

from reverie.dream.judge import Judge
from reverie.dream.plan import Proposal
from reverie.dream.snapshot import Snapshot
from reverie.settings import Settings

KEEP_LOGS_FOR = timedelta(days=90)


def prune(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Say how much of the logs is old enough to be folded."""
    told = []
    if snapshot.old_accesses:
        told.append(f"{snapshot.old_accesses} accesses past {KEEP_LOGS_FOR.days} days, already in the counts")
    if snapshot.old_events:
        told.append(
            f"{snapshot.old_events} events past {KEEP_LOGS_FOR.days} days that replaced nothing, folded into counts"
        )
    return Proposal((), tuple(told))
