"""The steps of a dream in their order. Each plans on the store as the steps before it would leave it, and all are
repeated until none has anything left to do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from reverie.dream.beliefs import beliefs
from reverie.dream.derived_memories import digest
from reverie.dream.drift import drift
from reverie.dream.judge import Judge
from reverie.dream.merging import cluster, dedupe
from reverie.dream.peer_cards import peer_cards
from reverie.dream.plan import ChangeSet, Proposal, StepPlan, resolve_conflicts
from reverie.dream.snapshot import Snapshot
from reverie.dream.sweep import forget, sweep
from reverie.dream.synthesis import synthesis
from reverie.memory import StepName
from reverie.settings import Settings

KEEP_LOGS_FOR = timedelta(days=90)


def prune(snapshot: Snapshot, settings: Settings, judge: Judge) -> Proposal:
    """Note how much of the logs is old enough to be folded; the cycle folds it after it has written."""
    notes = []
    if snapshot.waiting_projects:
        notes.append(
            f"projects that wait for the next dream, with too many memories for one: {snapshot.waiting_projects}"
        )
    if snapshot.old_accesses:
        notes.append(f"{snapshot.old_accesses} accesses past {KEEP_LOGS_FOR.days} days, already in the counts")
    if snapshot.old_events:
        notes.append(
            f"{snapshot.old_events} events past {KEEP_LOGS_FOR.days} days that replaced nothing, folded into counts"
        )
    return Proposal((), tuple(notes))


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


MOST_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What a dream would do, step by step, and the store as it would leave it."""

    steps: tuple[StepPlan, ...]
    outcome: Snapshot
    has_settled: bool = False
    """Whether the last round changed nothing, so that planning the outcome again would find nothing."""

    @property
    def is_complete(self) -> bool:
        """Whether every step was planned until nothing was left to do."""
        return self.has_settled and {step.name for step in self.steps} == set(STEPS)

    @property
    def change_sets(self) -> tuple[ChangeSet, ...]:
        """All change sets in the order in which they are applied."""
        return tuple(change_set for step in self.steps for change_set in step.change_sets)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.change_sets


class Planner:
    """Plans a dream step by step, so that the caller can report progress or stop."""

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
        """The step to plan next, or None if the last round changed nothing or there were enough rounds."""
        done = len(self._plans)
        if self._has_settled or done >= MOST_ROUNDS * len(self._steps):
            return None
        return self._steps[done % len(self._steps)]

    @property
    def _has_settled(self) -> bool:
        """Whether a whole round has just been planned and changed nothing."""
        done = len(self._plans)
        return bool(done) and done % len(self._steps) == 0 and self._snapshot is self._at_round_start

    def plan_next(self) -> None:
        """Plan the next step."""
        name = self.next_step
        if name is None:
            return
        if len(self._plans) % len(self._steps) == 0:
            self._at_round_start = self._snapshot
        told = frozenset(self._judge.notes)
        proposal = STEPS[name](self._snapshot, self._settings, self._judge)
        plan = resolve_conflicts(name, proposal, self._snapshot.by_id, self._snapshot.undone_keys)
        failures = tuple(note for note in self._judge.notes if note not in told)  # of this step, not of the dream
        plan = replace(plan, notes=(*plan.notes, *failures))
        self._snapshot = self._snapshot.after(plan.change_sets)
        self._plans.append(plan)

    @property
    def plan(self) -> Plan:
        """What is planned so far."""
        return Plan(tuple(self._plans), self._snapshot, self._has_settled)


def plan_dream(
    snapshot: Snapshot, settings: Settings, judge: Judge, steps: Sequence[StepName] = tuple(STEPS)
) -> Plan:
    """Plan the chosen steps; changes nothing."""
    planner = Planner(snapshot, settings, judge, steps)
    while planner.next_step:
        planner.plan_next()
    return planner.plan


def by_step(plan: Plan) -> list[StepPlan]:
    """Join the rounds of each step; what several rounds propose and skip counts once."""
    gathered: dict[StepName, StepPlan] = {}
    for part in plan.steps:
        known = gathered.setdefault(part.name, StepPlan(part.name))
        skipped = tuple(dict.fromkeys((*known.skipped, *part.skipped)))
        change_sets = (*known.change_sets, *part.change_sets)
        notes = tuple(dict.fromkeys((*known.notes, *part.notes)))
        gathered[part.name] = replace(
            known, planned=len(change_sets) + len(skipped), change_sets=change_sets, skipped=skipped, notes=notes
        )
    return list(gathered.values())
