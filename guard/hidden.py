"""Characters that a reader does not see but a program does: how they are found, and taken out on the way to a model.

What is stored stays as it was given; only what is shown is cleaned.
"""

import re
from functools import cache

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_ZERO_WIDTH = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
)
_TAGS = "\U000e0000-\U000e0fff"  # with the variation selectors that no font has
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_JOINERS = "\u200c\u200d"

_FLAG_OF_A_REGION = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")


@cache
def _unseen() -> re.Pattern[str]:
    # Joiners shape emoji and many scripts; between Latin letters they only hide something. Of variation selectors
    # one may follow a character, more carry data.
    return re.compile(
        f"[{_BIDI}{_ZERO_WIDTH}{_TAGS}{_CONTROLS}]|(?<=[ -~])[{_JOINERS}]+|[{_JOINERS}]+(?=[ -~])"
        f"|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+"
    )


@cache
def _may_be_unseen() -> re.Pattern[str]:
    return re.compile(f"[{_BIDI}{_ZERO_WIDTH}{_TAGS}{_CONTROLS}{_JOINERS}\ufe00-\ufe0f\u2028\u2029]")


_OBEYED_OR_UNSEEN = re.compile(f"[{_BIDI}{_ZERO_WIDTH}{_TAGS}{_CONTROLS}\u2028\u2029]")
"""What a terminal obeys, or shows as nothing, line feeds and tabs excepted."""

_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029\x85\x0b\x0c]")
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4000}(?:\x07|\x1b\\|\x9c)?"
)
_COLOUR = re.compile(r"(?:\x1b\[|\x9b)[0-9;:]*[mK]")


def visible(text: str) -> str:
    """Return a text as a reader sees it: without control, bidi, zero-width and tag characters."""
    if not _may_be_unseen().search(text):
        return text
    text = _ESCAPE_SEQUENCE.sub("", text)
    return _unseen().sub("", _LINE_ENDS.sub("\n", text))


def spelled_out(text: str) -> str:
    """Return a text for a terminal: control, bidi, zero-width and tag characters are written as escapes."""
    return _OBEYED_OR_UNSEEN.sub(_as_escape, text)


def escaped_json(text: str) -> str:
    """Return JSON that parses to the same value, with those characters written as \\uXXXX."""
    return text if text.isascii() and "\x7f" not in text else _OBEYED_OR_UNSEEN.sub(_as_json_escape, text)


def _as_escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def _as_json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")  # JSON writes characters beyond U+FFFF as two
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def hidden_in(text: str) -> tuple[str, ...]:
    """Say what is hidden in a text beyond what honest typing leaves there."""
    if text.isascii() and "\x1b" not in text and "\x08" not in text:
        return ()
    return tuple(reason for reason, test in _TESTS if test(text))


def tag_text(text: str) -> str:
    """Return what is spelled in tag characters, which look like nothing and read like ASCII."""
    return "".join(chr(ord(c) - 0xE0000) for c in text if 0xE0020 <= ord(c) <= 0xE007E)


def _has_tags(text: str) -> bool:
    return re.search("[\U000e0000-\U000e007f]", _FLAG_OF_A_REGION.sub("", text)) is not None


def _has_bidi_tricks(text: str) -> bool:
    """Overrides turn text around; embeddings and isolates are at home only beside letters that run leftwards."""
    if re.search("[\u202d\u202e]", text):
        return True
    return bool(re.search("[\u202a\u202b\u2066-\u2068]", text)) and not re.search(
        "[\u0590-\u08ff\ufb1d-\ufefc]", text
    )


def _has_invisible_runs(text: str) -> bool:
    if re.search(f"[{_ZERO_WIDTH}{_JOINERS}{_BIDI}]{{4,}}", text):
        return True
    return len(re.findall(f"(?<=[A-Za-z])[{_ZERO_WIDTH}{_JOINERS}](?=[A-Za-z])", text)) > _SOFT_BREAKS


_SOFT_BREAKS = 8
"""Pages leave a few soft hyphens and zero-width spaces in words; a message hidden in them needs many."""


def _has_selector_runs(text: str) -> bool:
    return re.search("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}", text) is not None


def _has_terminal_orders(text: str) -> bool:
    without_colours = _COLOUR.sub("", text)
    return "\x1b" in without_colours or "\x9b" in without_colours or re.search("\x08{3,}", text) is not None


_TESTS = (
    ("hidden tag characters", _has_tags),
    ("characters that turn the reading direction", _has_bidi_tricks),
    ("runs of invisible characters", _has_invisible_runs),
    ("runs of variation selectors", _has_selector_runs),
    ("terminal escape sequences", _has_terminal_orders),
)
