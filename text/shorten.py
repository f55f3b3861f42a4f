"""Short forms of a text: on one line, cut to a length, its first line, its title. Imports nothing, so it is apart."""

TITLE_LENGTH = 80


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces."""
    return " ".join(text.split())


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; an ellipsis marks the cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def cut_at_word(text: str, limit: int) -> str:
    """Return a text cut after a whole word within `limit` characters; an ellipsis marks the cut."""
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def first_line(text: str) -> str:
    """Return the first line of a text that is not blank, or nothing."""
    return next((line.strip() for line in text.strip().splitlines() if line.strip()), "")


def title_of(text: str) -> str:
    """Return the first line of a text, short enough for a list."""
    return cut_at_word(first_line(text), TITLE_LENGTH)
