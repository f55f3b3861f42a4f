"""Keeping a text."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from reverie.dream.outcomes import is_a_decision, outcome_change, reported_outcomes
from reverie.embeddings.base import Embedding
from reverie.embeddings.bundled import STAMP
from reverie.embeddings.classifier import LEAST_COSINE, PairVerdict, embedder_for_models, judged_pair
from reverie.errors import InvalidInput, MemoryNotFound
from reverie.ids import SHORTEST_PREFIX, content_hash
from reverie.lifecycle.outcomes import outcome_on, updated_outcome
from reverie.lifecycle.vitals import (
    NEIGHBOURS,
    adjusted_importance,
    first_stability,
    is_duplicate,
    surprise_from,
    trust_of,
)
from reverie.lifecycle.voices import confirmed as confirmed_values
from reverie.lifecycle.voices import voice_of
from reverie.memory import Anchor, Memory, checked_text, encode
from reverie.storage.rows import Embedded
from reverie.storage.scope import TEAM, Scope, Viewer
from reverie.text.alignment import LONGEST_ALIGNED, read_for_alignment
from reverie.text.compare import contradictions, restates
from reverie.text.conflicts import find_conflict
from reverie.text.outcomes import judgements_in
from reverie.text.shorten import title_of
from reverie.time import iso, parse_moment
from reverie.tools.classify import PASSING_NOTE, PERSONAL_NOTE, Reading, classified, read_for_guess, readings_for
from reverie.tools.entities import with_names
from reverie.tools.first_anchors import missing_file_warnings
from reverie.tools.quarantine import hold
from reverie.tools.requests import RememberRequest
from reverie.tools.resolve import resolved
from reverie.tools.results import Conflict, Remembered
from reverie.tools.screening import (
    Screening,
    injection_by_meaning,
    is_one_statement,
    partial_embedding_warnings,
    screened,
    screened_evidence,
)
from reverie.tools.session import Session, echoed

if TYPE_CHECKING:
    from reverie.storage.rows import Vector


def refuse_purged(session: Session, content: str) -> None:
    """Let a text pass unless it was purged from this store.

    Raises:
        InvalidInput: if it was.
    """
    if session.store.purged_texts.among([content]):
        raise InvalidInput(
            "content",
            "this very text was purged and is kept out for good",
            "If it should be remembered after all, say it in other words.",
        )


EmbeddingTask = asyncio.Task[list[Embedding]]

SAME_SUBJECT = 0.75
"""The cosine from which two memories speak of the same thing closely enough to contradict each other."""

_LOOKED_AT = 8
_SHOWN = 300
_COMPARED = 120_000
"""Characters that are held against each other for one new text; 100,000 take up to 0.8 s of a processor."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest memories and what follows from them."""

    surprise: float | None
    identical: Memory | None
    duplicate: Memory | None
    conflicts: list[Conflict]
    warnings: list[str] = field(default_factory=list)
    decisions: tuple[Memory, ...] = ()
    """Those among the nearest, or with names in common, that decide something: the text may tell what came of one."""
    restated: Memory | None = None
    """What the pair classifier takes for the same statement: reported, and neither confirmed nor merged."""


async def neighbours_of(
    session: Session,
    content: str,
    fingerprint: str,
    vector: "Vector",
    project: str,
    happened_at: datetime | None = None,
    viewer: Viewer = TEAM,
    owner: str | None = None,
) -> Neighbours:
    """Look around a new text among the active memories that its project sees, with the eyes of a viewer.

    Rules of wording decide what they can; the pair classifier looks at the rest, also at what is less near. Only what
    has the same owner can be the same memory: a personal text and one of the team are two.
    """
    scope = Scope(viewer=viewer, projects=session.visible_from(project), statuses=("active",))
    nearest = await session.store.nearest_with_pending(vector, scope, _LOOKED_AT)
    hits = list(nearest.hits)
    is_judged = session.embedder.stamp == STAMP  # the pair classifier knows only the cosines of the bundled model
    near = [hit for hit in hits if hit.similarity >= (LEAST_COSINE if is_judged else SAME_SUBJECT)]
    found = await session.store.memories_of(replace(nearest, hits=near), scope)
    late = {m.id for m in found.values() if session.is_overdue(m)}
    hits, near = ([hit for hit in some if hit.id not in late] for some in (hits, near))
    around = [(found[hit.id], hit.similarity) for hit in near if hit.id in found]
    memories = [(memory, similarity) for memory, similarity in around if similarity >= SAME_SUBJECT]
    compared = _affordable(memories, content)
    duplicate = duplicate_among([(memory, near) for memory, near in compared if memory.owner == owner], content)
    conflicts = [
        Conflict(memory.id, memory.content[:_SHOWN], conflict.message)
        for memory, _ in compared
        if content_hash(memory.content) != fingerprint and (conflict := find_conflict(memory.content, content))
    ]
    decided = {conflict.id for conflict in conflicts} | ({duplicate.id} if duplicate else set())
    unsettled = [(memory, similarity) for memory, similarity in around if memory.id not in decided]
    judged = _judged(unsettled, content, happened_at or session.now) if is_judged else []
    restated = next((m for m, verdict in judged if verdict.label == "same" and m.owner == owner), None)
    return Neighbours(
        surprise=surprise_from([hit.similarity for hit in hits[:NEIGHBOURS]]),
        identical=await _identical(session, memories, fingerprint, project, owner),
        duplicate=duplicate,
        conflicts=[
            *conflicts,
            *(
                Conflict(memory.id, memory.content[:_SHOWN], f"may be out of date: {verdict.receipt}")
                for memory, verdict in judged
                if verdict.label == "update" and not (duplicate or restated)
            ),
        ],
        warnings=[] if len(compared) == len(memories) else [_TOO_LONG_TO_COMPARE],
        decisions=tuple(memory for memory, _ in around if is_a_decision(memory) and memory.owner == owner),
        restated=None if duplicate else restated,
    )


_MOST_UPDATES = 2
"""Of the memories that a new text may replace only the likeliest are reported."""

_DERIVED_KINDS = ("peer_card", "bridge", "digest")


def _judged(
    memories: Sequence[tuple[Memory, float]], content: str, happened_at: datetime
) -> list[tuple[Memory, PairVerdict]]:
    """Return the neighbours that the pair classifier takes for the same or for out of date, the likeliest first.

    An event stays true whatever happens later, and what happened later is not replaced by what happened before.
    """
    found = []
    for memory, similarity in memories:
        if memory.layer == "codebase" or memory.kind in _DERIVED_KINDS:
            continue
        if max(len(memory.content), len(content)) > LONGEST_ALIGNED:
            continue
        is_later = memory.happened_at <= happened_at
        texts = (memory.content, content) if is_later else (content, memory.content)
        verdict = judged_pair(*texts, similarity)
        if verdict is None or verdict.label == "compatible":
            continue
        if verdict.label == "update" and (memory.kind == "event" or not is_later):
            continue
        found.append((memory, verdict))
    found.sort(key=lambda pair: -max(pair[1].update, pair[1].same))
    updates = [pair for pair in found if pair[1].label == "update"][:_MOST_UPDATES]
    return [*(pair for pair in found if pair[1].label == "same"), *updates]


_TOO_LONG_TO_COMPARE = "too long to be compared word by word with all that is like it: look for conflicts yourself"


def _affordable(memories: Sequence[tuple[Memory, float]], content: str) -> list[tuple[Memory, float]]:
    """Return the neighbours, nearest first, that a text can be compared with in a fraction of a second."""
    room = _COMPARED - len(content)  # a long one has cost much already
    compared = []
    for memory, similarity in memories:
        length = len(memory.content) + len(content)
        if length <= room:
            compared.append((memory, similarity))
            room -= length
    return compared


async def _identical(
    session: Session, memories: Sequence[tuple[Memory, float]], fingerprint: str, project: str, owner: str | None
) -> Memory | None:
    """Return the memory that has exactly this text, whole and as it is now."""
    names = session.names_of(project)
    for memory, _ in memories:
        if memory.project in names and memory.owner == owner and content_hash(memory.content) == fingerprint:
            return (await session.store.get([memory.id])).get(memory.id)
    return None


def duplicate_among(memories: Sequence[tuple[Memory, float]], content: str) -> Memory | None:
    """Return the nearest memory that says the same; near vectors alone may differ in a number or a `not`."""
    for memory, similarity in memories:
        alike = is_duplicate(similarity) and not contradictions(memory.content, content)
        if alike or restates(memory.content, content):
            return memory
    return None


async def remember(session: Session, request: RememberRequest) -> Remembered:
    """Write one memory, or confirm the one that already says exactly this.

    Raises:
        InvalidInput: if an argument is wrong; nothing is written then.
        MemoryNotFound: if the memory to supersede does not exist.
        EmbedderError: if the text cannot be embedded.
        StoreError: if it cannot be written.
    """
    request, screening = screened(request)
    result, screening = await _remember(session, request, screening)
    if request.tier and request.forget_after:
        both = f"tier {request.tier} and forget_after are both kept: the memory expires at whichever comes first"
        result = replace(result, warnings=[*result.warnings, both])
    session.served.note_ids([result.id, *(conflict.id for conflict in result.conflicts)])
    return replace(
        result,
        redactions=list(screening.redactions),
        warnings=[*result.warnings, *screening.warnings(request.source)],
    )


async def _remember(session: Session, request: RememberRequest, screening: Screening) -> tuple[Remembered, Screening]:
    now = session.now
    draft = drafted(session, request, now)
    refuse_purged(session, draft.content)
    files = _checked_files(session, request.files)
    if (done := await done_before(session, draft)) is not None:
        return await _completed(session, request, done, now), screening
    reason = screening.held_back(draft.source)
    if reason is not None:
        [draft] = await with_names(session, [draft])
        held = await hold(session, _classified(session, request, draft, None), reason, now)
        return _remembered(held, Neighbours(None, None, None, []), confirmed=False, warnings=[]), screening
    superseded = await resolved(session, request.supersedes) if request.supersedes else None
    if superseded is not None:
        _refuse_hiding(superseded, draft)
    if superseded is None and (known := await echoed(session, draft)) is not None:
        told = f"an echo of {known.id}, which this session was shown: not stored again; revise it if it has changed"
        return await _repeated(session, known, draft, [], told, now), screening
    embedded = asyncio.create_task(session.embed([draft.content]))
    injection, (draft, embedding, around, warnings) = await asyncio.gather(
        _injection(session, draft, embedded), _read_and_compared(session, request, draft, files, embedded)
    )
    if injection:
        screening = replace(screening, injection=injection)
        held = await hold(session, draft, screening.held_back(draft.source) or "", now, embedding)
        return _remembered(held, Neighbours(None, None, None, []), confirmed=False, warnings=[]), screening
    warnings += partial_embedding_warnings(embedding)
    if request.layer == "auto" and draft.layer == "working":
        warnings = [*warnings, PASSING_NOTE]
    warnings += around.warnings
    if around.identical is not None and superseded is None:
        told = "this exact text is already remembered"
        return await _repeated(session, around.identical, draft, around.conflicts, told, now), screening
    memory = replace(draft, surprise=around.surprise)
    if superseded is not None:
        # A memory of the team does not name the personal one that it replaces.
        parents = (superseded.id,) if superseded.owner == memory.owner else ()
        memory = replace(memory, derived_from=parents, pinned=memory.pinned or superseded.pinned)
    item = Embedded(memory, embedding.vector, embedding.passages, embedding.pieces)
    await session.store.add([item], actor="remember", at=now)
    confirmed = False
    if superseded is not None:
        async with session.store.changing():
            await supersede(session, superseded, by=memory, reason="superseded by remember", now=now, ends_it=True)
    elif around.duplicate is not None:
        confirmed = await confirm(session, around.duplicate, draft, now)
    else:
        reported_outcome = await note_outcome(session, memory, around.decisions, now)
        warnings = [*warnings, *reported_outcome]
        if reported_outcome:  # what came of a decision names much that the decision names
            around = replace(around, restated=None)
    if around.restated is not None:
        warnings += [f"seems to say the same as {around.restated.id}: both are kept, nothing is confirmed by it"]
    session.maintenance.note_write()
    return _remembered(memory, around, confirmed=confirmed, warnings=warnings), screening


def _refuse_hiding(superseded: Memory, draft: Memory) -> None:
    """Insist that what replaces a memory is seen by everybody who sees that one.

    Raises:
        InvalidInput: if it is not.
    """
    if draft.owner is not None and superseded.owner is None:
        raise InvalidInput(
            "supersedes",
            f"{superseded.id} is the team's, and a personal memory would hide it from everybody",
            "Leave supersedes out, or remember this for the team.",
        )


async def done_before(session: Session, draft: Memory) -> Memory | None:
    """Return the memory that this call wrote when it was sent before, if it was and if it came that far."""
    if not session.repeats:
        return None
    try:
        found = await session.store.resolve(draft.id[:SHORTEST_PREFIX])
    except MemoryNotFound:
        return None
    is_same = found.session == draft.session and found.content_hash == draft.content_hash
    return found if is_same else None


async def _completed(session: Session, request: RememberRequest, done: Memory, now: datetime) -> Remembered:
    """Do what is left of a call that was cut short after it wrote its memory, and answer as it would have."""
    await note_remembered(session, done, actor="remember", now=now)
    if request.supersedes:
        async with session.store.changing():
            superseded = await resolved(session, request.supersedes)
            if superseded.superseded_by != done.id:
                await supersede(session, superseded, by=done, reason="superseded by remember", now=now, ends_it=True)
    session.maintenance.note_write()
    return _remembered(done, Neighbours(done.surprise, None, None, []), confirmed=False, warnings=[])


async def note_remembered(session: Session, memory: Memory, *, actor: str, now: datetime) -> None:
    """Write the first event of a memory if the call that wrote the memory did not come so far."""
    if not await session.store.journal.about(memory.id):
        await session.store.journal.write([session.store.written_event(memory, actor=actor, at=now)])


async def _injection(session: Session, draft: Memory, embedded: EmbeddingTask) -> tuple[str, ...]:
    """Judge by its meaning whether a text gives orders; what a human said is not judged.

    A text of a single statement is judged from the run that embeds it, one of several beside that run.
    """
    if draft.source == "human":
        return ()
    if is_one_statement(draft.content):
        await asyncio.shield(embedded)
    return await asyncio.to_thread(injection_by_meaning, draft.content, draft.title, session.embedder)


async def _read_and_compared(
    session: Session, request: RememberRequest, draft: Memory, files: list[str], embedded: EmbeddingTask
) -> tuple[Memory, Embedding, Neighbours, list[str]]:
    """Return a draft with its anchors, names, kind and layer; its embedding, what is around it, and warnings."""
    [embedding], (anchored_draft, warnings), (named, decisions), _ = await asyncio.gather(
        asyncio.shield(embedded),
        anchored(session, draft, files),
        _named_with_decisions(session, draft),
        _read_ahead(draft),
    )
    draft = replace(anchored_draft, entities=named.entities)
    if embedder_for_models(session.embedder) is session.embedder:
        [reading] = readings_for(session.embedder, [draft.content], [embedding])
    else:  # the bundled model has to run, or to load, beside the one that embeds
        [reading] = await asyncio.to_thread(readings_for, session.embedder, [draft.content], [embedding])
    draft = _classified(session, request, draft, reading)
    around = await neighbours_of(
        session,
        draft.content,
        draft.content_hash,
        embedding.vector,
        draft.project,
        draft.happened_at,
        viewer=session.eyes_for(draft),
        owner=draft.owner,
    )
    return draft, embedding, replace(around, decisions=(*around.decisions, *decisions)), warnings


async def _named_with_decisions(session: Session, draft: Memory) -> tuple[Memory, list[Memory]]:
    """Return a draft with the names in it and, if it judges anything, the active decisions that name the same.

    They are looked for while the text is embedded, and without writing to the tables what waits in the log: a text in
    six judges something, and each of them would have had to wait for its own commit.
    """
    [named] = await with_names(session, [draft])
    if not named.entities or not judgements_in(draft.content):
        return named, []
    of_the_same = Scope(
        viewer=session.store.viewer,
        projects=session.names_of(draft.project),
        statuses=("active",),
        kinds=("decision",),
        entities=named.entities,
    )
    return named, await session.store.find_with_pending(of_the_same)


async def _read_ahead(draft: Memory) -> None:
    """Read a text on the loop, which has little to do while a thread embeds it; what is read is kept."""
    await asyncio.sleep(0)  # the thread begins first
    read_for_alignment(draft.content)
    read_for_guess(draft.content)


async def note_outcome(session: Session, told: Memory, decisions: Sequence[Memory], now: datetime) -> tuple[str, ...]:
    """Note with a decision what a new memory tells came of it, if nothing else can be meant; return what to say.

    It is looked for among the nearest and among those that name the same. Otherwise the next dream asks.
    """
    if not judgements_in(told.content):
        return ()
    known = {one.id: one for one in decisions if is_a_decision(one)}
    found = reported_outcomes(told, [one for one in known.values() if one.owner == told.owner])
    if len(found) != 1 or not found[0].is_certain:
        return ()
    async with session.store.changing():
        fresh = (await session.store.get([found[0].decision.id])).get(found[0].decision.id)
        change = None if fresh is None else outcome_change(fresh, told, found[0].result)
        if fresh is None or change is None:
            return ()
        await session.store.change(
            [fresh], change.values, action=change.action, actor="remember", at=now, reason=change.reason
        )
    return (f"noted as what came of the decision {fresh.id}: {found[0].result}; restore its event if that is wrong",)


async def supersede(
    session: Session, old: Memory, *, by: Memory, reason: str, now: datetime, ends_it: bool = False
) -> None:
    """Let one memory stand in for another, whose history is kept. Call it inside `changing()`.

    What a new memory replaces has ended, if it is a decision; what is only corrected has not.
    """
    values = {"status": "superseded", "superseded_by": by.id, "expired_at": now, "status_reason": reason}
    if ends_it and is_a_decision(old) and not restates(old.content, by.content):
        outcome = updated_outcome(old, outcome_on("superseded", now, reported_by=by.id))
        values |= {} if outcome is None else {"outcome": outcome}
    await session.store.change([old], values, action="superseded", actor="remember", at=now, reason=reason)


def drafted(session: Session, request: RememberRequest, now: datetime) -> Memory:
    """Check the arguments and lay the memory out, before anything is embedded or written.

    Raises:
        InvalidInput: if a moment cannot be read.
    """
    content = request.content
    project = session.project_for(request.project)
    session.refuse_other_projects(project)
    happened_at = (
        parse_moment(request.happened_at, "happened_at", now=now, forward=False) if request.happened_at else now
    )
    forget_after = (
        parse_moment(request.forget_after, "forget_after", now=now, forward=True) if request.forget_after else None
    )
    if forget_after is not None and forget_after <= now:
        raise InvalidInput(
            "forget_after", f"{iso(forget_after)} has passed", "Give a moment to come, or a span such as 30d."
        )
    return Memory(
        id=session.store.new_id.memory(),
        content=content,
        content_hash=content_hash(content),
        title=request.title or title_of(content),
        kind="fact" if request.kind == "auto" else request.kind,
        layer="working" if request.layer == "auto" else request.layer,
        tags=tuple(dict.fromkeys(request.tags)),
        project=project,
        branch=session.here.branch,
        session=session.store.session,
        visibility=request.visibility,
        author=session.author,
        source=request.source,
        trust=trust_of(request.source),
        confidence=request.confidence,
        importance=request.importance,
        valence=request.valence,
        stability=first_stability(request.importance),
        created_at=now,
        happened_at=happened_at,
        updated_at=now,
        tier=request.tier or None,
        forget_after=forget_after,
        pinned=request.pin,
        embedder=session.embedder.stamp,
    )


def _classified(session: Session, request: RememberRequest, draft: Memory, reading: Reading | None) -> Memory:
    """Return the draft with its kind and layer, guessed where the caller left them to us."""
    return classified(
        draft,
        reading,
        kind_given=request.kind != "auto",
        layer_given=request.layer != "auto",
        default_tier=session.settings.tier,
    )


def _checked_files(session: Session, files: Sequence[str]) -> list[str]:
    for given in files:
        inside = PurePosixPath(checked_text("files", given).replace("\\", "/").partition("::")[0])
        root = session.here.root
        if ".." in inside.parts or (inside.is_absolute() and (root is None or not inside.is_relative_to(root))):
            raise InvalidInput(
                "files", f"{given!r} is not a path inside the project", "Give it relative to the root."
            )
    return [given for given in files if given.strip()]


async def anchored(session: Session, draft: Memory, files: list[str]) -> tuple[Memory, list[str]]:
    """Anchor a memory to the code it names, as it is at this moment; say which of the files are not there."""
    found, checkout = await asyncio.to_thread(
        lambda: (
            session.evidence.anchor(draft.content, files, draft.project),
            session.evidence.checkout(),
        )
    )
    # Where nothing can be looked up, a file named on purpose is at least noted.
    noted = [_noted(given) for given in found.unresolved] if not _can_look(session, draft) else []
    warnings = [] if noted else [f"{given} is not in this project: not anchored" for given in found.unresolved]
    if found.absent and _can_look(session, draft):
        warnings += await asyncio.to_thread(missing_file_warnings, session.evidence, found.absent)
    branch = checkout.branch if _can_look(session, draft) else draft.branch
    return screened_evidence(replace(draft, anchors=(*found.anchors, *noted), branch=branch)), warnings


def _can_look(session: Session, draft: Memory) -> bool:
    return session.here.root is not None and draft.project == session.here.project


def _noted(given: str) -> Anchor:
    path, _, symbol = given.replace("\\", "/").partition("::")
    return Anchor(path=path, symbol=symbol or None, kind="symbol" if symbol else "file")


async def _repeated(
    session: Session, known: Memory, draft: Memory, conflicts: list[Conflict], told: str, now: datetime
) -> Remembered:
    """The text is there already: say so, keep what the call adds to it, store no second copy."""
    confirmed = await confirm(session, known, draft, now)
    added: dict[str, object] = {}
    if not set(draft.tags) <= set(known.tags):
        added["tags"] = tuple(dict.fromkeys((*known.tags, *draft.tags)))
    if draft.pinned and not known.pinned:
        added["pinned"] = True
    if draft.anchors and draft.anchors != known.anchors:
        added["anchors"] = draft.anchors  # seen again, as it is now
    if added:
        async with session.store.changing():
            known = (await session.store.get([known.id])).get(known.id, known)
            await session.store.change([known], added, action="repeated", actor="remember", at=now)
        session.maintenance.note_write()
    around = Neighbours(known.surprise, known, known, conflicts)
    return _remembered(known, around, confirmed=confirmed, warnings=[told])


async def confirm(session: Session, known: Memory, draft: Memory, now: datetime) -> bool:
    """Count a confirmation if the text comes from a voice that has not said it before; see lifecycle.voices."""
    voice = voice_of(draft)
    shown = session.served.has_shown(known.id)
    if voice is None or confirmed_values(known, voice, was_shown=shown) is None:  # the common case: needs no lock
        return False
    async with session.store.changing():
        fresh = (await session.store.get([known.id])).get(known.id)
        values = None if fresh is None else confirmed_values(fresh, voice, was_shown=shown)
        if fresh is None or values is None:
            return False
        reason = f"said by {voice.written}"
        await session.store.change([fresh], values, action="confirmed", actor="remember", at=now, reason=reason)
    return True


def _remembered(memory: Memory, around: Neighbours, *, confirmed: bool, warnings: list[str]) -> Remembered:
    return Remembered(
        id=memory.id,
        layer=memory.layer,
        kind=memory.kind,
        status=memory.status,
        importance=adjusted_importance(memory.importance, memory.surprise),
        surprise=memory.surprise,
        duplicate_of=next((one.id for one in (around.duplicate, around.restated) if one is not None), None),
        confirmed=confirmed,
        conflicts=around.conflicts,
        anchors=[encode(anchor) for anchor in memory.anchors],
        redactions=[],
        warnings=warnings if memory.owner is None else [*warnings, PERSONAL_NOTE],
        project=memory.project,
    )
