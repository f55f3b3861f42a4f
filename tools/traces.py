"""What may still say what was purged, so that whoever purges a secret can purge that as well."""

from collections.abc import Iterable, Sequence

from reverie.memory import Memory
from reverie.storage.filters import has_any, one_of
from reverie.storage.store import MemoryStore
from reverie.tools.results import Skipped

_TOO = "purge it too if need be"
_MOST_GENERATIONS = 20


async def traces_of(store: MemoryStore, gone: Sequence[Memory]) -> list[Skipped]:
    """Name the copies, earlier versions, successors and everything made from memories that were purged."""
    ids = {memory.id for memory in gone}
    earlier = {parent for memory in gone for parent in memory.derived_from}
    earlier |= _ids(await store.find(one_of("superseded_by", sorted(ids))))
    reasons = {
        "made from what was purged": await _made_from(store, ids),
        "an earlier version": earlier,
        "took its place, and may say the same": {memory.superseded_by for memory in gone if memory.superseded_by},
        "a copy, word for word": _ids(
            await store.find(one_of("content_hash", sorted({memory.content_hash for memory in gone})))
        ),
    }
    told: dict[str, str] = {}
    for reason, found in reasons.items():
        for memory_id in await store.get(sorted(found - ids)):
            told.setdefault(memory_id, f"{reason}; {_TOO}")
    return [Skipped(memory_id, reason) for memory_id, reason in told.items()]


async def _made_from(store: MemoryStore, ids: Iterable[str]) -> set[str]:
    """Return what was merged or revised from these, and from that in turn."""
    made: set[str] = set()
    parents = set(ids)
    for _ in range(_MOST_GENERATIONS):
        parents = _ids(await store.find(has_any("derived_from", sorted(parents)))) - made if parents else set()
        made |= parents
    return made


def _ids(memories: Iterable[Memory]) -> set[str]:
    return {memory.id for memory in memories}
