"""Changing many memories from the page: each by the tool for one, with an outcome and a way back of its own."""

from collections.abc import Sequence

from reverie.errors import AmbiguousId, InvalidInput, MemoryNotFound, MoveRefused
from reverie.tools.catalog import DEMOTE, FORGET, PIN, PROMOTE, RESTORE, call
from reverie.tools.page_catalog import MOST_ON_A_PAGE, ChangedMany, ChangeManyRequest, ChangeOutcome
from reverie.tools.requests import ForgetRequest, MoveRequest, PinRequest, RestoreRequest
from reverie.tools.results import Skipped
from reverie.tools.session import Session


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
