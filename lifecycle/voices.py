"""Voices: who said or confirmed a memory, and when another voice counts as a confirmation.

A voice is a person, an agent, a document, or the code and its tests. An agent counts again only for another person,
or in another session on another day: repeating what it said or was shown raises nothing.
`confirmed_by` lists the voices after the first, `confirmations` is their number. Merging memories joins their voices.

    human                               the person of this machine
    human anna                          a person, by their token
    ai 2026-03-01T09:30Z 3kq0x8vw       an agent: when, and in which session (`interaction` alike)
    ai 2026-03-01T09:30Z anna/3kq0x8vw  an agent of a person
    ingest docs/setup.md                a document, if it is known which (`import` alike)
    code_scan                           the code, or a run of its tests

Voices of older versions, which noted no session, are the first word alone.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from reverie.memory import Memory, author_of

AGENTS: Final = ("ai", "interaction")
DOCUMENTS: Final = ("ingest", "import")
CODE: Final = "code_scan"
PERSON: Final = "human"
_VOICES: Final = (PERSON, *AGENTS, *DOCUMENTS, CODE)  # a dream adds no voice, it repeats others

MOST_VOICES = 16
"""No more are kept: importance counts up to three, and beliefs are checked less often up to four."""

ANOTHER_DAY = timedelta(hours=12)
"""Two working days are at least half a day apart, as for recalls; so passing midnight makes no other day."""

_LONGEST_NAME = 100
_WRITTEN = re.compile(r"(?P<source>\w+)(?: (?P<at>\d{4}-\d\d-\d\dT\d\d:\d\dZ))?(?: (?P<name>.+))?", re.DOTALL)
_CLIENT_SESSION = re.compile(r" session (\S+?),? ")
_LINE = re.compile(r":\d+$")


@dataclass(frozen=True, slots=True)
class Voice:
    """One voice: its source, the moment, and the name of the person, session or document."""

    source: str
    at: datetime | None = None
    name: str = ""
    session: str = ""  # the session of a person; not stored

    @property
    def is_agent(self) -> bool:
        """Whether it is an assistant, which may repeat itself."""
        return self.source in AGENTS

    @property
    def written(self) -> str:
        """The voice as `confirmed_by` stores it; only an agent's has a moment."""
        if self.source == CODE:
            return self.source
        at = f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%MZ}" if self.at is not None and self.is_agent else ""
        return " ".join(filter(None, (self.source, at, self.name[:_LONGEST_NAME])))


def read_voice(written: str) -> Voice | None:
    """Read an entry of `confirmed_by`; None if it is no voice."""
    found = _WRITTEN.fullmatch(written)
    if found is None or found["source"] not in _VOICES:
        return None
    at = datetime.strptime(found["at"], "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC) if found["at"] else None
    return Voice(found["source"], at, found["name"] or "")


def voice_of(memory: Memory) -> Voice | None:
    """Return the voice that said a memory first; None if a dream wrote it."""
    if memory.source not in _VOICES:
        return None
    return Voice(memory.source, memory.created_at, _name_of(memory), memory.session or "")


def _name_of(memory: Memory) -> str:
    """Return the name of the person, the session of the agent, or the document."""
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

    An agent that `was_shown` the memory only repeats it.
    """
    if was_shown and voice.is_agent:
        return None
    values = _values(memory, (*_known(memory), voice))
    is_new = voice.written in values["confirmed_by"] and voice.written not in memory.confirmed_by
    return values if is_new else None


def regained_confidence(confidence: float) -> float:
    """Return the confidence after a confirmation: half the distance to 1 is regained."""
    return confidence + (1.0 - confidence) / 2.0


def joined(heir: Memory, others: Sequence[Memory]) -> dict[str, Any]:
    """Return the values of a memory merged from several: each voice counts once."""
    found = [v for other in others for v in (voice_of(other), *_known(other)) if v is not None]
    return _values(heir, (*_known(heir), *found))


UNCONFIRMED: Final[dict[str, Any]] = {"confirmed_by": (), "confirmations": 0}
"""The values of a memory with a new text: confirmations of the old text do not count for it."""


def counted(memory: Memory, also: Iterable[str] = ()) -> dict[str, Any]:
    """Return the checked values of a memory whose voices come from a file, together with the voices known here."""
    read = (read_voice(written) for written in (*also, *memory.confirmed_by))
    return _values(memory, tuple(voice for voice in read if voice is not None))


def _known(memory: Memory) -> tuple[Voice, ...]:
    return tuple(voice for written in memory.confirmed_by if (voice := read_voice(written)) is not None)


def _values(memory: Memory, voices: Iterable[Voice]) -> dict[str, Any]:
    first = voice_of(memory)
    kept = _distinct(first, voices)
    # A memory that a dream derived was said by the first of its voices; the others confirm it.
    return {
        "confirmed_by": tuple(voice.written for voice in kept),
        "confirmations": len(kept) if first is not None else max(0, len(kept) - 1),
    }


def _distinct(first: Voice | None, voices: Iterable[Voice]) -> tuple[Voice, ...]:
    """Return the voices that are distinct, in order; if there are too many, agents are dropped first."""
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
    if other.is_agent:  # a person, a document and the code always differ from an agent
        return True
    if voice.source == PERSON and other.source == PERSON:
        return voice.name != other.name
    return voice.source != other.source or (
        voice.source in DOCUMENTS and bool(voice.name and other.name) and voice.name != other.name
    )


def _is_another_agent(voice: Voice, other: Voice) -> bool:
    """Whether an agent is another person's, or spoke in another session on another day.

    A voice without either is from an earlier session.
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
