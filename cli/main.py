"""The `reverie` command: its arguments. What each command does is in the modules beside this one."""

import argparse
import os
import sys
from collections.abc import Sequence

from reverie.errors import ReverieError
from reverie.memory import KINDS, LAYERS, SOURCES, TIERS
from reverie.settings import load_settings, meant_by, unknown_variables
from reverie.version import __version__

_READER_GONE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; without a command, serve if a client is on stdin."""
    parser = build_parser()
    given = parser.parse_args(arguments)
    command = given.command or (None if sys.stdin is None or sys.stdin.isatty() else "serve")
    if command is None:
        parser.print_help()
        return 0
    os.umask(0o077)  # whatever is written belongs to its owner alone
    for name in unknown_variables():
        sys.stderr.write(f"reverie: {name} is set, but there is no such setting{meant_by(name)}.\n")
    # A product with one vector is bound by memory: more threads only spin, in each of eight servers.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if command == "serve":
            from reverie.server.stdio import serve

            return serve(load_settings)
        from reverie.cli.commands import run

        return run(command, given)
    except ReverieError as error:
        from reverie.cli.terminal import note

        note(f"reverie: {error}")
        return 1
    except KeyboardInterrupt:
        from reverie.cli.terminal import INTERRUPTED, note

        note("")
        return INTERRUPTED
    except BrokenPipeError:
        from reverie.cli.terminal import give_up_on_stdout

        give_up_on_stdout()
        return _READER_GONE


def build_parser() -> argparse.ArgumentParser:
    """Describe every command; the README's table is generated from it."""
    parser = argparse.ArgumentParser(
        prog="reverie",
        description="Long-term memory for coding assistants.",
        epilog="Settings are environment variables (REVERIE_HOME and others); see the README.",
    )
    parser.add_argument("--version", action="version", version=f"reverie {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("serve", help="serve MCP on stdio; the default when a client starts it")
    _command(commands, "demo", "watch an assistant remember and recall, on a temporary store")
    _command(commands, "status", "show what is remembered and how the store is doing")
    _add_remember(commands)
    _add_recall(commands)
    curves = _command(commands, "curves", "draw the forgetting curves, and where a memory stands on them")
    curves.add_argument(
        "id", metavar="ID", nargs="?", default="", help="the memory to mark; without it, a typical one"
    )
    _add_all_projects(curves)
    curves.add_argument("--days", type=float, default=180.0, help="how far to draw")
    curves.add_argument("--png", metavar="FILE", help="write a picture instead; needs reverie-mcp[plots]")
    forecast = _command(commands, "forecast", "say what would be let go, moved and kept; change nothing")
    forecast.add_argument("--days", type=float, default=90.0, help="how far ahead")
    _add_all_projects(forecast)
    _add_dream(commands)
    export = _command(commands, "export", "write every memory to a JSON Lines file")
    export.add_argument("file", metavar="FILE", help="where to; - for stdout")
    export.add_argument("--project", default="", help="only the memories of this project")
    imports = _command(commands, "import", "read memories from a JSON Lines file; known ids are updated")
    imports.add_argument("file", metavar="FILE", help="where from; - for stdin")
    imports.add_argument("--trust", action="store_true", help="take every line at its word: you vouch for the file")
    imports.add_argument("--revive", action="store_true", help="bring back what was forgotten here since")
    purge = _command(commands, "purge", "remove memories for good: text, index, history, old versions")
    purge.add_argument("ids", metavar="ID", nargs="+", help="which; the start of an id is enough if it fits only one")
    purge.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    _add_all_projects(purge)
    quarantine = _command(commands, "quarantine", "list what is held back for review, and decide about it")
    _add_list(quarantine, "--release", "ids that may be recalled after all")
    _add_list(quarantine, "--forget", "ids to let go")
    _add_all_projects(quarantine)
    audit = _command(commands, "audit", "prove that journal and rows were not tampered with; show what it says last")
    audit.add_argument("--last", type=int, default=20, metavar="EVENTS", help="how many to show")
    audit.add_argument("--about", default="", metavar="ID", help="only what happened to this memory")
    audit.add_argument("--accept", action="store_true", help="take the store as it is, after restoring a backup")
    _add_all_projects(audit)
    index = _command(commands, "index", "read a project's files and signatures into memory; again only what changed")
    index.add_argument("path", metavar="PATH", nargs="?", default="", help="a folder; without it, this project")
    index.add_argument("--project", default="", help="instead of the project of that folder")
    index.add_argument("--max-files", type=int, default=20_000, metavar="FILES", help="how many at most")
    drift = _command(commands, "drift", "check what memories were seen in, and mark what moved or is gone")
    drift.add_argument("--dry-run", action="store_true", help="only tell")
    _add_projects(commands)
    _command(commands, "reembed", "convert the store to the embedder that is set now")
    doctor = _command(commands, "doctor", "check the data folder, tables, embedder and lock, and say what to do")
    doctor.add_argument("--fix", action="store_true", help="mend what can be mended without losing anything")
    return parser


def _add_remember(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _command(commands, "remember", "keep a fact, decision, preference, fix or how-to")
    parser.add_argument("text", metavar="TEXT", help="what to keep; - reads it from stdin")
    parser.add_argument("--layer", choices=["auto", *LAYERS], default="auto", help="where it belongs")
    parser.add_argument("--kind", choices=["auto", *KINDS], default="auto", help="what it is")
    parser.add_argument("--title", default="", help="a short line for lists")
    _add_list(parser, "--tags", "words to find it by")
    parser.add_argument("--importance", type=float, default=0.5, metavar="0..1", help="how much it matters")
    parser.add_argument("--confidence", type=float, default=1.0, metavar="0..1", help="how sure it is")
    parser.add_argument("--source", choices=SOURCES, default="human", help="who says so")
    _add_list(parser, "--files", "paths, or path::symbol, that it speaks of")
    parser.add_argument("--project", default="", help="instead of the project of this folder")
    parser.add_argument("--happened-at", default="", metavar="MOMENT", help="2026-03-01, or 2d for two days ago")
    parser.add_argument("--forget-after", default="", metavar="WHEN", help="30d, or a moment")
    parser.add_argument("--tier", choices=TIERS, default="", help="how long it lives unused")
    parser.add_argument("--pin", action="store_true", help="never let it go")
    parser.add_argument("--supersedes", default="", metavar="ID", help="the memory that it replaces")
    parser.add_argument("--valence", type=float, default=0.0, metavar="-1..1", help="how bad or good it was")


def _add_dream(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    dream = _command(commands, "dream", "sleep on what was learned: merge, forget, check, tidy; for cron too")
    dream.add_argument("--dry-run", action="store_true", help="show what it would do, by reason; change nothing")
    _add_list(dream, "--steps", "only these steps")
    dream.add_argument("--project", default="", help="only the memories of this project")
    dream.add_argument(
        "--budget-cents", type=float, default=20.0, metavar="CENTS", help="for a language model, if one is set"
    )
    dreams = _command(commands, "dreams", "list the dreams, tell one, or undo it")
    dreams.add_argument("id", metavar="ID", nargs="?", default="", help="the dream to tell")
    dreams.add_argument("--undo", action="store_true", help="put everything back as it was before that dream")
    _add_all_projects(dreams)


def _add_projects(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _command(commands, "projects", "list projects, rename and merge them, move memories between them")
    actions = ("list", "rename", "merge", "move", "undo", "mark")
    parser.add_argument(
        "action", nargs="?", choices=actions, default="list", metavar="ACTION", help=", ".join(actions)
    )
    parser.add_argument(
        "arguments",
        nargs="*",
        metavar="NAME",
        help="rename [OLD] NEW; merge FROM [INTO]; move ID... PROJECT; undo ID; mark [NAME] writes .reverie here",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would change")
    parser.add_argument("--yes", action="store_true", help="do not ask before changing")


def _add_recall(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _command(commands, "recall", "find memories by meaning and by words")
    parser.add_argument("query", metavar="QUERY", help="what you want to know")
    parser.add_argument("--limit", type=int, default=8, help="how many at most")
    parser.add_argument("--max-tokens", type=int, default=1500, metavar="TOKENS", help="how long an answer")
    _add_list(parser, "--layers", f"only these: {', '.join(LAYERS)}")
    _add_list(parser, "--kinds", f"only these: {', '.join(KINDS)}")
    _add_list(parser, "--tags", "only memories with one of these")
    parser.add_argument("--project", default="", help="instead of the project of this folder")
    _add_all_projects(parser)
    parser.add_argument("--since", default="", metavar="WHEN", help="7d, or a moment")
    parser.add_argument("--before", default="", metavar="WHEN", help="7d, or a moment")
    parser.add_argument("--as-of", default="", metavar="WHEN", help="answer with what was known then")
    parser.add_argument("--min-strength", type=float, default=0.0, metavar="STRENGTH", help="only what is stronger")
    _add_list(parser, "--include", "also what is expired, superseded, quarantined")
    parser.add_argument("--explain", action="store_true", help="say why each was found")


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, does: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
    parser.add_argument("--json", action="store_true", help="answer in JSON, for machines")
    return parser


def _add_all_projects(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all-projects", action="store_true", help="look everywhere")


def _add_list(parser: argparse.ArgumentParser, option: str, meaning: str) -> None:
    parser.add_argument(
        option, action="extend", type=_listed, default=[], metavar="A,B", help=f"{meaning}; separated by commas"
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
