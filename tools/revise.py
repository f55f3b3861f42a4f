"""Correcting a memory: a new one stands in for it, and the old one stays on record."""

import asyncio
from dataclasses import replace

from reverie.errors import InvalidInput
from reverie.identity import content_hash
from reverie.storage.rows import Embedded
from reverie.tools.arguments import checked_content, checked_label
from reverie.tools.freshness import freshness_of
from reverie.tools.purged import refuse_purged
from reverie.tools.remember import anchored, supersede, title_of
from reverie.tools.resolving import resolved
from reverie.tools.results import Revised
from reverie.tools.screening import Screening, addressing, cleaned
from reverie.tools.workspace import Workspace


async def revise(workspace: Workspace, memory_id: str, content: str, reason: str) -> Revised:
    """Write the corrected text as a new memory with the old one's vitals, and supersede the old.

    Raises:
        MemoryNotFound: if there is no such memory.
        InvalidInput: if the text is empty, unchanged, or the memory was replaced before.
    """
    content, found = cleaned(checked_content(content))
    content = checked_content(content)
    reason, in_reason = cleaned(checked_label("reason", reason) or "revised")
    # Whoever wrote the old text, the new one comes from whoever calls this: an assistant.
    orders = await asyncio.to_thread(addressing, content, "", (), workspace.embedder)
    screening = Screening((*found, *in_reason), orders)
    held_back = screening.held_back("ai")
    refuse_purged(workspace, content)
    now = workspace.now
    old = await resolved(workspace, memory_id)
    [embedding], seen, (drafted, _) = await asyncio.gather(
        workspace.embed([content]),
        freshness_of(workspace, [old]),
        anchored(workspace, replace(old, content=content), []),
    )
    # What still stands goes on to hold for the corrected text; what is gone was the reason to correct it.
    standing = [anchor for anchor in seen[old.id].anchors if anchor.freshness not in ("missing", "moved")]
    anchors = tuple({(a.path, a.symbol, a.kind): a for a in (*standing, *drafted.anchors)}.values())
    async with workspace.store.changing():
        old = await resolved(workspace, memory_id)
        if old.status == "superseded":
            raise InvalidInput("id", f"{old.id} was already replaced by {old.superseded_by}", "Revise that one.")
        if old.content == content:
            raise InvalidInput("content", "the text is the same as before", "Say what is different now.")
        new = replace(
            old,
            id=workspace.store.new_id(),
            content=content,
            content_hash=content_hash(content),
            title=title_of(content),
            derived_from=(old.id,),
            session=workspace.store.session,
            branch=drafted.branch,
            anchors=anchors,
            created_at=now,
            happened_at=now,
            updated_at=now,
            status="quarantined" if held_back else "active",
            status_reason=held_back,
            expired_at=None,
            embedder=workspace.embedder.stamp,
        )
        await workspace.store.add(
            [Embedded(new, embedding.vector, embedding.passages, embedding.pieces)],
            actor="revise",
            at=now,
            reason=reason,
        )
        replaces = held_back is None or old.status == "quarantined"
        if replaces:  # what is held back must not silence what is known
            await supersede(workspace, old, by=new, reason=reason, now=now)
    workspace.upkeep.note_write()
    return Revised(
        new.id,
        old.id if replaces else None,
        new.layer,
        new.kind,
        new.status,
        list(screening.redactions),
        screening.warnings("ai"),
    )
