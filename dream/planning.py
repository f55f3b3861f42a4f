"""Thinking a night through: every step on the store as the steps before would leave it, until nothing is left to do.

What one step does can make work for an earlier one (two memories become one, whose recalls together earn a
promotion), so the steps are gone through again until a round changes nothing. That is why a second dream at the same
moment finds nothing to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reverie.dream.judge import Judge
from reverie.dream.plan import Deed, StepName, StepPlan
from reverie.dream.settle import settled
from reverie.dream.snapshot import Snapshot
from reverie.dream.steps import STEPS
from reverie.settings import Settings

MOST_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What a night would do, step by step, and the store as it would be in the morning."""

    steps: tuple[StepPlan, ...]
    morning: Snapshot

    @property
    def deeds(self) -> tuple[Deed, ...]:
        """All deeds in the order in which they are to be done."""
        return tuple(deed for step in self.steps for deed in step.deeds)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.deeds


class Thinking:
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
    def ahead(self) -> StepName | None:
        """The step that comes next, or None if nothing is left to do."""
        done = len(self._plans)
        if done and done % len(self._steps) == 0:
            unchanged = self._snapshot is self._at_round_start
            if unchanged or done >= MOST_ROUNDS * len(self._steps):
                return None
        return self._steps[done % len(self._steps)]

    def think(self) -> None:
        """Go through the step ahead."""
        name = self.ahead
        if name is None:
            return
        if len(self._plans) % len(self._steps) == 0:
            self._at_round_start = self._snapshot
        plan = settled(name, STEPS[name](self._snapshot, self._settings, self._judge), self._snapshot)
        self._snapshot = self._snapshot.after(plan.deeds)
        self._plans.append(plan)

    @property
    def plan(self) -> Plan:
        """What was planned so far."""
        return Plan(tuple(self._plans), self._snapshot)


def plan_night(
    snapshot: Snapshot, settings: Settings, judge: Judge, steps: Sequence[StepName] = tuple(STEPS)
) -> Plan:
    """Plan the chosen steps at one go; changes nothing."""
    thinking = Thinking(snapshot, settings, judge, steps)
    while thinking.ahead:
        thinking.think()
    return thinking.plan


def by_step(plan: Plan) -> list[StepPlan]:
    """Gather the rounds of each step; what a later round proposes again and sets aside again counts once."""
    gathered: dict[StepName, StepPlan] = {}
    for part in plan.steps:
        known = gathered.setdefault(part.name, StepPlan(part.name))
        refused = tuple(dict.fromkeys((*known.refused, *part.refused)))
        deeds = (*known.deeds, *part.deeds)
        notes = tuple(dict.fromkeys((*known.notes, *part.notes)))
        gathered[part.name] = replace(
            known, planned=len(deeds) + len(refused), deeds=deeds, refused=refused, notes=notes
        )
    return list(gathered.values())
