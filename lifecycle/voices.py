"""Who stands behind a memory: the voices that said it or confirmed it, and when one more of them counts.

A voice is a person, an agent of another person or in another session on another day, a document, or the code and its
tests. An agent that repeats in a session what it said, or what it was shown, is none: repetition alone never raises
anything.
`confirmed_by` lists the voices after the first, `confirmations` is their number. Merging memories joins their voices.

    human                               the person of this machine
    human anna                          a person, by their token
    ai 2026-03-01T09:30Z 3kq0x8vw       an agent: when, and in which session (`interaction` alike)
    ai 2026-03-01T09:30Z anna/3kq0x8vw  an agent of a person
    ingest docs/setup.md                a document, if it is known which (`import` alike)
    code_scan                           the code, or a run of its tests

Voices from before sessions were noted are a word alone.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from reverie.ids import author_of
from reverie.memory import Memory

AGENTS: Final = ("ai", "interaction")
DOCUMENTS: Final = ("ingest", "import")
CODE: Final = "code_scan"
PERSON: Final = "human"
_VOICES: Final = (PERSON, *AGENTS, *DOCUMENTS, CODE)  # a dream only repeats what others said

MOST_VOICES = 16
"""More are not kept: importance counts three in full, and a belief is checked less often up to four."""

ANOTHER_DAY = timedelta(hours=12)
"""Two working days are half a day apart at least, as for recalls; so midnight alone makes no other day."""

_LONGEST_NAME = 100
_WRITTEN = re.compile(r"(?P<source>\w+)(?: (?P<at>\d{4}-\d\d-\d\dT\d\d:\d\dZ))?(?: (?P<name>.+))?", re.DOTALL)
_CLIENT_SESSION = re.compile(r" session (\S+?),? ")
_LINE = re.compile(r":\d+$")


@dataclass(frozen=True, slots=True)
class Voice:
    """Somebody or something that says a thing: of what source, when, and who, in which session or document."""

    source: str
    at: datetime | None = None
    name: str = ""
    session: str = ""  # in which a person spoke; it is not kept

    @property
    def is_agent(self) -> bool:
        """Whether it is an assistant, which may repeat itself."""
        return self.source in AGENTS

    @property
    def written(self) -> str:
        """The voice as `confirmed_by` keeps it: of a person, a document and code the moment says nothing."""
        if self.source == CODE:
            return self.source
        at = f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%MZ}" if self.at is not None and self.is_agent else ""
        return " ".join(filter(None, (self.source, at, self.name[:_LONGEST_NAME])))


def read_voice(written: str) -> Voice | None:
    """Return a voice as `confirmed_by` keeps it; None if it is none."""
    found = _WRITTEN.fullmatch(written)
    if found is None or found["source"] not in _VOICES:
        return None
    at = datetime.strptime(found["at"], "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC) if found["at"] else None
    return Voice(found["source"], at, found["name"] or "")


def voice_of(memory: Memory) -> Voice | None:
    """Return whoever said a memory first; None for what a dream wrote."""
    if memory.source not in _VOICES:
        return None
    return Voice(memory.source, memory.created_at, _name_of(memory), memory.session or "")


def _name_of(memory: Memory) -> str:
    """Return the person who spoke, the session that an agent spoke in, or the document that a text comes from."""
    ref = " ".join((memory.source_ref or "").split())
    if memory.source in DOCUMENTS:
        files = [anchor.path for anchor in memory.anchors if anchor.kind == "file"]
        return _LINE.sub("", ref) or next(iter(files), "")
    if memory.source == PERSON:
        return memory.author or ""
    client = _CLIENT_SESSION.search(ref) if memory.source == "interaction" else None
    return client[1].replace("/", "_") if client else memory.session or ""  # a slash ends the name of a person


def confirmed(memory: Memory, voice: Voice, *, was_shown: bool = False) -> dict[str, Any] | None:
    """Return the values of a memory that one more voice confirms, or None if that voice adds nothing.

    An agent that `was_shown` the memory only gives back what it was told.
    """
    if was_shown and voice.is_agent:
        return None
    values = _values(memory, (*_known(memory), voice))
    is_new = voice.written in values["confirmed_by"] and voice.written not in memory.confirmed_by
    return values if is_new else None


def regained_confidence(confidence: float) -> float:
    """Return the confidence of what was confirmed again: half of what it lacked comes back."""
    return confidence + (1.0 - confidence) / 2.0


def joined(heir: Memory, others: Sequence[Memory]) -> dict[str, Any]:
    """Return the voices of several memories that become one: each counts once, however often it was heard."""
    found = [v for other in others for v in (voice_of(other), *_known(other)) if v is not None]
    return _values(heir, (*_known(heir), *found))


UNCONFIRMED: Final[dict[str, Any]] = {"confirmed_by": (), "confirmations": 0}
"""The values of a text that says something new: who confirmed the old one did not confirm it."""


def counted(memory: Memory, also: Iterable[str] = ()) -> dict[str, Any]:
    """Return the voices that a memory may name, for one whose list was written elsewhere; `also` are known here."""
    read = (read_voice(written) for written in (*also, *memory.confirmed_by))
    return _values(memory, tuple(voice for voice in read if voice is not None))


def _known(memory: Memory) -> tuple[Voice, ...]:
    return tuple(voice for written in memory.confirmed_by if (voice := read_voice(written)) is not None)


def _values(memory: Memory, voices: Iterable[Voice]) -> dict[str, Any]:
    first = voice_of(memory)
    kept = _distinct(first, voices)
    # What a dream made of several statements was said once by the first of its voices.
    return {
        "confirmed_by": tuple(voice.written for voice in kept),
        "confirmations": len(kept) if first is not None else max(0, len(kept) - 1),
    }


def _distinct(first: Voice | None, voices: Iterable[Voice]) -> tuple[Voice, ...]:
    """Return the voices that say something of their own, in their order; agents give way where there are too many."""
    heard: list[Voice] = [] if first is None else [first]
    kept: list[Voice] = []
    for voice in voices:
        if all(_is_another(voice, other) for other in heard):
            heard.append(voice)
            kept.append(voice)
    while len(kept) > MOST_VOICES:
        kept.remove(next((voice for voice in reversed(kept) if voice.is_agent), kept[-1]))
    return tuple(kept)


def _is_another(voice: Voice, other: Voice) -> bool:
    if voice.is_agent and (other.is_agent or other.at is not None):
        return _is_another_agent(voice, other)
    if other.is_agent:  # a person, a document or the code speaks for itself
        return True
    if voice.source == PERSON and other.source == PERSON:
        return voice.name != other.name
    return voice.source != other.source or (
        voice.source in DOCUMENTS and bool(voice.name and other.name) and voice.name != other.name
    )


def _is_another_agent(voice: Voice, other: Voice) -> bool:
    """Whether an agent is another person's, or spoke in another session on another day.

    A voice that says neither is of a session before.
    """
    if voice.written == other.written:
        return False
    if voice.name and voice.name in (other.name, other.session):
        return False
    if other.is_agent and voice.name and other.name and author_of(voice.name) != author_of(other.name):
        return True
    if voice.at is None or other.at is None:
        return True
    return voice.at.date() != other.at.date() and abs(voice.at - other.at) >= ANOTHER_DAY
