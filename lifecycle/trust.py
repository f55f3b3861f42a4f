"""How far a source is trusted, and the half-life of its memories (002-trust).

half-life = 30 / (1 + 4·(1 − trust)) days

A human's memory halves in 30 days, an assistant's in 13.6, an ingested one in 10: three times as fast.
"""

from collections.abc import Iterable, Mapping

from reverie.memory import Source, clamped

IMPORT_TRUST_CAP = 0.5
"""An import may bring its own trust, but a file cannot prove that a human wrote it."""

SOURCE_TRUST: Mapping[Source, float] = {
    "human": 1.0,
    "ai": 0.7,
    "interaction": 0.6,
    "ingest": 0.5,
    "code_scan": 0.5,
    "dream": 0.4,
    "import": IMPORT_TRUST_CAP,
}

FULL_HALF_LIFE_DAYS = 30.0
DISTRUST_SPEEDUP = 4.0


def trust_of(source: Source) -> float:
    """Return the trust of a source."""
    return SOURCE_TRUST[source]


def imported_trust(given: float | None) -> float:
    """Return the trust of an imported memory: its own if it brings one, but never above the cap."""
    if given is None:
        return IMPORT_TRUST_CAP
    return clamped(given, high=IMPORT_TRUST_CAP)


def derived_trust(parents: Iterable[float]) -> float:
    """Return the trust of a memory made from others: that of the least trusted of them.

    Raises:
        ValueError: if there are no parents; then nothing was derived.
    """
    return clamped(min(parents))


def half_life_days(trust: float) -> float:
    """Return after how many days half of a memory of this trust is left."""
    return FULL_HALF_LIFE_DAYS / (1.0 + DISTRUST_SPEEDUP * (1.0 - clamped(trust)))
