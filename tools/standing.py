"""How a memory stands beside others that fit a question as well: by what it is, not by what it says of the matter."""

import re
from typing import Final

from reverie.memory import Memory
from reverie.tools.speakers import ASSISTANT, parted

SECOND_HAND = 0.6
"""What a dream wrote about other memories (cards, digests, bridges) stands behind what it quotes."""

STANDING_ORDER = 1.2
"""What the user wants always or never done is short and shares few words with what it holds for: it is lifted."""

_QUOTING: Final = ("peer_card", "digest", "bridge")
_OF_THE_USER: Final = ("human", "import")  # nobody else's orders are lifted
_LONGEST_ORDER = 400  # characters; longer texts tell something as well
_ORDER = re.compile(
    r"(?:please,? )?(?:always(?! \w+ed\b)|never(?! mind\b)(?! \w+ed\b)|from now on)\b", re.IGNORECASE
)  # not "Always loved the sea", which tells


def standing_of(memory: Memory) -> float:
    """Return the factor for what a memory is."""
    if memory.source == "dream" and memory.kind in _QUOTING:
        return SECOND_HAND
    return STANDING_ORDER if _is_standing_order(memory) else 1.0


def _is_standing_order(memory: Memory) -> bool:
    if memory.source not in _OF_THE_USER or len(memory.content) > _LONGEST_ORDER:
        return False
    speaker, words = parted(memory.content)
    return speaker.lower() not in ASSISTANT and bool(_ORDER.match(words))
