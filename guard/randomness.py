"""Telling a random string from words, identifiers, hashes and placeholders."""

import re

_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?[0-9a-f]+", re.IGNORECASE)
_DIGEST = re.compile(r"(?:sha-?(?:1|224|256|384|512)|md5|blake[23][bs]?|crc32|h1|g1)[-:=]", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"[<>]|\{\{|\{[\w.,()\[\]\"' |-]{0,60}\}|\$[({]|(?<!\w)\$(?:[A-Z_][A-Z0-9_]*|[a-z_][a-z0-9_]*)(?!\w)"
    r"|%\(\w{1,60}\)|%[A-Za-z_]\w{0,60}%|\.\.\.|…|\*{3}|•{3}|\[redacted|#\{"
)
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
_MIXED_FROM = 20
_SHORT_PIECES = 2.8
_SHORTER_WITHOUT_DIGITS = 2.4
"""Characters of a random string stand in runs of this length at most: `kJ8fQ2` in six, `getUserById` in four."""


def is_placeholder(value: str) -> bool:
    """Say whether a value only stands where a secret would: a template, a mask, an example."""
    bare = value.strip("\"'`()[],;. ")
    if not bare or _TEMPLATE.search(value) or _MASK.fullmatch(bare):
        return True
    return len(bare) <= _LONGEST_STAND_IN and bool(_STAND_IN.fullmatch(bare) or "example" in bare)


def is_mask(token: str) -> bool:
    """Say whether a token is one in shape only: `ghp_xxxxxxxx`, `AKIA0000000000000000`, `sk-your-key`."""
    tail = token[-16:]
    return max(map(tail.count, tail)) > len(tail) // 2 or "your" in token.lower()


def is_uuid(value: str) -> bool:
    """Say whether a value is a UUID."""
    return _UUID.fullmatch(value) is not None


def is_hex(value: str) -> bool:
    """Say whether a value is plain hexadecimal, as hashes and commit ids are."""
    return _HEX.fullmatch(value) is not None


def is_digest(value: str) -> bool:
    """Say whether a value calls itself a digest: `sha512-…`, `md5:…`."""
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
    """Say whether there is a digit; one search instead of a call for each character."""
    return _ANY_DIGIT.search(value) is not None


def looks_random(value: str, shortest: int = _MIXED_FROM) -> bool:
    """Say whether letters and digits change so often that nobody wrote this as words."""
    dense = [piece for part in re.split(r"[-_./=+~:]", value) for piece in _PIECES.findall(part)]
    letters = sum(map(len, dense))
    if letters < shortest or not any(c.isalpha() for c in value):
        return False
    digits = any(c.isdigit() for c in value)
    return letters / len(dense) < (_SHORT_PIECES if digits else _SHORTER_WITHOUT_DIGITS)
