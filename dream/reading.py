"""What the steps read out of a text, read once a night."""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from reverie.lifecycle.conflicts import Conflict
from reverie.lifecycle.quantities import Amount
from reverie.lifecycle.tokens import Token, tokens_of
from reverie.memory import Memory

_ORDINARY = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december i i'm i'll i've ok todo fixme note yes no and or but if when while the a an "
    "we you he she they it this that there here what how why who hi hey thanks oh wow api url json http https id"
)
_NO_ENTITY: Final = frozenset(_ORDINARY.split())
_FACTS: Final = ("number", "version", "path", "name", "negation")
_SHORTEST_ENTITY = 3
_LONGEST_ENTITY = 60
_IS_FLAG = re.compile(r"-")


@dataclass(frozen=True, slots=True)
class Read:
    """A text's tokens, a fingerprint of its facts, its words, and the people, services and tools it names."""

    forms: tuple[str, ...]
    facts: int
    words: frozenset[str]
    entities: tuple[str, ...]


class Reading:
    """Reads each text once, however many steps ask."""

    def __init__(self) -> None:
        self._read: dict[str, Read] = {}
        self._amounts: dict[str, tuple[Amount, ...]] = {}
        self.clashes: dict[tuple[str, str], tuple[str, ...]] = {}
        """What was found between two memories; see clash.py."""
        self.conflicts: dict[tuple[str, str], Conflict | None] = {}

    def amounts(self, memory: Memory, read: Callable[[str], tuple[Amount, ...]]) -> tuple[Amount, ...]:
        """Return the amounts that a memory's text states."""
        known = self._amounts.get(memory.id)
        if known is None:
            known = self._amounts[memory.id] = read(memory.content)
        return known

    def of(self, memory: Memory) -> Read:
        """Return what a memory's text says."""
        known = self._read.get(memory.id)
        if known is None:
            known = self._read[memory.id] = _read(memory)
        return known


def _read(memory: Memory) -> Read:
    tokens = tokens_of(memory.content)
    return Read(
        tuple(sys.intern(token.form) for token in tokens),
        hash(tuple(sorted(token.form for token in tokens if token.kind in _FACTS and token.shown != "One"))),
        frozenset(sys.intern(token.form) for token in tokens if token.kind == "word"),
        tuple(dict.fromkeys(sys.intern(name) for name in _entities(memory, tokens))),
    )


def _entities(memory: Memory, tokens: Iterable[Token]) -> Iterable[str]:
    """Yield what was noted with the memory, then the names and paths that its text spells."""
    yield from (entity.casefold() for entity in memory.entities)
    for token in tokens:
        if token.kind not in ("name", "path") or _IS_FLAG.match(token.shown):
            continue
        form = token.form.casefold()
        if _SHORTEST_ENTITY <= len(form) <= _LONGEST_ENTITY and form not in _NO_ENTITY and not form[0].isdigit():
            yield form
