"""The result of each tool: plain values, so that the server can describe them before anything is loaded."""

from dataclasses import field
from typing import Any, TypeAlias

from reverie.declaration import declaration, short_declaration
from reverie.recall.results import IndexState, Recalled


@short_declaration
class Conflict:
    """A memory that the new one cannot both be true with."""

    id: str
    content: str
    reason: str


@declaration
class Remembered:
    """What became of a text that was to be remembered."""

    id: str
    layer: str
    kind: str
    status: str
    importance: float
    surprise: float | None
    duplicate_of: str | None
    confirmed: bool
    conflicts: list[Conflict]
    anchors: list[dict[str, Any]]
    redactions: list[str]
    warnings: list[str]
    project: str = ""


@short_declaration
class Inspected:
    """Everything that is known about some memories."""

    memories: list[dict[str, Any]]


@short_declaration
class Revised:
    """A correction: the new memory and the one it stands in for."""

    id: str
    superseded: str | None  # none while the new text is held back
    layer: str
    kind: str
    status: str
    redactions: list[str]
    warnings: list[str]
    project: str = ""


@short_declaration
class Skipped:
    """A memory that was left as it is, and why."""

    id: str
    reason: str


@short_declaration
class Forgotten:
    """What was, or in a dry run would be, forgotten."""

    forgotten: list[str]
    skipped: list[Skipped]
    dry_run: bool
    project: str = ""


@short_declaration
class Restored:
    """What was brought back."""

    restored: list[str]
    skipped: list[Skipped]
    project: str = ""


@short_declaration
class Moved:
    """A memory's way from one layer to another."""

    id: str
    from_layer: str
    to_layer: str
    project: str = ""


@short_declaration
class Pinned:
    """Whether a memory is pinned now."""

    id: str
    pinned: bool
    project: str = ""


@declaration
class Status:
    """How the store is doing: `counts` is of this project, `elsewhere` of what is kept beside it."""

    counts: dict[str, dict[str, int]]
    elsewhere: dict[str, int]
    home: str
    domain: str
    project: str
    embedder: str
    index_state: IndexState
    last_dream: str | None
    disk_bytes: int
    vectors: str  # where a search compares them: in memory or on disk
    version: str
    engine: str
    health: list[str]


@declaration
class StepDone:
    """What one step of a dream did, or in a dry run would do."""

    name: str
    planned: int
    applied: int
    skipped: list[Skipped]
    notes: list[str]


@declaration
class Consolidated:
    """What a dream did, or in a dry run would do."""

    dream_id: str
    dry_run: bool
    steps: list[StepDone]
    changes: list[dict[str, str]]
    questions: list[str]
    cost_cents: float
    duration_ms: float
    project: str = ""
    personal_dream_id: str = ""  # the dream about the caller's personal memories, if there are any


@declaration
class Reviewed:
    """What still waits for an answer, and what was decided."""

    questions: list[dict[str, Any]]
    resolved: list[dict[str, str]]
    project: str = ""


@short_declaration
class Briefing:
    """What a session should start with."""

    text: str
    tokens: int
    memories: list[str]
    more: int = 0  # how many others there are


@declaration
class DriftedMemory:
    """A memory whose evidence is not where or what it was, and what was done about it."""

    id: str
    title: str
    freshness: str
    evidence: str
    action: str


@short_declaration
class Drifted:
    """What checking the evidence of memories found; `drift_id` undoes it through restore."""

    checked: int
    freshness: dict[str, int]
    memories: list[DriftedMemory]
    drift_id: str
    dry_run: bool


@declaration
class Indexed:
    """What a scan of the code wrote."""

    project: str
    files: int
    symbols: int
    memories: int
    updated: int
    removed: int
    skipped: dict[str, int]


Result: TypeAlias = (
    Remembered
    | Revised
    | Forgotten
    | Recalled
    | Briefing
    | Inspected
    | Status
    | Restored
    | Indexed
    | Moved
    | Pinned
    | Consolidated
    | Reviewed
)
"""What a tool answers with; `tools/render.py` has a text for each."""


@short_declaration
class ListedMemory:
    """One memory on one line."""

    id: str
    title: str
    layer: str
    kind: str
    status: str
    strength: float
    strength_word: str
    pinned: bool
    tags: list[str]
    project: str
    age_days: float
    created_at: str


@short_declaration
class MemoryList:
    """The memories asked for, how many fit, and how many of those are in each layer."""

    memories: list[ListedMemory]
    total: int
    layers: dict[str, int]
    project: str


@short_declaration
class NamedMemory:
    """A memory as a command needs it that names or edits it."""

    id: str
    layer: str
    kind: str
    title: str
    content: str


@short_declaration
class NamedMemories:
    """The memories that some ids name."""

    memories: list[NamedMemory]


@short_declaration
class UndoPlan:
    """What undoing a dream or an event would undo, for a person to agree to."""

    lines: list[str]


@short_declaration
class ListedEntity:
    """One thing that memories name, its other names, and how many memories name it."""

    name: str
    aliases: list[str]
    memories: int


@short_declaration
class EntityList:
    """The entities asked for, and how many there are."""

    entities: list[ListedEntity]
    total: int
    project: str


@short_declaration
class Reindexed:
    """How many memories were read, how many have other names now, and the batch that restore takes back."""

    memories: int
    changed: int
    batch: str


@declaration
class Captured:
    """What became of the statements from a transcript: kept or asked about, and why others were left out."""

    mode: str  # REVERIE_CAPTURE's
    kept: list[str] = field(default_factory=list)
    question: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    model: str = ""  # what a language model cost, or why it was not used; empty if none is set


@short_declaration
class SessionContext:
    """What a hook puts into a session; nothing if nothing fits."""

    text: str
    memories: list[str]


CommandResult: TypeAlias = MemoryList | NamedMemories | UndoPlan | EntityList | Captured | SessionContext
"""What commands ask for that no tool answers."""
