"""The parameters of forgetting that a domain may set in reverie.toml; the defaults are the sources' numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from reverie.errors import SettingError


@dataclass(frozen=True, slots=True)
class Limits:
    """The range in which a parameter makes sense, and what it means."""

    low: float
    high: float
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """How fast a domain forgets, and when it promotes and archives."""

    half_life_days: float = 30.0
    reinforcement: float = 0.05
    episodic_days: float = 45.0
    semantic_days: float = 120.0
    gamma: float = 1.4426950408889634  # 1 / ln 2
    episodic_decay: float = 0.15
    semantic_decay: float = 0.02
    procedural_decay: float = 0.01
    lifespan_days: float = 1095.0
    recall_bonus: float = 0.20
    promote_importance: float = 0.7
    promote_recalls: int = 5
    archive_days: float = 90.0
    archive_retention: float = 0.15
    archive_importance: float = 0.3
    archive_recalls: int = 3


STANDARD = Parameters()

LIMITS: Mapping[str, Limits] = {
    "half_life_days": Limits(0.1, 36_500, "huber, l2, elastic: days in which half of a fully trusted memory fades"),
    "reinforcement": Limits(0, 0.3, "huber, l2, elastic: what recalls add, times ln(1 + recalls), up to 0.3"),
    "episodic_days": Limits(0.1, 36_500, "exponential, power: the time scale β of an episode"),
    "semantic_days": Limits(0.1, 36_500, "exponential, power: the time scale β of a semantic memory"),
    "gamma": Limits(0.1, 10, "power: the exponent γ; a larger one forgets faster"),
    "episodic_decay": Limits(0, 10, "strength: decay of an episode per day"),
    "semantic_decay": Limits(0, 10, "strength: decay of a semantic memory per day"),
    "procedural_decay": Limits(0, 10, "strength: decay of a procedure per day"),
    "lifespan_days": Limits(1, 36_500, "days that a memory without a tier lives if it is never recalled"),
    "recall_bonus": Limits(0, 10, "the part of its lifespan or tier that each recall adds"),
    "promote_importance": Limits(0, 1, "importance from which an episode becomes semantic"),
    "promote_recalls": Limits(1, 1_000, "recalls from which an episode becomes semantic"),
    "archive_days": Limits(1, 36_500, "age in days after which a memory may be archived"),
    "archive_retention": Limits(0, 1, "a memory with less retention than this may be archived"),
    "archive_importance": Limits(0, 1, "a memory of less importance than this may be archived"),
    "archive_recalls": Limits(0, 1_000, "a memory with fewer recalls than this may be archived"),
}


def read_parameters(written: Any, here: str, defaults: Parameters = STANDARD) -> Parameters:
    """Return the parameters that a section of reverie.toml gives; what it leaves out keeps its default.

    Raises:
        SettingError: naming the first that is unknown, no number, or out of range.
    """
    if not isinstance(written, dict):
        raise SettingError(here, str(written), "a section with numbers")
    values = {one.name: getattr(defaults, one.name) for one in fields(Parameters)}
    for name, value in written.items():
        if name not in values:
            raise SettingError(f"{name} in {here}", str(value), f"one of: {', '.join(sorted(values))}")
        values[name] = _checked(name, value, here)
    return Parameters(**values)


def _checked(name: str, value: Any, here: str) -> float:
    limits = LIMITS[name]
    is_whole = isinstance(getattr(STANDARD, name), int)
    takes = f"{'a whole number' if is_whole else 'a number'} from {limits.low:g} to {limits.high:g}"
    if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
        raise SettingError(f"{name} in {here}", str(value), takes)
    if not limits.low <= value <= limits.high:
        raise SettingError(f"{name} in {here}", str(value), takes)
    return value if is_whole else float(value)


def with_parameter(parameters: Parameters, name: str, value: float) -> Parameters:
    """Return the parameters with one of them changed."""
    values: dict[str, Any] = {one.name: getattr(parameters, one.name) for one in fields(Parameters)}
    return Parameters(**values | {name: value})


def changed_parameters(parameters: Parameters) -> dict[str, float]:
    """Return the parameters that differ from the standard ones."""
    return {
        one.name: getattr(parameters, one.name)
        for one in fields(Parameters)
        if getattr(parameters, one.name) != getattr(STANDARD, one.name)
    }
