"""Secrets that no word stands beside: the second argument of a login, the last field of a line, a table's column."""

import re
from collections.abc import Iterator

from reverie.guard.randomness import classes_of, has_digit, is_placeholder, is_uuid, looks_random
from reverie.guard.span import Span
from reverie.guard.vendors import Shape

_UNDER_HEADINGS = re.compile(r"\n[ \t]{0,8}\|[ :|-]{3,400}\|[ \t]*(?=\n)")
_SECRET_COLUMN = re.compile(r"\b(?:passwor[dt]|passwd|pwd|pass|secret|token|api[ _-]?key)$", re.I)
_MOST_ROWS = 200


_LOGINS = ("auth=", "auth", "credential", "credentials", "login", "log_in", "signin", "connect", "connection")
_CLIENTS = ("client", "api", "sdk", "init", "configure")
_PLACES = (
    # auth=("user", "…"), NetworkCredential("user", "…"), smtp.login("user", "…"), getConnection(url, "user", "…")
    Shape(
        "pair",
        tuple(f"{word}(" for word in _LOGINS),
        r"\((?:" + "|".join(rf"(?<={word}\()" for word in _LOGINS) + r")(?:[^()\"'\n]{0,80},)?\s{0,4}"
        r"[\"'][^\"'\n]{1,80}[\"']\s{0,2},\s{0,4}[\"'](?P<value>[^\"'\n]{5,200})[\"']\s{0,2}[,)]",
    ),
    # SDK clients that take nothing but the key: Client("…")
    Shape(
        "sole",
        tuple(f"{word}(" for word in _CLIENTS),
        r"\((?:" + "|".join(rf"(?<={word}\()" for word in _CLIENTS) + r")\s{0,2}"
        r"[\"'](?P<value>[a-z0-9_-]{24,200})[\"']\s{0,2}[,)]",
    ),
    Shape(
        "set",
        ("identified",),
        r"\b(?:user|role)\b[^\n]{0,160}?\bidentified\s+(?:with\s+\S{1,60}\s+)?by\s+[\"'](?P<value>[^\"'\n]{3,200})[\"']",
    ),
    Shape(
        "set",
        ("convertto-securestring",),
        r"convertto-securestring\s+(?:-string\s+)?[\"'](?P<value>[^\"'\n]{3,200})[\"']",
    ),
    Shape("set", ("net use",), r"net use\s[^\n]{0,200}?/user:\S{1,80}\s+(?P<value>[^\s/\"'][^\s\"']{3,100})"),
    Shape("pair", ("net user",), r"net user\s+[\w.-]{1,40}\s+(?P<value>[^\s/\"'*][^\s\"']{3,100})"),
    # ~/.pgpass
    Shape(
        "set",
        (":543", ":6432:", ":*:"),
        r"(?m)^[\w.*-]{1,80}:(?:543\d|6432|\*):[\w*.-]{1,60}:[\w*.@-]{1,60}:(?P<value>[^\s\"']{4,200})$",
    ),
    # snyk auth …, codecov -t …
    Shape(
        "sole uuid",
        ("auth ", "login ", "authtoken ", "codecov "),
        r"\b(?:auth|login|authtoken|codecov(?: [^\n]{0,100})? -t) +"
        r"(?P<value>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\b",
    ),
    # log in as admin / …
    Shape(
        "told",
        ("log in", "login", "logged in", "sign in", "signed in", "logon"),
        r"(?:log|sign)(?:ged|ed)? ?[io]n\b[^.\n]{0,60}?\b(?:as|with|using) [\"'`]?"
        r"[\w.@+-]{2,60}[\"'`]?\s?[:/]\s?[\"'`]?"
        r"(?P<value>[^\s\"'`,;]{8,100})",
    ),
)


def placed_in(text: str, lower: str) -> Iterator[Span]:
    """Yield what is a secret by its place alone; `lower` is the text in small letters."""
    for place in _PLACES:
        if not any(needle in lower for needle in place.needles):
            continue
        for found in place.compiled.finditer(lower):
            first, last = found.span("value")
            if _is_secret(place.kind, text[first:last]):
                yield Span(first, last, "secret" if place.kind.startswith("sole") else "password")
    if "|" in text:
        yield from _in_tables(text)


def _is_secret(kind: str, value: str) -> bool:
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
        case "told":
            return digit and classes_of(value) >= 3
        case _:
            mixed = len(value) >= 10 and value.isalnum() and not value.islower() and not value.isupper()
            return mixed or looks_random(value, 10) or (digit and classes_of(value) >= 4 and "/" not in value)


def _in_tables(text: str) -> Iterator[Span]:
    """Yield what stands under a heading that says password, in a table drawn with bars."""
    for under in _UNDER_HEADINGS.finditer(text):
        heading = text[text.rfind("\n", 0, under.start()) + 1 : under.start()]
        columns = [n for n, cell in enumerate(heading.split("|")) if _SECRET_COLUMN.search(cell.strip(" *`"))]
        at = under.end() + 1
        for _ in range(_MOST_ROWS if columns else 0):
            end = text.find("\n", at)
            row = text[at : end if end >= 0 else len(text)]
            if not row.lstrip().startswith("|"):
                break
            yield from _in_cells(row, at, columns)
            at += len(row) + 1


def _in_cells(row: str, at: int, columns: list[int]) -> Iterator[Span]:
    cells = row.split("|")
    for number in columns:
        value = cells[number].strip(" *`\t\r") if number < len(cells) else ""
        digit = has_digit(value)
        telling = (digit and classes_of(value) >= 2) or looks_random(value, 10)
        if len(value) >= 6 and telling and " " not in value and not is_placeholder(value):
            start = at + sum(len(cell) + 1 for cell in cells[:number]) + cells[number].find(value)
            yield Span(start, start + len(value), "password")
