"""What later memories tell of decisions: found by the words of both, set where nothing else can be meant, else asked.

Part of the beliefs step. It needs the decisions of a project and the memories that judge something (see
text.outcomes.judgements_in); each is read once, so a night that reads only what changed needs the changed memories
and every decision.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reverie.dream.plan import Change, ChangeSet, ProposedQuestion, Verdict
from reverie.dream.snapshot import DERIVED_KINDS, Snapshot
from reverie.lifecycle.outcomes import followed_by, outcome_on, read_outcome
from reverie.memory import RESULTS, Memory, OutcomeResult
from reverie.text.outcomes import is_decision, judgements_in, told_outcome
from reverie.time import iso

OUTCOME = "outcome"
"""The action of the event that notes what came of a decision, and the kind of the question that asks."""

MOST_OPEN = 5
"""Open questions of this kind in one project: a night adds no more than that, and waits for answers."""

_KINDS = ("decision", "fact", "event", "how_to")
_VERDICTS: tuple[Verdict, ...] = (*RESULTS, "separate")
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Told:
    """A decision, what a later memory tells came of it, by which words, and whether that is certain."""

    decision: Memory
    result: OutcomeResult
    phrase: str
    is_certain: bool


def is_a_decision(memory: Memory) -> bool:
    """Whether a memory decides something: it is of that kind, or says so."""
    return memory.kind == "decision" or (memory.kind in _KINDS and is_decision(memory.content))


def outcomes_told(told: Memory, decisions: Iterable[Memory]) -> list[Told]:
    """Return the decisions that a later memory tells the outcome of; only the certain ones if there are any."""
    found = [
        Told(decision, outcome.result, outcome.phrase, outcome.is_certain)
        for decision in decisions
        if _may_follow(told, decision) and (outcome := told_outcome(decision.content, told.content)) is not None
    ]
    return [one for one in found if one.is_certain] or found


def outcome_change(decision: Memory, told: Memory, result: OutcomeResult) -> Change | None:
    """Return the change that notes an outcome with its decision; None if the decision has it already."""
    written = followed_by(decision, outcome_on(result, told.happened_at, told_by=told.id))
    if written is None:
        return None
    return Change(
        memory_id=decision.id, action=OUTCOME, reason=f"{result}, as {told.id} tells", values={"outcome": written}
    )


def outcomes(snapshot: Snapshot) -> Iterator[ChangeSet]:
    """Yield the outcomes that memories tell of earlier decisions, and questions where it is not certain."""
    if snapshot.as_left:
        return
    decisions: dict[str, list[Memory]] = {}
    for memory in snapshot.memories:
        if memory.status == "active" and is_a_decision(memory):
            decisions.setdefault(memory.project, []).append(memory)
    still_open = snapshot.open_by_project(OUTCOME)
    for told in snapshot.memories:
        if not _may_tell(told, decisions) or not judgements_in(told.content):
            continue
        found = [one for one in outcomes_told(told, decisions[told.project]) if _is_news(one, told)]
        if len(found) == 1 and found[0].is_certain:
            change = outcome_change(found[0].decision, told, found[0].result)
            if change is not None:
                yield ChangeSet(summary="outcome of a decision noted", changes=(change,))
        elif found and still_open[told.project] < MOST_OPEN:
            question = _question(max(found, key=lambda one: one.decision.happened_at), told)
            if question.id not in snapshot.asked:
                still_open[told.project] += 1
                yield ChangeSet(summary="asked what came of a decision", questions=(question,))


def _may_tell(told: Memory, decisions: dict[str, list[Memory]]) -> bool:
    return told.project in decisions and told.kind not in DERIVED_KINDS and told.layer != "codebase"


def _may_follow(told: Memory, decision: Memory) -> bool:
    return decision.id not in (told.id, *told.derived_from) and decision.happened_at <= told.happened_at


def _is_news(one: Told, told: Memory) -> bool:
    """Whether the decision does not have this outcome, or a later one."""
    known = read_outcome(one.decision.outcome)
    return known is None or followed_by(one.decision, outcome_on(one.result, told.happened_at)) is not None


def _question(one: Told, told: Memory) -> ProposedQuestion:
    evidence: Sequence[str] = (
        f"compared by words: \u201c{one.phrase}\u201d may speak of this decision, which is not certain",
        f"{told.id} says since {iso(told.happened_at)[:10]}: {told.content[:_SHOWN]}",
    )
    return ProposedQuestion(
        kind="outcome",
        memory_ids=(one.decision.id, told.id),
        ask="Does the second memory tell what came of the first, a decision? Answer how it ended, or separate.",
        evidence=tuple(evidence),
        verdicts=_VERDICTS,
    )
