"""Dreaming by itself once a day (000-nightly)."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from reverie.moments import parse_iso
from reverie.tools.consolidate import consolidate
from reverie.tools.dreams import last_dream
from reverie.tools.results import Consolidated
from reverie.tools.workspace import Workspace

A_DAY = timedelta(hours=24)

Dream = Callable[..., Awaitable[Consolidated]]


async def dream_if_due(workspace: Workspace, dream: Dream = consolidate) -> Consolidated | None:
    """Dream if the last dream, or where there was none the store's beginning, is a day ago.

    Raises:
        StoreBusy: if another session is dreaming just now, or did so while this one was looking.
        StoreError: if the store cannot be read or written.
    """
    night = await last_dream(workspace)
    if night is not None:
        since = night.started_at
    else:
        since = parse_iso((await workspace.store.database.read_meta())["created_at"], "created_at")
    if workspace.now - since < A_DAY:
        return None
    return await dream(workspace, unless_since=since)
