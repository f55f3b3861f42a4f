"""`reverie setup` and `reverie uninstall`: what would change in the files of assistants, and changing it.

With names they do what they are told; without, they show a plan and ask. Memories stay unless `--purge-data` says so.
"""

import difflib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from reverie.cli.commands import Options
from reverie.cli.requests import SetupRequest, UninstallRequest
from reverie.cli.terminal import DONE, FAILED, Line, Span, agreed, note, say, say_json, table
from reverie.clients.catalog import CLIENTS, PASTED, SCOPES, Client, Machine, client_named, project_root
from reverie.clients.plans import Act, Change, ClientPlan, Refusal, apply
from reverie.clients.setup import Planner, hooks_block, plan_uninstall, server_block
from reverie.clients.setup_files import Records, backup_of
from reverie.errors import InvalidInput
from reverie.server.engine_client import store_taken_over
from reverie.settings import Settings, load_settings

_DONE: dict[Act, str] = {
    "write": "added",
    "create": "new file with",
    "restore": "as before setup, without",
    "cut": "cut out",
    "delete": "file removed, with",
    "record": "",
}
_PLANNED: dict[Act, str] = {
    "write": "add",
    "create": "new file with",
    "restore": "back to what it was, without",
    "cut": "cut out",
    "delete": "remove the file, with",
    "record": "",
}
_UV_CACHE = ("/uv/archive-v", "/uv/builds-v", "/uv/environments-v", "/.cache/uv/")
_LONGEST_LINE = 200


async def run_setup(request: SetupRequest, options: Options) -> int:
    """Connect clients; 1 if a file had to be left alone, 2 if there was nobody to ask."""
    machine = this_machine(os.environ)
    named = [client_named(name) for name in dict.fromkeys(request.clients)]
    if request.print:
        return _print_blocks(named or _installed(machine) or CLIENTS, machine, request, options)
    records = Records(load_settings().installation.folder)
    planner = Planner(machine, records)
    clients = named or _installed(machine)
    plans = [planner.plan(client, request.scope, hooks=not request.no_hooks) for client in clients]
    for plan in plans:
        if request.clients and not machine.has(plan.client) and request.scope == "user":
            plan.notes.insert(0, f"{plan.client.title} was not found here; the files wait for it.")
    if not clients and not options.json:
        say("No assistant was found here.", f"`reverie setup CLIENT` connects one: {_names(CLIENTS)}.")
        return DONE
    if request.dry_run:
        return _show(plans, options)
    if not any(plan.changes for plan in plans):
        return _finish(plans, [], machine, options)
    if not named and not agreed(*_plan_lines(plans, _PLANNED), question="Connect these?", yes=options.yes):
        return FAILED
    return _finish(plans, [change for plan in plans for change in apply(plan, records)], machine, options)


async def run_uninstall(request: UninstallRequest, options: Options) -> int:
    """Disconnect clients, and if asked remove all memories; 1 if a file had to be left alone."""
    machine = this_machine(os.environ, needs_program=False)
    settings = load_settings()
    records = Records(settings.installation.folder)
    clients = [client_named(name) for name in dict.fromkeys(request.clients)] or CLIENTS
    scopes = SCOPES if request.scope == "all" else (request.scope,)
    plans = [plan_uninstall(client, scopes, machine, records) for client in clients]
    if request.dry_run:
        return _show(plans, options)
    is_planned = any(plan.visible for plan in plans)
    plan_lines = _plan_lines(plans, _PLANNED)
    if is_planned and not request.clients and not agreed(*plan_lines, question="Disconnect these?", yes=options.yes):
        return FAILED
    done = [change for plan in plans for change in apply(plan, records)]
    code = _finish(plans, done, machine, options, connects=False)
    if request.purge_data:
        return max(code, _purge(settings, options))
    if not options.json:
        say(f"Memories stay in {settings.home}; `reverie uninstall --purge-data` removes them too.")
    return code


# ── what is here ──────────────────────────────────────────────────────────────────────────────────────────


def this_machine(environment: Mapping[str, str], *, needs_program: bool = True) -> Machine:
    """Return where clients keep their files here, and where our programs are.

    Raises:
        InvalidInput: if no program is found that clients could start, or it is in a cache that may be emptied.
    """
    program = _program(environment)
    if needs_program and program is None:
        raise InvalidInput("reverie", "the program is not beside this Python", "Install it: pipx install reverie-mcp")
    if needs_program and any(part in (program or Path()).as_posix() for part in _UV_CACHE):
        advice = "Install it first: `uv tool install reverie-mcp`, then `reverie setup`."
        raise InvalidInput("reverie", f"{program} is in uv's cache, which may be emptied", advice)
    hook = program.with_name(f"reverie-hook{program.suffix}") if program else Path()
    return Machine(
        home=Path.home(),
        project=project_root(Path.cwd()),
        platform=sys.platform,
        executable=str(program or ""),
        hook=str(hook) if hook.is_file() else "",
        environment=environment,
    )


def _program(environment: Mapping[str, str]) -> Path | None:
    """Return the absolute path of `reverie`: as it was called, beside this Python, or on the PATH.

    Links are not followed: pipx and uv link from a folder that stays to one that an upgrade replaces.
    """
    name = "reverie.exe" if sys.platform == "win32" else "reverie"
    called = Path(os.path.abspath(sys.argv[0]))
    candidates = [called.with_name(name)] if called.stem in ("reverie", "reverie-mcp") else []
    candidates.append(Path(os.path.abspath(sys.executable)).with_name(name))
    on_path = shutil.which("reverie", path=environment.get("PATH", ""))
    candidates += [Path(os.path.abspath(on_path))] if on_path else []
    return next((one for one in candidates if one.is_file()), None)


def _installed(machine: Machine) -> list[Client]:
    return [client for client in CLIENTS if machine.has(client)]


# ── telling ───────────────────────────────────────────────────────────────────────────────────────────────


def _finish(
    plans: Sequence[ClientPlan],
    done: Sequence[Change],
    machine: Machine,
    options: Options,
    *,
    connects: bool = True,
) -> int:
    """Say what was done, what was left alone and why, and what is left to do by hand."""
    refused = any(plan.refusals for plan in plans)
    if options.json:
        say_json({"clients": [_as_json(plan, done) for plan in plans]})
        return FAILED if refused else DONE
    say(*_plan_lines(plans, _DONE, only=done))
    if connects:
        say(*_afterwards(plans, done, machine))
    elif not refused and not any(change.act != "record" for change in done):
        say("Nothing of ours was found in the files of assistants.")
    note(*(line for plan in plans for refusal in plan.refusals for line in _refusal_lines(refusal)))
    return FAILED if refused else DONE


def _afterwards(plans: Sequence[ClientPlan], done: Sequence[Change], machine: Machine) -> Iterator[Line]:
    written = [change for change in done if change.act in ("write", "create")]
    for plan in plans:
        if plan.client.paste:
            yield from _pasted(plan.client, machine)
            continue
        if plan.is_connected and not plan.refusals and not plan.visible:
            yield f"{plan.client.title} is set up already."
        if any(change in written for change in plan.changes):
            yield plan.client.afterwards
            if plan.has_hooks and plan.client.hooks_afterwards:
                yield plan.client.hooks_afterwards
    backups = [backup_of(change.real) for change in written if backup_of(change.real).exists()]
    if backups:
        yield "The files as they were before:"
        yield from (f"  {backup}" for backup in backups)
    moved = [name for name in ("REVERIE_HOME", "REVERIE_DOMAIN", "REVERIE_CONFIG") if machine.environment.get(name)]
    if written and moved:
        are = "is" if len(moved) == 1 else "are"
        yield f"{' and '.join(moved)} {are} set in this shell; an assistant started elsewhere does not see that."


def _pasted(client: Client, machine: Machine) -> Iterator[Line]:
    yield (Span(client.title, "bold"), f": paste this under {client.paste}")
    yield from server_block(PASTED, machine).splitlines()
    yield client.afterwards


def _plan_lines(
    plans: Iterable[ClientPlan], words: Mapping[Act, str], only: Sequence[Change] | None = None
) -> Iterator[Line]:
    for plan in plans:
        shown = [change for change in plan.visible if only is None or change in only]
        if not (shown or plan.notes or (only is None and plan.refusals)):
            continue
        yield (Span(plan.client.title, "bold"),)
        yield from table([(str(change.path), words[change.act], _listed(change.entries)) for change in shown])
        yield from (f"  {text}" for text in plan.notes)
        if only is None:
            yield from (f"  {refusal.path}: left alone, {refusal.why}." for refusal in plan.refusals)


def _listed(entries: Sequence[str]) -> str:
    """Name entries in few words: the server, and the events of the hooks."""
    hooks = [entry.removeprefix("hooks.") for entry in entries if entry.startswith("hooks.")]
    others = [entry for entry in entries if not entry.startswith("hooks.")]
    return "; ".join([*others, *([f"hooks for {', '.join(hooks)}"] if hooks else [])])


def _refusal_lines(refusal: Refusal) -> Iterator[Line]:
    yield f"reverie: {refusal.path} is left alone: {refusal.why}."
    if refusal.block:
        yield "Put this into it by hand:"
        yield from refusal.block.splitlines()


def _show(plans: Sequence[ClientPlan], options: Options) -> int:
    """Show what would change, with each file's difference."""
    refused = any(plan.refusals for plan in plans)
    if options.json:
        say_json({"dry_run": True, "clients": [_as_json(plan, [], with_diff=True) for plan in plans]})
        return FAILED if refused else DONE
    say(*_plan_lines(plans, _PLANNED))
    for plan in plans:
        for change in plan.visible:
            say(*_diff(change))
    if not any(plan.visible for plan in plans):
        say("Nothing would change.")
    return FAILED if refused else DONE


def _diff(change: Change) -> list[Line]:
    before, after = ((side or b"").decode("utf-8", "replace").splitlines() for side in (change.before, change.after))
    lines = difflib.unified_diff(before, after, str(change.path), str(change.path), lineterm="")
    return [_painted(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…") for line in lines]


def _painted(line: str) -> Line:
    if line.startswith("+"):
        return (Span(line, "green"),)
    return (Span(line, "red"),) if line.startswith("-") else line


def _as_json(plan: ClientPlan, done: Sequence[Change], *, with_diff: bool = False) -> dict[str, object]:
    return {
        "client": plan.client.name,
        "files": [
            {
                "path": str(change.path),
                "action": change.act,
                "entries": list(change.entries),
                "done": change in done,
                **(
                    {"diff": [str(line) if isinstance(line, str) else str(line[0]) for line in _diff(change)]}
                    if with_diff
                    else {}
                ),
            }
            for change in plan.visible
        ],
        "refused": [{"path": str(one.path), "why": one.why, "paste": one.block} for one in plan.refusals],
        "notes": plan.notes,
    }


def _print_blocks(clients: Sequence[Client], machine: Machine, request: SetupRequest, options: Options) -> int:
    """Print what a person would paste, client by client and file by file."""
    blocks = [(client, where, block) for client in clients for where, block in _blocks(client, machine, request)]
    if options.json:
        say_json([{"client": client.name, "where": where, "block": block} for client, where, block in blocks])
        return DONE
    for client, where, block in blocks:
        say((Span(client.title, "bold"), f": {where}"), *block.splitlines(), "")
    return DONE


def _blocks(client: Client, machine: Machine, request: SetupRequest) -> Iterator[tuple[str, str]]:
    if client.paste:
        yield client.paste, server_block(PASTED, machine)
    for file in client.servers:
        if request.scope in file.paths:
            yield str(machine.path(file.paths[request.scope])), server_block(file, machine)
    hooks = client.hooks
    if hooks is not None and machine.hook and not request.no_hooks:
        yield str(machine.path(hooks.paths[request.scope])), hooks_block(hooks, machine)


def _names(clients: Iterable[Client]) -> str:
    return ", ".join(client.name for client in clients)


# ── memories ──────────────────────────────────────────────────────────────────────────────────────────────


def _purge(settings: Settings, options: Options) -> int:
    """Remove every memory of every project, after asking; the settings and the key of this installation stay."""
    if not settings.is_local:
        note(f"reverie: {settings.home} is not on this machine: remove it where it is.")
        return FAILED
    domains = Path(settings.home) / "domains"
    stores = sorted(folder for folder in domains.iterdir() if folder.is_dir()) if domains.is_dir() else []
    if not stores:
        note(f"There are no memories in {settings.home}.")
        return DONE
    plan = [f"All memories of all projects go for good: {', '.join(map(str, stores))}"]
    if not agreed(*plan, question="Remove them?", yes=options.yes):
        return FAILED
    for store in stores:
        with store_taken_over(os.environ, str(store)):
            shutil.rmtree(store)
        _forget_head(settings, store)
    with suppress(OSError):
        domains.rmdir()
        Path(settings.home).rmdir()  # unless reverie.toml is there
    if not options.json:
        say(f"The memories in {settings.home} are gone.")
    return DONE


def _forget_head(settings: Settings, store: Path) -> None:
    """Remove how far the journal of a store had come: a new store there would seem to have lost it."""
    for file in (settings.installation.folder / "heads").glob("*.json"):
        with suppress(OSError, ValueError):
            if json.loads(file.read_bytes()).get("folder") == str(store.resolve()):
                file.unlink()
