"""Text that a program sees and a reader does not: invisible characters, encodings, comments, odd spellings."""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import islice
from urllib.parse import unquote

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


def hidden_text_in(text: str) -> tuple[str, ...]:
    """Return what is hidden in a text, beyond what ordinary typing leaves there."""
    if text.isascii() and "\x1b" not in text and "\x08" not in text:
        return ()
    return tuple(reason for reason, test in _TESTS if test(text))


def tag_text(text: str) -> str:
    """Return what invisible tag characters spell in ASCII."""
    return "".join(chr(ord(c) - 0xE0000) for c in text if 0xE0020 <= ord(c) <= 0xE007E)


def _has_tags(text: str) -> bool:
    return re.search("[\U000e0000-\U000e007f]", _FLAG_OF_A_REGION.sub("", text)) is not None


def _has_bidi_tricks(text: str) -> bool:
    """Return whether bidi controls reorder text; embeddings and isolates belong only beside right-to-left letters."""
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


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x|%)?[0-9a-fA-F]{2}[ :,]?){16,}")
_ESCAPES = re.compile(r"\\u\{?([0-9a-fA-F]{4,6})\}?|\\x([0-9a-fA-F]{2})")
_LINK_COMMENT = re.compile(r"\[[^\]\n]{1,40}\]:[ \t]{0,4}(?:#|<>)[ \t]{0,4}[(\"']([^\n]{4,2000})")
_ELEMENT = re.compile(r"<(\w{1,20})\b([^<>]{1,600})>")
_UNSHOWN = re.compile(
    r"display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}hidden|font-size\s{0,4}:\s{0,4}0|opacity\s{0,4}:\s{0,4}0"
    r"|color\s{0,4}:\s{0,4}(?:white|#fff)|\shidden",
    re.IGNORECASE,
)
_LONGEST_ASIDE = 5_000
_MOST_ASIDES = 200
_MOST_BLOBS = 50
_NOT_LETTERS = bytes(set(range(128)) - set(range(ord("a"), ord("z") + 1)))
_WIDE_GAPS = re.compile(r" {3,}|(?: {0,8}\n){3,}")
# Letters of other alphabets that look like Latin ones.
_FOREIGN = "аеорсухіјѕԁһӏԛԝɡαονκτρικмнтв"
_LOOKALIKES = str.maketrans(_FOREIGN, "aeopcyxijsdhlqwgaovktpikmhtb")
_LOOKALIKE = re.compile(f"[{_FOREIGN}]")
_WORD = re.compile(r"\w+")
_LATIN = re.compile("[a-z]")
_DIGITS_AS_LETTERS = _LOOKALIKES | str.maketrans("0134578@$", "oieastbas")


def plain(text: str) -> str:
    """Return a text as rules see it: visible characters, lower case, lookalike letters replaced."""
    seen = visible(text)
    if not seen.isascii():
        seen = unicodedata.normalize("NFKC", seen).replace("’", "'")
    seen = seen.lower()
    if "   " in seen or "\n\n\n" in seen:
        seen = _WIDE_GAPS.sub(_narrowed, seen)  # an order does not get longer by the space between its words
    return seen if seen.isascii() else _with_latin_letters(seen)


def _narrowed(gap: re.Match[str]) -> str:
    return "\n\n" if "\n" in gap[0] else "  "


def _with_latin_letters(text: str) -> str:
    """Replace lookalikes in words that are Latin otherwise; whole words of another script stay as they are."""
    if not _LOOKALIKE.search(text):
        return text
    return _WORD.sub(_in_latin, text)


def _in_latin(word: re.Match[str]) -> str:
    found = word[0]
    return found if found.isascii() or not _LATIN.search(found) else found.translate(_LOOKALIKES)


def without_leetspeak(text: str) -> str:
    """Return a plain text with digits, signs and lookalikes replaced by the Latin letters they imitate."""
    return text.translate(_DIGITS_AS_LETTERS)


def letters_only(text: str) -> str:
    """Return only the letters of a plain text, so that `i g n o r e` and `ig-nore` are the same."""
    return text.encode("ascii", "ignore").translate(None, _NOT_LETTERS).decode("ascii")


def hidden_comments_in(text: str) -> Iterator[str]:
    """Yield the comments of a text and its elements that no page shows."""
    yield from islice(_comments(text), _MOST_ASIDES)
    if "]:" in text:
        yield from (found[1] for found in islice(_LINK_COMMENT.finditer(text), _MOST_ASIDES))
    if "<" in text and "</" in text:
        yield from islice(_unshown(text), _MOST_ASIDES)


def _comments(text: str) -> Iterator[str]:
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        yield text[start + 4 : min(end if end >= 0 else len(text), start + _LONGEST_ASIDE)]
        start = text.find("<!--", end) if end >= 0 else -1


def _unshown(text: str) -> Iterator[str]:
    for element in _ELEMENT.finditer(text):
        if _UNSHOWN.search(element[2]):
            end = text.find(f"</{element[1]}", element.end(), element.end() + _LONGEST_ASIDE)
            if end >= 0:
                yield text[element.end() : end]


def decoded(text: str) -> Iterator[str]:
    """Yield the encoded parts of a text, decoded."""
    tags = tag_text(text)
    if tags:
        yield tags
    yield from _from_base64(text)
    for run in _HEX.findall(text)[:_MOST_BLOBS]:
        digits = re.sub(r"0x|\\x|[^0-9a-fA-F]", "", run)
        yield from _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))
    if "%" in text and (opened := unquote(text, errors="ignore")) != text:
        yield opened
    if "&" in text and (opened := html.unescape(text)) != text:
        yield opened
    if "\\" in text and _ESCAPES.search(text):
        yield _ESCAPES.sub(_unescaped, text)
    if len(text) < _LONGEST_TURNED:
        yield codecs.decode(text, "rot13")
        yield text[::-1]


_LONGEST_TURNED = 20_000


def _unescaped(found: re.Match[str]) -> str:
    number = int(found[1] or found[2], 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else ""


def _from_base64(text: str) -> Iterator[str]:
    for run in _BASE64.findall(text)[:_MOST_BLOBS]:
        bare = run.rstrip("=").replace("-", "+").replace("_", "/")
        # One character over a multiple of four cannot be base64: it belongs to what stands beside.
        bare = bare[: len(bare) - 1] if len(bare) % 4 == 1 else bare
        try:
            yield from _readable(base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True))
        except (binascii.Error, ValueError):
            continue


def _readable(data: bytes) -> Iterator[str]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        if data.count(0) * 3 < len(data):
            return
        text = data.decode("utf-16-le", "ignore")
    if text and sum(c.isprintable() or c.isspace() for c in text) >= len(text) * 0.95 and " " in text:
        yield text
