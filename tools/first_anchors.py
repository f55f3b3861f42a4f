"""What a memory says of files: told at once where a file is not there; anchored when it is first met in its project.

A memory that was imported, or written before anchors were kept, has none. The first recall inside its project that
shows it looks up what it names, behind the answer; the rest is met by the nightly dream (dream/drift.py).
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from reverie.codebase.evidence import Evidence
from reverie.codebase.mentions import AbsentFile, mentions_in
from reverie.dream.drift import ANCHORED, may_be_anchored, settles
from reverie.errors import StoreError
from reverie.memory import Memory
from reverie.tools.screening import screened_evidence
from reverie.tools.session import Session

MOST_AT_ONCE = 8
"""Memories of one answer that are looked up behind it."""

log = logging.getLogger(__name__)


def missing_file_warnings(evidence: Evidence, absent: Sequence[AbsentFile]) -> list[str]:
    """Say of each file that a text names whether it was moved, was removed or never was there."""
    return [_warning(evidence, one) for one in absent]


def _warning(evidence: Evidence, absent: AbsentFile) -> str:
    if absent.anchor is not None and absent.last_commit is not None:
        now_at = evidence.where_now(absent.anchor)
        what = f"it moved to {now_at}" if now_at else f"it was there until {absent.last_commit[:8]}"
        return f"{absent.path} is not in this project: {what}"
    never = " and no commit before had it" if absent.is_certain else ""
    return f"{absent.path} is not in this project{never}: check the name"


def note_met(session: Session, memories: Iterable[Memory]) -> None:
    """Anchor, behind the answer, the memories of this project that were recalled and have no anchors yet."""
    met = [memory for memory in memories if _is_new(session, memory)][:MOST_AT_ONCE]
    if met:
        session.met_ids.update(memory.id for memory in met)
        session.domain.run_behind(_anchor(session, met))


def _is_new(session: Session, memory: Memory) -> bool:
    return (
        memory.id not in session.met_ids
        and memory.project in session.evidence.names
        and session.here.root is not None
        and may_be_anchored(memory)
    )


async def _anchor(session: Session, met: Sequence[Memory]) -> None:
    """Look up what the texts name; the store is read only for those of which something was found."""
    try:
        for memory in met:
            if not mentions_in(memory.content):
                continue
            anchors = await asyncio.to_thread(session.evidence.anchor_old, memory.content, memory.project)
            if not anchors or any(settles(event) for event in await session.store.journal.about(memory.id)):
                continue
            await _write(session, screened_evidence(replace(memory, anchors=anchors)))
    except StoreError as error:
        log.warning("Recalled memories are not anchored yet: %s", error)


async def _write(session: Session, anchored: Memory) -> None:
    async with session.store.changing():
        memory = (await session.store.get([anchored.id])).get(anchored.id)
        if memory is None or not may_be_anchored(memory) or memory.content != anchored.content:
            return
        reason = "first recalled in its project"
        values = {"anchors": anchored.anchors}
        await session.store.change([memory], values, action=ANCHORED, actor="recall", at=session.now, reason=reason)
    session.maintenance.note_write()
