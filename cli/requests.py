"""The requests of commands that are no tools, declared as in `tools/requests.py`."""

from typing import Annotated, Literal, get_args

from reverie.clients.formats import Format
from reverie.declaration import declaration
from reverie.tools.requests import (
    Check,
    CommandLine,
    Help,
    Label,
    Positional,
    Range,
    Request,
    TokenScope,
    checked_choices,
)

LONGEST_DAYS = 36_500.0

Shell = Literal["bash", "zsh", "fish"]
EngineAction = Literal["show", "stop", "log"]
TokenAction = Literal["create", "list", "revoke"]
ExportFormat = Literal["jsonl", "okf"]
SyncPreference = Literal["ask", "both", "file", "store"]
ClientName = Literal[
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini",
    "windsurf",
    "zed",
    "opencode",
    "cline",
    "continue",
    "jetbrains",
]
CLIENT_NAMES: tuple[ClientName, ...] = get_args(ClientName)
SetupScope = Literal["user", "project"]
UninstallScope = Literal["all", "user", "project"]
ProjectAction = Literal["list", "rename", "merge", "move", "undo", "mark"]


@declaration
class NoRequest(Request):
    """No arguments."""


@declaration
class CompletionRequest(Request):
    """The shell to write a script for."""

    shell: Annotated[Shell, Help("bash, zsh or fish"), Positional("SHELL")]


@declaration
class EditRequest(Request):
    """The memory to open in the editor."""

    id: Annotated[str, Help("full id, or a unique beginning of 8 characters or more"), Positional("ID")]
    reason: Annotated[Label, Help("why it is corrected")] = ""


@declaration
class CurvesRequest(Request):
    """Which memory to mark on the forgetting curves, and how far to draw them."""

    id: Annotated[str, Help("the memory to mark; without it, a typical one"), Positional("ID")] = ""
    days: Annotated[float, Range(1, LONGEST_DAYS), Help("how far to draw")] = 180.0
    png: Annotated[str, Help("write a picture instead; needs reverie-mcp[plots]"), CommandLine(metavar="FILE")] = ""


@declaration
class ForecastRequest(Request):
    """How far to look ahead."""

    days: Annotated[float, Help("how far ahead")] = 90.0


@declaration
class TuneRequest(Request):
    """No arguments: all recalls of the domain are read."""


@declaration
class DreamsRequest(Request):
    """The dream to show or undo; without one, all are listed."""

    id: Annotated[str, Help("the dream to show"), Positional("ID")] = ""
    undo: Annotated[bool, Help("put everything back as it was before that dream")] = False


@declaration
class ExportRequest(Request):
    """Where to write memories to, and how."""

    file: Annotated[str, Help("where to, a folder for okf; - for stdout"), Positional("FILE")]
    project: Annotated[str, Help("only the memories of this project")] = ""
    format: Annotated[ExportFormat, Help("how")] = "jsonl"


@declaration
class ImportRequest(Request):
    """Where to read memories from, and how far to trust them."""

    files: Annotated[tuple[str, ...], Help("files or folders to read; - for stdin"), Positional("FILE")]
    format: Annotated[Format | Literal["auto"], Help("what they are")] = "auto"
    project: Annotated[str, Help("the project that notes go to; without it, the one here")] = ""
    dry_run: Annotated[bool, Help("only say what would be imported")] = False
    trust: Annotated[bool, Help("keep the trust that the file gives: you vouch for it")] = False
    revive: Annotated[bool, Help("bring back what was forgotten here since")] = False


@declaration
class SyncRequest(Request):
    """Which folder to bring in step, and what to do where both sides changed."""

    folder: Annotated[str, Help("the folder of Markdown files; it is made if need be"), Positional("DIR")]
    project: Annotated[str, Help("the project to share; without it, the one here")] = ""
    prefer: Annotated[SyncPreference, Help("what to keep where a file and its memory both changed")] = "ask"
    dry_run: Annotated[bool, Help("only say what would change")] = False
    trust: Annotated[bool, Help("take the files at their word: you vouch for who edits them")] = False


@declaration
class PurgeRequest(Request):
    """Which memories to remove for good."""

    ids: Annotated[
        tuple[str, ...], Help("which; a unique beginning of 8 characters or more will do"), Positional("ID")
    ]
    dry_run: Annotated[bool, Help("only say what would be removed")] = False


@declaration
class QuarantineRequest(Request):
    """What to do with memories in quarantine; without either, they are listed."""

    release: Annotated[tuple[str, ...], Help("ids that may be recalled after all")] = ()
    forget: Annotated[tuple[str, ...], Help("ids to forget")] = ()


@declaration
class AuditRequest(Request):
    """Which events to show after the check."""

    last: Annotated[int, Range(1, 1_000_000), Help("how many to show"), CommandLine(metavar="EVENTS")] = 20
    about: Annotated[str, Help("only what happened to this memory"), CommandLine(metavar="ID")] = ""
    accept: Annotated[bool, Help("accept the store as it is, after restoring a backup")] = False


@declaration
class DriftRequest(Request):
    """Whether the check changes anything."""

    dry_run: Annotated[bool, Help("only report")] = False


@declaration
class ProjectsRequest(Request):
    """What to do with projects; without an action, they are listed."""

    action: Annotated[ProjectAction, Help("list, rename, merge, move, undo or mark"), Positional("ACTION")] = "list"
    names: Annotated[
        tuple[str, ...],
        Help("rename [OLD] NEW; merge FROM [INTO]; move ID... PROJECT; undo ID; mark [NAME] writes .reverie here"),
        Positional("NAME"),
    ] = ()
    dry_run: Annotated[bool, Help("only say what would change")] = False


@declaration
class EngineRequest(Request):
    """What to do with the engine."""

    action: Annotated[EngineAction, Help("show, stop or log"), Positional("ACTION")] = "show"
    all: Annotated[bool, Help("stop those of other settings and versions too")] = False
    last: Annotated[int, Range(1, 100_000), Help("lines of the log to show"), CommandLine(metavar="LINES")] = 50


@declaration
class TokensRequest(Request):
    """What to do with the tokens of the HTTP server."""

    action: Annotated[TokenAction, Help("create, list or revoke"), Positional("ACTION")] = "list"
    name: Annotated[str, Help("the token's name"), Positional("NAME")] = ""
    scope: Annotated[TokenScope | Literal[""], Help("what it allows; each scope includes the ones before it")] = ""
    user: Annotated[str, Help("the person that memories and events name; the token's name by default")] = ""
    expires: Annotated[str, Help("span such as 90d, or an ISO moment; never by default")] = ""
    project: Annotated[
        tuple[str, ...],
        Help("a project that it is limited to; may be given several times"),
        CommandLine(metavar="NAME"),
    ] = ()


@declaration
class ServeRequest(Request):
    """How to serve; on stdio, unless an address for HTTP is given."""

    http: Annotated[
        str,
        Help("serve MCP over HTTP on this address, at the path /mcp; see docs/team.md"),
        CommandLine(metavar="HOST:PORT"),
    ] = ""
    tls_cert: Annotated[str, Help("certificate chain, in PEM"), CommandLine(metavar="FILE")] = ""
    tls_key: Annotated[str, Help("its private key, in PEM"), CommandLine(metavar="FILE")] = ""
    behind_proxy: Annotated[
        str,
        Help("the only address that may connect: a proxy that ends TLS and whose forwarded headers are trusted"),
        CommandLine(metavar="ADDRESS"),
    ] = ""
    public_url: Annotated[
        str, Help("the address that clients use, if it differs: https://HOST/mcp"), CommandLine(metavar="URL")
    ] = ""


@declaration
class PageRequest(Request):
    """How to open the page."""

    print_only: Annotated[
        bool, Help("only print the address, which opens the page once"), CommandLine(flag="--print")
    ] = False
    port: Annotated[int, Range(0, 65_535), Help("listen on this port; any free one by default")] = 0
    no_engine: Annotated[bool, Help("serve it from this process until Ctrl-C")] = False


@declaration
class MoveHomeRequest(Request):
    """Where to move all memories."""

    to: Annotated[str, Help("a folder, or a bucket such as s3://bucket/prefix"), Positional("HOME")]
    copy: Annotated[bool, Help("only copy, as a backup; the home that is set stays in use")] = False


@declaration
class DoctorRequest(Request):
    """Whether to repair what can be repaired."""

    fix: Annotated[bool, Help("repair what can be repaired without losing anything")] = False


def _checked_clients(argument: str, names: tuple[str, ...]) -> None:
    checked_choices(argument, names, CLIENT_NAMES)


@declaration
class SetupRequest(Request):
    """Which clients to connect; without one, those that are found here."""

    clients: Annotated[
        tuple[str, ...], Check(_checked_clients), Help(f"which: {', '.join(CLIENT_NAMES)}"), Positional("CLIENT")
    ] = ()
    scope: Annotated[SetupScope, Help("for you everywhere, or for this project")] = "user"
    no_hooks: Annotated[bool, Help("connect the server only, without hooks")] = False
    dry_run: Annotated[bool, Help("show what would change in which file, and change nothing")] = False
    print: Annotated[bool, Help("print the blocks to paste, and change nothing")] = False


@declaration
class UninstallRequest(Request):
    """Which clients to disconnect; without one, all that setup connected."""

    clients: Annotated[
        tuple[str, ...], Check(_checked_clients), Help(f"which: {', '.join(CLIENT_NAMES)}"), Positional("CLIENT")
    ] = ()
    scope: Annotated[UninstallScope, Help("whose files to look at")] = "all"
    dry_run: Annotated[bool, Help("show what would change in which file, and change nothing")] = False
    purge_data: Annotated[bool, Help("remove all memories of all projects too; asks")] = False


@declaration
class ReindexRequest(Request):
    """Whose memories to read; without a project, all."""

    project: Annotated[Label, Help("only memories of this project")] = ""
