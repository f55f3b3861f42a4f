"""Connecting and disconnecting clients: a plan that changes nothing, to be shown and then applied.

Setup adds to a file and replaces nothing in it but the path of our own program. What is connected in another way,
by hand or by a plugin, is noticed and left. Uninstall puts a file that only setup touched back byte for byte; from
others our entries are cut. Which entries are ours the record of setup says; without a record, their form does.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from reverie.clients import entries, json_edit, toml_edit
from reverie.clients.catalog import SERVER, Client, HookFile, Machine, Scope, ServerFile
from reverie.clients.json_edit import Json, NotEditable
from reverie.clients.plans import Change, ClientPlan, Refusal, decoded, hooks_in, servers_in
from reverie.clients.setup_files import (
    NotWritable,
    Record,
    Records,
    backup_of,
    check_writable,
    digest,
    missing_folders,
    read,
    real_path,
)

_PLUGIN_FILES = ("{claude}/settings.json", "{project}/.claude/settings.json", "{project}/.claude/settings.local.json")


@dataclass(slots=True)
class _Draft:
    """A file while it is planned: what it says, would say, and which entries are ours before and after."""

    path: Path
    real: Path
    before: bytes | None
    text: str
    found: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    containers: list[str] = field(default_factory=list)

    def copy(self) -> "_Draft":
        """Return a draft to go on with, which can be dropped if that fails."""
        return replace(self, found=[*self.found], changed=[*self.changed], containers=[*self.containers])


class Planner:
    """Plans to connect several clients on one machine; what is planned for one is seen by the next."""

    def __init__(self, machine: Machine, records: Records) -> None:
        self._machine = machine
        self._records = records
        self._drafts: dict[Path, _Draft] = {}

    def plan(self, client: Client, scope: Scope, *, hooks: bool = True) -> ClientPlan:
        """Plan to connect a client; this changes nothing."""
        plan = ClientPlan(client)
        if client.paste:
            plan.notes.append(f"There is no file to write. Paste the block under {client.paste}.")
        elif not client.has_scope(scope):
            plan.notes.append(f"{client.title} has no {scope} scope; nothing is written for it.")
        elif plugin := enabled_plugin(client, self._machine):
            plan.notes.append(
                f"The plugin {plugin} connects it already, with hooks: nothing is written. To use setup instead, "
                "disable the plugin first."
            )
            self._note_entries_beside_the_plugin(plan, scope)
        else:
            self._plan_files(plan, scope, hooks=hooks)
        return plan

    def _plan_files(self, plan: ClientPlan, scope: Scope, *, hooks: bool) -> None:
        touched: dict[Path, _Draft] = {}
        for server in plan.client.servers:
            path = self._path(server.paths, scope)
            if path is not None and (not server.optional or os.path.isdir(path.parent)):
                block = server_block(server, self._machine)
                self._draft_file(plan, path, block, touched, partial(self._add_server, plan, server))
        if hooks and plan.client.hooks is not None and self._wants_hooks(plan):
            file = plan.client.hooks
            path = self._path(file.paths, scope)
            if path is not None:
                name = self._server_name(plan.client, touched)
                block = hooks_block(file, self._machine, name)
                self._draft_file(plan, path, block, touched, partial(self._add_hooks, plan, file, name))
        for draft in touched.values():
            plan.changes += self._changes(draft, plan.client, scope)
        self._note_double_wiring(plan, scope)

    def _path(self, paths: Mapping[Scope, tuple[str, ...]], scope: Scope) -> Path | None:
        return self._machine.path(paths[scope]) if scope in paths else None

    def _draft_file(
        self, plan: ClientPlan, path: Path, block: str, touched: dict[Path, _Draft], edit: Callable[[_Draft], None]
    ) -> None:
        """Edit the draft of a file; where that cannot be done, the plan says why and what to paste."""
        try:
            draft = self._draft(path).copy()
            edit(draft)
            if draft.text != decoded(draft.before):
                check_writable(draft.real)
            self._drafts[draft.real] = touched[draft.real] = draft
        except NotEditable as problem:
            plan.refusals.append(Refusal(path, f"it cannot be edited: {problem}", block))
        except NotWritable as problem:
            plan.refusals.append(Refusal(path, str(problem), block))

    def _draft(self, path: Path) -> _Draft:
        real = real_path(path)
        if real not in self._drafts:
            before = read(real)
            self._drafts[real] = _Draft(path, real, before, decoded(before))
        return self._drafts[real]

    def _add_server(self, plan: ClientPlan, file: ServerFile, draft: _Draft) -> None:
        servers = servers_in(draft.text, file)
        by_hand = [name for name, entry in servers.items() if entries.is_reverie(entry)]
        named = f"{file.key}.{SERVER}"
        if SERVER in servers and entries.is_written_by_setup(SERVER, servers[SERVER]):
            draft.found.append(named)
            plan.is_connected = True
            self._point_at_this_program(draft, file, servers[SERVER])
        elif by_hand:
            plan.notes.append(
                f"{draft.path} connects Reverie already, by an entry {by_hand[0]!r} that setup did not write: it is "
                "left as it is."
            )
        elif SERVER in servers:
            raise NotEditable(f"another server there is called {SERVER!r}; rename it first")
        else:
            entry = entries.server_entry(file, self._machine)
            if file.format == "toml":
                draft.text = toml_edit.add_table(draft.text, (file.key, SERVER), entry)
            else:
                if not json_edit.has(draft.text, (file.key,)):
                    draft.containers.append(file.key)
                draft.text = json_edit.put(draft.text, (file.key, SERVER), entry)
            draft.changed.append(named)

    def _point_at_this_program(self, draft: _Draft, file: ServerFile, entry: Json) -> None:
        if not isinstance(entry, dict):
            return
        value = entries.moved_command(entry.get("command"), self._machine)
        if entry.get("command") == value:
            return
        if file.format == "toml":
            draft.text = toml_edit.set_value(draft.text, (file.key, SERVER), "command", value)
        else:
            draft.text = json_edit.put(draft.text, (file.key, SERVER, "command"), value)
        draft.changed.append(f"{file.key}.{SERVER}")

    def _add_hooks(self, plan: ClientPlan, file: HookFile, server: str, draft: _Draft) -> None:
        command = entries.hook_command(file, self._machine)
        if file.style == "cursor" and json_edit.parse(draft.text) is None:
            draft.text = json_edit.put(draft.text, ("version",), 1)
            draft.containers.append("version")
        for event in file.events:
            named = f"hooks.{event.name}"
            present = [hook for hook in hooks_in(draft.text) if hook.event == event.name]
            if present:
                draft.found.append(named)
            for hook in present:
                if hook.handler.get("command", command) != command and not entries.is_by_hand(hook.handler):
                    draft.text = json_edit.put(draft.text, (*hook.path, "command"), command)
                    draft.changed.append(named)
            if not present:
                made = [path for path in (("hooks",), ("hooks", event.name)) if not json_edit.has(draft.text, path)]
                item = entries.hook_item(file, event, self._machine, server)
                draft.text = json_edit.append(draft.text, ("hooks", event.name), item)
                draft.containers += [".".join(path) for path in made]
                draft.changed.append(named)
        plan.has_hooks = True

    def _changes(self, draft: _Draft, client: Client, scope: Scope) -> list[Change]:
        """Return the change of a file, if there is one, with the record that lets uninstall take it back."""
        known = self._records.of(draft.real) if draft.found else None  # without entries an old record is void
        after = draft.text.encode()
        if not draft.changed and (known is not None or not draft.found):
            return []
        record = Record(
            client=client.name,
            scope=scope,
            project=str(self._machine.project),
            after=digest(after),
            exact=known is None or (draft.before is not None and known.leaves(draft.before)),
            created=draft.before is None if known is None else known.created,
            folders=tuple(map(str, missing_folders(draft.real))) if known is None else known.folders,
            entries=tuple(dict.fromkeys([*(known.entries if known else ()), *draft.changed])),
            containers=tuple(dict.fromkeys([*(known.containers if known else ()), *draft.containers])),
        )
        return [
            Change(
                act="record" if not draft.changed else "create" if draft.before is None else "write",
                path=draft.path,
                real=draft.real,
                before=draft.before,
                after=after,
                entries=tuple(dict.fromkeys(draft.changed)),
                record=record,
                backs_up=bool(draft.changed)
                and known is None
                and not (draft.found and os.path.exists(backup_of(draft.real))),
            )
        ]

    # ── what else is wired ────────────────────────────────────────────────────────────────────────────────

    def _wants_hooks(self, plan: ClientPlan) -> bool:
        if not self._machine.hook:
            plan.notes.append("reverie-hook is not beside reverie, so no hooks are written: install Reverie again.")
        elif plan.client.name == "vscode" and self._claude_has_hooks():
            plan.notes.append(
                "VS Code reads Claude Code's settings too, and our hooks are there: it gets none of its own."
            )
        else:
            return True
        return False

    def _server_name(self, client: Client, touched: dict[Path, _Draft]) -> str:
        """Return the name under which the client knows our server: that of an entry by hand, if there is one."""
        for draft in touched.values():
            for file in client.servers:
                for name, entry in servers_in(draft.text, file).items():
                    if entries.is_reverie(entry):
                        return name
        return SERVER

    def _claude_has_hooks(self) -> bool:
        return self._has_hooks("{claude}/settings.json")

    def _has_hooks(self, template: str) -> bool:
        try:
            return any(True for _ in hooks_in(self._draft(self._machine.path((template,))).text))
        except (NotEditable, NotWritable):
            return False

    def _servers(self, path: Path, file: ServerFile) -> dict[str, Json]:
        try:
            return servers_in(self._draft(path).text, file)
        except (NotEditable, NotWritable):
            return {}

    def _note_entries_beside_the_plugin(self, plan: ClientPlan, scope: Scope) -> None:
        twice = [
            path
            for file in plan.client.servers
            for path in self._machine.paths(file.paths.get(scope, ()))
            if any(map(entries.is_reverie, self._servers(path, file).values()))
        ]
        hooks = plan.client.hooks.paths.get(scope, ()) if plan.client.hooks else ()
        twice += [
            path
            for path, template in zip(self._machine.paths(hooks), hooks, strict=True)
            if self._has_hooks(template)
        ]
        if twice:
            files = " and ".join(map(str, twice))
            plan.notes.append(
                f"Wired twice: {files} connects it too. `reverie uninstall {plan.client.name}` ends that."
            )

    def _note_double_wiring(self, plan: ClientPlan, scope: Scope) -> None:
        name = plan.client.name
        if name == "cursor" and plan.has_hooks and self._claude_has_hooks():
            plan.notes.append(
                "Cursor can load Claude Code's hooks too (its setting for third-party configs). The hook acts once "
                "for each session and event, so that does no harm."
            )
        if name == "claude-code" and plan.has_hooks and self._has_hooks("{home}/.copilot/hooks/reverie.json"):
            plan.notes.append(
                "VS Code reads these hooks too and has its own: `reverie uninstall vscode` and `reverie setup "
                "vscode` leave it one of them."
            )
        if name == "claude-code":
            self._note_entries_of_folders(plan)
        other: Scope = "project" if scope == "user" else "user"
        for file in plan.client.servers:
            for path in self._machine.paths(file.paths.get(other, ())):
                if any(map(entries.is_reverie, self._servers(path, file).values())):
                    plan.notes.append(f"{path} connects Reverie too ({other} scope): one of the two is enough.")

    def _note_entries_of_folders(self, plan: ClientPlan) -> None:
        """Claude Code's local scope, which `claude mcp add` writes unless told otherwise."""
        try:
            projects = list(
                json_edit.members(self._draft(self._machine.path(("{claude_json}",))).text, ("projects",))
            )
        except (NotEditable, NotWritable):
            return
        for folder, project in projects:
            servers = project.get("mcpServers") if isinstance(project, dict) else None
            if isinstance(servers, dict) and any(map(entries.is_reverie, servers.values())):
                plan.notes.append(f"Claude Code has an entry for the folder {folder} as well, which wins there.")


def enabled_plugin(client: Client, machine: Machine) -> str:
    """Return the name of our plugin in Claude Code, if it is enabled."""
    for path in machine.paths(_PLUGIN_FILES) if client.name == "claude-code" else ():
        try:
            for name, is_enabled in json_edit.members(decoded(read(path)), ("enabledPlugins",)):
                if str(name).startswith(f"{SERVER}@") and is_enabled is True:
                    return str(name)
        except (NotEditable, NotWritable):
            continue
    return ""


def server_block(file: ServerFile, machine: Machine) -> str:
    """Return what a person may paste to connect a client."""
    entry = entries.server_entry(file, machine)
    if file.format == "toml":
        return toml_edit.table_text((file.key, SERVER), entry)
    return json_edit.dumped({file.key: {SERVER: entry}})


def hooks_block(file: HookFile, machine: Machine, server: str = SERVER) -> str:
    """Return what a person may paste to add the hooks."""
    hooks: dict[str, Json] = {event.name: [entries.hook_item(file, event, machine, server)] for event in file.events}
    version: dict[str, Json] = {"version": 1} if file.style == "cursor" else {}
    return json_edit.dumped({**version, "hooks": hooks})


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
