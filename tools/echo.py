"""Echoes: text that this session was shown and that comes back through `remember`.

An audit of ten thousand stored memories found most of them to be recalled text kept again as new. What restates a
served text in all but case, punctuation, articles and a leading phrase such as "Recalled:" is not stored; one
number, name or `not` that differs makes it news.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from reverie.ids import short_id
from reverie.lifecycle.rules import expired_if_overdue
from reverie.memory import Memory
from reverie.storage.scope import RECALLED
from reverie.text.compare import Difference, differences
from reverie.text.tokenize import words

if TYPE_CHECKING:
    from reverie.tools.session import Session

MOST_SERVED = 200
MOST_IDS = 20_000
LONGEST_SERVED = 8_000
_LIKELY = 0.6
"""The share of words in common from which two texts are compared token by token; contractions cost some."""

_MOST_COMPARED = 3
_JOINING: Final = frozenset({"and", "which", "too", "there", "here"})
_LABEL: Final = re.compile(r"\s*[-*•>]?\s*(?P<id>[\w.:-]{1,64}) \([^()\n]*\):\s*")
_ID_AT_THE_END: Final = re.compile(r"\s*\[(?:…cut: inspect )?(?P<id>[\w.:-]{1,64})\]\s*$")
_FRAME: Final = re.compile(
    r"[\s>*•\"'-]*(?:(?:as |from )?(?:noted|note|remember|remembered|recall|recalled|reminder|memory|fyi)"
    r"(?: that|[:,–—]))?\s*",
    re.IGNORECASE,
)


@dataclass(slots=True)
class ServedTexts:
    """The texts that a session was shown lately, each with the memory it came from."""

    _texts: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    _ids: dict[str, None] = field(default_factory=dict)

    def note(self, texts: Iterable[tuple[str, str]]) -> None:
        """Add pairs of a memory's id and its text as shown, and drop the oldest."""
        for memory_id, text in texts:
            self.note_ids([memory_id])
            if len(text) <= LONGEST_SERVED:
                self._texts.pop(text, None)
                self._texts[text] = memory_id, frozenset(words(text))
        while len(self._texts) > MOST_SERVED:
            del self._texts[next(iter(self._texts))]

    def note_ids(self, ids: Iterable[str]) -> None:
        """Add ids of memories and dreams that an answer named, and drop the oldest."""
        for one in ids:
            self._ids.pop(one, None)
            self._ids[one] = None
        while len(self._ids) > MOST_IDS:
            del self._ids[next(iter(self._ids))]

    def has_shown(self, one: str) -> bool:
        """Return whether an answer of this session named this id; then it may be used, whatever its project."""
        return one in self._ids

    def restated_by(self, content: str) -> str | None:
        """Return the id of the memory whose served text this one restates, if any."""
        if len(content) > LONGEST_SERVED or not self._texts:
            return None
        bare = self._bare(content)
        found = frozenset(words(bare))
        likely = sorted(
            ((_shared(found, known), text) for text, (_, known) in self._texts.items()), key=lambda pair: -pair[0]
        )
        for share, text in likely[:_MOST_COMPARED]:
            if share >= _LIKELY and all(map(_joins_only, differences(self._bare(text), bare))):
                return self._texts[text][0]
        return None

    def _bare(self, text: str) -> str:
        """Return a text without the labels of recall and brief, and without phrases such as "Recalled:"."""
        ids = {memory_id for memory_id, _ in self._texts.values()}
        ids |= {short_id(memory_id) for memory_id in ids}  # as texts write them
        label, end = _LABEL.match(text), _ID_AT_THE_END.search(text)
        if end is not None and end["id"] in ids:
            text = text[: end.start()]
        if label is not None and label["id"] in ids:
            text = text[label.end() :]
        frame = _FRAME.match(text)
        return text[frame.end() :] if frame else text


def _joins_only(difference: Difference) -> bool:
    """Return whether a difference lies in words that join sentences, where one text has a comma or a semicolon."""
    differing = (*difference.left, *difference.right)
    return bool(differing) and all(word.casefold() in _JOINING for word in differing)


async def echoed(session: "Session", draft: Memory) -> Memory | None:
    """Return the memory that a draft merely repeats.

    A memory that expired since, or that the draft's project does not see, may be stored again.
    """
    memory_id = session.served.restated_by(draft.content)
    if memory_id is None:
        return None
    known = (await session.store.get([memory_id])).get(memory_id)
    if known is None or expired_if_overdue(known, session.now, session.settings.tier).status not in RECALLED:
        return None
    return known if known.project in session.visible_from(draft.project) else None


def _shared(ours: frozenset[str], theirs: frozenset[str]) -> float:
    return len(ours & theirs) / (len(ours | theirs) or 1)
