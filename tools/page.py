"""What the page shows besides the answers of tools: lists by the page, searches with what they passed over, curves.

Looking is free: a search here does not count as a recall, so that a person who looks around strengthens nothing.
Many memories are changed one by one, each by the tool for one, with an outcome and a way back of its own.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime

from reverie.codebase.seen_text import SeenText, seen_text
from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound, MoveRefused
from reverie.guard.hidden_text import plain
from reverie.guard.injection_rules import SIGNS
from reverie.lifecycle.curves import retention_of
from reverie.lifecycle.outlook import ending_of, outlook_of
from reverie.lifecycle.vitals import last_touched, strength_of, strength_word
from reverie.memory import LAYERS, Memory, encode
from reverie.recall.features import freshness_of
from reverie.recall.results import RecalledMemory
from reverie.recall.score import LEAST_FIT, LONGEST_FOR_FIT
from reverie.storage.filters import Condition, equals, everything, has_text_of, one_of
from reverie.storage.paging import page_of
from reverie.storage.scope import RECALLED, Scope
from reverie.time import SECONDS_PER_DAY, iso, later, parse_moment
from reverie.tools import forecast as ahead
from reverie.tools.catalog import DEMOTE, FORGET, PIN, PROMOTE, RESTORE, call
from reverie.tools.dreams import describe_dream
from reverie.tools.dreams import dreams as all_dreams
from reverie.tools.page_catalog import (
    MOST_ON_A_PAGE,
    Browsed,
    BrowseRequest,
    ChangedMany,
    ChangeManyRequest,
    ChangeOutcome,
    CurveOf,
    CurveRequest,
    DecideRequest,
    EvidenceLine,
    EvidenceOf,
    EvidencePart,
    EvidenceRequest,
    ForecastRequest,
    ForecastResult,
    HeldDecided,
    HeldMemory,
    HeldRequest,
    Night,
    NightChange,
    NightRequest,
    Nights,
    NightsRequest,
    NothingRequest,
    PageRow,
    PassedOver,
    Quarantine,
    Searched,
    SearchRequest,
    SweepDone,
)
from reverie.tools.quarantine import decide, held_memories
from reverie.tools.recall import found_for
from reverie.tools.requests import ForgetRequest, MoveRequest, PinRequest, RecallRequest, RestoreRequest
from reverie.tools.resolve import memories_of, resolved, resolved_dream, sees_event
from reverie.tools.results import Skipped
from reverie.tools.session import Session
from reverie.tools.sweep import sweep as sweep_now

_BEGINNING = 400
_MOST_LET_GO = 200
_MOST_PASSED_OVER = 50
_TOKENS = 20_000
_MOST_ANCHORS = 20
_MOST_NAMED = 400
LOOKS_LIKE_AN_ID = re.compile(r"(?:[a-z][0-9a-z]{15,16}|code-[0-9a-z]{8,})")
_LONGEST_LINE = 400


# -- memories ----------------------------------------------------------------------------------------------


async def browse(session: Session, request: BrowseRequest) -> Browsed:
    """Return one page of the memories that fit every filter; with `as_of`, as they were then.

    Raises:
        InvalidInput: if a moment cannot be read.
    """
    now = session.now
    project = session.project_for(request.project)

    def moment(name: str, text: str) -> datetime | None:
        return parse_moment(text, name, now=now, forward=False) if text else None

    scope = await session.store.as_of_scope(
        Scope(
            viewer=session.store.viewer,
            projects=None if request.all_projects else session.visible_from(project),
            statuses=request.statuses or RECALLED,
            layers=tuple(layer for layer in LAYERS if layer in request.layers) or LAYERS,
            kinds=request.kinds or None,
            tags=request.tags or None,
            since=moment("since", request.since),
            before=moment("before", request.before),
            as_of=moment("as_of", request.as_of),
        )
    )
    await session.accesses.count_if_possible()  # strength comes from recalls
    page = await page_of(
        session.store,
        scope,
        _also(request),
        by=request.sort,
        offset=request.offset,
        limit=request.limit,
        gone=[memory for memory in scope.no_longer_stored if _is_wanted(memory, request)],
    )
    then = scope.as_of or later(now, request.ahead) or now
    return Browsed(
        memories=[_row(session, memory, then) for memory in page.memories],
        total=page.total,
        layers={str(layer): number for layer, number in page.layers.items()},
        project="" if request.all_projects else project,
    )


def _also(request: BrowseRequest) -> Condition:
    where = everything()
    if request.sources:
        where &= one_of("source", request.sources)
    if request.freshness:
        where &= has_text_of("anchors", [f'"freshness": "{word}"' for word in request.freshness])
    if request.pinned:
        where &= equals("pinned", True)
    return where


def _is_wanted(memory: Memory, request: BrowseRequest) -> bool:
    """Say of a memory without a row what `_also` says of rows."""
    return (
        (not request.sources or memory.source in request.sources)
        and (not request.freshness or any(anchor.freshness in request.freshness for anchor in memory.anchors))
        and (not request.pinned or memory.pinned)
    )


def _row(session: Session, memory: Memory, now: datetime) -> PageRow:
    seen, settings = session.as_read(memory), session.settings
    strength = strength_of(memory, now, settings.parameters)
    return PageRow(
        id=memory.id,
        title=memory.title,
        content=memory.content[:_BEGINNING],
        layer=memory.layer,
        kind=memory.kind,
        status=seen.status,
        source=memory.source,
        project=memory.project,
        tags=list(memory.tags),
        pinned=memory.pinned,
        strength=round(strength, 3),
        strength_word=strength_word(strength),
        retention=round(retention_of(memory, now, settings.retention, settings.tier, settings.parameters), 3),
        created_at=iso(memory.created_at),
    )


async def search(session: Session, request: SearchRequest) -> Searched:
    """Ask as recall does, then more widely: what only the second finds was passed over by the first.

    Raises:
        InvalidInput: if a moment cannot be read.
    """
    asked = RecallRequest(
        **{name: getattr(request, name) for name in request.__dataclass_fields__ if name not in ("why_not", "shown")},
        explain=True,
        max_tokens=_TOKENS,
    )
    if request.shown:  # a page that has the answers already
        found = None
        shown = set(request.shown)
    else:
        found = (await found_for(session, asked)).recalled
        shown = {row.id for row in found.results}
    wider = (await found_for(session, _more_widely(asked))).recalled if request.why_not else found
    missed = [row for row in (wider.results if wider else ()) if row.id not in shown][:_MOST_PASSED_OVER]
    memories = await session.store.get([row.id for row in missed])
    seen = set(session.visible_from(session.project_for(request.project)))
    full = len(shown) >= request.limit
    said = found or wider
    return Searched(
        results=found.results if found else [],
        passed_over=[
            PassedOver(
                id=row.id,
                title=row.title,
                content=row.content[:_BEGINNING],
                layer=row.layer,
                kind=row.kind,
                status=row.status,
                project=memories[row.id].project,
                pinned=row.pinned,
                score=round(row.score, 3),
                reason=_why_not(row, memories[row.id], None if request.all_projects else seen, full=full),
            )
            for row in missed
            if row.id in memories
        ],
        fits=said.fits if said else "",
        total_matches=said.total_matches if said else 0,
        filtered=said.filtered if said else {},
        index_state=said.index_state if said else session.index_state,
        project=session.project_for(request.project),
    )


def _more_widely(asked: RecallRequest) -> RecallRequest:
    return replace(
        asked,
        limit=min(100, asked.limit + _MOST_PASSED_OVER),
        all_projects=True,
        include=("expired", "superseded", "quarantined"),
        layers=asked.layers or LAYERS,  # a search that is narrowed shows what does not fit too
    )


def _why_not(row: RecalledMemory, memory: Memory, seen: set[str] | None, *, full: bool) -> str:
    if row.status not in RECALLED:
        return {"expired": "faded or forgotten", "superseded": "superseded", "quarantined": "in quarantine"}[
            row.status
        ]
    if seen is not None and memory.project not in seen:
        return "another project"
    if (row.why or {}).get("fit", 1.0) < LEAST_FIT and len(memory.content) <= LONGEST_FOR_FIT:
        return "does not fit"
    return "beyond the limit" if full else "too much from one source"


async def curve(session: Session, request: CurveRequest) -> CurveOf:
    """Compute the forgetting curve of one memory from its last use on, and where it would expire.

    Raises:
        MemoryNotFound: if there is no such memory.
    """
    await session.accesses.count_if_possible()
    memory = await resolved(session, request.id)
    now, mode, tier = session.now, session.settings.retention, session.settings.tier
    parameters = session.settings.parameters
    since = last_touched(memory)
    idle = max(0.0, (now - since).total_seconds() / SECONDS_PER_DAY)
    step = (idle + request.days) / (request.points - 1)
    days = [number * step - idle for number in range(request.points)]
    ending = ending_of(memory, now, mode, tier, parameters) if memory.status in RECALLED else None

    def from_now(moment: datetime) -> float:
        return round((moment - now).total_seconds() / SECONDS_PER_DAY, 4)

    return CurveOf(
        id=memory.id,
        curve=mode,
        days=[round(day, 4) for day in days],
        retention=[round(retention_of(memory, later(now, day) or now, mode, tier, parameters), 4) for day in days],
        now=round(retention_of(memory, now, mode, tier, parameters), 4),
        archived_below=parameters.archive_retention,
        recalls=[from_now(moment) for moment in memory.access_times],
        written=from_now(memory.created_at),
        ends=None if ending is None else max(0.0, from_now(ending.at)),
        ends_at=None if ending is None else iso(ending.at),
        rule=None if ending is None else ending.verdict.rule,
        outlook=outlook_of(memory, now, mode, tier, parameters).sentence,
    )


async def evidence(session: Session, request: EvidenceRequest) -> EvidenceOf:
    """Check the evidence of one memory, and compare the text it was seen in with the code now.

    Raises:
        MemoryNotFound: if there is no such memory.
    """
    memory = await resolved(session, request.id)
    state = (await freshness_of(session.evidence, [memory]))[memory.id]

    def compare() -> list[SeenText]:
        return [seen_text(session.evidence, memory.project, anchor) for anchor in state.anchors[:_MOST_ANCHORS]]

    return EvidenceOf(
        id=memory.id,
        freshness=state.freshness,
        anchors=[
            EvidencePart(
                path=one.anchor.path,
                symbol=one.anchor.symbol,
                kind=one.anchor.kind,
                span=list(one.anchor.span or ()),
                freshness=one.anchor.freshness,
                now_at=one.anchor.now_at,
                note=one.anchor.note,
                commit=one.anchor.commit,
                kept=one.kept,
                why=one.why,
                lines=[
                    EvidenceLine(kind=line.kind, before=line.before, after=line.after, text=line.text[:_LONGEST_LINE])
                    for line in one.lines
                ],
            )
            for one in await asyncio.to_thread(compare)
        ],
    )


async def forecast(session: Session, request: ForecastRequest) -> ForecastResult:
    """Say what would expire, move and stay; of what expires, the first few hundred by name.

    Raises:
        InvalidInput: if the days end outside the calendar.
    """
    found = await ahead.forecast(session, request.days, all_projects=request.all_projects, most=_MOST_LET_GO)
    return ForecastResult(
        at=found.at,
        days=found.days,
        curve=found.curve,
        expired=[asdict(one) for one in sorted(found.expired, key=lambda one: one.at)],
        total_expired=found.total_expired,
        moved=[asdict(one) for one in found.moved],
        total_moved=found.total_moved,
        kept=found.kept,
    )


async def sweep(session: Session, request: NothingRequest) -> SweepDone:
    """Expire, move and make core whatever is due now."""
    swept = await sweep_now(session)
    return SweepDone(expired=swept.expired, moved=swept.moved, made_core=swept.made_core, seen=swept.seen)


# -- dreams and the quarantine -----------------------------------------------------------------------------


async def dreams(session: Session, request: NightsRequest) -> Nights:
    """List the dreams, the latest first."""
    found = await all_dreams(session)
    return Nights(dreams=[asdict(one) for one in found[: request.limit]], total=len(found))


async def dream(session: Session, request: NightRequest) -> Night:
    """Describe a dream with the values that each change replaced.

    Raises:
        InvalidInput: if there is no such dream.
    """
    record = await resolved_dream(session, request.id, "id")
    described = await describe_dream(session, record.id)
    every = await session.store.journal.of_batch(record.id)
    about = await memories_of(session, every)
    events = [event for event in every if sees_event(session, event, about) is not False]
    memories = await session.store.get(list(dict.fromkeys(event.memory_id for event in events[: request.limit])))
    changes = []
    for event in events[: request.limit]:
        memory = memories.get(event.memory_id)
        changes.append(
            NightChange(
                event_id=event.id,
                action=event.action,
                id=event.memory_id,
                title=memory.title if memory else "",
                content=memory.content[:_BEGINNING] if memory else "",
                reason=event.reason or "",
                before={name: encode(value) for name, value in event.before.items()},
                after={name: encode(value) for name, value in event.after.items()},
                derived_from=list(memory.derived_from) if memory else [],
                superseded_by=memory.superseded_by if memory else None,
                is_gone=memory is None,
            )
        )
    return Night(
        id=record.id,
        at=described["at"],
        status=described["status"],
        steps=described["steps"],
        changes=changes,
        total_changes=len(events),
        questions=described["questions"],
        notes=described["notes"],
        named=await _beginnings(session, [one for change in changes for one in _ids_named_by(change)]),
    )


def _ids_named_by(change: NightChange) -> list[str]:
    """Return the ids of other memories that a change names, in a field or in its reason."""
    said = [word.strip(",.;:") for word in change.reason.split()]
    ids = [change.superseded_by, *change.derived_from, *(word for word in said if LOOKS_LIKE_AN_ID.fullmatch(word))]
    return [one for one in ids if one and one != change.id]


async def _beginnings(session: Session, ids: Sequence[str]) -> dict[str, str]:
    """Return how the memories with some ids begin, as far as this session sees them."""
    found = await session.store.get(list(dict.fromkeys(ids))[:_MOST_NAMED])
    return {one.id: one.content[:_BEGINNING] for one in found.values()}


async def quarantine(session: Session, request: HeldRequest) -> Quarantine:
    """Return what is held back, with the words that gave the reason."""
    return Quarantine(
        held=[
            HeldMemory(
                id=one.id,
                title=one.title,
                content=one.content,
                reason=one.reason,
                marks=_suspicious_words(one.content),
                source=one.source,
                project=one.project,
                created_at=one.created_at,
            )
            for one in await held_memories(session, limit=request.limit)
        ]
    )


def _suspicious_words(content: str) -> list[str]:
    """Return the parts of a text that a rule recognises, as they stand in its plain form."""
    places: dict[str, list[int]] = {}
    seen = plain(content)
    found = (match.group().strip() for sign in SIGNS for match in sign.found_in(seen, places))
    return list(dict.fromkeys(part for part in found if part))[:20]


async def decide_quarantine(session: Session, request: DecideRequest) -> HeldDecided:
    """Release some held memories and forget others.

    Raises:
        MemoryNotFound: if an id is unknown.
        InvalidInput: if none is held, or one is to be both.
    """
    done = await decide(session, release=request.release, discard=request.forget, actor="page")
    return HeldDecided(released=done.released, forgotten=done.forgotten, skipped=done.skipped)


async def change_many(session: Session, request: ChangeManyRequest) -> ChangedMany:
    """Do one thing to each of some memories by the tool for one; what fails is an outcome, and the others go on.

    Raises:
        InvalidInput: if there are none, or too many at once.
    """
    ids = tuple(dict.fromkeys(request.ids))
    if not 0 < len(ids) <= MOST_ON_A_PAGE:
        raise InvalidInput("ids", f"{len(ids)} were given", f"Give between 1 and {MOST_ON_A_PAGE}.")
    outcomes = []
    for one in ids:
        try:
            outcomes.append(await _changed(session, request, one))
        except (InvalidInput, MemoryNotFound, AmbiguousId, MoveRefused) as error:
            outcomes.append(ChangeOutcome(id=one, done=False, said=str(error), event_id=None))
    return ChangedMany(outcomes=outcomes, changed=sum(outcome.done for outcome in outcomes))


async def _changed(session: Session, request: ChangeManyRequest, given: str) -> ChangeOutcome:
    before = [] if request.action == "undo" else await session.store.journal.about(given)
    said, done = await _said_by_tool(session, request, given)
    after = [] if request.action == "undo" else await session.store.journal.about(given)
    new = after[len(before) :]
    return ChangeOutcome(
        id=given,
        done=done and (bool(new) or request.action == "undo"),
        said=said,
        event_id=new[-1].id if new else None,
    )


async def _said_by_tool(session: Session, request: ChangeManyRequest, given: str) -> tuple[str, bool]:
    """Run the tool for one memory; return what it did, and whether it did."""
    match request.action:
        case "promote" | "demote":
            tool = PROMOTE if request.action == "promote" else DEMOTE
            moved = await call(tool, session, MoveRequest(id=given))
            return f"{moved.from_layer} → {moved.to_layer}", True
        case "pin" | "unpin":
            await call(PIN, session, PinRequest(id=given, pinned=request.action == "pin"))
            return f"{request.action}ned", True
        case "forget":
            forgotten = await call(FORGET, session, ForgetRequest(ids=(given,), reason=request.reason))
            return ("forgotten", True) if forgotten.forgotten else (_reason(forgotten.skipped), False)
        case "restore" | "undo":
            asked = RestoreRequest(ids=(given,)) if request.action == "restore" else RestoreRequest(event_id=given)
            restored = await call(RESTORE, session, asked)
            return ("restored", True) if restored.restored else (_reason(restored.skipped), False)


def _reason(skipped: Sequence[Skipped]) -> str:
    return skipped[0].reason if skipped else "there was nothing to do"
