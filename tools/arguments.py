"""Checks of what callers give: the fields of a request name them, see `tools/requests.py`."""

from collections.abc import Sequence

from reverie.errors import InvalidInput
from reverie.record import checked_text

LONGEST_CONTENT = 100_000
LONGEST_LABEL = 200
MOST_TAGS = 50
MOST_FILES = 100
LONGEST_PATH = 1_000
MOST_IDS = 100
LONGEST_QUERY = 10_000


def checked_content(argument: str, content: str) -> str:
    """Return a text that can be remembered.

    Raises:
        InvalidInput: if it is empty, too long, or not valid Unicode.
    """
    if not content.strip():
        raise InvalidInput(argument, "there is no text to remember", "Say what should be remembered.")
    if len(content) > LONGEST_CONTENT:
        raise InvalidInput(
            argument,
            f"{len(content):,} characters is more than a memory holds ({LONGEST_CONTENT:,})",
            "Remember the conclusions, or split the text.",
        )
    return checked_text(argument, content)


def checked_query(argument: str, query: str) -> str:
    """Return a query that can be searched for.

    Raises:
        InvalidInput: if it is empty, too long, or not valid Unicode.
    """
    if not query.strip():
        raise InvalidInput(argument, "there is nothing to look for", "Ask in a few words what you want to know.")
    if len(query) > LONGEST_QUERY:
        raise InvalidInput(argument, f"{len(query):,} characters is too long", f"Ask in at most {LONGEST_QUERY:,}.")
    return checked_text(argument, query)


def checked_label(argument: str, text: str) -> str:
    """Return a short text such as a title or a project.

    Raises:
        InvalidInput: if it is too long or not valid Unicode.
    """
    if len(text) > LONGEST_LABEL:
        raise InvalidInput(
            argument, f"{len(text)} characters is too long", f"Give at most {LONGEST_LABEL} characters."
        )
    return checked_text(argument, text)


def checked_tags(argument: str, tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags without repetitions.

    Raises:
        InvalidInput: if there are too many, or one is empty or too long.
    """
    if len(tags) > MOST_TAGS:
        raise InvalidInput(argument, f"{len(tags)} tags are too many", f"Give at most {MOST_TAGS}.")
    if any(not tag.strip() for tag in tags):
        raise InvalidInput(argument, "a tag is empty", "Leave it out.")
    return tuple(dict.fromkeys(checked_label(argument, tag) for tag in tags))


def checked_files(argument: str, files: Sequence[str]) -> None:
    """Pass paths that a memory may name as its evidence; whether they lie in the project is checked later.

    Raises:
        InvalidInput: if there are too many, or one is too long.
    """
    if len(files) > MOST_FILES:
        raise InvalidInput(argument, f"{len(files)} files are too many", f"Give at most {MOST_FILES}.")
    if any(len(file) > LONGEST_PATH for file in files):
        raise InvalidInput(argument, "a path is too long", f"Give at most {LONGEST_PATH:,} characters.")


def checked_ids(ids: Sequence[str], argument: str = "ids") -> list[str]:
    """Return ids without repetitions.

    Raises:
        InvalidInput: if there are none, too many, or one is empty.
    """
    if not ids:
        raise InvalidInput(argument, "no id was given", "Use recall to find the ids.")
    if len(ids) > MOST_IDS:
        raise InvalidInput(argument, f"{len(ids)} ids are too many for one call", f"Give at most {MOST_IDS}.")
    if any(not memory_id.strip() for memory_id in ids):
        raise InvalidInput(argument, "an id is empty", "Use recall to find the right one.")
    return list(dict.fromkeys(ids))


def checked_number(argument: str, value: float, lowest: float, highest: float) -> float:
    """Return a number within its range.

    Raises:
        InvalidInput: if it is outside, or not a number.
    """
    if not lowest <= value <= highest:  # false for NaN too
        raise InvalidInput(argument, f"{value:g} is out of range", f"Give a number from {lowest:g} to {highest:g}.")
    return value


def checked_choices(argument: str, values: Sequence[str], allowed: Sequence[str]) -> None:
    """Pass words that are all among the allowed ones.

    Raises:
        InvalidInput: naming those that are.
    """
    for value in values:
        if value not in allowed:
            raise InvalidInput(argument, f"{value!r} is unknown", f"It takes: {', '.join(allowed)}.")
