"""`reverie completion`: scripts for bash, zsh and fish, written from the parser."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from reverie.cli.requests import Shell

SHELLS: tuple[Shell, ...] = get_args(Shell)


@dataclass(frozen=True, slots=True)
class _Option:
    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]  # what a positional argument may be, where it is one of a few
    takes_file: bool


def completion_script(parser: argparse.ArgumentParser, shell: Shell) -> str:
    """Return the script that teaches a shell the commands and options of a parser."""
    return _WRITERS[shell](_described(parser, "", ""), list(_commands(parser)))


def _commands(parser: argparse.ArgumentParser) -> Iterator[_Command]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            yield from (_described(each, name, helps.get(name, "")) for name, each in action.choices.items())


def _described(parser: argparse.ArgumentParser, name: str, does: str) -> _Command:
    options = tuple(_option(action) for action in parser._actions if action.option_strings)
    positional = [
        action
        for action in parser._actions
        if not action.option_strings and not isinstance(action, argparse._SubParsersAction)
    ]
    words = tuple(str(choice) for action in positional for choice in action.choices or ())
    takes_file = any(action.metavar in ("FILE", "PATH") for action in positional)
    return _Command(name, does, options, words, takes_file)


def _option(action: argparse.Action) -> _Option:
    return _Option(
        tuple(action.option_strings),
        (action.help or "").replace("%%", "%"),
        tuple(map(str, action.choices or ())),
        action.nargs != 0,
    )


def _bash(top: _Command, commands: Sequence[_Command]) -> str:
    names = " ".join(command.name for command in commands)
    cases = [
        f'    {command.name}) options="{_names(command.options)}"; words="{" ".join(command.words)}" ;;'
        for command in commands
    ]
    values = [
        f'    {_bash_pattern(owner, option)}) words="{" ".join(option.choices)}"; options="" ;;'
        for owner in (top, *commands)
        for option in owner.options
        if option.takes_value
    ]
    return "\n".join(
        [
            "# reverie completion for bash: source this file, or put it into",
            "# ~/.local/share/bash-completion/completions/reverie",
            "_reverie() {",
            '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
            '  local command="" options="" words="" each',
            '  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
            f'    case " {names} " in *" $each "*) command="$each"; break ;; esac',
            "  done",
            '  case "$command" in',
            f'    "") options="{_names(top.options)}"; words="{names}" ;;',
            *cases,
            "  esac",
            '  case "$command:$before" in',
            *values,
            "  esac",
            '  if [[ "$word" == -* ]]; then words="$options"; fi',
            '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "}",
            "complete -o default -F _reverie reverie",
            "",
        ]
    )


def _names(options: Sequence[_Option]) -> str:
    return " ".join(name for option in options for name in option.names)


def _bash_pattern(owner: _Command, option: _Option) -> str:
    """Match a command and the option before the cursor; the options of `reverie` itself fit every command."""
    return "|".join(f"{owner.name or '*'}:{name}" for name in option.names)


def _zsh(top: _Command, commands: Sequence[_Command]) -> str:
    lines = [
        "#compdef reverie",
        "# reverie completion for zsh: save this as _reverie in a folder of $fpath",
        "_reverie() {",
        "  local context state line",
        "  typeset -A opt_args",
        "  _arguments -C \\",
        *(f"    {_zsh_option(option)} \\" for option in top.options),
        "    '1:command:->command' '*::argument:->argument'",
        '  case "$state" in',
        "    command)",
        "      local -a commands=(",
        *(f"        {_quoted(f'{command.name}:{command.help}')}" for command in commands),
        "      )",
        "      _describe command commands ;;",
        "    argument)",
        '      case "$line[1]" in',
    ]
    for command in commands:
        rest = f"({' '.join(command.words)})" if command.words else "_files" if command.takes_file else ""
        parts = [_zsh_option(option) for option in command.options] + [f"'*:argument:{rest}'"]
        lines.append(f"        {command.name}) _arguments {' '.join(parts)} ;;")
    return "\n".join(
        [
            *lines,
            "      esac ;;",
            "  esac",
            "}",
            'if [ "$funcstack[1]" = "_reverie" ]; then _reverie "$@"; else compdef _reverie reverie; fi',
            "",
        ]
    )


def _zsh_option(option: _Option) -> str:
    does = option.help.replace("[", "(").replace("]", ")").replace(":", " -")
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.choices)})" if option.choices else ":value:"
    names = option.names[-1]
    return _quoted(f"*{names}[{does}]{value}")


def _fish(top: _Command, commands: Sequence[_Command]) -> str:
    names = " ".join(command.name for command in commands)
    none_yet = f"not __fish_seen_subcommand_from {names}"
    lines = [
        "# reverie completion for fish: save this as ~/.config/fish/completions/reverie.fish",
        "complete -c reverie -f",
        *(_fish_option(option, none_yet) for option in top.options),
    ]
    for command in commands:
        seen = f"__fish_seen_subcommand_from {command.name}"
        lines.append(f"complete -c reverie -n {_quoted(none_yet)} -a {command.name} -d {_quoted(command.help)}")
        if command.words:
            lines.append(f"complete -c reverie -n {_quoted(seen)} -a {_quoted(' '.join(command.words))}")
        if command.takes_file:
            lines.append(f"complete -c reverie -n {_quoted(seen)} -F")
        lines += [_fish_option(option, seen) for option in command.options]
    return "\n".join([*lines, ""])


def _fish_option(option: _Option, condition: str) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = " -x" if option.takes_value else ""
    value += f" -a {_quoted(' '.join(option.choices))}" if option.choices else ""
    return f"complete -c reverie -n {_quoted(condition)} {names}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    """Quote a text for a shell, in a way that bash, zsh and fish agree on."""
    return "'" + text.replace("\\", "\\\\").replace("'", "’") + "'"


_WRITERS: Mapping[Shell, Callable[[_Command, Sequence[_Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
