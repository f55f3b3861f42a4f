"""The sweep of a day to come over the columns of a whole store: what would expire, move and become core."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from reverie.lifecycle.arrays import endings_of, first_to_end, verdicts_of
from reverie.memory import LAYERS, Layer
from reverie.settings import Settings
from reverie.storage.vital_columns import VitalColumns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PlannedForecast:
    """What a sweep would do, by the indices of memories in their columns."""

    total_ending: int
    ending: list[tuple[int, datetime]]  # with the moment of each, the first first; all, or so many
    moving: list[int]
    promoted: dict[str, tuple[int, Layer]]  # of those that move to semantic, by id: the index and the layer now
    made_core: list[int]
    kept: dict[str, int]  # by the layer that they would be in

    def without_promotions_of(self, demoted: Collection[str]) -> "PlannedForecast":
        """Return the plan without promotions of memories that somebody demoted; they stay where they are."""
        stay = dict(self.promoted[one] for one in demoted if one in self.promoted)
        kept = Counter(self.kept)
        kept.update(stay.values())
        kept["semantic"] -= len(stay)
        return replace(
            self,
            moving=[index for index in self.moving if index not in stay],
            kept={layer: kept[layer] for layer in LAYERS if kept[layer] > 0},
        )


def planned_for(
    columns: VitalColumns,
    projects: Collection[str] | None,
    now: datetime,
    then: datetime,
    settings: Settings,
    most: int | None = None,
) -> PlannedForecast:
    """Apply the rules at a moment to come to the memories of some projects, or of all.

    With `most`, only so many of those that end are dated, the first.
    """
    vitals = columns.vitals
    rules = (settings.retention, settings.tier, settings.parameters)
    verdicts = verdicts_of(vitals, _micros(then), *rules)
    shown = np.ones(len(columns), np.bool_) if projects is None else np.isin(columns.projects, list(projects))
    ending = np.flatnonzero(shown & (verdicts.rule > 0))
    total = len(ending)
    if most is not None:
        ending = ending[first_to_end(vitals.at(ending), most, _micros(now), _micros(then), *rules)]
    ends = endings_of(vitals.at(ending), _micros(now), _micros(then), *rules)
    order = np.argsort(ends, kind="stable")[:most]
    moving = np.flatnonzero(shown & (verdicts.layer != vitals.layer))
    promoted = moving[verdicts.layer[moving] == LAYERS.index("semantic")]
    counts = np.bincount(verdicts.layer[shown & (verdicts.rule == 0)], minlength=len(LAYERS))
    return PlannedForecast(
        total_ending=total,
        ending=[(int(ending[one]), _EPOCH + int(ends[one]) * _MICROSECOND) for one in order],
        moving=moving.tolist(),
        promoted={
            memory_id: (int(one), LAYERS[vitals.layer[one]])
            for memory_id, one in zip(columns.ids_of(promoted), promoted, strict=True)
        },
        made_core=np.flatnonzero(shown & verdicts.becomes_core).tolist(),
        kept={layer: int(count) for layer, count in zip(LAYERS, counts, strict=True) if count},
    )


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
