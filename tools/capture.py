"""Keeping what a session left in its transcript: screened, held against what is known, and by default asked about.

`REVERIE_CAPTURE=ask` writes the items into quarantine, where nothing is recalled, and asks one question about all
that wait in a project: keep or drop. `auto` keeps them as memories of an interaction, which fade unless something
confirms them. What was dropped once is not asked again.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reverie.dream.review import CAPTURE, DROPPED
from reverie.embeddings.base import Embedding
from reverie.errors import InvalidInput
from reverie.lifecycle.vitals import is_duplicate
from reverie.memory import Kind, Memory, derived_id
from reverie.storage.dream_records import OPEN, ReviewQuestion
from reverie.storage.filters import starts_with
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.text.compare import restates
from reverie.tools.classify import classify, readings_for
from reverie.tools.remember import anchored, confirm, drafted, neighbours_of, refuse_purged
from reverie.tools.requests import CapturedText, CaptureRequest, RememberRequest
from reverie.tools.results import Captured
from reverie.tools.screening import injection_by_meaning, screened
from reverie.tools.session import Session

MOST_PER_SESSION = 6
MOST_WAITING = 12
"""Items that one question asks about: when more come, the oldest give way."""

WAITS = "captured from a session: waits for keep or drop in review"
_GAVE_WAY = "captured from a session, never answered: newer ones took its place"
_ASK = "Keep these? They were captured from sessions. keep remembers all, drop none; keep with text “1,3” only those."
_NEAR = 8
_UNCONFIRMED: dict[Kind, Kind] = {"preference": "fact", "decision": "fact"}
"""Preferences and decisions do not fade; one that nobody confirmed is neither yet."""


async def capture(session: Session, request: CaptureRequest) -> Captured:
    """Keep items of a transcript as REVERIE_CAPTURE says, and say what became of them.

    Raises:
        StoreError: if the store cannot be read or written.
    """
    mode = session.settings.capture
    if mode == "off" or not request.items:
        return Captured(mode=mode)
    origin = f"{request.client} session {request.session}"
    before = await session.store.find(starts_with("source_ref", f"{origin}, "))
    left_out: Counter[str] = Counter()
    room = MOST_PER_SESSION - len(before)
    new: list[Memory] = []
    for item in request.items:
        if len(new) >= room:
            left_out["enough of this session"] += 1
            continue
        memory, why = await _kept(session, item, f"{origin}, turn {item.turn}", asks=mode == "ask")
        if memory is None:
            left_out[why] += 1
        else:
            new.append(memory)
    asked = await _ask(session, new) if mode == "ask" and new else ""
    return Captured(mode=mode, kept=[memory.id for memory in new], question=asked, left_out=dict(left_out))


async def _kept(session: Session, item: CapturedText, origin: str, *, asks: bool) -> tuple[Memory | None, str]:
    """Write one item, or return why not."""
    now = session.now
    kind = item.kind if asks else _UNCONFIRMED.get(item.kind, item.kind)
    request, screening = screened(
        RememberRequest(content=item.text, kind=kind, layer="episodic", source="interaction", importance=0.5)
    )
    if screening.redactions:
        return None, "had a secret"
    if screening.injection:
        return None, "reads like an order to an assistant"
    try:
        refuse_purged(session, request.content)
    except InvalidInput:
        return None, "was purged"
    draft = replace(drafted(session, request, now), source_ref=origin)
    [embedding] = await session.embed([draft.content])
    if await asyncio.to_thread(injection_by_meaning, draft.content, draft.title, session.embedder):
        return None, "reads like an order to an assistant"
    around = await neighbours_of(session, draft.content, draft.content_hash, embedding.vector, draft.project)
    known = around.identical or around.duplicate
    if known is not None:
        await confirm(session, known, draft, now)
        return None, "known"
    if await _was_asked(session, draft, embedding):
        return None, "asked before"
    draft, _ = await anchored(session, draft, [])
    [reading] = await asyncio.to_thread(readings_for, session.embedder, [draft.content], [embedding])
    passing = classify(draft.content, reading, kind=draft.kind).passing
    memory = replace(draft, surprise=around.surprise, layer="working" if passing and not asks else "episodic")
    if asks:
        memory = replace(memory, status="quarantined", status_reason=WAITS)
    item_to_write = Embedded(memory, embedding.vector, embedding.passages, embedding.pieces)
    await session.store.add([item_to_write], actor="capture", at=now, reason=origin)
    session.maintenance.note_write()
    return memory, ""


async def _was_asked(session: Session, draft: Memory, embedding: Embedding) -> bool:
    """Return whether something that says the same waits for an answer, or was dropped."""
    scope = Scope(projects=session.visible_from(draft.project), statuses=("quarantined", "expired"))
    nearest = await session.store.nearest_with_pending(embedding.vector, scope, _NEAR)
    found = await session.store.memories_of(nearest, scope)
    similarities = {hit.id: hit.similarity for hit in nearest.hits}
    return any(
        memory.content_hash == draft.content_hash
        or is_duplicate(similarities.get(memory.id, 0.0))
        or restates(memory.content, draft.content)
        for memory in found.values()
        if memory.status == "quarantined" or memory.status_reason == DROPPED
    )


async def _ask(session: Session, new: Sequence[Memory]) -> str:
    """Ask about new items: in the project's open question if there is one, else in a new one."""
    queue, now = session.store.review_queue, session.now
    project = new[0].project
    async with session.store.changing():
        still_open = [asked for asked in await queue.open() if _is_about(asked, project)]
        asked = still_open[-1] if still_open else _question(new, project, now)
        ids = dict.fromkeys((*asked.memory_ids, *(memory.id for memory in new)))
        known = await session.store.get(list(ids))
        waiting = [memory for memory in known.values() if memory.status == "quarantined"]
        waiting += [memory for memory in new if memory.id not in known]  # still in the write-ahead log
        gone, waiting = waiting[:-MOST_WAITING], waiting[-MOST_WAITING:]
        values = {"status": "expired", "expired_at": now, "status_reason": _GAVE_WAY}
        await session.store.change(gone, values, action="forgotten", actor="capture", at=now, reason=_GAVE_WAY)
        body = dict(asked.body) | {"evidence": [_evidence(n, memory) for n, memory in enumerate(waiting, 1)]}
        written = replace(asked, memory_ids=tuple(memory.id for memory in waiting), body=body)
        await queue.write([written])
    return asked.id


def _is_about(asked: ReviewQuestion, project: str) -> bool:
    return asked.kind == CAPTURE and asked.status == OPEN and list(asked.body.get("about", [])) == [project]


def _question(new: Sequence[Memory], project: str, now: datetime) -> ReviewQuestion:
    return ReviewQuestion(
        id=derived_id(f"{CAPTURE} {project} {new[0].id}".encode()),
        asked_at=now,
        kind=CAPTURE,
        memory_ids=(),
        status=OPEN,
        body={"ask": _ASK, "evidence": [], "verdicts": ["keep", "drop"], "about": [project]},
    )


def _evidence(number: int, memory: Memory) -> str:
    return f"{number}: {memory.kind}, {memory.source_ref}"
