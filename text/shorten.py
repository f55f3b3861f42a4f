"""Short forms of a text for lists."""

TITLE_LENGTH = 80


def title_of(text: str) -> str:
    """Return the first line of a text, short enough for a list."""
    first = text.strip().splitlines()[0].strip()
    if len(first) <= TITLE_LENGTH:
        return first
    return first[:TITLE_LENGTH].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
