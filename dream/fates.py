"""What the rules of age and merit say of each memory, asked once a night unless the memory has changed."""

from dataclasses import dataclass
from datetime import datetime

from reverie.lifecycle.fate import fate_of, move_of
from reverie.lifecycle.lasting import LASTING_LAYERS
from reverie.lifecycle.promotion import CORE_ACCESSES, becomes_core
from reverie.lifecycle.verdict import LetGo, Move
from reverie.memory import Memory
from reverie.settings import Settings


@dataclass(frozen=True, slots=True)
class Fate:
    """Whether a memory goes, moves or becomes core."""

    goes: LetGo | None = None
    moves: Move | None = None
    becomes_core: bool = False


_NOTHING = Fate()


class Fates:
    """Asks the rules and remembers the answers."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Memory, Fate]] = {}

    def of(self, memory: Memory, now: datetime, settings: Settings) -> Fate:
        """Return what the rules say of a memory at this moment."""
        known = self._known.get(memory.id)
        if known is not None and known[0] is memory:
            return known[1]
        fate = _NOTHING if _is_settled(memory) else _asked(memory, now, settings)
        self._known[memory.id] = memory, fate
        return fate


def _is_settled(memory: Memory) -> bool:
    """Say at a glance that no rule can touch a memory: what lasts, has no deadline and is no candidate for core."""
    return (
        memory.layer in LASTING_LAYERS
        and memory.forget_after is None
        and (memory.core or memory.access_count < CORE_ACCESSES)
    )


def _asked(memory: Memory, now: datetime, settings: Settings) -> Fate:
    goes = fate_of(memory, now, settings.retention, settings.tier)
    return Fate(goes) if goes else Fate(None, move_of(memory, now), becomes_core(memory))
