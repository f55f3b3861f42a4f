"""What is marked as private is not kept."""

import re
from dataclasses import dataclass

_TAG = re.compile(r"<\s*(?P<closing>/?)\s*private\b[^<>]{0,100}>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Public:
    """A text without its private parts, and how many there were."""

    text: str
    dropped: int = 0


def without_private(text: str) -> Public:
    """Drop everything within `<private>…</private>`; a part that is never closed goes to the end of the text."""
    if "private" not in text.lower():
        return Public(text)
    kept: list[str] = []
    depth = at = dropped = 0
    for tag in _TAG.finditer(text):
        if tag["closing"]:
            if depth:
                depth -= 1
                at = tag.end()
        else:
            if depth == 0:
                kept.append(text[at : tag.start()])
                dropped += 1
            depth += 1
            at = tag.end()
    if depth == 0:
        kept.append(text[at:])
    return Public("".join(kept), dropped) if dropped else Public(text)
