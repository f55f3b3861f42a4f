"""Settling conflicts in the open: what must not be touched, and who was first."""

from reverie.dream.plan import Deed, Proposal, Refusal, StepName, StepPlan
from reverie.dream.refusals import is_refused
from reverie.dream.snapshot import Snapshot


def settled(name: StepName, proposal: Proposal, snapshot: Snapshot) -> StepPlan:
    """Keep the deeds that touch only what is there and not pinned; say of each other one why it was set aside.

    The snapshot is the store as the steps before leave it, so what they retired is not there any more. Within one
    step the first deed that retires a memory wins. What somebody undid on the same ground is only counted.
    """
    wanted = [deed for deed in proposal.deeds if not is_refused(deed, snapshot.refused, snapshot.by_id)]
    undone = len(proposal.deeds) - len(wanted)
    notes = (*proposal.notes, f"not done again, because it was undone: {undone}") if undone else proposal.notes
    kept: list[Deed] = []
    refused: list[Refusal] = []
    retired: set[str] = set()
    for deed in wanted:
        refusal = _objection(deed, snapshot, retired)
        if refusal is not None:
            refused.append(refusal)
            continue
        kept.append(deed)
        retired |= {c.memory_id for c in deed.changes if c.values.get("status") in ("expired", "superseded")}
    return StepPlan(name, len(wanted), tuple(kept), tuple(refused), notes)


def _objection(deed: Deed, snapshot: Snapshot, retired: set[str]) -> Refusal | None:
    for change in deed.changes:
        memory = snapshot.by_id.get(change.memory_id)
        if memory is None or change.memory_id in retired:
            return Refusal(change.memory_id, "already retired in this dream")
        if memory.pinned:
            return Refusal(change.memory_id, "pinned")
    for new in deed.news:
        gone = [parent for parent in new.memory.derived_from if parent in retired]
        if gone:
            return Refusal(gone[0], "already retired in this dream")
    return None
