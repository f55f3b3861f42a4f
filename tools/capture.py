"""Keeping what a session left in its transcript: screened, held against what is known, and by default asked about.

`REVERIE_CAPTURE=ask` writes the items into quarantine, where nothing is recalled, and asks one question about all
that wait in a project: keep or drop. `auto` keeps them as memories of an interaction, which fade unless something
confirms them. What was dropped once is not asked again.

With `REVERIE_LLM` a model words what the person said. It is asked once, within a budget for each session. Its
answer is data like any other: a statement that names a number, a path or a name that nobody said is left out, and
the rest is screened, compared and asked about as if a rule had found it.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reverie.dream.judge import words_and_facts
from reverie.dream.review import CAPTURE, DROPPED
from reverie.embeddings.base import Embedding
from reverie.embeddings.tokens import count_tokens, cut_to_tokens
from reverie.errors import BudgetSpent, InvalidInput, ModelError
from reverie.ids import derived_id
from reverie.llm.client import model_from
from reverie.memory import Kind, Layer, Memory
from reverie.storage.dream_records import OPEN, ReviewQuestion
from reverie.storage.filters import equals, starts_with
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.text.compare import facts_of
from reverie.tools.classify import classify, readings_for
from reverie.tools.remember import anchored, confirm, drafted, duplicate_among, neighbours_of, refuse_purged
from reverie.tools.requests import CapturedText, CaptureRequest, RememberRequest, SaidText, TranscriptRequest
from reverie.tools.results import Captured
from reverie.tools.screening import injection_by_meaning, screened
from reverie.tools.session import Session
from reverie.tools.session_statements import captured
from reverie.tools.transcripts import Transcript, read_transcript, said_lately, summary_steps

MOST_PER_SESSION = 6
MOST_WAITING = 12
"""Items that one question asks about: when more come, the oldest give way."""

NOT_SAID: tuple[Kind, ...] = ("error_fix", "event")

WAITS = "captured from a session: waits for keep or drop in review"
_GAVE_WAY = "captured from a session, never answered: newer ones took its place"
_ASK = "Keep these, captured from sessions? keep: all of them; keep with text “1,3”: only those; drop: none."
_NEAR = 8
_UNCONFIRMED: dict[Kind, Kind] = {"preference": "fact", "decision": "fact"}
"""Preferences and decisions do not fade; one that nobody confirmed is neither yet."""


async def capture_transcript(session: Session, request: TranscriptRequest) -> Captured:
    """Read a session's transcript and its client's summary, and keep what is worth it.

    Raises:
        StoreError: if the store cannot be read or written.
    """
    if session.settings.capture == "off":
        return Captured(mode="off")
    items, said = await asyncio.to_thread(_found_in, request)
    return await capture(
        session, CaptureRequest(client=request.client, session=request.session, items=items, said=said)
    )


def _found_in(request: TranscriptRequest) -> tuple[tuple[CapturedText, ...], tuple[SaidText, ...]]:
    transcript = read_transcript(request.transcript) if request.transcript else Transcript(())
    whole = Transcript((*transcript.steps, *summary_steps(request.summary)), transcript.folder)
    return (
        tuple(CapturedText(text=one.text, kind=one.kind, turn=one.turn) for one in captured(whole, request.folder)),
        tuple(SaidText(text=step.text, turn=step.turn) for step in said_lately(transcript)),
    )


async def capture(session: Session, request: CaptureRequest) -> Captured:
    """Keep items of a transcript as REVERIE_CAPTURE says, and say what became of them.

    Raises:
        StoreError: if the store cannot be read or written.
    """
    mode = session.settings.capture
    uses_model = session.settings.llm is not None and bool(request.said)
    if mode == "off" or not (request.items or uses_model):
        return Captured(mode=mode)
    origin = f"{request.client} session {request.session}"
    items, told = request.items, ""
    if uses_model:
        written = await written_by_model(session, request.said, origin)
        told = written.told
        if not written.note:  # what was said is the model's to word; what was run and edited it was not shown
            items = (*written.items, *(item for item in items if item.kind in NOT_SAID))
    before = await session.store.find(starts_with("source_ref", f"{origin}, "))
    room = MOST_PER_SESSION - len(before)
    left_out: Counter[str] = Counter()
    new: list[Memory] = []
    for item in items:
        if len(new) >= room:
            left_out["enough of this session"] += 1
            continue
        memory, why = await _kept(session, item, f"{origin}, turn {item.turn}", asks=mode == "ask")
        if memory is None:
            left_out[why] += 1
        else:
            new.append(memory)
    asked = await _ask(session) if mode == "ask" else ""
    return Captured(
        mode=mode, kept=[memory.id for memory in new], question=asked, left_out=dict(left_out), model=told
    )


async def _kept(session: Session, item: CapturedText, origin: str, *, asks: bool) -> tuple[Memory | None, str]:
    """Write one item, or return why not."""
    now = session.now
    kind = item.kind if asks else _UNCONFIRMED.get(item.kind, item.kind)
    request, screening = screened(
        RememberRequest(content=item.text, kind=kind, layer="episodic", source="interaction")
    )
    if screening.redactions:
        return None, "with a secret"
    if screening.injection:
        return None, "like an order to an assistant"
    try:
        refuse_purged(session, request.content)
    except InvalidInput:
        return None, "purged before"
    draft = replace(drafted(session, request, now), source_ref=origin)
    [embedding] = await session.embed([draft.content])
    around = await neighbours_of(
        session, draft.content, draft.content_hash, embedding.vector, draft.project, viewer=session.eyes_for(draft)
    )
    known = around.identical or around.duplicate
    if known is not None:
        await confirm(session, known, draft, now)
        return None, "known"
    if await _was_asked(session, draft, embedding):
        return None, "asked before"
    draft, _ = await anchored(session, draft, [])
    memory = replace(draft, surprise=around.surprise)
    if asks:  # a person's rule reads like an order, and a person decides about it
        memory = replace(memory, status="quarantined", status_reason=WAITS)
    else:
        if await asyncio.to_thread(injection_by_meaning, draft.content, draft.title, session.embedder):
            return None, "like an order to an assistant"
        memory = replace(memory, layer=await _layer(session, draft, embedding))
    written = Embedded(memory, embedding.vector, embedding.passages, embedding.pieces)
    await session.store.add([written], actor="capture", at=now, reason=origin)
    session.maintenance.note_write()
    return memory, ""


async def _layer(session: Session, draft: Memory, embedding: Embedding) -> Layer:
    [reading] = await asyncio.to_thread(readings_for, session.embedder, [draft.content], [embedding])
    return "working" if classify(draft.content, reading, kind=draft.kind).passing else "episodic"


async def _was_asked(session: Session, draft: Memory, embedding: Embedding) -> bool:
    """Return whether something that says the same waits for an answer, or was dropped."""
    scope = Scope(
        viewer=session.store.viewer,
        projects=session.visible_from(draft.project),
        statuses=("quarantined", "expired"),
    )
    nearest = await session.store.nearest_with_pending(embedding.vector, scope, _NEAR)
    found = await session.store.memories_of(nearest, scope)
    similarities = {hit.id: hit.similarity for hit in nearest.hits}
    answered = [
        (memory, similarities[memory.id])
        for memory in found.values()
        if memory.status == "quarantined" or memory.status_reason == DROPPED
    ]
    return duplicate_among(answered, draft.content) is not None


async def _ask(session: Session) -> str:
    """Have one question ask about all that waits in this project; return its id, or nothing if nothing waits.

    A capture that was cut short may have left items that no question asks about: they are found here.
    """
    queue, now, project = session.store.review_queue, session.now, session.here.project
    waits = equals("status", "quarantined") & equals("status_reason", WAITS) & session.of_project(project)
    async with session.store.changing():
        waiting = await session.store.find(waits)
        if not waiting:
            return ""
        gone, waiting = waiting[:-MOST_WAITING], waiting[-MOST_WAITING:]
        values = {"status": "expired", "expired_at": now, "status_reason": _GAVE_WAY}
        await session.store.change(gone, values, action="forgotten", actor="capture", at=now, reason=_GAVE_WAY)
        still_open = [one for one in await queue.open() if _is_about(one, project)]
        asked = ReviewQuestion(
            id=still_open[-1].id if still_open else derived_id(f"{CAPTURE} {waiting[0].id}".encode()),
            asked_at=still_open[-1].asked_at if still_open else now,
            kind=CAPTURE,
            memory_ids=tuple(memory.id for memory in waiting),
            status=OPEN,
            body={
                "ask": _ASK,
                "evidence": [f"{n}: {memory.kind}, {memory.source_ref}" for n, memory in enumerate(waiting, 1)],
                "verdicts": ["keep", "drop"],
                "about": [project],
            },
        )
        await queue.write([asked])
    return asked.id


def _is_about(asked: ReviewQuestion, project: str) -> bool:
    return asked.kind == CAPTURE and list(asked.body.get("about", [])) == [project]


CENTS_PER_SESSION = 5.0
"""What the captures of one session of a client may cost, however often it is compacted."""

MOST_STATEMENTS = 6

_MOST_SAID = 6_000  # tokens of the session, its end first
_MOST_ANSWERED = 600  # tokens
_LONGEST = 400  # characters of a statement
_MOST_SESSIONS = 64
_WRITTEN: Final[tuple[Kind, ...]] = ("preference", "decision", "rejected", "fact", "how_to")
_TASK = (
    "These are the messages of a developer to a coding assistant in one session, each with its turn. Which "
    "statements would help an assistant in a later session: a rule or preference, a decision with its reason, a "
    "correction, what was rejected and why, a lasting fact about the project? Leave out requests, questions, "
    "progress and anything that holds for this session alone; most sessions have none to three. Write each as one "
    "self-contained statement about what the user said, in their terms, with nothing added, in the form "
    f'"TURN KIND: TEXT", KIND being one of {", ".join(_WRITTEN)}, for example '
    '"4 preference: The user wants tests run with `just check`, never with pytest directly."'
)
_LINE: Final = re.compile(r"\s*\[?(\d{1,6})\]?[\s:|,-]+(\w+)\s*[:|]\s*(\S.*?)\s*", re.DOTALL)


class ModelCapture:
    """What a model wrote: the statements, what they cost, and why there are none if it could not be asked."""

    def __init__(self, items: Sequence[CapturedText], cents: float, note: str = "") -> None:
        self.items = tuple(items)
        self.cents = cents
        self.note = note

    @property
    def told(self) -> str:
        """Say in a few words what the model cost, and what went wrong."""
        return self.note or f"model: {self.cents:.2g} of {CENTS_PER_SESSION:g} cents"


async def written_by_model(session: Session, said: Sequence[SaidText], client_session: str) -> ModelCapture:
    """Ask the model what is worth keeping of what was said; if it fails, nothing is, and the note says why."""
    spent = session.domain.capture_cents
    model = model_from(session.settings, CENTS_PER_SESSION - spent.get(client_session, 0.0), count_tokens)
    if model is None:
        return ModelCapture((), 0.0, "no model is set")
    data = {"notes": [{"turn": str(one.turn), "text": one.text} for one in _newest(said)]}
    try:
        answer = await asyncio.to_thread(model.ask, "capture", _TASK, data, {"statements": list}, _MOST_ANSWERED)
    except BudgetSpent:
        return ModelCapture((), 0.0, f"model not asked: {CENTS_PER_SESSION:g} cents for this session are spent")
    except ModelError as error:
        return ModelCapture((), model.spent_cents, f"model not used: {error}")
    finally:
        spent[client_session] = spent.pop(client_session, 0.0) + model.spent_cents
        while len(spent) > _MOST_SESSIONS:
            del spent[next(iter(spent))]
        await asyncio.to_thread(model.close)
    return ModelCapture(_grounded(answer["statements"], said), model.spent_cents)


def _newest(said: Sequence[SaidText]) -> list[SaidText]:
    """Return the end of a session, as much as a call may carry, in its order."""
    chosen: list[SaidText] = []
    left = _MOST_SAID
    for one in reversed(said):
        text = cut_to_tokens(one.text, left)
        left -= count_tokens(text)
        if not text.strip() or left < 0:
            break
        chosen.append(SaidText(text=text, turn=one.turn))
    return chosen[::-1]


def _grounded(lines: Sequence[str], said: Sequence[SaidText]) -> list[CapturedText]:
    """Return the statements of an answer that have its form and state no fact that was not said."""
    turns = {one.turn for one in said}
    known = {form for one in said for form in words_and_facts(one.text)}
    found: list[CapturedText] = []
    for line in lines:
        read = _LINE.fullmatch(line)
        if read is None or int(read[1]) not in turns:
            continue
        kind = next((one for one in _WRITTEN if one == read[2].casefold()), None)
        text = read[3]
        if kind is None or len(text) > _LONGEST or {form for _, form in facts_of(text)} - known:
            continue
        found.append(CapturedText(text=text, kind=kind, turn=int(read[1])))
    return found[:MOST_STATEMENTS]
