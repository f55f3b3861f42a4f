"""Credentials recognised by what is around them: key blocks, URLs, headers, command lines."""

import re
from collections.abc import Iterator
from functools import cache

from reverie.guard.entropy import Span, classes_of, has_digit, is_hex, is_placeholder, looks_random

_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{20}")
_PROGRAMS = (
    *("curl ", "wget ", "xh ", "mysql", "mariadb ", "mongo", "sshpass", "docker ", "podman ", "helm ", "az ", "oc "),
    *("redis-cli ", "ldap", "jdbc:oracle", "sqlplus", "sudo -S"),
)
_SNAKE = re.compile(r"[a-z]+(?:[_-][a-z0-9]+)+")
_IN_AN_ADDRESS = r"[^\s\"'`<>\\|]"


@cache
def _key_block() -> re.Pattern[str]:
    # To its end line; where that is cut off, as far as lines of base64 go.
    return re.compile(
        r"-----BEGIN (?P<name>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
        r"(?:(?:(?!-----)[\s\S]){0,20000}-----END (?P=name)-----|[A-Za-z0-9+/=:,\s\\-]*)"
    )


_PUTTY = "PuTTY-User-Key-File-"
_PUTTY_LINES = re.compile(r"Private-Lines: \d{1,4}(?:\s{1,4}[A-Za-z0-9+/=]{4,100}){0,200}")
_LONGEST_PUTTY = 4_000


def _putty_keys(text: str) -> Iterator[Span]:
    start = text.find(_PUTTY)
    while start >= 0:
        lines = text.find("Private-Lines: ", start, start + _LONGEST_PUTTY)
        found = _PUTTY_LINES.match(text, lines) if lines >= 0 else None
        if found:
            yield Span(start, found.end(), "private-key")
        start = text.find(_PUTTY, found.end() if found else start + len(_PUTTY))


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}$")
_REST = re.compile(rf"{_IN_AN_ADDRESS}{{3,2000}}")
_PORT = re.compile(r"\d+(?:[/?#]|$)")


@cache
def _header_words() -> re.Pattern[str]:
    return re.compile("authorization|bearer |basic |cookie")


@cache
def _header() -> re.Pattern[str]:
    return re.compile(
        r"authorization[\"']?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:(?:bearer|basic|token|apikey|digest|negotiate|bot|key)\s+)?"
        r"(?P<value>[a-z0-9._~+/:=-]{6,4000})"
        r"|(?:bearer|basic)\s+[\"'`]?(?P<bare>[a-z0-9._~+/=-]{16,4000})"
        r"|cookie[\"']?\s{0,3}:\s{0,3}[\"']?(?P<cookie>[^\s\"';]{1,60}=[^\s\"';]{8,4000}"
        r"(?:; ?[^\s\"';]{1,60}=[^\s\"';]{1,4000}){0,40})"
    )


@cache
def _command_line() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:curl|wget|xh)\b[^\n]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,60}:(?P<curl>[^\s\"']{3,200})"
        r"|\b(?:mysql|mysqldump|mariadb|mysqladmin|mongo|mongosh)\b[^\n]{0,300}?\s-p(?P<mysql>[^\s\"']{4,200})"
        r"|\bsshpass\s+-p\s*[\"']?(?P<sshpass>[^\s\"']{3,200})"
        r"|\b(?:(?:docker|podman|helm|az|oc)\b[^\n]{0,100}?\blogin\b[^\n]{0,200}?\s(?:-p|--pass)"
        r"|redis-cli\b[^\n]{0,300}?"
        r"\s(?:-a|--pass)|ldap\w{3,8}\b[^\n]{0,300}?\s-w)[ =][\"']?"
        r"(?P<login>[^\s\"']{6,200})"
        r"|\bjdbc:oracle:\w+:\w+/(?P<oracle>[^\s\"'@]{3,100})@"
        r"|\bsqlplus\s+(?:-\w\s+)?\w+/(?P<sqlplus>[^\s\"'@]{3,100})@"
        r"|\becho\s+[\"']?(?P<sudo>[^\s\"'|]{4,100})[\"']?\s*\|\s*sudo\s+-S\b"
    )


@cache
def _pair() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:creds?|credentials|basic[ _-]?auth|logins?)\b[\"']?\s{0,3}(?:are|is|[:=])?\s{0,3}[\"'`]?[\w.@+-]{2,60}"
        r"\s?[:/]\s?(?P<password>(?=[^\s\"'`]{0,40}\d)[^\s\"'`/,;]{8,100})",
        re.IGNORECASE,
    )


@cache
def _seed_phrase() -> re.Pattern[str]:
    return re.compile(
        r"(?:seed|recovery|mnemonic|backup|wallet|secret)[ _-]?(?:phrase|words|seed)?\s{0,3}(?:is|are"
        r"|[:=])\s{0,3}[\"'`]?"
        r"(?P<words>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})\b"
    )


def credentials_in(text: str, lower: str) -> Iterator[Span]:
    """Yield the credentials of a text; `lower` is the text in lower case."""
    if "-----BEGIN" in text:
        for found in _key_block().finditer(text):
            if _KEY_MATERIAL.search(found[0]):  # code that only looks for such blocks holds none
                yield Span(found.start(), found.end(), "private-key")
    yield from _putty_keys(text)
    yield from _in_addresses(text)
    yield from _in_headers(text, lower)
    if any(program in text for program in _PROGRAMS):
        yield from _on_command_lines(text)
    if any(word in lower for word in ("cred", "basic", "login")):
        for found in _pair().finditer(text):
            password = found["password"]
            if classes_of(password) >= 3 and not _SNAKE.fullmatch(password) and not is_placeholder(password):
                yield Span(*found.span("password"), "password")
    if any(word in lower for word in ("seed", "mnemonic", "recovery", "wallet")):
        yield from (Span(*found.span("words"), "seed-phrase") for found in _seed_phrase().finditer(lower))


def _in_addresses(text: str) -> Iterator[Span]:
    at = text.find("://")
    while at >= 0:
        start = at + 3
        rest = _REST.match(text, start)
        if rest and "@" not in rest[0]:  # then nothing that begins within it has one either
            at = text.find("://", max(start, rest.end() - 3))
            continue
        if rest and _SCHEME.search(text, max(0, at - 31), at):
            yield from _in_address(rest[0], start)
        at = text.find("://", start)


def _in_address(rest: str, start: int) -> Iterator[Span]:
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" not in authority:
        # A password may hold a slash that nobody escaped; a port may not be taken for one.
        user, colon, behind = rest.partition(":")
        odd, at, _ = behind.partition("@")
        if not (colon and at) or "/" in user or _PORT.match(behind) or "://" in odd:
            return
        authority = rest[: len(user) + len(odd) + 2]
    user_info = authority.rpartition("@")[0]
    user, colon, password = user_info.partition(":")
    if colon and password and not is_placeholder(password):
        yield Span(start + len(user) + 1, start + len(user_info), "password-in-address")
    if user and (looks_random(user, 16) or (is_hex(user) and len(user) >= 32)) and not is_placeholder(user):
        yield Span(start, start + len(user), "token-in-address")


def _in_headers(text: str, lower: str) -> Iterator[Span]:
    for word in _header_words().finditer(lower):
        found = _header().match(lower, word.start())
        if found is None or found.lastgroup is None:
            continue
        first, last = found.span(found.lastgroup)
        if _is_credential(found.lastgroup, text[first:last]):
            yield Span(first, last, "cookie" if found.lastgroup == "cookie" else "authorization")


def _is_credential(place: str, value: str) -> bool:
    digit = has_digit(value)
    if is_placeholder(value) or not digit:
        return False
    return place != "bare" or looks_random(value, 16) or len(value) >= 20


def _on_command_lines(text: str) -> Iterator[Span]:
    for found in _command_line().finditer(text):
        for name, value in found.groupdict().items():
            if value is not None and not is_placeholder(value):
                yield Span(*found.span(name), "password")
