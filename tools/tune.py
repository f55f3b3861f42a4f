"""`reverie tune`: which rates of forgetting fit this domain's own recalls. It changes nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from reverie.lifecycle.curves import Trace, trace_of
from reverie.lifecycle.tuning import FITTED, Fit, Gap, fit
from reverie.memory import Memory
from reverie.settings import RetentionMode, Settings
from reverie.time import days_between
from reverie.tools.session import Session

MOST_GAPS = 1_000
"""The newest are read; more would make the answer no surer, and slow."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """The rates that the domain's curve has, each with the one that fits; None where no recall tells it."""

    curve: RetentionMode
    fits: dict[str, Fit | None]
    memories: int


async def tune(session: Session) -> Tuned:
    """Fit the rates of the domain's curve to the recalls of all its projects."""
    await session.accesses.count_if_possible()
    settings = session.settings
    memories = [memory for memory in await session.store.find() if memory.status != "quarantined"]
    gaps = sorted(
        (gap for memory in memories for gap in gaps_of(memory, session.now, settings)), key=lambda gap: gap.end
    )
    told = [gap.gap for gap in gaps[-MOST_GAPS:]]
    fits = {name: fit(told, settings.retention, name, settings.parameters) for name in FITTED[settings.retention]}
    return Tuned(settings.retention, fits, len(memories))


@dataclass(frozen=True, slots=True)
class _Dated:
    """A gap and when it ended."""

    gap: Gap
    end: datetime


def gaps_of(memory: Memory, now: datetime, settings: Settings) -> Iterable[_Dated]:
    """Yield the gaps between the uses of a memory that are known, and the silence since the last.

    The times of the last recalls are kept; what lies before the first kept one is only a count, and is left out.
    """
    recalls = sorted(moment for moment in memory.access_times if moment >= memory.created_at)
    is_whole = memory.access_count <= len(recalls)
    uses = [memory.created_at, *recalls] if is_whole else recalls
    before = 0 if is_whole else memory.access_count - len(recalls) + 1
    ended = memory.expired_at or now
    for number, (start, end) in enumerate(zip(uses, [*uses[1:], ended], strict=True)):
        days = days_between(start, end)
        if days > 0.0:
            trace = _trace_at(memory, start, before + number, settings)
            yield _Dated(Gap(trace, days, recalled=number + 1 < len(uses)), end)


def _trace_at(memory: Memory, moment: datetime, accesses: int, settings: Settings) -> Trace:
    """Return a memory as its curve saw it right after a use, but for its stability: of that only today's is kept."""
    whole = trace_of(memory, moment, settings.tier, settings.parameters)
    return Trace(
        layer=whole.layer,
        age_days=days_between(memory.created_at, moment),
        idle_days=0.0,
        importance=whole.importance,
        trust=whole.trust,
        stability=whole.stability,
        accesses=accesses,
        core=whole.core,
        lasting=whole.lasting,
        tier=whole.tier,
    )
