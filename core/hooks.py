"""What hooks and the server share: which prompts are worth a search, the trace of hooks, transcripts that wait.

Imports next to nothing: a hook starts with it, and a client waits for that. No text of a memory, a prompt or a
transcript is written here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from reverie.errors import InvalidInput
from reverie.folders import data_folder
from reverie.time import iso, parse_iso, system_clock

TYPE_CHECKING = False  # typing takes longer to import than all of this, and a client waits
if TYPE_CHECKING:
    from typing import Any

FEWEST_WORDS = 3


def is_worth_a_search(prompt: str) -> bool:
    """Return whether a person says something in a prompt: not a command, a tag of the client, or "yes, go on"."""
    return len(prompt.split()) >= FEWEST_WORDS and not prompt.lstrip().startswith(("/", "<", "!"))


LONGEST_TRACE = 64 * 1024
"""Bytes; of a longer trace only the second half is kept, and the last run of each event."""

MOST_WAITING = 64
DAYS_TO_WAIT = 7

_MOST_EVENTS = 40
_LONGEST_FILE = 64 * 1024


def hooks_folder(environment: Mapping[str, str]) -> str:
    """Return the folder for the traces of hooks: in the data folder, or in the default one if that is a bucket."""
    home = environment.get("REVERIE_HOME", "").strip()
    is_folder = os.path.isabs(os.path.expanduser(home)) and "://" not in home
    return os.path.join(os.path.expanduser(home) if is_folder else data_folder(environment), "hooks")


def trace_file(environment: Mapping[str, str]) -> str:
    """Return the file that has one line for each run."""
    return os.path.join(hooks_folder(environment), "runs.jsonl")


def last_runs(environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the last run for each event, the latest first; a line that is no run is skipped."""
    try:
        with open(trace_file(environment), "rb") as file:
            lines = file.read(2 * LONGEST_TRACE).splitlines()
    except OSError:
        return {}
    last: dict[str, dict[str, Any]] = {}
    for line in lines:
        try:
            run = json.loads(line)
            event = str(run["event"])
            parse_iso(str(run["at"]), "at")
        except (ValueError, KeyError, TypeError, InvalidInput):  # a line cut short, or of another version
            continue
        last.pop(event, None)
        last[event] = run
    return dict(reversed(last.items()))


def note_run(environment: Mapping[str, str], event: str, client: str, seconds: float, outcome: str) -> None:
    """Write that a hook ran; where nothing can be written, nothing is."""
    run = {
        "at": iso(system_clock()),
        "event": event[:64],
        "client": client,
        "ms": round(seconds * 1000),
        "outcome": outcome[:200],
    }
    path = trace_file(environment)
    try:
        make_private(os.path.dirname(path))
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            file.write(json.dumps(run).encode() + b"\n")
            size = file.tell()
        if size > LONGEST_TRACE:
            _shorten(path)
    except OSError:
        return


def _shorten(path: str) -> None:
    with open(path, "rb") as file:
        lines = file.read().splitlines(keepends=True)
    newest = lines[len(lines) // 2 :]
    last = {_event_in(line): line for line in lines[: len(lines) // 2]}
    for line in newest:
        last.pop(_event_in(line), None)
    last.pop("", None)
    new = f"{path}.{os.getpid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.writelines(
            [*list(last.values())[-_MOST_EVENTS:], *newest]
        )  # what runs at every tool must not hide others
    os.replace(new, path)


def _event_in(line: bytes) -> str:
    try:
        run = json.loads(line)
    except ValueError:
        return ""
    return str(run.get("event", "")) if isinstance(run, dict) else ""


def make_private(folder: str) -> None:
    """Make a folder and those above it that are missing, for the owner alone."""
    if os.path.isdir(folder):
        return
    make_private(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:  # another hook was quicker
        return


# -- transcripts that wait to be read ----------------------------------------------------------------------


def note_waiting(environment: Mapping[str, str], session: Mapping[str, str]) -> str:
    """Note that a session's transcript is to be read; return the name of the note, or nothing if there is none.

    Whoever was asked to read it may end before it is read: then the next session's start finds the note.
    """
    folder = _waiting_folder(environment)
    name = os.urandom(12).hex()
    try:
        make_private(folder)
        if len(os.listdir(folder)) >= MOST_WAITING:
            return ""
        with open(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(json.dumps(dict(session)).encode())
    except OSError:
        return ""
    return name


def take_waiting(environment: Mapping[str, str], *, seconds: float) -> dict[str, dict[str, str]]:
    """Return the notes, by name, that nobody has done away with for so long; those of last week are removed."""
    folder = _waiting_folder(environment)
    found: dict[str, dict[str, str]] = {}
    try:
        names = os.listdir(folder)
    except OSError:
        return found
    for name in names:
        path = os.path.join(folder, name)
        try:
            age = system_clock().timestamp() - os.stat(path).st_mtime
            with open(path, "rb") as file:
                noted = json.loads(file.read(_LONGEST_FILE))
        except OSError:  # another process has just done away with it
            continue
        except ValueError:  # it is being written, or was cut short
            noted = None
        if age >= DAYS_TO_WAIT * 86_400:
            forget_waiting(environment, name)
        elif age >= seconds and isinstance(noted, dict):
            found[name] = {str(key): str(value) for key, value in noted.items()}
    return found


def forget_waiting(environment: Mapping[str, str], name: str) -> None:
    """Remove a note: its transcript was read."""
    if not name.isalnum():
        return
    try:
        os.unlink(os.path.join(_waiting_folder(environment), name))
    except OSError:
        return


def _waiting_folder(environment: Mapping[str, str]) -> str:
    return os.path.join(hooks_folder(environment), "waiting")
