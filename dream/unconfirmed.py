"""Beliefs that nothing has confirmed for long: those whose neighbours changed, and those that a project leans on.

Part of the beliefs step. Nothing contradicts them, so nothing is changed: a person is asked, about a few at a time
and about each once. It needs the beliefs that are due and the neighbours of those; a night that reads only what
changed needs every belief that became due since, and the neighbours of what changed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from reverie.dream.plan import ProposedQuestion, Verdict, question_id
from reverie.dream.snapshot import DERIVED_KINDS, Snapshot
from reverie.memory import Memory
from reverie.time import iso

LONG = timedelta(days=90)
"""After this long without a confirmation or a change a belief may be asked about; each confirmation doubles it."""

LEANED_ON = 10
"""Recalls, in three sessions or more and one of them lately, from which a project leans on a belief."""

MOST_OPEN = 3
"""Open questions of this kind in one project: a night adds no more than that, and waits for answers."""

VERDICTS: tuple[Verdict, ...] = ("holds", "outdated", "revise", "forget")
_SESSIONS = 3
_LATELY = timedelta(days=60)
_NEIGHBOUR = 0.6
_NEIGHBOURS = 8
_MOST_DOUBLINGS = 4
_SHOWN = 200
_ABOUT = "long unconfirmed"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A belief that is worth a question, why, and how much depends on it."""

    belief: Memory
    evidence: tuple[str, ...]
    weight: int
    changed: tuple[Memory, ...] = ()

    @property
    def about(self) -> tuple[str, ...]:
        """What makes the question the same in every dream: a belief is asked about once in this way."""
        return _about(self.belief)

    @property
    def question(self) -> ProposedQuestion:
        """What a person is asked."""
        return ProposedQuestion(
            kind="belief",
            memory_ids=(self.belief.id,),
            ask="Nothing has confirmed this for long. Does it hold? If not, revise gives the text that is true.",
            evidence=self.evidence,
            verdicts=VERDICTS,
            about=self.about,
        )


def doubts(snapshot: Snapshot, beliefs: Sequence[int]) -> Iterator[Doubt]:
    """Yield what is worth a question among these rows, what most depends on first, a few of each project."""
    found = [doubt for row in beliefs if (doubt := _doubt(row, snapshot)) is not None]
    room = Counter({doubt.belief.project: MOST_OPEN for doubt in found}) - _open(snapshot)
    for doubt in sorted(found, key=lambda one: (-one.weight, one.belief.id)):
        if room[doubt.belief.project] > 0:
            room[doubt.belief.project] -= 1
            yield doubt


def confirmed_at(belief: Memory) -> datetime:
    """Return when a belief was last written, confirmed or otherwise changed; being recalled confirms nothing."""
    return max(belief.created_at, belief.updated_at)


def is_long_unconfirmed(belief: Memory, now: datetime) -> bool:
    """Whether nothing has confirmed a belief for long."""
    return now - confirmed_at(belief) >= LONG * float(2 ** min(belief.confirmations, _MOST_DOUBLINGS))


def _doubt(row: int, snapshot: Snapshot) -> Doubt | None:
    belief, now = snapshot.memories[row], snapshot.now
    if belief.kind == "event" or not is_long_unconfirmed(belief, now) or _id(belief) in snapshot.asked:
        return None
    check = snapshot.checks.get(belief.id)
    if check is not None and check.checked.freshness == "verified":
        return None  # the code says so
    since = iso(confirmed_at(belief))[:10]
    changed = () if snapshot.as_left else tuple(islice(_changed_neighbours(row, snapshot), 3))
    evidence = [f"nothing has confirmed it since {since}; compared by age, recalls and neighbours, which is no proof"]
    if _is_leaned_on(belief, now):
        evidence.append(f"recalled {belief.access_count} times in {len(belief.sessions)} sessions, last lately")
    evidence += [f"changed since: {m.id}, {iso(m.updated_at)[:10]}: {m.content[:_SHOWN]}" for m in changed]
    return Doubt(belief, tuple(evidence), belief.access_count, changed) if len(evidence) > 1 else None


def _is_leaned_on(belief: Memory, now: datetime) -> bool:
    lately = belief.last_accessed_at is not None and now - belief.last_accessed_at <= _LATELY
    return lately and belief.access_count >= LEANED_ON and len(belief.sessions) >= _SESSIONS


def _changed_neighbours(row: int, snapshot: Snapshot) -> Iterator[Memory]:
    """Yield the neighbours on the same subject that were corrected, replaced or challenged since the confirmation."""
    belief = snapshot.memories[row]
    names = {name.casefold() for name in snapshot.texts.names(belief)}
    for other, _ in islice(snapshot.near.of(row, _NEIGHBOUR), _NEIGHBOURS):
        memory = snapshot.memories[other]
        if memory.kind in DERIVED_KINDS or memory.layer == "codebase" or memory.updated_at <= confirmed_at(belief):
            continue
        is_changed = memory.status == "challenged" or bool(memory.derived_from)
        if is_changed and not names.isdisjoint(name.casefold() for name in snapshot.texts.names(memory)):
            yield memory


def _open(snapshot: Snapshot) -> Counter[str]:
    """Count the open questions of this kind by project."""
    asked = (ids for kind, ids in snapshot.open_questions.values() if kind == "belief" and len(ids) == 1)
    beliefs = (snapshot.by_id[ids[0]] for ids in asked if ids[0] in snapshot.by_id)
    return Counter(belief.project for belief in beliefs if _id(belief) in snapshot.open_questions)


def _about(belief: Memory) -> tuple[str, ...]:
    return belief.id, _ABOUT


def _id(belief: Memory) -> str:
    return question_id("belief", (belief.id,), _about(belief))
