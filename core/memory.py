"""The Memory and its anchors, and the names of kinds, layers, tiers and statuses."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args


def clamped(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Return the value limited to [low, high]; NaN counts as low, the cautious end."""
    if value != value:
        return low
    return min(max(value, low), high)


Layer = Literal["working", "episodic", "semantic", "procedural", "codebase"]
Kind = Literal[
    "fact",
    "decision",
    "preference",
    "event",
    "error_fix",
    "how_to",
    "rejected",
    "code",
    "peer_card",
    "bridge",
    "digest",
]
Source = Literal["human", "ai", "interaction", "ingest", "code_scan", "dream", "import"]
Status = Literal["active", "challenged", "superseded", "expired", "quarantined"]
Tier = Literal["goldfish", "standard", "elephant", "permanent"]
Freshness = Literal["verified", "changed", "moved", "missing", "unverifiable", "unanchored"]

LAYERS: tuple[Layer, ...] = get_args(Layer)
KINDS: tuple[Kind, ...] = get_args(Kind)
SOURCES: tuple[Source, ...] = get_args(Source)
STATUSES: tuple[Status, ...] = get_args(Status)
TIERS: tuple[Tier, ...] = get_args(Tier)

LADDER: tuple[Layer, ...] = ("working", "episodic", "semantic", "procedural")
"""The layers a memory is promoted and demoted along; codebase stands beside."""

GLOBAL_PROJECT = "global"
"""The project of memories that belong to no repository; visible from every project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A file, symbol or manifest entry that a memory refers to, and whether it is still as it was."""

    path: str
    symbol: str | None = None
    kind: str = "file"
    digest: str | None = None
    span: tuple[int, int] | None = None
    commit: str | None = None
    freshness: Freshness = "unverifiable"
    now_at: str | None = None
    note: str | None = None
    file_digest: str | None = None  # of the whole file around a symbol: as long as it holds, nothing is parsed
    root: str | None = None  # where a folder without git was seen; in a repository the project names the root
    missing_on: tuple[str, ...] = ()  # the days on which a check found it gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory, without its vector."""

    # identity
    id: str
    content: str
    content_hash: str
    title: str
    kind: Kind
    layer: Layer
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    # scope
    project: str = GLOBAL_PROJECT
    branch: str | None = None
    session: str | None = None
    # provenance
    source: Source = "ai"
    source_ref: str | None = None
    trust: float
    confidence: float = 1.0
    derived_from: tuple[str, ...] = ()
    # vitals
    importance: float = 0.5
    surprise: float | None = None  # None: nothing was there to compare with
    valence: float = 0.0
    stability: float
    confirmations: int = 0
    confirmed_by: tuple[str, ...] = ()  # the distinct sources behind `confirmations`
    created_at: datetime
    happened_at: datetime
    last_accessed_at: datetime | None = None
    access_count: int = 0
    access_times: tuple[datetime, ...] = ()  # the most recent ones, oldest first
    sessions: tuple[str, ...] = ()
    core: bool = False
    pinned: bool = False
    tier: Tier | None = None
    forget_after: datetime | None = None
    # status
    status: Status = "active"
    expired_at: datetime | None = None
    status_reason: str | None = None
    superseded_by: str | None = None
    updated_at: datetime
    # evidence
    anchors: tuple[Anchor, ...] = ()
    # vector stamp
    embedder: str
    precision: int = 32
