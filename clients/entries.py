"""What setup writes into a client's file, and how it recognises that again.

An entry is ours by its program: a server called `reverie` that starts `/some/where/reverie serve`, a hook that runs
`reverie-hook`, or a hook that asks the server's tool `recall` for the prompt. The folder of the program may differ:
an upgrade can move it.
"""

import re
import shlex

from reverie.clients.catalog import SERVER, HookEvent, HookFile, Machine, ServerFile
from reverie.clients.json_edit import Json
from reverie.settings import TABLE

ARGUMENTS = ["serve"]
PLUGIN_SERVER = f"plugin:{SERVER}:{SERVER}"
"""What a hook calls the server of our plugin in Claude Code."""

_HOOK_PROGRAM = "reverie-hook"
_RECALL: dict[str, Json] = {"query": "${prompt}", "client_session": "${session_id}", "max_tokens": 300}
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
_CODEX_VARIABLES = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]


def server_entry(file: ServerFile, machine: Machine) -> dict[str, Json]:
    """Return the entry that makes a client start the server."""
    plain: dict[str, Json] = {"command": machine.executable, "args": [*ARGUMENTS]}
    match file.style:
        case "plain":
            return plain
        case "stdio":
            return {"type": "stdio", **plain}
        case "workspace":
            return {"type": "stdio", **plain, "cwd": "${workspaceFolder}"}
        case "local":
            return {"type": "local", "command": [machine.executable, *ARGUMENTS], "enabled": True}
        case "codex":
            return {**plain, "env_vars": [*(setting.variable for setting in TABLE), *_CODEX_VARIABLES]}


def moved_command(command: Json, machine: Machine) -> Json:
    """Return the command that points an entry of ours at this executable; its arguments stay."""
    return [machine.executable, *command[1:]] if isinstance(command, list) else machine.executable


def hook_item(file: HookFile, event: HookEvent, machine: Machine, server: str = SERVER) -> Json:
    """Return the item of a client's list of hooks for an event."""
    handler = _recall_handler(event, server) if event.recalls else _command_handler(file, event, machine)
    if file.style in ("cursor", "vscode"):
        return handler
    return {"matcher": event.matcher, "hooks": [handler]} if event.matcher else {"hooks": [handler]}


def _recall_handler(event: HookEvent, server: str) -> Json:
    return {"type": "mcp_tool", "server": server, "tool": "recall", "input": {**_RECALL}, "timeout": event.seconds}


def _command_handler(file: HookFile, event: HookEvent, machine: Machine) -> Json:
    command = hook_command(file, machine)
    match file.style:
        case "claude":  # `args` makes it start the program without a shell
            return {"type": "command", "command": command, "args": [], "timeout": event.seconds}
        case "gemini":
            return {"type": "command", "command": command, "timeout": event.seconds * 1000}
        case "cursor":
            return {"command": command, "timeout": event.seconds}
        case "codex" | "vscode":
            return {"type": "command", "command": command, "timeout": event.seconds}


def hook_command(file: HookFile, machine: Machine) -> str:
    """Return the hook's path as this client takes it: bare, or quoted for the shell that will read it."""
    if file.style == "claude" or not re.search(r"[^\w@%+=:,./\\~-]", machine.hook):
        return machine.hook
    if machine.platform != "win32":
        return shlex.quote(machine.hook)
    return f'& "{machine.hook}"' if file.style == "codex" else f'"{machine.hook}"'  # Codex asks PowerShell


def is_reverie(entry: Json) -> bool:
    """Whether a server entry starts Reverie, however it was written."""
    words = _words(entry)
    if not words:
        return False
    if _program(words[0]) in (SERVER, "reverie-mcp"):
        return True
    return any(re.split(r"[@=\[]", word)[0] == "reverie-mcp" for word in words[1:]) or words[1:3] == ["-m", SERVER]


def is_written_by_setup(name: str, entry: Json) -> bool:
    """Whether a server entry has the form that setup writes, whichever folder the program is in."""
    words = _words(entry)
    return (
        name == SERVER
        and words[1:] == ARGUMENTS
        and _program(words[0]) == SERVER
        and _ABSOLUTE.match(words[0]) is not None
    )


def is_our_handler(handler: Json) -> bool:
    """Whether a hook runs our program, or asks our server for the prompt."""
    if not isinstance(handler, dict):
        return False
    if handler.get("type") == "mcp_tool":  # others have a tool called recall too
        given = handler.get("input")
        asks = isinstance(given, dict) and given.get("query") == "${prompt}"
        is_ours = handler.get("server") == SERVER or given == _RECALL
        return handler.get("tool") == "recall" and asks and is_ours
    command = handler.get("command")
    return isinstance(command, str) and _program(command) == _HOOK_PROGRAM


def is_by_hand(handler: dict[str, Json]) -> bool:
    """Whether a hook that runs our program has not the form that setup writes: an absolute path."""
    command = handler.get("command")
    return isinstance(command, str) and _ABSOLUTE.match(_bare(command)) is None


def _words(entry: Json) -> list[str]:
    """Return the command line of a server entry."""
    if not isinstance(entry, dict):
        return []
    command, arguments = entry.get("command"), entry.get("args", [])
    older = entry.get("command")
    if isinstance(older, dict):  # Zed's: {"path": …, "args": …}
        command, arguments = older.get("path"), older.get("args", [])
    first = command if isinstance(command, list) else [command]
    rest = arguments if isinstance(arguments, list) else []
    return [word for word in [*first, *rest] if isinstance(word, str)]


def _program(command: str) -> str:
    """Return the name of the program that a command starts: its last part, without quotes and `.exe`."""
    return re.split(r"[\\/]", _bare(command))[-1].lower().removesuffix(".exe")


def _bare(command: str) -> str:
    return command.strip().removeprefix("&").strip().strip("\"'")
