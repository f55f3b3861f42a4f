"""Answers to review questions: what each changes, and which questions cannot be answered any more."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from reverie.dream.batch import make_batch, write
from reverie.dream.derived_memories import may_be_written
from reverie.dream.drift import described_moves, is_challenged, moves_of
from reverie.dream.judge import missing_facts
from reverie.dream.merging import merging
from reverie.dream.outcomes import outcome_change
from reverie.dream.plan import Change, ChangeSet, NewMemory, derived_memory_id
from reverie.dream.synthesis import bridging
from reverie.embeddings.base import Embedder
from reverie.errors import InvalidInput
from reverie.ids import SHORTEST_PREFIX, content_hash
from reverie.lifecycle.expiry import LIVING
from reverie.lifecycle.rules import WHOLE
from reverie.lifecycle.vitals import trust_of
from reverie.lifecycle.voices import UNCONFIRMED, Voice, confirmed, regained_confidence
from reverie.memory import GLOBAL_PROJECT, Anchor, Memory, OutcomeResult
from reverie.storage.dream_records import OPEN, WITHDRAWN, ReviewQuestion
from reverie.storage.rows import Embedded
from reverie.storage.scope import EVERYBODY
from reverie.storage.store import MemoryStore
from reverie.text.compare import restates
from reverie.text.entities import names_in
from reverie.text.shorten import title_of

WITHDRAWN_BY = "dream"


def why_moot(asked: ReviewQuestion, memories: Mapping[str, Memory]) -> str | None:
    """Return why a question cannot be answered any more, or None if it can."""
    found = [memories.get(memory_id) for memory_id in asked.memory_ids]
    if asked.kind == CAPTURE:
        waits = any(memory is not None and memory.status == "quarantined" for memory in found)
        return None if waits else "nothing of it waits any more"
    if not all(memory is not None and memory.status in LIVING for memory in found):
        return "a memory it is about is no longer there"
    if len({memory.project for memory in found if memory is not None} - {GLOBAL_PROJECT}) > 1:
        return "it is about several projects, which no session sees together"
    if len({memory.owner for memory in found if memory is not None}) > 1:
        return "it is about memories that nobody sees together"
    if asked.kind == "drift" and not all(memory is not None and is_challenged(memory) for memory in found):
        return "the memory is no longer in doubt"
    if asked.kind == "moved" and not all(memory is not None and _names_what_moved(asked, memory) for memory in found):
        return "what it names was moved again, or back"
    return None


def _names_what_moved(asked: ReviewQuestion, memory: Memory) -> bool:
    asked_about: list[str] = asked.body.get("about", [])[1:]
    return described_moves(moves_of(memory.anchors)) == asked_about


async def withdraw_moot(store: MemoryStore, now: datetime) -> list[str]:
    """Withdraw every open question that is moot, each with an event; call it inside `changing()`."""
    questions = store.review_queue
    still_open = await questions.open()
    memories = await store.seen_by(EVERYBODY).get(list({one for asked in still_open for one in asked.memory_ids}))
    found = [(asked, why) for asked in still_open if (why := why_moot(asked, memories)) is not None]
    events = [
        store.event("question withdrawn", memory, actor=WITHDRAWN_BY, at=now, reason=f"{asked.id}: {why}")
        for asked, why in found
        if (memory := next((memories[one] for one in asked.memory_ids if one in memories), None)) is not None
    ]
    await store.journal.write(events)
    await questions.close([asked.id for asked, _ in found], WITHDRAWN)
    return [asked.id for asked, _ in found]


ANSWERED_BY = "review"
_NEED_A_TEXT = ("merge", "bridge", "revise")
_LEAVES_IT = ("holds", "separate", "no_bridge")

CAPTURE = "capture"
"""The kind of question that asks which statements of a transcript to keep; they wait in quarantine."""

DROPPED = "dropped in review"
_RELEASED = "released"  # the journal's word for a quarantined memory that may be recalled: see tools.quarantine


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer to one question."""

    question: ReviewQuestion
    verdict: str
    text: str
    voice: Voice | None = None  # whoever answers
    author: str | None = None  # the person, by their token


def checked_decision(question: ReviewQuestion, verdict: str, text: str) -> Decision:
    """Return an answer that the question takes.

    Raises:
        InvalidInput: naming what is wrong; nothing is changed then.
    """
    if question.status != OPEN:
        raise InvalidInput(
            "question_id", f"{question.id} is {question.status}, not open", "See review for those that are."
        )
    allowed = question.body.get("verdicts", [])
    if verdict not in allowed:
        raise InvalidInput(
            "verdict", f"{verdict!r} is no verdict on {question.id}", f"It takes: {', '.join(allowed)}."
        )
    if verdict == "revise" and not text.strip():
        text = question.body.get("proposal", "")
    if verdict in _NEED_A_TEXT and not text.strip():
        raise InvalidInput("text", f"{verdict} needs a text", "Give the text that is to be remembered.")
    if verdict in _NEED_A_TEXT and not may_be_written(text):
        raise InvalidInput(
            "text", "it holds a secret, a private part or orders to an assistant", "Leave that out and answer again."
        )
    if question.kind == CAPTURE:
        _named(question, text)
    return Decision(question, verdict, text.strip())


async def apply_decision(
    store: MemoryStore,
    embedder: Embedder,
    decision: Decision,
    now: datetime,
    anchors: tuple[Anchor, ...] | None = None,
) -> list[str]:
    """Apply an answer and close its question; return the ids of the memories that were changed or written.

    `anchors` are those of a revised text in the code as it is now; without them it keeps the old ones.

    Raises:
        InvalidInput: if the memories it is about are not what they were, or the text leaves a fact out.
    """
    question = decision.question
    vectors = await asyncio.to_thread(embedder.embed, [decision.text]) if decision.verdict in _NEED_A_TEXT else []
    async with store.changing():
        memories = await store.get(list(question.memory_ids))
        unchallenged = await _before_challenge(store, question)
        change_set = _change_set(decision, _checked_living(decision, memories), unchallenged, now, anchors)
        if change_set is not None:
            batch = make_batch(
                [change_set], list(memories.values()), store, batch_id=question.id, at=now, actor=ANSWERED_BY
            )
            embedded = [
                Embedded(memory, vectors[0].vector, vectors[0].passages, vectors[0].pieces)
                for memory in batch.added
                if vectors
            ]
            await write(batch, store, now, embedded)
        await store.review_queue.close([question.id], decision.verdict)
    if change_set is None:
        return []
    return [*(new.memory.id for new in change_set.new_memories), *(change.memory_id for change in change_set.changes)]


def _change_set(
    decision: Decision,
    memories: Sequence[Memory],
    unchallenged: Mapping[str, Any],
    now: datetime,
    anchors: tuple[Anchor, ...] | None,
) -> ChangeSet | None:
    first = memories[0] if memories else None
    if first is None:
        return None  # nothing waits any more
    match decision.verdict:
        case "merge":
            lost = missing_facts(decision.text, memories)
            if lost:
                raise InvalidInput(
                    "text", f"it leaves out {', '.join(lost[:5])}", "Keep every number, name, date and path."
                )
            return merging(memories, decision.text, now)
        case "bridge":
            subjects = decision.question.body.get("about", [])[:2]  # the project is third
            return ChangeSet(
                summary="bridge written", new_memories=(bridging(subjects, memories, decision.text, now),)
            )
        case "worked" | "failed" | "reversed" | "superseded":
            return _with_outcome(first, memories[1], decision.verdict)
        case "outdated":
            return _superseded(first, memories[1], now) if len(memories) > 1 else _expired(first, "refuted", now)
        case "revise" if decision.question.body.get("proposal") == decision.text:
            return _with_paths_of_today(
                replace(first, anchors=first.anchors if anchors is None else anchors), decision.text, now
            )
        case "revise":
            said = first.author if first.owner is not None else decision.author
            anchors = first.anchors if anchors is None else anchors
            return _revised(replace(first, anchors=anchors, author=said), decision.text, now)
        case "forget":
            return _expired(first, "review", now)
        case "keep" | "drop":
            return _answered_capture(decision, memories, now)
        case "holds" if decision.question.kind == "drift":
            return _upheld_without_code(first)
        case "holds":
            return _upheld(decision, first, unchallenged)
        case _:
            return None  # separate, no_bridge


def _with_outcome(decision: Memory, report: Memory, result: OutcomeResult) -> ChangeSet | None:
    """Return the change that notes with a decision what came of it, as somebody answered."""
    change = outcome_change(decision, report, result)
    return None if change is None else ChangeSet(summary="outcome noted", changes=(change,))


def _answered_capture(decision: Decision, waiting: Sequence[Memory], now: datetime) -> ChangeSet:
    """Return the changes that release what is kept and forget the rest."""
    kept = set(_named(decision.question, decision.text)) if decision.verdict == "keep" else set[str]()
    dropped = {"status": "expired", "expired_at": now, "status_reason": DROPPED}
    changes = tuple(
        Change(
            memory_id=memory.id,
            action=_RELEASED if memory.id in kept else "forgotten",
            reason="kept in review" if memory.id in kept else DROPPED,
            values={"status": "active", "status_reason": None} if memory.id in kept else dropped,
        )
        for memory in waiting
    )
    return ChangeSet(summary="answered what was captured", changes=changes)


def _named(question: ReviewQuestion, text: str) -> list[str]:
    """Return the ids that an answer keeps: all, or those that its text names by number or id.

    Raises:
        InvalidInput: if it names something else.
    """
    asked = question.memory_ids
    kept: list[str] = []
    for name in text.replace(",", " ").split():
        if name.isdigit() and 0 < int(name) <= len(asked):
            kept.append(asked[int(name) - 1])
            continue
        found = [one for one in asked if len(name) >= SHORTEST_PREFIX and one.startswith(name)]
        if not found:
            raise InvalidInput("text", f"{name!r} is none of them", f"Give numbers from 1 to {len(asked)}, or ids.")
        kept += found
    return kept or list(asked)


def _superseded(old: Memory, newer: Memory, now: datetime) -> ChangeSet:
    reason = f"out of date: {newer.id} says what holds now"
    values = {"status": "superseded", "superseded_by": newer.id, "expired_at": now, "status_reason": reason}
    return ChangeSet(
        summary="superseded", changes=(Change(memory_id=old.id, action="superseded", reason=reason, values=values),)
    )


def _expired(memory: Memory, why: str, now: datetime) -> ChangeSet:
    values = {"status": "expired", "expired_at": now, "status_reason": why}
    change = Change(memory_id=memory.id, action="forgotten", reason="by an answer in review", values=values)
    return ChangeSet(summary="forgotten", changes=(change,))


def _revised(old: Memory, text: str, now: datetime) -> ChangeSet:
    new = replace(
        old,
        id=derived_memory_id(now, "revise", old.id, text),
        content=text,
        content_hash=content_hash(text),
        title=title_of(text),
        entities=names_in(text),
        source="ai",
        trust=min(old.trust, trust_of("ai")),
        confidence=1.0,
        derived_from=(old.id,),
        created_at=now,
        happened_at=now,
        updated_at=now,
        status="active",
        status_reason=None,
        expired_at=None,
        precision=WHOLE,
        **({} if restates(old.content, text) else UNCONFIRMED),
    )
    reason = f"revised as {new.id}"
    values = {"status": "superseded", "superseded_by": new.id, "expired_at": now, "status_reason": reason}
    change = Change(memory_id=old.id, action="superseded", reason=reason, values=values)
    return ChangeSet(
        summary="revised", new_memories=(NewMemory(memory=new, reason="revised in review"),), changes=(change,)
    )


def _with_paths_of_today(old: Memory, text: str, now: datetime) -> ChangeSet:
    """Return the change to a text that differs only in its paths: who said it, when, and how sure stays."""
    revised = _revised(old, text, now)
    [new] = revised.new_memories
    same = replace(
        new.memory,
        source=old.source,
        trust=old.trust,
        confidence=old.confidence,
        happened_at=old.happened_at,
        confirmations=old.confirmations,
        confirmed_by=old.confirmed_by,
    )
    return replace(revised, new_memories=(replace(new, memory=same, reason="its paths are those of today"),))


def _upheld(decision: Decision, belief: Memory, unchallenged: Mapping[str, Any]) -> ChangeSet | None:
    """Return the change that ends a challenge and counts whoever answered as a voice.

    It is active again, with the confidence from before the challenge; one that was not challenged regains half of
    what it lacks.
    """
    voice = decision.voice
    values: dict[str, Any] = {} if voice is None else confirmed(belief, voice) or {}
    if belief.status == "challenged":
        values |= {"status": "active", "status_reason": None}
        values["confidence"] = unchallenged.get("confidence", belief.confidence)
    elif belief.confidence < 1.0:
        values["confidence"] = regained_confidence(belief.confidence)
    if not values:
        return None
    answered = f"{decision.question.id} answered in review: holds" + (f", by {voice.written}" if voice else "")
    change = Change(memory_id=belief.id, action="upheld", reason=answered, values=values)
    return ChangeSet(summary="upheld", changes=(change,))


def _upheld_without_code(memory: Memory) -> ChangeSet:
    """Return the change that removes the anchors to missing code, so that drift does not check them again."""
    left = tuple(anchor for anchor in memory.anchors if anchor.freshness != "missing")
    values: dict[str, Any] = {"anchors": left}
    if is_challenged(memory):
        values |= {"status": "active", "status_reason": None}
    change = Change(memory_id=memory.id, action="upheld", reason="by an answer in review", values=values)
    return ChangeSet(summary="upheld", changes=(change,))


async def _before_challenge(store: MemoryStore, question: ReviewQuestion) -> Mapping[str, Any]:
    """Return the values that the last challenge of a belief replaced."""
    events = await store.journal.about(question.memory_ids[0]) if question.kind == "belief" else []
    return next((event.before for event in reversed(events) if event.action == "challenged"), {})


def _checked_living(decision: Decision, memories: Mapping[str, Memory]) -> list[Memory]:
    question = decision.question
    if question.kind == CAPTURE:
        return [memory for memory in memories.values() if memory.status == "quarantined"]
    for memory_id in question.memory_ids:
        memory = memories.get(memory_id)
        if memory is None or memory.status not in LIVING:
            raise InvalidInput(
                "question_id", f"{memory_id} is no longer there to decide about", "Leave this question out."
            )
        if memory.pinned and question.kind != "bridge" and decision.verdict not in _LEAVES_IT:
            raise InvalidInput("question_id", f"{memory_id} is pinned", "Take the pin away first, or leave it out.")
    return [memories[memory_id] for memory_id in question.memory_ids]
