"""The `review` tool: answers to the questions that dreams leave open."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from reverie.dream.review import Decision, apply_decision, checked_decision, why_moot
from reverie.errors import InvalidInput
from reverie.lifecycle.voices import PERSON, Voice
from reverie.memory import Anchor, Memory, checked_text
from reverie.storage.dream_records import ReviewQuestion, ReviewQueue
from reverie.time import iso
from reverie.tools.remember import refuse_purged
from reverie.tools.requests import ReviewDecision, ReviewRequest
from reverie.tools.resolve import resolved_question
from reverie.tools.results import Reviewed
from reverie.tools.revise import reanchored
from reverie.tools.session import Session

_LONGEST_SHOWN = 1_000


async def review(session: Session, request: ReviewRequest) -> Reviewed:
    """Apply answers, all of them checked before the first is applied, and return what is still open.

    Raises:
        InvalidInput: if an id, a verdict or a text is wrong; nothing is changed then.
    """
    questions = session.store.review_queue
    checked = [await _checked(session, decision) for decision in request.decisions]
    if len({decision.question.id for decision in checked}) < len(checked):
        raise InvalidInput("decisions", "one question is answered twice", "Give one answer to each.")
    resolved = []
    # The page is a person's; everything else that answers may be an agent.
    is_person = session.all_projects
    voice = Voice(PERSON if is_person else "ai", session.now, session.person if is_person else session.store.session)
    for decision in (replace(one, voice=voice, author=session.author) for one in checked):
        anchors = await _anchors(session, decision) if decision.verdict == "revise" else None
        changed = await apply_decision(session.store, session.embedder, decision, session.now, anchors)
        resolved.append(
            {
                "question_id": decision.question.id,
                "verdict": decision.verdict,
                "changed": ", ".join(changed),
            }
        )
    if resolved:
        session.maintenance.note_write()
    still_open = await _open_here(session, questions, request.limit)
    return Reviewed(questions=still_open, resolved=resolved, project=session.here.project)


async def _open_here(session: Session, questions: ReviewQueue, limit: int) -> list[dict[str, Any]]:
    """Return the open questions whose memories this session may all see."""
    shown: list[dict[str, Any]] = []
    for asked in await questions.open():
        if len(shown) == limit:
            break
        memories = await session.whole_store.get(list(asked.memory_ids))
        if why_moot(asked, memories) is None and all(map(session.sees, memories.values())):
            shown.append(_shown(asked, memories.values()))
    return shown


async def _anchors(session: Session, decision: Decision) -> tuple[Anchor, ...] | None:
    """Return the anchors of a revised text in the code as it is now, or None if the memory is gone."""
    old = (await session.store.get([decision.question.memory_ids[0]])).get(decision.question.memory_ids[0])
    return None if old is None else (await reanchored(session, old, decision.text)).anchors


async def _checked(session: Session, given: ReviewDecision) -> Decision:
    question = await resolved_question(session, given.question_id)
    checked = checked_decision(question, given.verdict, given.text)
    if checked.text:
        refuse_purged(session, checked_text("text", checked.text))
    return checked


def _shown(asked: ReviewQuestion, memories: Iterable[Memory]) -> dict[str, Any]:
    return {
        "id": asked.id,
        "kind": asked.kind,
        "ask": asked.body["ask"],
        "evidence": asked.body["evidence"],
        "verdicts": asked.body["verdicts"],
        **({"proposal": asked.body["proposal"]} if asked.body.get("proposal") else {}),
        "memories": [_as_shown(memory) for memory in memories],
        "asked_at": iso(asked.asked_at),
    }


def _as_shown(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "content": memory.content[:_LONGEST_SHOWN],
        "happened_at": iso(memory.happened_at),
        "source": memory.source,
        "status": memory.status,
    }
