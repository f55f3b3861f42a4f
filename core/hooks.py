"""What hooks and the server share: which prompts are worth a search, and the trace that hooks leave of their runs.

Imports next to nothing: a hook starts with it, and a client waits for that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from reverie.errors import InvalidInput
from reverie.folders import data_folder
from reverie.time import parse_iso

TYPE_CHECKING = False  # typing takes longer to import than all of this, and a client waits
if TYPE_CHECKING:
    from typing import Any

FEWEST_WORDS = 3


def is_worth_a_search(prompt: str) -> bool:
    """Return whether a person says something in a prompt: not a command, a tag of the client, or "yes, go on"."""
    return len(prompt.split()) >= FEWEST_WORDS and not prompt.lstrip().startswith(("/", "<", "!"))


LONGEST_TRACE = 64 * 1024
"""Bytes; of a longer trace only the second half is kept, and the last run of each event."""


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
