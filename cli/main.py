"""The `reverie` command: its parser, derived from the requests of commands and tools, and its exit codes."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from reverie import __version__
from reverie.cli.commands import COMMANDS, GROUPS, Command, Options
from reverie.cli.requests import CompletionRequest, ServeRequest
from reverie.cli.run import run
from reverie.cli.terminal import (
    DONE,
    FAILED,
    INTERRUPTED,
    REFUSED,
    ColorMode,
    NobodyToAsk,
    columns,
    give_up_on_stdout,
    is_terminal,
    note,
    say,
    set_color,
    terminal_width,
)
from reverie.errors import ReverieError
from reverie.memory import Verdict
from reverie.settings import meant_by, unknown_variables
from reverie.tools.requests import Argument, Request, ReviewDecision, arguments_of

_READER_GONE = 141

_EPILOG = """\
exit codes:
  0    done
  1    failed; one line on stderr says why
  2    not understood; or it has to ask before a change, and there is
       neither a terminal nor --yes
  130  interrupted

Settings are environment variables (REVERIE_HOME and others); see the README."""

_FIRST_STEPS = (
    ("reverie setup", "connect your assistants"),
    ('reverie remember "TEXT"', "keep something"),
    ('reverie recall "QUESTION"', "find it again"),
    ("reverie list", "see what is remembered, newest first"),
    ("reverie show ID", "see one memory in full"),
    ("reverie demo", "watch an assistant use it, on a temporary store"),
    ("reverie doctor", "check that everything works"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; without a command, serve if a client is on stdin."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    # Most calls need the parser of one command; help, completion and mistakes need all of them.
    parser = build_parser(only=words[0] if words and words[0] in _NAMES else "")
    given = parser.parse_args(words)
    set_color(given.color)
    name = given.command or ("" if sys.stdin is None or is_terminal(sys.stdin) else "serve")
    try:
        if not name:
            say(*_greeting())
            return DONE
        if name == "completion":
            from reverie.cli.completion import completion_script

            say(completion_script(build_parser(), given.shell).rstrip("\n"))
            return DONE
        return _start(name, given)
    except ReverieError as error:
        note(f"reverie: {error}")
        return FAILED
    except NobodyToAsk as refusal:
        note(f"reverie: {refusal}")
        return REFUSED
    except KeyboardInterrupt:
        note("")
        return INTERRUPTED
    except BrokenPipeError:
        give_up_on_stdout()
        return _READER_GONE


def _start(name: str, given: argparse.Namespace) -> int:
    os.umask(0o077)  # whatever is written belongs to its owner alone
    for variable in unknown_variables():
        note(f"reverie: {variable} is set, but there is no such setting{meant_by(variable)}.")
    # A product with one vector is bound by memory: more threads only spin, in each of eight servers.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if name == "serve":
        request = ServeRequest(
            **{argument.name: getattr(given, argument.name, "") for argument in arguments_of(ServeRequest)}
        )
        if request != ServeRequest():
            return _serve_http(request)
        from reverie.server.relay import serve

        return serve(os.environ)
    command = next(command for command in COMMANDS if command.name == name)
    values = {argument.name: getattr(given, argument.name) for argument in _shown_arguments(command.request)}
    options = Options(
        json=given.json,
        yes=getattr(given, "yes", False),
        all_projects=getattr(given, "all_projects", False),
        no_engine=getattr(given, "no_engine", False),
    )
    return run(command, values, options)


def _serve_http(request: ServeRequest) -> int:
    """Serve over HTTP until asked to stop.

    Raises:
        ReverieError: if it may not, or cannot, listen as the options say.
    """
    from reverie.server.http_server import read_plan, serve  # heavy, and no other command needs it
    from reverie.settings import load_settings

    plan = read_plan(
        request.http,
        tls_cert=request.tls_cert,
        tls_key=request.tls_key,
        behind_proxy=request.behind_proxy,
        public_url=request.public_url,
    )
    return serve(plan, load_settings, say)


def _greeting() -> list[str]:
    return [
        "Reverie is long-term memory for coding assistants.",
        "",
        "usage: reverie COMMAND [OPTIONS]",
        "",
        *columns(_FIRST_STEPS),
        "",
        "`reverie --help` lists all commands; `reverie COMMAND --help` explains one.",
        "An assistant starts it with `reverie serve`.",
    ]


class _HelpFormatter(argparse.HelpFormatter):
    """Reads the terminal's width itself: argparse would import `shutil`, which is slow, for every argument."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **{"width": terminal_width() - 2} | options)


class _Parser(argparse.ArgumentParser):
    """The parser of `reverie` itself: its help lists the commands by topic."""

    def format_help(self) -> str:
        """Return usage, the commands of each topic, the options and the exit codes."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, [action for action in self._actions if action.option_strings], [])
        formatter.add_text(self.description)
        rows = {command.name: command.help for command in COMMANDS} | _OTHERS
        width = max(map(len, rows)) + 4
        lines = [formatter.format_help().rstrip()]
        for group in GROUPS:
            names = [command.name for command in COMMANDS if command.group == group]
            names += list(_OTHERS) if group == "More" else []
            lines += ["", f"{group}:", *(f"  {name:<{width - 2}}{rows[name]}" for name in names)]
        options = self._get_formatter()
        options.start_section("options")
        options.add_arguments([action for action in self._actions if action.option_strings])
        options.end_section()
        return "\n".join([*lines, "", options.format_help().rstrip(), "", _EPILOG, ""])


_OTHERS = {
    "serve": "serve MCP on stdio, as clients start it, or over HTTP",
    "completion": "print a completion script for bash, zsh or fish",
}


_NAMES = {command.name for command in COMMANDS} | set(_OTHERS)


def build_parser(only: str = "") -> argparse.ArgumentParser:
    """Describe every command, or only one; docs/commands.md and the completion scripts are derived from it."""
    parser = _Parser(
        prog="reverie",
        usage="reverie [OPTIONS] COMMAND ...",
        description="Long-term memory for coding assistants.",
        formatter_class=_HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"reverie {__version__}")
    _add_color(parser, default="auto")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", prog="reverie", parser_class=argparse.ArgumentParser
    )
    for command in COMMANDS:
        if only in ("", command.name):
            _add_command(commands, command)
    if only and only not in _OTHERS:
        return parser
    serve = commands.add_parser(
        "serve",
        help=_OTHERS["serve"],
        description=_sentence(_OTHERS["serve"]),
        formatter_class=_HelpFormatter,
    )
    _add_arguments(serve, ServeRequest)
    completion = commands.add_parser(
        "completion",
        help=_OTHERS["completion"],
        description="Print a completion script. For bash: reverie completion bash > "
        "~/.local/share/bash-completion/completions/reverie",
        formatter_class=_HelpFormatter,
    )
    _add_arguments(completion, CompletionRequest)
    return parser


def _add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]", command: Command) -> None:
    parser = commands.add_parser(
        command.name, help=command.help, description=_sentence(command.help), formatter_class=_HelpFormatter
    )
    _add_arguments(parser, command.request)
    names = {argument.name for argument in arguments_of(command.request)}
    if command.finds_ids and "all_projects" not in names:
        parser.add_argument("--all-projects", action="store_true", help="look for ids in all projects")
    if command.asks:
        parser.add_argument("--yes", action="store_true", help="do it without asking")
    if command.through_engine:
        parser.add_argument("--no-engine", action="store_true", help="run in this process, without the engine")
    parser.add_argument("--json", action="store_true", help="answer in JSON, for machines")
    _add_color(parser, default=argparse.SUPPRESS)


def _add_color(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--color",
        choices=get_args(ColorMode),
        default=default,
        metavar="WHEN",
        help="auto (on a terminal, unless NO_COLOR is set), always or never",
    )


def _shown_arguments(request: type[Request]) -> Iterator[Argument]:
    return (argument for argument in arguments_of(request) if not argument.command_line.hidden)


def _add_arguments(parser: argparse.ArgumentParser, request: type[Request]) -> None:
    """Add an argument for each field of a request."""
    for argument in _shown_arguments(request):
        if argument.positional is not None:
            _add_positional(parser, argument, argument.positional.metavar)
        elif argument.annotation is bool:
            parser.add_argument(_flag(argument), dest=argument.name, action="store_true", help=_help(argument))
        elif argument.is_list:
            _add_list(parser, argument)
        else:
            parser.add_argument(
                _flag(argument),
                dest=argument.name,
                type=_type(argument),
                choices=argument.choices or None,
                default=_default(argument),
                metavar=argument.command_line.metavar or argument.name.upper(),
                help=_help_with_values(argument),
            )


def _add_positional(parser: argparse.ArgumentParser, argument: Argument, metavar: str) -> None:
    optional, required = ("*", "+") if argument.is_list else ("?", None)
    parser.add_argument(
        argument.name,
        metavar=metavar,
        nargs=required if argument.is_required else optional,
        choices=argument.choices or None,
        default=None if argument.is_required else argument.default,
        help=_help(argument),
    )


def _add_list(parser: argparse.ArgumentParser, argument: Argument) -> None:
    metavar = argument.command_line.metavar
    words = f": {', '.join(argument.choices)}" if argument.choices else ""
    parser.add_argument(
        _flag(argument),
        dest=argument.name,
        action="append" if metavar else "extend",
        type=_type(argument) if metavar else _listed,
        default=[],
        metavar=metavar or "A,B",
        help=_help(argument) if metavar else f"{_help(argument)}{words}; separated by commas",
    )


def _flag(argument: Argument) -> str:
    return argument.command_line.flag or f"--{argument.name.replace('_', '-')}"


def _help(argument: Argument) -> str:
    return (argument.command_line.help or argument.help.text).replace("%", "%%")


def _help_with_values(argument: Argument) -> str:
    words = f": {', '.join(argument.choices)}" if argument.choices else ""
    default = _default(argument)
    return f"{_help(argument)}{words}" + (f" (default {default})" if default else "")


def _default(argument: Argument) -> object:
    return argument.default if argument.command_line.default is None else argument.command_line.default


def _type(argument: Argument) -> Callable[[str], object]:
    return next((read for kind, read in _READERS.items() if kind is argument.item), str)


def _decision(text: str) -> ReviewDecision:
    """Read QUESTION=VERDICT, or QUESTION=VERDICT:TEXT."""
    question, _, rest = text.partition("=")
    verdict, _, written = rest.partition(":")
    if not question.strip() or verdict.strip() not in _VERDICTS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not QUESTION=VERDICT or QUESTION=VERDICT:TEXT; verdicts are {', '.join(_VERDICTS)}"
        )
    chosen = next(word for word in _VERDICTS if word == verdict.strip())
    return ReviewDecision(question_id=question.strip(), verdict=chosen, text=written.strip())


_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_READERS: dict[type, Callable[[str], object]] = {int: int, float: float, ReviewDecision: _decision}


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
