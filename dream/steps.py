"""The steps of a dream in order, each run on the store as the steps before would leave it, until nothing is left
to do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from reverie.dream.beliefs import beliefs
from reverie.dream.cluster import cluster
from reverie.dream.dedupe import dedupe
from reverie.dream.digest import digest
from reverie.dream.drift import drift
from reverie.dream.judge import Judge
from reverie.dream.peer_cards import peer_cards
from reverie.dream.plan import ChangeSet, Proposal, Refusal, StepName, StepPlan, is_refused
from reverie.dream.snapshot import Snapshot
from reverie.dream.sweep import forget, sweep
from reverie.dream.synthesis import synthesis
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


Step = Callable[[Snapshot, Settings, Judge], Proposal]

STEPS: Mapping[StepName, Step] = {
    "sweep": sweep,
    "forget": forget,
    "dedupe": dedupe,
    "cluster": cluster,
    "digest": digest,
    "peer_cards": peer_cards,
    "synthesis": synthesis,
    "beliefs": beliefs,
    "drift": drift,
    "prune": prune,
}


def settled(name: StepName, proposal: Proposal, snapshot: Snapshot) -> StepPlan:
    """Keep the deeds that touch only what is there and not pinned; say of each other one why it was set aside.

    The snapshot is the store as the steps before leave it, so what they retired is not there any more. Within one
    step the first deed that retires a memory wins. What somebody undid on the same ground is only counted.
    """
    wanted = [
        change_set
        for change_set in proposal.change_sets
        if not is_refused(change_set, snapshot.refused, snapshot.by_id)
    ]
    undone = len(proposal.change_sets) - len(wanted)
    notes = (*proposal.notes, f"not done again, because it was undone: {undone}") if undone else proposal.notes
    kept: list[ChangeSet] = []
    refused: list[Refusal] = []
    retired: set[str] = set()
    for change_set in wanted:
        refusal = _objection(change_set, snapshot, retired)
        if refusal is not None:
            refused.append(refusal)
            continue
        kept.append(change_set)
        retired |= {c.memory_id for c in change_set.changes if c.values.get("status") in ("expired", "superseded")}
    return StepPlan(name, len(wanted), tuple(kept), tuple(refused), notes)


def _objection(change_set: ChangeSet, snapshot: Snapshot, retired: set[str]) -> Refusal | None:
    for change in change_set.changes:
        memory = snapshot.by_id.get(change.memory_id)
        if memory is None or change.memory_id in retired:
            return Refusal(change.memory_id, "already retired in this dream")
        if memory.pinned:
            return Refusal(change.memory_id, "pinned")
    for new in change_set.new_memories:
        gone = [parent for parent in new.memory.derived_from if parent in retired]
        if gone:
            return Refusal(gone[0], "already retired in this dream")
    return None


MOST_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What a night would do, step by step, and the store as it would be in the morning."""

    steps: tuple[StepPlan, ...]
    outcome: Snapshot

    @property
    def change_sets(self) -> tuple[ChangeSet, ...]:
        """All deeds in the order in which they are to be done."""
        return tuple(change_set for step in self.steps for change_set in step.change_sets)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.change_sets


class Planner:
    """A night thought through step by step, so that whoever drives it can tell how far it is, or stop."""

    def __init__(
        self, snapshot: Snapshot, settings: Settings, judge: Judge, steps: Sequence[StepName] = tuple(STEPS)
    ) -> None:
        self._settings = settings
        self._judge = judge
        self._steps = steps
        self._snapshot = snapshot
        self._at_round_start = snapshot
        self._plans: list[StepPlan] = []

    @property
    def next_step(self) -> StepName | None:
        """The step that comes next, or None if nothing is left to do."""
        done = len(self._plans)
        if done and done % len(self._steps) == 0:
            unchanged = self._snapshot is self._at_round_start
            if unchanged or done >= MOST_ROUNDS * len(self._steps):
                return None
        return self._steps[done % len(self._steps)]

    def plan_next(self) -> None:
        """Go through the step ahead."""
        name = self.next_step
        if name is None:
            return
        if len(self._plans) % len(self._steps) == 0:
            self._at_round_start = self._snapshot
        plan = settled(name, STEPS[name](self._snapshot, self._settings, self._judge), self._snapshot)
        self._snapshot = self._snapshot.after(plan.change_sets)
        self._plans.append(plan)

    @property
    def plan(self) -> Plan:
        """What was planned so far."""
        return Plan(tuple(self._plans), self._snapshot)


def plan_dream(
    snapshot: Snapshot, settings: Settings, judge: Judge, steps: Sequence[StepName] = tuple(STEPS)
) -> Plan:
    """Plan the chosen steps at one go; changes nothing."""
    planner = Planner(snapshot, settings, judge, steps)
    while planner.next_step:
        planner.plan_next()
    return planner.plan


def by_step(plan: Plan) -> list[StepPlan]:
    """Gather the rounds of each step; what a later round proposes again and sets aside again counts once."""
    gathered: dict[StepName, StepPlan] = {}
    for part in plan.steps:
        known = gathered.setdefault(part.name, StepPlan(part.name))
        refused = tuple(dict.fromkeys((*known.refused, *part.refused)))
        change_sets = (*known.change_sets, *part.change_sets)
        notes = tuple(dict.fromkeys((*known.notes, *part.notes)))
        gathered[part.name] = replace(
            known, planned=len(change_sets) + len(refused), change_sets=change_sets, refused=refused, notes=notes
        )
    return list(gathered.values())
