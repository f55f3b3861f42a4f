"""What later memories tell of decisions: found by the words of both, set where nothing else can be meant, else asked.

Part of the beliefs step. It needs the decisions of a project and the memories that judge something (see
text.outcomes.judgements_in); each is read once, so a night that reads only what changed needs the changed memories
and every decision.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reverie.dream.plan import Change, ChangeSet, ProposedQuestion
from reverie.dream.snapshot import DERIVED_KINDS, Snapshot
from reverie.ids import creation_order
from reverie.lifecycle.outcomes import Outcome, combined_outcome, outcome_on, read_outcome, updated_outcome
from reverie.memory import RESULTS, Memory, OutcomeResult, Verdict
from reverie.text.outcomes import is_decision, judgements_in, reported_outcome
from reverie.time import iso

OUTCOME = "outcome"
"""The action of the event that notes what came of a decision, and the kind of the question that asks."""

MOST_OPEN = 5
"""Open questions of this kind in one project: a night adds no more than that, and waits for answers."""

_KINDS = ("decision", "fact", "event", "how_to", "preference")
_VERDICTS: tuple[Verdict, ...] = (*RESULTS, "separate")
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """A decision, what a later memory tells came of it, by which words, and whether that is certain."""

    decision: Memory
    result: OutcomeResult
    phrase: str
    is_certain: bool


def is_a_decision(memory: Memory) -> bool:
    """Whether a memory decides something: it is of that kind, or says so."""
    return memory.kind == "decision" or (memory.kind in _KINDS and is_decision(memory.content))


def reported_outcomes(report: Memory, decisions: Iterable[Memory]) -> list[DecisionOutcome]:
    """Return the decisions that a later memory tells the outcome of; only the certain ones if there are any."""
    found = [
        DecisionOutcome(decision, outcome.result, outcome.phrase, outcome.is_certain)
        for decision in decisions
        if _may_follow(report, decision)
        and (outcome := reported_outcome(decision.content, report.content)) is not None
    ]
    return [one for one in found if one.is_certain] or found


def outcome_change(decision: Memory, report: Memory, result: OutcomeResult) -> Change | None:
    """Return the change that notes an outcome with its decision; None if the decision has it already."""
    written = updated_outcome(decision, outcome_on(result, report.happened_at, reported_by=report.id))
    return (
        None if written is None else _change(decision, outcome_on(result, report.happened_at, reported_by=report.id))
    )


def _change(decision: Memory, outcome: Outcome) -> Change:
    reason = f"{outcome.result}, as {outcome.reported_by} tells"
    return Change(memory_id=decision.id, action=OUTCOME, reason=reason, values={"outcome": outcome.written})


def outcomes(snapshot: Snapshot) -> Iterator[ChangeSet]:
    """Yield the outcomes that memories tell of earlier decisions, and questions where it is not certain."""
    if snapshot.as_left:
        return
    decisions: dict[str, list[Memory]] = {}
    for memory in snapshot.memories:
        if memory.status == "active" and is_a_decision(memory):
            decisions.setdefault(memory.project, []).append(memory)
    still_open = snapshot.open_by_project(OUTCOME)
    certain: dict[str, list[tuple[Memory, DecisionOutcome]]] = {}
    for report in snapshot.memories:
        if not _may_tell(report, decisions) or not judgements_in(report.content):
            continue
        found = reported_outcomes(report, decisions[report.project])
        if len(found) == 1 and found[0].is_certain:
            certain.setdefault(found[0].decision.id, []).append((report, found[0]))
            continue
        unknown = [one for one in found if one.decision.outcome is None and one.decision.id not in certain]
        if unknown and still_open[report.project] < MOST_OPEN:
            question = _question(max(unknown, key=lambda one: one.decision.happened_at), report)
            if question.id not in snapshot.asked:
                still_open[report.project] += 1
                yield ChangeSet(summary="asked what came of a decision", questions=(question,))
    for accounts in certain.values():
        change = _settled_change(accounts)
        if change is not None:
            yield ChangeSet(summary="outcome of a decision noted", changes=(change,))


def _settled_change(accounts: Sequence[tuple[Memory, DecisionOutcome]]) -> Change | None:
    """Return the change that gives a decision the outcome of all accounts, also of one that no memory here tells."""
    decision = accounts[0][1].decision
    in_order = sorted(accounts, key=lambda one: (one[0].happened_at, one[0].created_at, creation_order(one[0].id)))
    report = [outcome_on(found.result, memory.happened_at, reported_by=memory.id) for memory, found in in_order]
    known = read_outcome(decision.outcome)
    if known is not None and known.reported_by not in {one.reported_by for one in report}:
        report = sorted(
            [*report, known], key=lambda one: one.day
        )  # stable: of one day, what somebody said of it is last
    outcome = combined_outcome(report)
    if outcome is None or outcome.written == decision.outcome:
        return None
    return _change(decision, outcome)


def _may_tell(report: Memory, decisions: dict[str, list[Memory]]) -> bool:
    return report.project in decisions and report.kind not in DERIVED_KINDS and report.layer != "codebase"


def _may_follow(report: Memory, decision: Memory) -> bool:
    return decision.id not in (report.id, *report.derived_from) and decision.happened_at <= report.happened_at


def _question(one: DecisionOutcome, report: Memory) -> ProposedQuestion:
    evidence: Sequence[str] = (
        f"compared by words: \u201c{one.phrase}\u201d may speak of this decision, which is not certain",
        f"{report.id} says since {iso(report.happened_at)[:10]}: {report.content[:_SHOWN]}",
    )
    return ProposedQuestion(
        kind="outcome",
        memory_ids=(one.decision.id, report.id),
        ask="Does the second memory tell what came of the first, a decision? Answer how it ended, or separate.",
        evidence=tuple(evidence),
        verdicts=_VERDICTS,
    )
