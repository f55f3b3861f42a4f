"""The parser: every tool is a command, every field an argument, and the help says what a person needs."""

import argparse

import pytest

from reverie.cli.commands import COMMANDS, GROUPS, Command
from reverie.cli.main import build_parser, main
from reverie.tools.catalog import TOOLS
from reverie.tools.requests import arguments_of

every_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)


@pytest.fixture(scope="module")
def parsers() -> dict[str, argparse.ArgumentParser]:
    [commands] = [a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(commands.choices)


def test_every_tool_is_a_command() -> None:
    taken = {command.request for command in COMMANDS}
    assert [tool.name for tool in TOOLS if tool.request not in taken] == []


@every_command
def test_every_field_of_a_request_is_an_argument(
    command: Command, parsers: dict[str, argparse.ArgumentParser]
) -> None:
    given = {action.dest for action in parsers[command.name]._actions}
    wanted = {argument.name for argument in arguments_of(command.request) if not argument.command_line.hidden}
    assert wanted <= given
    assert ("yes" in given) is command.asks
    assert all(action.help for action in parsers[command.name]._actions)


@every_command
def test_the_defaults_of_a_command_make_a_valid_request(
    command: Command, parsers: dict[str, argparse.ArgumentParser]
) -> None:
    shown = [argument for argument in arguments_of(command.request) if not argument.command_line.hidden]
    required = ["xxxxxxxx" for argument in shown if argument.is_required]
    given = parsers[command.name].parse_args(required)
    command.request(**{argument.name: getattr(given, argument.name) for argument in shown})


def test_a_person_says_so_unless_told_otherwise(parsers: dict[str, argparse.ArgumentParser]) -> None:
    assert parsers["remember"].parse_args(["x"]).source == "human"


def test_the_help_lists_every_command_by_topic_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    for part in (*(f"\n{group}:\n" for group in GROUPS), *(f"\n  {command.name} " for command in COMMANDS)):
        assert part in said
    assert "exit codes:" in said
    assert all(code in said for code in ("  0 ", "  1 ", "  2 ", "  130 "))
    assert max(map(len, said.splitlines())) <= 80
