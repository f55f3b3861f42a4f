"""What setup or uninstall would do to the files of a client, and doing it: one file at a time, each as a whole."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from reverie.clients import json_edit, toml_edit
from reverie.clients.catalog import Client, ServerFile
from reverie.clients.entries import is_our_handler
from reverie.clients.json_edit import Json, NotEditable
from reverie.clients.setup_files import NotWritable, Record, Records, back_up, backup_of, delete, write

Act = Literal["write", "create", "restore", "cut", "delete", "record"]
"""What happens to a file: entries are added, it is made, put back as it was, our entries are cut out, it is removed,
or only the record of it changes."""

_SHARED = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happens to one file. `path` is where the client looks for it, `real` where links lead.

    `record` is what will be known of the file afterwards: nothing after uninstall. `folders` go with a deleted file
    if they are empty.
    """

    act: Act
    path: Path
    real: Path
    before: bytes | None
    after: bytes | None
    entries: tuple[str, ...] = ()
    record: Record | None = None
    backs_up: bool = False
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is left alone: why, and what a person may paste instead."""

    path: Path
    why: str
    block: str = ""


@dataclass(slots=True)
class ClientPlan:
    """What would happen to the files of one client, and what a person should know."""

    client: Client
    changes: list[Change] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    has_hooks: bool = False
    is_connected: bool = False

    @property
    def visible(self) -> list[Change]:
        """The changes that a person would see."""
        return [change for change in self.changes if change.act != "record"]


def apply(plan: ClientPlan, records: Records) -> list[Change]:
    """Make every change of a plan that can be made; the others become refusals. Return those that were made."""
    done: list[Change] = []
    for change in plan.changes:
        try:
            if change.record is not None:
                _connect(change, records)
            else:
                _disconnect(change, records)
        except NotWritable as problem:
            plan.refusals.append(Refusal(change.path, str(problem)))
        else:
            done.append(change)
    return done


def _connect(change: Change, records: Records) -> None:
    """Write a file; the record and the backup come first, so that a crash in between loses nothing."""
    known = records.of(change.real)
    records.keep(change.real, change.record)
    is_shared = change.record is not None and change.record.scope == "project"
    try:
        if change.backs_up and change.before is not None:
            back_up(change.real, change.before)
        if change.after is not None and change.after != change.before:
            write(change.real, change.after, expected=change.before, **({"mode": _SHARED} if is_shared else {}))
    except NotWritable:
        records.keep(change.real, known)
        if change.backs_up:
            with suppress(OSError):
                backup_of(change.real).unlink(missing_ok=True)
        raise


def _disconnect(change: Change, records: Records) -> None:
    """Put a file back or cut our entries; what setup kept about it goes last."""
    if change.act == "delete":
        delete(change.real, change.folders)
    elif change.after is not None and change.after != change.before:
        write(change.real, change.after, expected=change.before)
    with suppress(OSError):
        backup_of(change.real).unlink(missing_ok=True)
    records.keep(change.real, None)


def decoded(content: bytes | None) -> str:
    """Return the text of a file; an absent one is empty.

    Raises:
        NotEditable: if it is not UTF-8.
    """
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotEditable(f"byte {error.start + 1} is not UTF-8") from None


def servers_in(text: str, file: ServerFile) -> dict[str, Json]:
    """Return the servers that a text lists under a client's key.

    Raises:
        NotEditable: if the text cannot be parsed.
    """
    is_toml = file.format == "toml"
    listed = toml_edit.parse(text).get(file.key) if is_toml else json_edit.value_at(text, (file.key,))
    return listed if isinstance(listed, dict) else {}


@dataclass(frozen=True, slots=True)
class FoundHook:
    """A hook of ours in a file: where it is, what it says, and its event."""

    path: json_edit.Path
    handler: dict[str, Json]
    event: str


def hooks_in(text: str) -> Iterator[FoundHook]:
    """Find our hooks in either form: groups with handlers, or handlers alone.

    Raises:
        NotEditable: if the text cannot be parsed.
    """
    for event, items in json_edit.members(text, ("hooks",)):
        for number, item in enumerate(items if isinstance(items, list) else []):
            inner = item.get("hooks") if isinstance(item, dict) else None
            handlers: list[tuple[json_edit.Path, Json]] = [((), item)]
            if isinstance(inner, list):
                handlers = [(("hooks", one), handler) for one, handler in enumerate(inner)]
            for below, handler in handlers:
                if isinstance(handler, dict) and is_our_handler(handler):
                    yield FoundHook(("hooks", event, number, *below), handler, str(event))
