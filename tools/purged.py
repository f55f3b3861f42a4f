"""Keeping out what was purged."""

from reverie.errors import InvalidInput
from reverie.storage.tombstones import purged_among
from reverie.tools.workspace import Workspace


def refuse_purged(workspace: Workspace, content: str) -> None:
    """Let a text pass unless it was purged from this store.

    Raises:
        InvalidInput: if it was.
    """
    if purged_among(workspace.store.database, [content]):
        raise InvalidInput(
            "content",
            "this very text was purged and is kept out for good",
            "If it should be remembered after all, say it in other words.",
        )
