"""What hooks leave behind, as `reverie doctor` tells it, and what each session was given already.

Standard library only, and little of it: a client waits for every hook. No text of a memory or a prompt is written
here, only names of events, ids and digests.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from reverie.hooks import LONGEST_TRACE, hooks_folder, last_runs, make_private
from reverie.time import parse_iso, seconds_between, system_clock

MOST_SESSIONS = 64
SAME_EVENT_WITHIN = timedelta(seconds=15)
"""A client that is wired twice sends an event twice at once; a second compaction takes longer."""

_SHOWN = "shown"
_OWED = "owed"


# -- the trace ---------------------------------------------------------------------------------------------


def described_runs(environment: Mapping[str, str]) -> tuple[bool, str]:
    """Say for each event when a hook last ran, how long it took and what came of it; and whether all went well."""
    runs = last_runs(environment)
    if not runs:
        return (
            True,
            "none ever ran here; `reverie setup` puts them into a client, which runs them from its next session on",
        )
    told = [
        f"{event}: {_age(str(run['at']))} ago, {run.get('ms')} ms, {run.get('outcome')}"
        for event, run in runs.items()
    ]
    return not any(str(run.get("outcome", "")).startswith("failed") for run in runs.values()), "; ".join(told)


def _age(at: str) -> str:
    seconds = seconds_between(parse_iso(at, "at"), system_clock())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


# -- what a session was given ------------------------------------------------------------------------------


class SessionNotes:
    """The events of one session that were answered, and the memories that it was shown: a small folder of files.

    Two hooks of one event may run at the same time. A file that can be made only once decides which one answers.
    """

    def __init__(self, environment: Mapping[str, str], session: str) -> None:
        self._all = os.path.join(hooks_folder(environment), "sessions")
        self._folder = os.path.join(self._all, _digest(session))

    def claim(self, event: str, *, again_later: bool = False) -> bool:
        """Return whether this is the first run for an event; with `again_later` also if the last is a while ago."""
        path = os.path.join(self._folder, _digest(event))
        try:
            self._make()
            if again_later and _age_of(path) > SAME_EVENT_WITHIN:
                os.unlink(path)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
        except OSError:
            return True  # nothing can be noted: better twice than never
        return True

    def release(self, event: str) -> None:
        """Take a claim back, so that the event may be tried again."""
        _remove(os.path.join(self._folder, _digest(event)))

    def shown(self) -> list[str]:
        """Return the ids of the memories that the session was shown."""
        try:
            with open(os.path.join(self._folder, _SHOWN), encoding="ascii", errors="replace") as file:
                return list(dict.fromkeys(file.read(LONGEST_TRACE).split()))
        except OSError:
            return []

    def note_shown(self, ids: Iterable[str]) -> None:
        """Add memories that the session was shown."""
        named = "".join(f"{one}\n" for one in ids)
        if not named:
            return
        try:
            self._make()
            path = os.path.join(self._folder, _SHOWN)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as file:
                file.write(named)
        except OSError:
            return

    def begin_anew(self) -> None:
        """Forget what was shown: the client has cleared or compacted its context."""
        _remove(os.path.join(self._folder, _SHOWN))

    def owe_brief(self, owed: bool) -> None:
        """Note whether the session should have had its briefing and has not."""
        if owed:
            self.claim(_OWED)
        else:
            self.release(_OWED)

    def is_owed_brief(self) -> bool:
        """Return whether the session should have had its briefing and has not."""
        return os.path.exists(os.path.join(self._folder, _digest(_OWED)))

    def _make(self) -> None:
        try:
            os.mkdir(self._folder, 0o700)
        except FileExistsError:
            return
        except FileNotFoundError:
            make_private(self._folder)
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        folders = [entry for entry in os.scandir(self._all) if entry.is_dir(follow_symlinks=False)]
        if len(folders) <= MOST_SESSIONS:
            return
        folders.sort(key=lambda entry: entry.stat().st_mtime)
        for folder in folders[: len(folders) - MOST_SESSIONS]:
            for entry in os.scandir(folder.path):
                _remove(entry.path)
            os.rmdir(folder.path)


def _age_of(path: str) -> timedelta:
    try:
        changed = os.stat(path).st_mtime
    except OSError:
        return timedelta()
    now = system_clock()
    return now - datetime.fromtimestamp(changed, now.tzinfo)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
