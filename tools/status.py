"""How the store is doing."""

import asyncio
from collections import Counter
from datetime import datetime, timedelta

from reverie import __version__
from reverie.embeddings.tokens import tokens_fault
from reverie.errors import StoreError
from reverie.lifecycle.expiry import LASTING_LAYERS, LIVING, threshold_seconds
from reverie.memory import GLOBAL_PROJECT, LAYERS, STATUSES, TIERS, Layer, Memory
from reverie.settings import Settings, meant_by, unknown_variables
from reverie.storage.filters import Condition, before, equals, none_of, not_after, one_of
from reverie.tools.dreams import when_last_dreamed
from reverie.tools.project_identity import look_alike
from reverie.tools.requests import StatusRequest
from reverie.tools.results import Status
from reverie.tools.session import Session


async def status(session: Session, request: StatusRequest) -> Status:
    """Count memories by layer and status, and say what needs attention; a damaged table is a note, not the end."""
    own = session.names_of(session.here.project)
    counts = await asyncio.gather(
        *(_counts(session, layer, one_of("project", own)) for layer in LAYERS), return_exceptions=True
    )
    damage = list(dict.fromkeys(str(found) for found in counts if isinstance(found, StoreError)))
    for found in counts:
        if isinstance(found, BaseException) and not isinstance(found, StoreError):
            raise found
    return Status(
        counts={layer: {} if isinstance(n, BaseException) else n for layer, n in zip(LAYERS, counts, strict=True)},
        elsewhere=await _elsewhere(session, own),
        home=session.settings.home,
        domain=session.settings.domain,
        project=session.here.project,
        embedder=session.embedder.stamp,
        index_state=session.index_state,
        last_dream=await when_last_dreamed(session.store),
        disk_bytes=await session.store.disk_bytes(),
        vectors=await _where_vectors_are(session),
        version=__version__,
        engine=session.domain.engine,
        health=damage + _health(session),
    )


async def _where_vectors_are(session: Session) -> str:
    try:
        return await session.store.vectors.say_where()
    except StoreError:
        return "unknown"  # the damage is told above


async def _elsewhere(session: Session, own: tuple[str, ...]) -> dict[str, int]:
    """Count what other projects keep; `global` is seen from here, the others are not."""
    shared = one_of("project", [GLOBAL_PROJECT]) & none_of("project", own)
    kept = {GLOBAL_PROJECT: shared, "other projects": none_of("project", (*own, GLOBAL_PROJECT))}
    found: dict[str, int] = {}
    for name, where in kept.items():
        numbers = await asyncio.gather(
            *(session.store.count(where, [layer]) for layer in LAYERS), return_exceptions=True
        )
        found[name] = sum(number for number in numbers if isinstance(number, int))  # a damaged table is told above
    return {name: number for name, number in found.items() if number}


async def _counts(session: Session, layer: Layer, own: Condition) -> dict[str, int]:
    store = session.store
    if not await store.count(layers=[layer]):
        return {}
    numbers = await asyncio.gather(*(store.count(equals("status", name) & own, [layer]) for name in STATUSES))
    counts = Counter(dict(zip(STATUSES, numbers, strict=True)))
    for memory in await _overdue(session, layer, own):
        counts[memory.status] -= 1
        counts["expired"] += 1
    return {name: number for name, number in counts.items() if number}


async def _overdue(session: Session, layer: Layer, own: Condition) -> list[Memory]:
    """Return the memories of a layer whose time is over though no sweep has come by."""
    now = session.now
    limited = not_after("forget_after", now)
    if layer not in LASTING_LAYERS:
        limited |= _past_a_tier(now, session.settings)
    found = await session.store.find_few({layer: one_of("status", LIVING) & own & limited})
    return [memory for memory in found if session.is_overdue(memory)]


def _past_a_tier(now: datetime, settings: Settings) -> Condition:
    """Match what is older than a memory of its tier grows without a recall, or of the domain's tier."""
    ages = {tier: threshold_seconds(tier, settings.parameters) for tier in (settings.tier, *TIERS)}
    ended = one_of("tier", ())  # nothing
    for tier, seconds in ages.items():
        if seconds is not None:
            old = before("created_at", now - timedelta(seconds=seconds))
            ended |= old if tier == settings.tier else old & equals("tier", tier or "")
    return ended


def _health(session: Session) -> list[str]:
    notes = [
        f"{name} is set, but there is no such setting{meant_by(name)}"
        for name in unknown_variables(session.environment)
    ]
    if session.store.away_note:
        notes.append(session.store.away_note)
    if session.domain.embedder_fault:
        notes.append(f"recall works by words only: {session.domain.embedder_fault}")
    if session.here.note:
        notes.append(session.here.note)
    notes += [look_alike(one) for one in session.recognised.alike]
    if fault := tokens_fault():
        notes.append(fault)
    return notes
