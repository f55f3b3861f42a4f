"""What keeps two memories apart: a conflict that is certain or possible, or any difference that forbids a merge."""

from reverie.dream.snapshot import Snapshot
from reverie.lifecycle.conflicts import Conflict, find_conflict
from reverie.lifecycle.likeness import contradictions
from reverie.lifecycle.restatement import restates
from reverie.memory import Memory

SHARED_WORDS = 0.5
"""Two texts that share fewer of their words are about different things, whatever numbers they name."""


LONGEST_STATEMENT = 40
"""In tokens. In a longer text, numbers that differ say nothing: it is about many things."""


def conflict_between(older: Memory, newer: Memory, snapshot: Snapshot) -> Conflict | None:
    """Return why an older memory may not hold beside a newer one. Each pair is compared once a night."""
    if "event" in (older.kind, newer.kind):
        return None  # what happened has happened, whatever happened since
    known = snapshot.reading.conflicts
    pair = (older.id, newer.id)
    if pair not in known:
        known[pair] = find_conflict(older.content, newer.content)
    return known[pair]


def clashes(one: Memory, other: Memory, snapshot: Snapshot) -> tuple[str, ...]:
    """Return in what two memories differ too much to be merged. Each pair is compared once a night."""
    pair = (one.id, other.id)
    known = snapshot.reading.clashes.get(pair)
    if known is None:
        known = snapshot.reading.clashes[pair] = _compared(one, other, snapshot)
    return known


def _compared(one: Memory, other: Memory, snapshot: Snapshot) -> tuple[str, ...]:
    ours, theirs = snapshot.reading.of(one), snapshot.reading.of(other)
    if max(len(ours.forms), len(theirs.forms)) > LONGEST_STATEMENT:
        return ()
    fewer, more = sorted((ours.words, theirs.words), key=len)
    if not fewer or len(fewer & more) < SHARED_WORDS * len(more):
        return ()
    found = contradictions(one.content, other.content)
    return () if found and restates(one.content, other.content) else found
