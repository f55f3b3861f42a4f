"""Secrets recognised by their position: an argument of a login, a field of a line, a column of a table.

Also by the cue before them: a program's flag, a word for PINs or recovery codes, brackets, the line above.
"""

import re
from collections.abc import Iterator

from reverie.guard.command_line_secrets import ARGUMENT_PATTERNS
from reverie.guard.secret_phrases import PHRASES
from reverie.guard.secret_shapes import (
    SecretPattern,
    Span,
    classes_of,
    four_groups,
    has_digit,
    is_hex,
    is_passphrase,
    is_placeholder,
    is_uuid,
    looks_random,
)

_UNDER_HEADINGS = re.compile(r"\n[ \t]{0,8}\|[ :|-]{3,400}\|[ \t]*(?=\n)")
_SECRET_COLUMN = re.compile(r"\b(?:passwor[dt]|passwd|pwd|pass|secret|token|api[ _-]?key)$", re.I)
_DELIMITED_HEADING = re.compile(
    r"(?m)^(?=[^\n]{0,200}?(?:pass|pwd|secret|token|key))[\w \"'./-]{1,40}(?:[\t;,][\w \"'./-]{1,40}){1,8}\r?$"
)


_LOGINS = (
    *("auth=", "auth", "credential", "credentials", "login", "log_in", "signin", "connect", "connection"),
    *(
        "set_password",
        "setpassword",
        "change_password",
        "changepassword",
        "authenticate",
        "create_user",
        "createuser",
    ),
)
_CLIENTS = ("client", "api", "sdk", "init", "configure")
_POSITIONS = (
    # auth=("user", "…"), NetworkCredential("user", "…"), smtp.login("user", "…"), getConnection(url, "user", "…")
    SecretPattern(
        "pair",
        tuple(f"{word}(" for word in _LOGINS),
        r"\((?:" + "|".join(rf"(?<={word}\()" for word in _LOGINS) + r")(?:[^()\"'\n]{0,80},)?\s{0,4}"
        r"[\"'][^\"'\n]{1,80}[\"']\s{0,2},\s{0,4}[\"'](?P<value>[^\"'\n]{5,200})[\"']\s{0,2}[,)]",
    ),
    # SDK clients that take nothing but the key: Client("…")
    SecretPattern(
        "sole",
        tuple(f"{word}(" for word in _CLIENTS),
        r"\((?:" + "|".join(rf"(?<={word}\()" for word in _CLIENTS) + r")\s{0,2}"
        r"[\"'](?P<value>[a-z0-9_-]{24,200})[\"']\s{0,2}[,)]",
    ),
    SecretPattern(
        "set",
        ("identified",),
        r"\bidentified\s+(?:with\s+\S{1,60}\s+)?by\s+[\"'](?P<value>[^\"'\n]{3,200})[\"']",
    ),
    SecretPattern(
        "set",
        ("convertto-securestring",),
        r"convertto-securestring\s+(?:-string\s+)?[\"'](?P<value>[^\"'\n]{3,200})[\"']",
    ),
    SecretPattern("set", ("net use",), r"net use\s[^\n]{0,200}?/user:\S{1,80}\s+(?P<value>[^\s/\"'][^\s\"']{3,100})"),
    SecretPattern("pair", ("net user",), r"net user\s+[\w.-]{1,40}\s+(?P<value>[^\s/\"'*][^\s\"']{3,100})"),
    # ~/.pgpass
    SecretPattern(
        "set",
        (":543", ":6432:", ":*:"),
        r"(?m)^[\w.*-]{1,80}:(?:543\d|6432|\*):[\w*.-]{1,60}:[\w*.@-]{1,60}:(?P<value>[^\s\"']{4,200})$",
    ),
    # snyk auth …, codecov -t …
    SecretPattern(
        "sole uuid",
        ("auth ", "login ", "authtoken ", "codecov "),
        r"\b(?:auth|login|authtoken|codecov(?: [^\n]{0,100})? -t) +"
        r"(?P<value>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\b",
    ),
    # log in as admin / …
    SecretPattern(
        "prose",
        ("log in", "login", "logged in", "sign in", "signed in", "logon"),
        r"(?:log|sign)(?:ged|ed)? ?[io]n\b[^.\n]{0,60}?(?:\b(?:as|with|using) |\()[\"'`]?"
        r"[\w.@+-]{2,60}[\"'`]?\s?[:/]\s?[\"'`]?"
        r"(?P<value>[^\s\"'`,;()]{8,100})",
    ),
)


def positional_secrets_in(text: str, lower: str) -> Iterator[Span]:
    """Yield the secrets that their position alone gives away; `lower` is the text in lower case."""
    for place in _POSITIONS:
        if not any(needle in lower for needle in place.needles):
            continue
        for found in place.compiled.finditer(lower):
            first, last = found.span("value")
            if _is_positional_secret(place.kind, text[first:last]):
                yield Span(first, last, "secret" if place.kind.startswith("sole") else "password")
    if "|" in text:
        yield from _in_tables(text)
    yield from _in_delimited_lines(text, lower)


def _is_positional_secret(kind: str, value: str) -> bool:
    if is_placeholder(value) or any(c.isspace() for c in value):
        return False
    digit = has_digit(value)
    match kind:
        case "sole uuid":
            return True
        case "set":
            return classes_of(value) >= 2 or len(value) >= 8
        case "sole":
            return not is_uuid(value) and digit and classes_of(value) >= 3 and looks_random(value)
        case "prose":
            return digit and classes_of(value) >= 3
        case _:
            mixed = len(value) >= 10 and value.isalnum() and not value.islower() and not value.isupper()
            return mixed or looks_random(value, 10) or (digit and classes_of(value) >= 4 and "/" not in value)


def _in_tables(text: str) -> Iterator[Span]:
    """Yield the cells under a heading such as password, in a table drawn with bars."""
    done = 0
    for under in _UNDER_HEADINGS.finditer(text):
        if under.start() < done:
            continue  # a row of the table before
        heading = text[text.rfind("\n", 0, under.start()) + 1 : under.start()]
        columns = [n for n, cell in enumerate(heading.split("|")) if _SECRET_COLUMN.search(cell.strip(" *`"))]
        done = under.end() + 1
        for row in _rows(text, done) if columns else ():
            if not row.lstrip().startswith("|"):
                break
            yield from _in_cells(row, done, columns, "|")
            done += len(row) + 1


def _in_delimited_lines(text: str, lower: str) -> Iterator[Span]:
    """Yield the cells under a heading such as password, in lines divided by tabs, commas or semicolons."""
    done = 0
    for heading in _DELIMITED_HEADING.finditer(lower):
        if heading.start() < done:
            continue
        divider = max("\t;,", key=heading[0].count)
        names = [cell.strip(" \"'\r") for cell in heading[0].split(divider)]
        columns = [number for number, name in enumerate(names) if _SECRET_COLUMN.search(name)]
        done = heading.end() + 1
        for row in _rows(text, done) if columns and len(names) > 1 else ():
            if row.count(divider) != len(names) - 1:
                break
            yield from _in_cells(row, done, columns, divider)
            done += len(row) + 1


def _rows(text: str, at: int) -> Iterator[str]:
    """Yield the lines from a place on."""
    while (end := text.find("\n", at)) >= 0:
        yield text[at:end]
        at = end + 1
    yield text[at:]


def _in_cells(row: str, at: int, columns: list[int], divider: str) -> Iterator[Span]:
    cells = row.split(divider)
    for number in columns:
        value = cells[number].strip(" *`\"'\t\r") if number < len(cells) else ""
        digit = has_digit(value)
        telling = (digit and classes_of(value) >= 2) or looks_random(value, 10)
        if len(value) >= 6 and telling and " " not in value and not is_placeholder(value):
            start = at + sum(len(cell) + 1 for cell in cells[:number]) + cells[number].find(value)
            yield Span(start, start + len(value), "password")


_NO_SECRET = re.compile(
    r"(?:argon2\w*|sha-?\d+|md5|base-?\d+|utf-?\d+|pbkdf2|oauth-?2?(?:\.\d)?|http/?\d?|v?\d+(?:\.\d+)*"
    r"|[a-z]+_[a-z_\d]+|[a-z]+(?:\.[a-z]\w*)+(?:\(\))?|rs\d+|hs\d+|es\d+"
    r"|ed25519|x509|[a-z]+/[\w./-]+|[~.]?/[\w./-]*|[a-z]+:\S*|\d+(?:st|nd|rd|th|s|ms|min|h|d)"
    r"|[a-z]+-\d+(?:\.\d+)*|1password|step\d|[a-z]+\d?=\S*"
    r"|--?[a-z]\S*|@\S+|\$\w+|%\w+%?)",
    re.IGNORECASE,
)


_ARGUMENTS = ("argument", "capital", "camel", "sure")


def secrets_after_cues_in(text: str, lower: str) -> Iterator[Span]:
    """Yield the secrets that the words or the program before them give away; `lower` is in lower case."""
    for place in (*ARGUMENT_PATTERNS, *PHRASES):
        if not any(needle in lower for needle in place.needles):
            continue
        for found in place.compiled.finditer(lower):
            if "flag" in place.compiled.groupindex and not _is_written_so(
                place.kind, text[slice(*found.span("flag"))]
            ):
                continue
            group = next(name for name, value in found.groupdict().items() if name != "flag" and value is not None)
            first, last = found.span(group)
            value = text[first:last] if place.kind in _ARGUMENTS else text[first:last].rstrip(".,;:")
            if _is_spoken_secret(place.kind, value):
                yield Span(first, first + len(value), "password")


def _is_written_so(kind: str, flag: str) -> bool:
    """Return whether a flag or name is in the case that its pattern asks for: `-P`, `SSHPASS`, `smtpPass`."""
    return flag.endswith("Pass") if kind == "camel" else flag == flag.upper()


def _is_spoken_secret(kind: str, value: str) -> bool:
    if kind == "number":
        return len(set(value)) > 1
    if is_placeholder(value) or (value.startswith(("$", "%", "-")) and kind in _ARGUMENTS):
        return False
    digit, letter = has_digit(value), value.upper() != value.lower()
    match kind:
        case "camel":
            return digit and letter and classes_of(value) >= 3
        case "argument" | "capital":
            return not value.isdigit() and (digit or classes_of(value) >= 2) and not _is_a_name(value)
        case "login":
            return digit and letter and not _is_a_name(value)
        case "sure":
            return True
        case "network":
            return digit or classes_of(value) >= 3
        case "spaced":
            return sum(has_digit(group) and not group.isdigit() for group in value.split()) > 1
        case "grouped":
            return bool(four_groups(value, 0))
        case "group":
            return digit
        case "lettered":
            return True
        case "base32":
            return digit and (value.isupper() or " " in value)
        case "phrase":
            return is_passphrase(value)
        case "session":
            return looks_random(value, 16) or (is_hex(value) and len(value) >= 24)
        case "signed":
            return digit and classes_of(value) >= 4
        case "labelled":
            return digit and letter and classes_of(value) >= 3
        case "paired":
            return digit and letter and classes_of(value) >= 3 and not _is_a_name(value)
        case "vendor":
            return any(is_hex(part) and len(part) >= 12 and has_digit(part) for part in re.split(r"\W|_", value))
        case "words":
            return True
        case _:
            return _is_mixed(kind, value, digit=digit, letter=letter)


def _is_a_name(value: str) -> bool:
    """Return whether a value is a method, a version, a path or a name; a name has no digit among both cases."""
    if not _NO_SECRET.fullmatch(value):
        return False
    return value.islower() or value.isupper() or not has_digit(value) or not _JOINED.fullmatch(value)


_JOINED = re.compile(r"[A-Za-z]+(?:[._=-]\w+)+")


def _is_mixed(kind: str, value: str, *, digit: bool, letter: bool) -> bool:
    """Return whether a value near the word is a secret, not a method, a version, a file or a setting."""
    if not (digit and letter) or _is_a_name(value) or (is_hex(value) and len(value) < 20):
        return False
    if kind == "line":
        return classes_of(value) >= 3 or looks_random(value, 16)
    return True
