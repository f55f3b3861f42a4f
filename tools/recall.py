"""Finding memories that answer a question."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, get_args

from reverie.codebase.evidence import EvidenceState
from reverie.embeddings.base import QueryEmbedding
from reverie.embeddings.tokens import count_tokens
from reverie.errors import EmbedderError
from reverie.guard.fence import harmless_line
from reverie.lifecycle.rules import as_read
from reverie.memory import KINDS, LAYERS, Status
from reverie.recall.calibration import best_fit, calibrated, fits, fitted, is_irrelevant
from reverie.recall.freshness import demotion, freshness_of
from reverie.recall.render import AnswerPage
from reverie.recall.rerank import reranked
from reverie.recall.results import IndexState, Recalled, RecalledMemory, as_sent, lean
from reverie.recall.score import (
    ScoredMemory,
    best_of,
    contenders,
    in_order,
    parts_of,
    piece_weights,
    ranked,
    with_pieces,
)
from reverie.storage.features import Candidate, Candidates, Query
from reverie.storage.rows import CandidateRow
from reverie.storage.scope import RECALLED, Scope
from reverie.time import iso, parse_moment
from reverie.tools.project_identity import look_alike
from reverie.tools.requests import HiddenStatus, RecallRequest
from reverie.tools.session import Session

CANDIDATES = 60
LOOKED_AT_CLOSELY = 50
"""Of the candidates, the best so many are compared with the question piece by piece."""

SECONDS_FOR_THE_MODEL = 2.0
"""The first question of a session waits so long for the model; then it is answered by words, and says so."""

_MOST_FOR_THE_SEARCH = 0.3  # of a budget: what tells of the search instead of what was found
_CHECKED_PER_ROW = 3  # those beyond the limit may rise when others sink or are too many of one source
_INCLUDABLE: tuple[Status, ...] = get_args(HiddenStatus)


@dataclass(frozen=True, slots=True)
class Found:
    """What fits a question, best first, before it is cut to the caller's limits."""

    ranked: list[ScoredMemory]
    matches: int
    filtered: dict[str, int]
    index_state: IndexState

    @property
    def most(self) -> float:
        """The highest score, before evidence and copies are weighed."""
        return max((one.score for one in self.ranked), default=0.0)


async def recall(session: Session, request: RecallRequest) -> Recalled:
    """Answer a query with memories, as rows and as a text that keeps to `max_tokens`.

    Raises:
        InvalidInput: if a moment cannot be read.
        StoreError: if the store cannot be read.
    """
    query, limit, budget = request.query, request.limit, request.max_tokens
    now = session.now
    scope = await session.store.as_of_scope(_scope(session, request, now))
    found = await _find(session, query, scope, now, wanted=limit if request.min_strength == 0 else None)
    strong = [candidate for candidate in found.ranked if candidate.strength >= request.min_strength]
    kept = [candidate for candidate in strong if _is_wanted(candidate, request, found.index_state)]
    checked, evidence = await _by_freshness(session, kept, limit)
    chosen = reranked(checked, query, limit)
    rows = calibrated(chosen.rows, best_fit(chosen.rows), found.most)
    weak, unfit = len(found.ranked) - len(strong), len(strong) - len(kept)
    left_out = found.filtered | {
        "strength": weak,
        "does not fit": unfit,
        "source": chosen.capped,
        "limit": max(0, found.matches - weak - unfit - chosen.capped - len(rows)),
    }

    fit = fits(rows)
    described = _described(scope, request) | _alike(session, request)

    def answer(shown: Sequence[RecalledMemory], text: str, *, brief: bool) -> Recalled:
        filtered = {} if brief else left_out | {"budget": len(rows) - len(shown)}
        return Recalled(
            results=list(shown),
            fits=fit if shown else "none",
            total_matches=found.matches,
            filtered={reason: count for reason, count in filtered.items() if count},
            tokens=count_tokens(text),
            index_state=found.index_state,
            scope={} if brief else described,
        )

    brief = _size(answer([], "", brief=False)) > _MOST_FOR_THE_SEARCH * budget  # the rows need the room
    page = AnswerPage(
        budget, fit, found.index_state, request.explain, lambda shown, text: _size(answer(shown, text, brief=brief))
    )
    shown, text = page.served(rows, evidence, now)
    shown_ids = {row.id for row in shown}
    session.accesses.note((row.memory for row in chosen.rows if row.memory.id in shown_ids), now)
    session.served.note([*((row.id, row.content) for row in shown), *((row.id, text) for row in shown[:1])])
    text += _told_alike(session, budget - count_tokens(text), found_nothing=not shown)
    return replace(answer(shown, text, brief=brief), text=text)


def _size(answer: Recalled) -> int:
    return count_tokens(as_sent(lean(answer)))


def _is_wanted(candidate: ScoredMemory, request: RecallRequest, index_state: IndexState) -> bool:
    """Whether a row may be shown: it may answer the question, or the caller names what to look through.

    Found by words alone, a row shares a telling one.
    """
    narrowed = request.layers or request.kinds or request.tags or request.since or request.before
    return bool(narrowed) or index_state != "ready" or not is_irrelevant(candidate)


async def _find(session: Session, query: str, scope: Scope, now: datetime, *, wanted: int | None) -> Found:
    """Search by words and, once the model is loaded, by meaning, then look closely at the best.

    With `wanted`, only what can still be among the best so many is taken apart.
    """
    reading = await _read(session, query)
    question = Query(query) if reading is None else Query(query, reading.vector, reading.words)
    found_candidates = await session.store.search.find(question, scope, max(CANDIDATES, wanted or 0))
    least = _least_cosine(session.settings.max_distance)
    near = [c for c in found_candidates.candidates if c.text > 0.0 or (c.cosine is not None and c.cosine >= least)]
    understood = 1.0 if reading is None else reading.understood
    parts = parts_of(near, found_candidates.most_text, understood)
    best = set(parts if wanted is None else best_of(parts, max(LOOKED_AT_CLOSELY, wanted)))
    close = [candidate for candidate in near if candidate.id in best]
    candidate_rows = await session.store.candidate_rows(close, scope)
    agreements = {} if reading is None else _agreements(reading, found_candidates, close, candidate_rows.pieces())
    if reading is not None:
        parts = with_pieces(parts, agreements, best, understood)
    parts = {memory_id: parts[memory_id] for memory_id in best}
    chosen = candidate_rows.of(best if wanted is None else contenders(parts, wanted))
    as_asked = [replace(candidate_row, memory=scope.as_asked(candidate_row.memory)) for candidate_row in chosen]
    in_time = _in_time(session, as_asked, scope, scope.as_of or now)
    overdue = len(as_asked) - len(in_time)
    passed_over = found_candidates.passed_over
    found = fitted(
        ranked(in_time, parts, query, now),
        query,
        embedder=session.embedder.stamp,
        reading=reading,
        candidates={candidate.id: candidate for candidate in close},
        agreements=agreements,
        rarity=found_candidates.term_rarity,
    )
    return Found(
        found,
        len(near) - overdue,
        {
            **passed_over,
            "distance": len(found_candidates.candidates) - len(near),
            "status": passed_over.get("status", 0) + overdue,
        },
        "ready" if reading is not None else session.index_state if not session.embedder.ready else "lexical_only",
    )


def _in_time(
    session: Session, candidate_rows: Sequence[CandidateRow], scope: Scope, moment: datetime
) -> list[CandidateRow]:
    """Return what is in scope once deadlines and tiers are heeded, which a sweep may not have come by to do."""
    read = [replace(one, memory=as_read(one.memory, moment, session.settings.tier)) for one in candidate_rows]
    return [one for one in read if one.memory.status in scope.statuses]


async def _by_freshness(
    session: Session, candidates: list[ScoredMemory], limit: int
) -> tuple[list[ScoredMemory], dict[str, EvidenceState]]:
    """Check the evidence of those that may be shown, and let what no longer holds sink among them."""
    near = candidates[: _CHECKED_PER_ROW * limit]
    found = await freshness_of(session.evidence, (candidate.memory for candidate in near))
    factors = {candidate.memory.id: demotion(found[candidate.memory.id].freshness) for candidate in near}
    demoted = [replace(c, score=c.score * factors[c.memory.id], freshness=factors[c.memory.id]) for c in near]
    return in_order(demoted), found


async def _read(session: Session, query: str) -> QueryEmbedding | None:
    """Turn the question into vectors; none if there is no model to ask, or it takes too long to load."""
    if not await session.warmed(within=SECONDS_FOR_THE_MODEL):
        return None
    try:
        return await asyncio.to_thread(session.embedder.read, query)
    except EmbedderError as error:
        session.embedder_fault = str(error)
        return None


def _agreements(
    reading: QueryEmbedding, found_candidates: Candidates, close: Sequence[Candidate], texts: Mapping[str, bytes]
) -> dict[str, float]:
    """Compare candidates with the question piece by piece."""
    from reverie.embeddings.token_vectors import agreements

    if reading.pieces is None:
        return {}
    weights = piece_weights(reading.words, reading.rarity, found_candidates.rarity)
    return agreements(reading.pieces, weights, texts, {candidate.id: candidate.beside for candidate in close})


def _scope(session: Session, request: RecallRequest, now: datetime) -> Scope:
    project = session.project_for(request.project)
    return Scope(
        projects=None if request.all_projects else session.visible_from(project),
        statuses=(*RECALLED, *(status for status in _INCLUDABLE if status in request.include)),
        layers=tuple(layer for layer in LAYERS if layer in request.layers) or LAYERS,
        kinds=tuple(kind for kind in KINDS if kind in request.kinds) or None,
        tags=tuple(dict.fromkeys(request.tags)) or None,
        since=_moment("since", request.since, now),
        before=_moment("before", request.before, now),
        as_of=_moment("as_of", request.as_of, now),
    )


def _alike(session: Session, request: RecallRequest) -> dict[str, Any]:
    """Name the projects with memories that look like the session's; a call that names its project means that one."""
    if request.project or request.all_projects or not session.recognised.alike:
        return {}
    return {"same_project_elsewhere": {one.name: one.memories for one in session.recognised.alike}}


def _told_alike(session: Session, room: int, *, found_nothing: bool) -> str:
    """Tell of look-alikes once in a session, and whenever nothing was found, if there is room."""
    if not session.recognised.alike or (session.has_told_alike and not found_nothing):
        return ""
    told = "".join(f"\nNote: {harmless_line(look_alike(one))}." for one in session.recognised.alike[:3])
    if count_tokens(told) > room:
        return ""
    session.has_told_alike = True
    return told


def _moment(argument: str, text: str, now: datetime) -> datetime | None:
    return parse_moment(text, argument, now=now, forward=False) if text else None


def _least_cosine(distance: float) -> float:
    """L2 between unit vectors is √(2 − 2·cosine)."""
    return 1.0 - distance**2 / 2.0


def _described(scope: Scope, request: RecallRequest) -> dict[str, Any]:
    described: dict[str, Any] = {
        "projects": "all" if scope.projects is None else list(scope.projects),
        "statuses": list(scope.statuses),
    }
    narrowed = {"layers": request.layers, "kinds": request.kinds, "tags": request.tags}
    times = {"since": scope.since, "before": scope.before, "as_of": scope.as_of}
    if scope.past is not None and scope.as_of is not None and scope.past.known_from is not None:
        times["as_of_known_from"] = scope.past.known_from if scope.as_of < scope.past.known_from else None
    return (
        described
        | {name: list(values) for name, values in narrowed.items() if values}
        | {name: iso(moment) for name, moment in times.items() if moment is not None}
    )
