"""Random strings and passphrases, as opposed to words, identifiers, hashes and placeholders."""

import re
from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A labelled span of a text."""

    start: int
    end: int
    kind: str


def lowered(text: str) -> str:
    """Return a text in lower case with every character at its old index.

    A few capitals are lowered to two characters, after which every place would be off; those stay.
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := c.lower()) == 1 else c for c in text)


_RUN = re.compile(r"[A-Za-z0-9_\-.:/~=+$!%@?&;]{16,}")


@dataclass(frozen=True, slots=True)
class Runs:
    """The long runs of a text, one per line, and where each begins in the text."""

    text: str
    _starts: list[int]
    _origins: list[int]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the text of a part of a run."""
        number = bisect_right(self._starts, start) - 1
        shift = self._origins[number] - self._starts[number]
        return start + shift, end + shift


def runs_of(text: str) -> Runs:
    """Collect the runs of a text that are long enough to hold a token."""
    parts: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = 0
    for run in _RUN.finditer(text):
        parts.append(run[0])
        starts.append(length)
        origins.append(run.start())
        length += len(run[0]) + 1
    return Runs("\n".join(parts), starts, origins)


_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?[0-9a-f]+", re.IGNORECASE)
_DIGEST = re.compile(r"(?:sha-?(?:1|224|256|384|512)|md5|blake[23][bs]?|crc32|h1|g1)[-:=]", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"[<>]|\{\{|\{[\w.,()\[\]\"' |-]{0,60}\}|\$[({]|(?<!\w)\$[A-Z_][A-Z0-9_]*(?!\w)"
    r"|%\(\w{1,60}\)|%(?:[A-Z_][A-Z0-9_]{0,60}|[a-z_]{1,60})%|\.\.\.|…|\*{3}|•{3}|\[redacted|#\{"
)
_REFERENCE = re.compile(r"(?<!\w)\$[a-z_][a-z0-9_]*(?!\w)")
_MASK = re.compile(r"(.)\1*|[xX*.•_#-]{4,}|[0-9]{1,5}")
_STAND_IN = re.compile(
    r"your[-_ ]?\w*|(?:my|the|some|an?)[-_ ](?:\w+[-_ ])*(?:key|token|secret|password|pass|value)|change[-_]?me\w*"
    r"|change[-_]this\w*|replace[-_]?(?:me|with|this)\w*|insert[-_]\w*|enter[-_]\w*|put[-_]\w*|todo|tbd|fixme"
    r"|dummy\w*"
    r"|fake\w*|mock\w*|foo(?:bar)?|bar|baz|sample\w*|example\w*|placeholder\w*|redacted|hidden|masked|removed|none"
    r"|null|nil|undefined|true|false|yes|no|empty|string|text|str|bytes|int|optional|required|any|unknown|default"
    r"|pass(?:word|wd|phrase|code)?s?|pwd|secrets?|tokens?|api[-_]?keys?|keys?|credentials?|user(?:name)?|login"
    r"|auth|basic|bearer|abc(?:123|def)?|(?:test|dev|demo|local)[-_]?(?:key|token|secret|password|pass)?|x{3,}\w*"
    r"|\w*(?:_|-)(?:here|placeholder|goes[-_]here)",
    re.IGNORECASE,
)
_ANY_DIGIT = re.compile(r"\d")
_LONGEST_STAND_IN = 64
_EVERY_CLASS = 4
_MIXED_FROM = 20
_SHORT_PIECES = 2.8
_SHORTER_WITHOUT_DIGITS = 2.4
"""Characters of a random string stand in runs of this length at most: `kJ8fQ2` in six, `getUserById` in four."""


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder for a secret: a template, a mask, an example."""
    bare = value.strip("\"'`()[],;. ")
    if not bare or _TEMPLATE.search(value) or _MASK.fullmatch(bare):
        return True
    if _REFERENCE.search(value) and classes_of(value) < _EVERY_CLASS:  # `$umm3r-Rain` is no variable
        return True
    return len(bare) <= _LONGEST_STAND_IN and bool(_STAND_IN.fullmatch(bare) or "example" in bare)


def is_mask(token: str) -> bool:
    """Return whether a token only has the shape of one: `ghp_xxxxxxxx`, `AKIA0000000000000000`, `sk-your-key`."""
    tail = token[-16:]
    return max(map(tail.count, tail)) > len(tail) // 2 or "your" in token.lower()


def is_uuid(value: str) -> bool:
    """Return whether a value is a UUID."""
    return _UUID.fullmatch(value) is not None


def is_hex(value: str) -> bool:
    """Return whether a value is plain hexadecimal, as hashes and commit ids are."""
    return _HEX.fullmatch(value) is not None


def is_digest(value: str) -> bool:
    """Return whether a value calls itself a digest: `sha512-…`, `md5:…`."""
    return _DIGEST.match(value) is not None


def classes_of(value: str) -> int:
    """Count the kinds of characters: lower case, upper case, digits, signs."""
    return sum(
        (
            value != value.upper(),
            value != value.lower(),
            has_digit(value),
            bool(value) and not value.isalnum(),
        )
    )


def has_digit(value: str) -> bool:
    """Return whether there is a digit; one search instead of a call for each character."""
    return _ANY_DIGIT.search(value) is not None


def looks_random(value: str, shortest: int = _MIXED_FROM) -> bool:
    """Return whether letters and digits alternate too often for words."""
    dense = [piece for part in re.split(r"[-_./=+~:]", value) for piece in _PIECES.findall(part)]
    letters = sum(map(len, dense))
    if letters < shortest or not any(c.isalpha() for c in value):
        return False
    digits = any(c.isdigit() for c in value)
    return letters / len(dense) < (_SHORT_PIECES if digits else _SHORTER_WITHOUT_DIGITS)


_GROUPS = re.compile(r"[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){3}")  # as mail providers print them
_WORDS = re.compile(r"[a-z]{3,9}(?:[ -][a-z]{3,9}){3,7}\d{0,4}")
_JOINED_GROUPS = re.compile(r"[a-z]{4}(?:-[a-z]{4}){3}")
_REST_IN_GROUPS = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}(?=[ \t.]*$)", re.MULTILINE)
_LISTED = """
    the this that these those your you our their its his her and but nor for from with without into onto about after
    before are was were will would shall should can could may might must has have had been being does did not never
    please enter type confirm repeat choose change changed reset forgot forgotten invalid wrong incorrect missing
    required optional new old current login user users username account email password passwords passwd passphrase
    secret secrets token tokens key keys hash hashed encrypted plain text field value values string set get use used
    uses using when where which who why how only one two at least than more less characters letters digits stored
    sent read written given found matches match expired
"""
_FEW_WORDS = 3
_OF_SENTENCES = frozenset(_LISTED.split())


def is_passphrase(value: str) -> bool:
    """Return whether a value with spaces is a password: four groups of four, or four words that make no sentence."""
    bare = value.strip()
    if _WORDS.fullmatch(bare):
        words = bare.replace("-", " ").split()
        return _OF_SENTENCES.isdisjoint(words) and not any(word.startswith(("pass", "kenn")) for word in words)
    return _GROUPS.fullmatch(bare) is not None and any(c.isdigit() for c in bare)


def is_spaced_password(value: str) -> bool:
    """Return whether a quoted value of two or three words is a password: one of them mixes letters and digits."""
    words = value.split()
    mixed = any(has_digit(word) and word.lower() != word.upper() for word in words)
    return len(words) <= _FEW_WORDS and mixed and _OF_SENTENCES.isdisjoint(value.lower().split())


def is_grouped(value: str) -> bool:
    """Return whether a value is four letters four times over, as Apple prints passwords: `abcd-efgh-ijkl-mnop`."""
    return _JOINED_GROUPS.fullmatch(value) is not None


def four_groups(text: str, start: int) -> str:
    """Return the four groups of four letters that make up the rest of a line, as Google prints passwords, if any."""
    found = _REST_IN_GROUPS.match(text, start)
    return found[0] if found and _OF_SENTENCES.isdisjoint(found[0].split()) else ""
