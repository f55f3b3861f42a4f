"""Disconnecting clients: a file that only setup touched is put back byte for byte, from others our entries are cut.

Which entries are ours the record of setup says; without a record, their form does.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from reverie.clients import entries, json_edit, toml_edit
from reverie.clients.catalog import SERVER, Client, Machine, Scope
from reverie.clients.json_edit import NotEditable
from reverie.clients.plans import Change, ClientPlan, Refusal, decoded, hooks_in, servers_in
from reverie.clients.setup import enabled_plugin
from reverie.clients.setup_files import NotWritable, Record, Records, backup_of, check_writable, read, real_path

_BY_HAND = "Remove what names reverie in it by hand"


def plan_uninstall(client: Client, scopes: tuple[Scope, ...], machine: Machine, records: Records) -> ClientPlan:
    """Plan to disconnect a client in its files of these scopes, here and in other projects that setup wrote to."""
    plan = ClientPlan(client)
    for path, real in _files(plan, scopes, machine, records):
        try:
            plan.changes += _changes(plan, path, real, records.of(real))
        except NotEditable as problem:
            plan.refusals.append(Refusal(path, f"it cannot be edited: {problem}. {_BY_HAND}"))
        except NotWritable as problem:
            plan.refusals.append(Refusal(path, str(problem)))
    if plugin := enabled_plugin(client, machine):
        plan.notes.append(f"The plugin {plugin} stays: remove it in Claude Code with /plugin.")
    return plan


def _files(
    plan: ClientPlan, scopes: tuple[Scope, ...], machine: Machine, records: Records
) -> Iterator[tuple[Path, Path]]:
    """Yield each file once, with where it really is."""
    places: list[tuple[Scope, Machine]] = [(scope, machine) for scope in scopes]
    for record in records.all().values():
        if record.client == plan.client.name and record.scope == "project" and "project" in scopes:
            places.append(("project", replace(machine, project=Path(record.project))))
    files: list[Mapping[Scope, tuple[str, ...]]] = [server.paths for server in plan.client.servers]
    files += [plan.client.hooks.paths] if plan.client.hooks else []
    seen: set[Path] = set()
    for scope, there in places:
        for paths in files:
            for path in there.paths(paths.get(scope, ())):
                try:
                    real = real_path(path)
                except NotWritable as problem:
                    plan.refusals.append(Refusal(path, str(problem)))
                    continue
                if real not in seen:
                    seen.add(real)
                    yield path, real


def _changes(plan: ClientPlan, path: Path, real: Path, record: Record | None) -> list[Change]:
    before = read(real)
    if before is None:
        return [] if record is None else [Change(act="record", path=path, real=real, before=None, after=None)]
    change = _restored(path, real, before, record) or _cut(plan, path, real, before, record)
    if change is None:
        return []
    if change.after != before:
        check_writable(real)
    return [change]


def _restored(path: Path, real: Path, before: bytes, record: Record | None) -> Change | None:
    """Put back the bytes from before, if nobody touched the file since setup did."""
    if record is None or not record.entries or not record.leaves(before):
        return None
    if record.created:
        return Change(
            act="delete",
            path=path,
            real=real,
            before=before,
            after=None,
            entries=record.entries,
            folders=record.folders,
        )
    after = read(backup_of(real))
    if after is None:
        return None
    return Change(act="restore", path=path, real=real, before=before, after=after, entries=record.entries)


def _cut(plan: ClientPlan, path: Path, real: Path, before: bytes, record: Record | None) -> Change | None:
    """Cut our entries out of a file that somebody changed since, or of which there is no record."""
    if record is None and SERVER.encode() not in before:
        return None  # nothing of ours, so it need not even be readable
    text = decoded(before)

    def is_ours(named: str) -> bool:
        return record is None or named in record.entries

    left, gone, kept = _without_ours(text, plan.client, is_toml=path.suffix == ".toml", is_ours=is_ours)
    plan.notes += [f"{path}: {named} stays, because setup did not write it." for named in kept]
    if not gone:
        return None if record is None else Change(act="record", path=path, real=real, before=before, after=before)
    if path.suffix == ".toml":
        is_bare = not left.strip()
    else:
        # Without a record, whatever our entries leave empty is taken for ours too.
        made = {*gone, *(named.partition(".")[0] for named in gone)} if record is None else set(record.containers)
        left = _without_containers(left, made)
        is_bare = left.strip() in ("", "{}")
    if is_bare and record is not None and record.created:
        return Change(
            act="delete",
            path=path,
            real=real,
            before=before,
            after=None,
            entries=tuple(gone),
            folders=record.folders,
        )
    return Change(act="cut", path=path, real=real, before=before, after=left.encode(), entries=tuple(gone))


def _without_ours(
    text: str, client: Client, *, is_toml: bool, is_ours: Callable[[str], bool]
) -> tuple[str, list[str], list[str]]:
    """Return a text without our entries, which those were, and which look like ours but stay."""
    gone: list[str] = []
    kept: list[str] = []
    for file in client.servers:
        if (file.format == "toml") is not is_toml:
            continue
        for name, entry in servers_in(text, file).items():
            named = f"{file.key}.{name}"
            if entries.is_written_by_setup(name, entry) and is_ours(named):
                path = (file.key, name)
                text = toml_edit.remove_table(text, path) if is_toml else json_edit.remove(text, path)
                gone.append(named)
            elif entries.is_reverie(entry):
                kept.append(named)
    if is_toml:
        return text, gone, kept
    for hook in reversed(list(hooks_in(text))):  # from the end, so that what is before keeps its number
        named = f"hooks.{hook.event}"
        if entries.is_by_hand(hook.handler) or not is_ours(named):
            kept.append(named)
            continue
        text = json_edit.remove(text, hook.path)
        group = hook.path[:3]
        if json_edit.value_at(text, (*group, "hooks")) == []:
            text = json_edit.remove(text, group)
        gone.append(named)
    return text, list(dict.fromkeys(gone)), list(dict.fromkeys(kept))


def _without_containers(text: str, made: set[str]) -> str:
    """Cut what was made to put entries into, if it is empty now."""
    events = [("hooks", str(event)) for event, _ in json_edit.members(text, ("hooks",))]
    for path in events:
        if json_edit.value_at(text, path) == [] and ".".join(path) in made:
            text = json_edit.remove(text, path)
    for key, value in list(json_edit.members(text, ())):
        if value == {} and key in made:
            text = json_edit.remove(text, (key,))
    if "version" in made and json_edit.value_at(text, ()) == {"version": 1}:
        text = json_edit.remove(text, ("version",))
    return text
