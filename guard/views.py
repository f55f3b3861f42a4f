"""The ways to read a text besides the plain one: what is hidden, encoded or spelled oddly comes to light here."""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

from reverie.guard.hidden import tag_text, visible

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
_DIGITS_AS_LETTERS = _LOOKALIKES | str.maketrans("0134578@$", "oieastbas")


def plain(text: str) -> str:
    """Return a text as it is compared: as a reader sees it, in small letters, lookalikes made alike."""
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
    words = re.split(r"(\W+)", text)
    return "".join(
        word.translate(_LOOKALIKES) if re.search("[a-z]", word) and not word.isascii() else word for word in words
    )


def unleeted(text: str) -> str:
    """Return a plain text with digits, signs and foreign letters that stand for others made Latin letters."""
    return text.translate(_DIGITS_AS_LETTERS)


def squeezed(text: str) -> str:
    """Return nothing but the letters of a plain text, so that `i g n o r e` and `ig-nore` read the same."""
    return text.encode("ascii", "ignore").translate(None, _NOT_LETTERS).decode("ascii")


def commented(text: str) -> Iterator[str]:
    """Yield what a text says in comments and elements that no page shows."""
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
    """Yield what a text says once its encoded parts are read."""
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
