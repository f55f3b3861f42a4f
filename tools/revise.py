"""Correcting a memory: a new one stands in for it, and the old one stays on record."""

from dataclasses import replace

from reverie.errors import InvalidInput
from reverie.identity import content_hash
from reverie.storage.rows import Embedded
from reverie.tools.arguments import checked_content, checked_label
from reverie.tools.remember import supersede, title_of
from reverie.tools.results import Revised
from reverie.tools.workspace import Workspace


async def revise(workspace: Workspace, memory_id: str, content: str, reason: str) -> Revised:
    """Write the corrected text as a new memory with the old one's vitals, and supersede the old.

    Raises:
        MemoryNotFound: if there is no such memory.
        InvalidInput: if the text is empty, unchanged, or the memory was replaced before.
    """
    content = checked_content(content)
    reason = checked_label("reason", reason) or "revised"
    now = workspace.now
    [embedding] = await workspace.embed([content])
    async with workspace.store.changing():
        old = await workspace.store.resolve(memory_id)
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
            branch=workspace.here.branch,
            created_at=now,
            happened_at=now,
            updated_at=now,
            status="active",
            status_reason=None,
            expired_at=None,
            embedder=workspace.embedder.stamp,
        )
        await workspace.store.add(
            [Embedded(new, embedding.vector, embedding.passages, embedding.pieces)],
            actor="revise",
            at=now,
            reason=reason,
        )
        await supersede(workspace, old, by=new, reason=reason, now=now)
    workspace.upkeep.note_write()
    return Revised(new.id, old.id, new.layer, new.kind)
