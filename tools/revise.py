"""Changing a memory: correcting its text, moving it up or down the ladder of layers, pinning it.

A corrected memory is a new one that stands in for the old one, which stays on record. Nothing forgets, merges or
archives a pinned memory.
"""

import asyncio
from dataclasses import replace
from datetime import datetime

from reverie.embeddings.base import Embedding
from reverie.errors import InvalidInput
from reverie.ids import content_hash
from reverie.lifecycle.outcomes import given_outcome, outcome_on
from reverie.lifecycle.rules import WHOLE, Direction, checked_move
from reverie.lifecycle.voices import UNCONFIRMED
from reverie.memory import Layer, Memory
from reverie.recall.features import freshness_of
from reverie.storage.rows import Embedded
from reverie.text.compare import restates
from reverie.text.outcomes import is_decision, reported_outcome
from reverie.text.shorten import title_of
from reverie.tools.classify import PERSONAL_NOTE
from reverie.tools.entities import with_names
from reverie.tools.remember import anchored, done_before, note_remembered, refuse_purged, supersede
from reverie.tools.requests import MoveRequest, PinRequest, ReviseRequest, checked_content
from reverie.tools.resolve import resolved
from reverie.tools.results import Moved, Pinned, Revised
from reverie.tools.screening import Screening, cleaned, injection_in, partial_embedding_warnings
from reverie.tools.session import Session

MADE_PERSONAL = "its author made it personal"


async def reanchored(session: Session, old: Memory, content: str) -> Memory:
    """Return a memory with a corrected text, anchored to the code as it is now.

    Files and symbols of the old text that are still there go on to hold; what is gone was the reason to correct it,
    and scripts, targets and dependencies are claims of the text itself. Where nothing can be looked at, anchors stay.
    """
    checked = (await freshness_of(session.evidence, [old]))[old.id]
    still_there = [
        anchor
        for anchor in checked.anchors
        if anchor.kind in ("file", "folder", "symbol") and anchor.freshness in ("verified", "changed")
    ]
    files = [f"{anchor.path}::{anchor.symbol}" if anchor.symbol else anchor.path for anchor in still_there]
    drafted, _ = await anchored(session, replace(old, content=content), files)
    unseen = [anchor for anchor in checked.anchors if anchor.freshness == "unverifiable"]
    kept = {(anchor.path, anchor.symbol, anchor.kind): anchor for anchor in (*unseen, *drafted.anchors)}
    return replace(drafted, anchors=tuple(kept.values()))


async def revise(session: Session, request: ReviseRequest) -> Revised:
    """Write the corrected text as a new memory with the old one's vitals, and supersede the old.

    Raises:
        MemoryNotFound: if there is no such memory.
        InvalidInput: if the text is unchanged, nothing is left of it, or the memory was replaced before.
    """
    content, found = cleaned(request.content)
    content = checked_content("content", content)
    reason, in_reason = cleaned(request.reason or "revised")
    # Whoever wrote the old text, the new one comes from whoever calls this: an assistant. So does what came of it.
    told = given_outcome(reason, session.now)
    injection = await asyncio.to_thread(injection_in, content, told.note if told else "", (), session.embedder)
    screening = Screening((*found, *in_reason), injection)
    held_back = screening.held_back("ai")
    refuse_purged(session, content)
    now = session.now
    old = await resolved(session, request.id)
    [embedding], drafted, [named] = await asyncio.gather(
        session.embed([content]),
        reanchored(session, old, content),
        with_names(session, [replace(old, content=content)]),
    )
    async with session.store.changing():
        old = await resolved(session, request.id)
        new_id = session.store.new_id.memory()
        content_digest = content_hash(content)
        done = await done_before(
            session, replace(old, id=new_id, content_hash=content_digest, session=session.store.session)
        )
        if done is not None:  # this call was sent before, and cut short after it wrote the new text
            await note_remembered(session, done, actor="revise", now=now)
            if old.owner is None and done.owner is not None:
                await _make_way(session, old, now)
            elif old.superseded_by != done.id and done.status != "quarantined":
                await supersede(session, old, by=done, reason=reason, now=now)
            return _revised(done, old if done.status != "quarantined" else None, screening, embedding)
        if old.status == "superseded":
            raise InvalidInput("id", f"{old.id} was already replaced by {old.superseded_by}", "Revise that one.")
        outcome = _reported_outcome(old, content, reason, now)
        visibility = request.visibility or old.visibility
        moves = visibility != old.visibility
        if moves and old.author != session.author:
            raise InvalidInput("visibility", "only its author may change who sees it", "Leave visibility out.")
        if old.content == content and not moves and (outcome is None or outcome == old.outcome):
            raise InvalidInput("content", "the text is the same as before", "Say what is different now.")
        new = replace(
            old,
            id=new_id,
            content=content,
            content_hash=content_digest,
            title=title_of(content),
            # What the team sees names no personal memory, and a personal one is no successor of what the team sees.
            derived_from=() if moves else (old.id,),
            session=session.store.session,
            visibility=visibility,
            author=session.author,
            branch=drafted.branch,
            anchors=drafted.anchors,
            entities=named.entities,
            created_at=now,
            happened_at=old.happened_at if old.content == content else now,
            updated_at=now,
            outcome=outcome,
            status="quarantined" if held_back else "active",
            status_reason=held_back,
            expired_at=None,
            embedder=session.embedder.stamp,
            precision=WHOLE,
            **({} if restates(old.content, content) else UNCONFIRMED),
        )
        await session.store.add(
            [Embedded(new, embedding.vector, embedding.passages, embedding.pieces)],
            actor="revise",
            at=now,
            reason=reason,
        )
        replaces = held_back is None or old.status == "quarantined"
        if replaces and old.owner is None and new.owner is not None:
            await _make_way(session, old, now)
        elif replaces:  # what is held back must not silence what is known
            await supersede(session, old, by=new, reason=reason, now=now)
    session.maintenance.note_write()
    session.served.note_ids([new.id])
    return _revised(new, old if replaces else None, screening, embedding)


async def _make_way(session: Session, old: Memory, now: datetime) -> None:
    """Retire a memory of the team whose author made it personal, without naming the personal one."""
    values = {"status": "expired", "expired_at": now, "status_reason": MADE_PERSONAL}
    await session.store.change([old], values, action="forgotten", actor="revise", at=now, reason=MADE_PERSONAL)


def _reported_outcome(old: Memory, content: str, reason: str, now: datetime) -> str | None:
    """Return what a correction says came of a decision: its reason by its first word, else its text, else as before.

    What came of one decision did not come of another, so a text that says something else begins without.
    """
    kept = old.outcome if restates(old.content, content) else None
    if old.kind != "decision" and not is_decision(old.content):
        return kept
    given = given_outcome(reason, now)
    if given is not None:
        return given.written
    told = reported_outcome(old.content, content)
    return outcome_on(told.result, now).written if told is not None and told.is_certain else kept


def _revised(new: Memory, old: Memory | None, screening: Screening, embedding: Embedding) -> Revised:
    return Revised(
        new.id,
        old.id if old is not None else None,
        new.layer,
        new.kind,
        new.status,
        list(screening.redactions),
        [
            *partial_embedding_warnings(embedding),
            *screening.warnings("ai"),
            *([PERSONAL_NOTE] if new.owner is not None else ()),
        ],
        new.project,
    )


async def promote(session: Session, request: MoveRequest) -> Moved:
    """Move a memory to the next layer up, or to the one named.

    Raises:
        MemoryNotFound: if there is no such memory.
        MoveRefused: if the ladder does not lead there.
    """
    return await _move(session, request, "up")


async def demote(session: Session, request: MoveRequest) -> Moved:
    """Move a memory to the next layer down, or to the one named.

    Raises:
        MemoryNotFound: if there is no such memory.
        MoveRefused: if the ladder does not lead there.
    """
    return await _move(session, request, "down")


async def _move(session: Session, request: MoveRequest, direction: Direction) -> Moved:
    now = session.now
    async with session.store.changing():
        memory = await resolved(session, request.id)
        if session.repeats and (layers := await _moved_before(session, memory)) is not None:
            before, after = layers
            await session.store.move(memory, after, actor="repeated", at=now)  # if it had not come so far
            return Moved(memory.id, before, after, memory.project)
        target = checked_move(memory.layer, request.to or None, direction)
        actor = "promote" if direction == "up" else "demote"
        await session.store.move(memory, target, actor=actor, at=now)
    session.maintenance.note_write()
    return Moved(memory.id, memory.layer, target, memory.project)


async def pin(session: Session, request: PinRequest) -> Pinned:
    """Pin a memory or take the pin away.

    Raises:
        MemoryNotFound: if there is no such memory.
    """
    now, pinned = session.now, request.pinned
    async with session.store.changing():
        memory = await resolved(session, request.id)
        if memory.pinned != pinned:
            action = "pinned" if pinned else "unpinned"
            await session.store.change([memory], {"pinned": pinned}, action=action, actor="pin", at=now)
            session.maintenance.note_write()
    return Pinned(memory.id, pinned, memory.project)


async def _moved_before(session: Session, memory: Memory) -> tuple[Layer, Layer] | None:
    """Return from where to where this call moved a memory when it was sent before: a second move would be too far."""
    for event in await session.store.journal.about(memory.id):
        if event.action == "moved" and session.store.new_id.has_made(event.id):
            return event.before["layer"], event.after["layer"]
    return None
