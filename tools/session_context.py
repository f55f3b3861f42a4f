"""What a hook puts into a session by itself: the briefing at its start, and what fits a prompt or an error."""

from reverie.tools.brief import brief
from reverie.tools.recall import fitting_unasked
from reverie.tools.requests import BriefRequest, ContextRequest
from reverie.tools.results import SessionContext
from reverie.tools.session import Session


async def session_context(session: Session, request: ContextRequest) -> SessionContext:
    """Return what fits a query and was not shown yet, or the briefing if there is no query.

    Raises:
        StoreError: if the store cannot be read.
    """
    shown_to = session.domain.shown_to
    if not request.query.strip():
        page = await brief(session, BriefRequest(max_tokens=request.max_tokens), attributed=True)
        shown_to.begin(request.client_session, page.memories)
        return SessionContext(page.text, page.memories) if page.memories else SessionContext("", [])
    shown = {*request.shown, *shown_to.ids(request.client_session)}
    text, rows = await fitting_unasked(session, request.query, request.max_tokens, shown)
    ids = [row.id for row in rows]
    shown_to.note(request.client_session, ids)
    return SessionContext(text, ids)
