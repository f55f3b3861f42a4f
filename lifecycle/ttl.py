"""A memory's own deadline (003-ttl)."""

from datetime import datetime

from reverie.lifecycle.elapsed import aware
from reverie.lifecycle.lasting import LIVING
from reverie.lifecycle.verdict import LetGo
from reverie.memory import Memory
from reverie.moments import iso


def ttl_expired(memory: Memory, now: datetime) -> LetGo | None:
    """Decide whether a memory is past its `forget_after`.

    A deadline is someone's word, so only a pin stands above it: neither the layer nor core does.
    """
    if memory.forget_after is None or memory.pinned or memory.status not in LIVING:
        return None
    if aware(now) <= aware(memory.forget_after):
        return None
    return LetGo("ttl-expired", f"it was to be forgotten after {iso(memory.forget_after)}")
