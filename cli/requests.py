"""What the commands take that are no tools: the same kind of request classes as in `tools/requests.py`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from reverie.tools.requests import CommandLine, Help, Label, Positional, Range, Request

LONGEST_DAYS = 36_500.0

Shell = Literal["bash", "zsh", "fish"]
EngineAction = Literal["show", "stop", "log"]
ProjectAction = Literal["list", "rename", "merge", "move", "undo", "mark"]


@dataclass(frozen=True, kw_only=True)
class NoRequest(Request):
    """Nothing: the command takes no arguments of its own."""


@dataclass(frozen=True, kw_only=True)
class CompletionRequest(Request):
    """The shell to write a script for."""

    shell: Annotated[Shell, Help("bash, zsh or fish"), Positional("SHELL")]


@dataclass(frozen=True, kw_only=True)
class EditRequest(Request):
    """The memory to open in the editor."""

    id: Annotated[str, Help("full id, or a unique beginning of 8 characters or more"), Positional("ID")]
    reason: Annotated[Label, Help("why it is corrected")] = ""


@dataclass(frozen=True, kw_only=True)
class CurvesRequest(Request):
    """Which memory to mark on the forgetting curves, and how far to draw them."""

    id: Annotated[str, Help("the memory to mark; without it, a typical one"), Positional("ID")] = ""
    days: Annotated[float, Range(1, LONGEST_DAYS), Help("how far to draw")] = 180.0
    png: Annotated[str, Help("write a picture instead; needs reverie-mcp[plots]"), CommandLine(metavar="FILE")] = ""


@dataclass(frozen=True, kw_only=True)
class ForecastRequest(Request):
    """How far to look ahead."""

    days: Annotated[float, Help("how far ahead")] = 90.0


@dataclass(frozen=True, kw_only=True)
class DreamsRequest(Request):
    """The dream to show or undo; without one, all are listed."""

    id: Annotated[str, Help("the dream to show"), Positional("ID")] = ""
    undo: Annotated[bool, Help("put everything back as it was before that dream")] = False


@dataclass(frozen=True, kw_only=True)
class ExportRequest(Request):
    """Where to write memories, and of which project."""

    file: Annotated[str, Help("where to; - for stdout"), Positional("FILE")]
    project: Annotated[str, Help("only the memories of this project")] = ""


@dataclass(frozen=True, kw_only=True)
class ImportRequest(Request):
    """Where to read memories from, and how far to trust them."""

    file: Annotated[str, Help("where from; - for stdin"), Positional("FILE")]
    trust: Annotated[bool, Help("take every line at its word: you vouch for the file")] = False
    revive: Annotated[bool, Help("bring back what was forgotten here since")] = False


@dataclass(frozen=True, kw_only=True)
class PurgeRequest(Request):
    """Which memories to remove for good."""

    ids: Annotated[tuple[str, ...], Help("which; the start of an id is enough if it fits only one"), Positional("ID")]
    dry_run: Annotated[bool, Help("only say what would be removed")] = False


@dataclass(frozen=True, kw_only=True)
class QuarantineRequest(Request):
    """What to do with memories in quarantine; without either, they are listed."""

    release: Annotated[tuple[str, ...], Help("ids that may be recalled after all")] = ()
    forget: Annotated[tuple[str, ...], Help("ids to forget")] = ()


@dataclass(frozen=True, kw_only=True)
class AuditRequest(Request):
    """Which events to show after the check."""

    last: Annotated[int, Range(1, 1_000_000), Help("how many to show"), CommandLine(metavar="EVENTS")] = 20
    about: Annotated[str, Help("only what happened to this memory"), CommandLine(metavar="ID")] = ""
    accept: Annotated[bool, Help("take the store as it is, after restoring a backup")] = False


@dataclass(frozen=True, kw_only=True)
class DriftRequest(Request):
    """Whether the check changes anything."""

    dry_run: Annotated[bool, Help("only report")] = False


@dataclass(frozen=True, kw_only=True)
class ProjectsRequest(Request):
    """What to do with projects; without an action, they are listed."""

    action: Annotated[ProjectAction, Help("list, rename, merge, move, undo or mark"), Positional("ACTION")] = "list"
    names: Annotated[
        tuple[str, ...],
        Help("rename [OLD] NEW; merge FROM [INTO]; move ID... PROJECT; undo ID; mark [NAME] writes .reverie here"),
        Positional("NAME"),
    ] = ()
    dry_run: Annotated[bool, Help("only say what would change")] = False


@dataclass(frozen=True, kw_only=True)
class EngineRequest(Request):
    """What to do with the engine."""

    action: Annotated[EngineAction, Help("show, stop or log"), Positional("ACTION")] = "show"
    all: Annotated[bool, Help("stop those of other settings and versions too")] = False
    last: Annotated[int, Range(1, 100_000), Help("lines of the log to show"), CommandLine(metavar="LINES")] = 50


@dataclass(frozen=True, kw_only=True)
class PageRequest(Request):
    """How to open the page."""

    print_only: Annotated[
        bool, Help("only print the address, which opens the page once"), CommandLine(flag="--print")
    ] = False
    port: Annotated[int, Range(0, 65_535), Help("listen on this port; any free one by default")] = 0
    no_engine: Annotated[bool, Help("serve it from this process until Ctrl-C")] = False


@dataclass(frozen=True, kw_only=True)
class DoctorRequest(Request):
    """Whether to repair what can be repaired."""

    fix: Annotated[bool, Help("repair what can be repaired without losing anything")] = False
