"""What a step proposes. A deed is done whole or not at all; a question leaves everything as it is."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from reverie.identity import memory_id
from reverie.memory import Memory

StepName = Literal[
    "sweep",
    "forget",
    "dedupe",
    "cluster",
    "digest",
    "peer_cards",
    "synthesis",
    "beliefs",
    "drift",
    "prune",
]
QuestionKind = Literal["merge", "bridge", "belief", "drift"]
Verdict = Literal["merge", "separate", "bridge", "no_bridge", "outdated", "holds", "revise", "forget"]

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """New values for some fields of a memory; a new `layer` moves it."""

    memory_id: str
    action: str
    reason: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A memory to be written."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that rules alone must not decide, with what is needed to decide it.

    `settled` holds the verdict when a language model gave one: kept so that it is not asked again.
    """

    kind: QuestionKind
    memory_ids: tuple[str, ...]
    ask: str
    evidence: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    about: tuple[str, ...] = ()
    settled: Verdict | None = None

    @property
    def id(self) -> str:
        """The same question has the same id, whichever night asks it."""
        return question_id(self.kind, self.memory_ids, self.about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Changes that belong together: all of them are applied, or none."""

    summary: str
    news: tuple[New, ...] = ()
    changes: tuple[Change, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """What one step would do, and what it has to say about it."""

    deeds: tuple[Deed, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A deed that was set aside, and why."""

    memory_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class StepPlan:
    """A step's deeds after conflicts were settled."""

    name: StepName
    planned: int = 0
    deeds: tuple[Deed, ...] = ()
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = field(default=())


def question_id(kind: QuestionKind, memory_ids: tuple[str, ...], about: tuple[str, ...] = ()) -> str:
    """Name a question by what it is about: its subject if it has one, or else the memories themselves."""
    return "q" + hashed((kind, *(about or sorted(memory_ids))), 15)


def dreamt_id(now: datetime, *ground: str) -> str:
    """Name a memory by the night and by what it was made from, so that planning needs no dice.

    As with every memory, the first eight characters tell it apart: also from what another night makes of the same.
    """
    moment = int(now.timestamp() * 1000)
    return memory_id(int(hashlib.sha256("\0".join((*ground, str(moment))).encode()).hexdigest(), 16), moment)


def hashed(parts: tuple[str, ...], digits: int) -> str:
    """Return a short name for some texts, always the same."""
    return _written(int(hashlib.sha256("\0".join(parts).encode()).hexdigest(), 16), digits)


def _written(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 32)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
