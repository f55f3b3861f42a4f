"""Every command of `reverie`, declared once: its help, its request, and the function that runs it.

A command that is a tool takes that tool's request. run.py runs them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from reverie.cli import requests as own
from reverie.tools import requests
from reverie.tools.requests import Request

if TYPE_CHECKING:
    from reverie.server.engine_client import EngineSession
    from reverie.tools.session import Session

CommandSession: TypeAlias = "Session | EngineSession"
"""The session of a command that only calls tools: in this process, or in the engine."""

Group = Literal["Every day", "Change memories", "Dreams", "Code", "The store", "More"]
GROUPS: tuple[Group, ...] = get_args(Group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that commands share."""

    json: bool = False
    yes: bool = False
    all_projects: bool = False
    no_engine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command; `run` is `module:function` in this folder.

    The function takes a session, the request and the options; without `opens_store`, only the request and options.
    """

    name: str
    help: str
    group: Group
    run: str
    request: type[Request] = own.NoRequest
    opens_store: bool = True
    through_engine: bool = False  # it only calls tools, so that the engine can answer it
    loads_tools: bool = True  # it needs LanceDB and the tools in this process
    asks: bool = False  # it shows what it would do and asks first, unless --yes is given
    finds_ids: bool = False  # it takes ids; --all-projects looks for them in other projects too


COMMANDS: tuple[Command, ...] = (
    Command(
        name="remember",
        help="keep a fact, decision, preference, fix or how-to",
        group="Every day",
        run="tool_commands:run_remember",
        request=requests.RememberRequest,
        through_engine=True,
    ),
    Command(
        name="recall",
        help="find memories by meaning and by words",
        group="Every day",
        run="tool_commands:run_recall",
        request=requests.RecallRequest,
        through_engine=True,
    ),
    Command(
        name="list",
        help="list memories, newest first",
        group="Every day",
        run="memories:run_list",
        request=requests.ListRequest,
        through_engine=True,
    ),
    Command(
        name="entities",
        help="list the people, services, tables … that memories name",
        group="Every day",
        run="memories:run_entities",
        request=requests.EntitiesRequest,
        through_engine=True,
    ),
    Command(
        name="show",
        help="show memories in full, with evidence, retention and history",
        group="Every day",
        run="memories:run_show",
        request=requests.InspectRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="brief",
        help="show what a session of an assistant starts with",
        group="Every day",
        run="tool_commands:run_brief",
        request=requests.BriefRequest,
        through_engine=True,
    ),
    Command(
        name="status",
        help="show what is remembered and how the store is doing",
        group="Every day",
        run="tool_commands:run_status",
        request=requests.StatusRequest,
        through_engine=True,
    ),
    Command(
        name="page",
        help="open the page: see, correct and forget what is remembered",
        group="Every day",
        run="engine:run_page",
        request=own.PageRequest,
        opens_store=False,
        loads_tools=False,
    ),
    Command(
        name="edit",
        help="correct a memory in your editor ($VISUAL or $EDITOR)",
        group="Change memories",
        run="memories:run_edit",
        request=own.EditRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="revise",
        help="correct a memory; the old text is kept as history",
        group="Change memories",
        run="tool_commands:run_revise",
        request=requests.ReviseRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="pin",
        help="keep a memory from being forgotten, merged or archived",
        group="Change memories",
        run="tool_commands:run_pin",
        request=requests.PinRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="unpin",
        help="take a pin away",
        group="Change memories",
        run="tool_commands:run_unpin",
        request=requests.PinRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="promote",
        help="move a memory up a layer",
        group="Change memories",
        run="tool_commands:run_promote",
        request=requests.MoveRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="demote",
        help="move a memory down a layer",
        group="Change memories",
        run="tool_commands:run_demote",
        request=requests.MoveRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="forget",
        help="forget memories by id or by filter; restore brings them back",
        group="Change memories",
        run="forgetting:run_forget",
        request=requests.ForgetRequest,
        asks=True,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="restore",
        help="bring forgotten memories back, or undo a dream or an event",
        group="Change memories",
        run="forgetting:run_restore",
        request=requests.RestoreRequest,
        asks=True,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="purge",
        help="remove memories for good: text, index, history, old versions",
        group="Change memories",
        run="forgetting:run_purge",
        request=own.PurgeRequest,
        asks=True,
        finds_ids=True,
    ),
    Command(
        name="quarantine",
        help="list what is held back for review, and decide about it",
        group="Change memories",
        run="forgetting:run_quarantine",
        request=own.QuarantineRequest,
        asks=True,
        finds_ids=True,
    ),
    Command(
        name="dream",
        help="run a dream: merge, forget, check, tidy; for cron too",
        group="Dreams",
        run="dreams:run_dream",
        request=requests.ConsolidateRequest,
        through_engine=True,
    ),
    Command(
        name="dreams",
        help="list the dreams, show one, or undo it",
        group="Dreams",
        run="dreams:run_dreams",
        request=own.DreamsRequest,
        asks=True,
        finds_ids=True,
    ),
    Command(
        name="review",
        help="answer what dreams left open",
        group="Dreams",
        run="dreams:run_review",
        request=requests.ReviewRequest,
        finds_ids=True,
        through_engine=True,
    ),
    Command(
        name="curves",
        help="draw the forgetting curves, with a memory's position on them",
        group="Dreams",
        run="plots:run_curves",
        request=own.CurvesRequest,
        opens_store=False,
        finds_ids=True,
    ),
    Command(
        name="forecast",
        help="say what would be forgotten, moved and kept; change nothing",
        group="Dreams",
        run="plots:run_forecast",
        request=own.ForecastRequest,
        finds_ids=True,
    ),
    Command(
        name="tune",
        help="fit the rates of forgetting to your own recalls; change nothing",
        group="Dreams",
        run="plots:run_tune",
        request=own.TuneRequest,
    ),
    Command(
        name="index",
        help="read a project's files and signatures; later only the changes",
        group="Code",
        run="projects:run_index",
        request=requests.IndexRequest,
        through_engine=True,
    ),
    Command(
        name="drift",
        help="check the code that memories name; mark what moved or is gone",
        group="Code",
        run="projects:run_drift",
        request=own.DriftRequest,
    ),
    Command(
        name="projects",
        help="list, rename and merge projects, move memories between them",
        group="The store",
        run="projects:run_projects",
        request=own.ProjectsRequest,
        asks=True,
    ),
    Command(
        name="export",
        help="write every memory to a JSON Lines file, or to Markdown",
        group="The store",
        run="files:run_export",
        request=own.ExportRequest,
    ),
    Command(
        name="import",
        help="read memories from an export, CLAUDE.md or another program",
        group="The store",
        run="files:run_import",
        request=own.ImportRequest,
        asks=True,
    ),
    Command(
        name="sync",
        help="keep a folder of Markdown files and the store in step",
        group="The store",
        run="files:run_sync",
        request=own.SyncRequest,
        asks=True,
    ),
    Command(
        name="audit",
        help="check that nothing was tampered with; show the last events",
        group="The store",
        run="admin:run_audit",
        request=own.AuditRequest,
        finds_ids=True,
    ),
    Command(
        name="reembed",
        help="convert the store to the embedder that is set now",
        group="The store",
        run="admin:run_reembed",
        opens_store=False,
    ),
    Command(
        name="move",
        help="move all memories to another folder or bucket, or copy them there",
        group="The store",
        run="admin:run_move",
        request=own.MoveHomeRequest,
        opens_store=False,
    ),
    Command(
        name="reindex",
        help="find the names in memories again",
        group="The store",
        run="memories:run_reindex",
        request=own.ReindexRequest,
    ),
    Command(
        name="doctor",
        help="check data folder, tables, embedder, lock; say what to do",
        group="The store",
        run="admin:run_doctor",
        request=own.DoctorRequest,
        opens_store=False,
    ),
    Command(
        name="tokens",
        help="make, list and revoke tokens for clients over HTTP",
        group="The store",
        run="tokens:run_tokens",
        request=own.TokensRequest,
        opens_store=False,
        loads_tools=False,
    ),
    Command(
        name="engine",
        help="show the engine that sessions share; stop it, or read its log",
        group="The store",
        run="engine:run_engine",
        request=own.EngineRequest,
        opens_store=False,
        loads_tools=False,
    ),
    Command(
        name="setup",
        help="connect your assistants; finds them, shows a plan and asks",
        group="More",
        run="setup:run_setup",
        request=own.SetupRequest,
        opens_store=False,
        loads_tools=False,
        asks=True,
    ),
    Command(
        name="uninstall",
        help="disconnect assistants: restores their files; memories stay",
        group="More",
        run="setup:run_uninstall",
        request=own.UninstallRequest,
        opens_store=False,
        loads_tools=False,
        asks=True,
    ),
    Command(
        name="demo",
        help="watch an assistant remember and recall, on a temporary store",
        group="More",
        run="demo:run_demo",
        opens_store=False,
        loads_tools=False,
    ),
)
"""All commands except `serve` and `completion`, which need neither a store nor the tools."""
