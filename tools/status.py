"""How the store is doing."""

import asyncio
import os
from collections import Counter
from pathlib import Path

from reverie.embeddings.tokens import tokens_are_estimated
from reverie.errors import StoreError
from reverie.lifecycle.expiry import LIVING
from reverie.lifecycle.rules import overdue
from reverie.memory import GLOBAL_PROJECT, LAYERS, STATUSES, Layer, Memory
from reverie.settings import meant_by, unknown_variables
from reverie.storage.filters import Condition, equals, everything, is_set, none_of, not_after, one_of
from reverie.time import iso
from reverie.tools.dreams import last_dream
from reverie.tools.project_identity import look_alike
from reverie.tools.results import Status
from reverie.tools.session import Workspace
from reverie.version import __version__


async def status(workspace: Workspace) -> Status:
    """Count memories by layer and status, and say what needs attention; a damaged table is a note, not the end."""
    own = workspace.names_of(workspace.here.project)
    counts = await asyncio.gather(
        *(_counts(workspace, layer, one_of("project", own)) for layer in LAYERS), return_exceptions=True
    )
    damage = [str(found) for found in counts if isinstance(found, StoreError)]
    for found in counts:
        if isinstance(found, BaseException) and not isinstance(found, StoreError):
            raise found
    return Status(
        counts={layer: {} if isinstance(n, BaseException) else n for layer, n in zip(LAYERS, counts, strict=True)},
        elsewhere=await _elsewhere(workspace, own),
        home=workspace.settings.home,
        domain=workspace.settings.domain,
        project=workspace.here.project,
        embedder=workspace.embedder.stamp,
        index_state=workspace.index_state,
        last_dream=await _last_dream(workspace),
        disk_bytes=await asyncio.to_thread(_disk_bytes, Path(workspace.settings.domain_uri)),
        version=__version__,
        health=damage + _health(workspace),
    )


async def _last_dream(workspace: Workspace) -> str | None:
    night = await last_dream(workspace)
    return None if night is None else f"{night.id} at {iso(night.started_at)} ({night.status})"


async def _elsewhere(workspace: Workspace, own: tuple[str, ...]) -> dict[str, int]:
    """Count what other projects keep; `global` is seen from here, the others are not."""
    shared = one_of("project", [GLOBAL_PROJECT]) & none_of("project", own)
    kept = {GLOBAL_PROJECT: shared, "other projects": none_of("project", (*own, GLOBAL_PROJECT))}
    found: dict[str, int] = {}
    for name, where in kept.items():
        numbers = await asyncio.gather(
            *(workspace.store.count(where, [layer]) for layer in LAYERS), return_exceptions=True
        )
        found[name] = sum(number for number in numbers if isinstance(number, int))  # a damaged table is told above
    return {name: number for name, number in found.items() if number}


async def _counts(workspace: Workspace, layer: Layer, own: Condition) -> dict[str, int]:
    table = workspace.store.database.table(layer)
    if not await table.count():
        return {}
    numbers = await asyncio.gather(*(table.count(equals("status", name) & own) for name in STATUSES))
    counts = Counter(dict(zip(STATUSES, numbers, strict=True)))
    for memory in await _overdue(workspace, layer, own):
        counts[memory.status] -= 1
        counts["expired"] += 1
    return {name: number for name, number in counts.items() if number}


async def _overdue(workspace: Workspace, layer: Layer, own: Condition) -> list[Memory]:
    """Return the memories of a layer whose time is over though no sweep has come by."""
    now, tier = workspace.now, workspace.settings.tier
    limited = not_after("forget_after", now) | (is_set("tier") if tier is None else everything())
    found = await workspace.store.find_few({layer: one_of("status", LIVING) & own & limited})
    return [memory for memory in found if overdue(memory, now, tier)]


def _health(workspace: Workspace) -> list[str]:
    notes = [f"{name} is set, but there is no such setting{meant_by(name)}" for name in unknown_variables()]
    if workspace.embedder_fault:
        notes.append(f"recall works by words only: {workspace.embedder_fault}")
    if workspace.here.note:
        notes.append(workspace.here.note)
    notes += [look_alike(one) for one in workspace.recognised.alike]
    if tokens_are_estimated():
        notes.append("tokens are estimated: the bundled vocabulary cannot be read")
    return notes


def _disk_bytes(folder: Path) -> int:
    """Add up what the domain's files take; a file that goes while it is counted counts nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue
    return total
