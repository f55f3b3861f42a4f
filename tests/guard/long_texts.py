"""Texts of the longest length that a memory may have: ordinary ones, and ones built to keep a pattern busy."""

import functools
import json
import random
import string
from collections.abc import Callable

LIMIT = 100_000

_SYLLABLES = (
    *("ba", "co", "de", "fi", "gu", "la", "me", "no", "pri", "qua", "re", "sto", "ti", "u", "ver", "win", "xen"),
    *("yo", "zan", "ter", "ing", "ly", "tion"),
)
_COMMON = (
    *(
        "the",
        "a",
        "of",
        "to",
        "in",
        "and",
        "we",
        "is",
        "that",
        "for",
        "on",
        "with",
        "as",
        "it",
        "this",
        "by",
        "cache",
    ),
    *("server", "test", "build", "deploy", "when", "runs", "after", "before", "table", "index", "query", "model"),
    *("branch", "commit", "file", "because", "never", "must", "should", "users", "password", "token", "release"),
)
_VENDOR_LETTERS = string.ascii_letters + string.digits


def filled(unit: str) -> str:
    """Return a text of exactly the limit, made of one unit."""
    return ("x" + unit * (LIMIT // len(unit) + 1))[:LIMIT]


def varied() -> dict[str, str]:
    """Return long texts of all KINDS, by name; always the same ones."""
    return {kind: varied_text(kind) for kind in KINDS}


@functools.cache
def varied_text(kind: str) -> str:
    """Return a long text of one of the KINDS; always the same one."""
    return _of(KINDS[kind], random.Random(kind))  # noqa: S311 - no secret


def mixed(number: int) -> tuple[str, str]:
    """Return what a random text is made of, and the text: pieces of patterns, repeated, mixed, or in long runs."""
    dice = random.Random(number)  # noqa: S311 - no secret
    way = dice.randrange(3)
    if way == 0:
        unit = "".join(dice.choices(PIECES, k=dice.randint(2, 5)))
        return f"repeated {unit!r}", filled(unit)
    if way == 1:
        few = dice.choices(PIECES, k=dice.randint(2, 6))
        return f"mixed {few!r}", "".join(dice.choices(few, k=LIMIT))[:LIMIT]
    first, joint, last = dice.choices(PIECES, k=3)
    length = dice.choice((100, 1_000, 5_000, 30_000))
    return f"runs of {length} {(first, joint, last)!r}", filled(
        first * (length // len(first)) + joint + last * length
    )


PIECES = (
    *("password", "passwd", "token", "secret", "key", "api_key", "AKIA", "ghp_", "eyJ", "Bearer ", "authorization: "),
    *("Basic ", "cookie: ", "http://", "https://", "://", "postgres://u:p", "::", "@", "->", "=>", "-----BEGIN"),
    *("-----BEGIN PRIVATE KEY-----", "-----END", '"', "'", "`", "``", "(", ")", "[", "](", "{", "}", "<", "</"),
    *("<!--", "-->", "<div hidden ", "<private>", "</private>", "1", "42", "0x", "ab12", ".", ",", ";", ":", "="),
    *("==", ":=", "|", "---", "#", "# ", "\\", "\\u0041", "\\x41", "%41", "&amp;", "&", " ", "  ", "\n", "\n\n"),
    *("\t", "a", "word", "ignore previous ", "you must ", "when you ", "do not ", "assistant", "user: ", "system: "),
    *("pin ", "code is ", "is ", "the ", "for ", "seed phrase ", "mot de passe", "密码", "пароль", "é", "\u0301"),
    *("\u200b", "\u202e", "\U0001f600", "\u0430", "a.b", "src/a.py", "foo_bar", "foo()", "x@y.z", "v1.2.3", ">="),
    *("curl -u ", "mysql -p", "export ", "--password ", "ssh ", "echo ", "base64 ", "QUJDREVG", "deadbeef", "value"),
    *("default =", "login(", "\x1b[", "$", "${", "%s", "~", "^", "*", "**", "_", "__", "+", "/", "//", "../", "?"),
    *("!", "…"),
)


def _of(make: Callable[[random.Random], str], dice: random.Random) -> str:
    parts: list[str] = []
    length = 0
    while length < LIMIT:
        parts.append(make(dice))
        length += len(parts[-1])
    return "".join(parts)[:LIMIT]


def _word(dice: random.Random) -> str:
    return dice.choice(_COMMON) if dice.random() < 0.6 else "".join(dice.choices(_SYLLABLES, k=dice.randint(1, 4)))


def _name(dice: random.Random) -> str:
    return "".join(dice.choices(_SYLLABLES, k=3))


def _sentence(dice: random.Random) -> str:
    return " ".join(_word(dice) for _ in range(dice.randint(5, 25))).capitalize() + ". "


def _function(dice: random.Random) -> str:
    one, two = _name(dice), _name(dice)
    head = f'def {one}_{two}(self, {two}: int = {dice.randint(0, 99)}) -> "{one.title()}":'
    return f"{head}\n    return {two}.{one}[0]\n\n"


def _object(dice: random.Random) -> str:
    fields = {"id": dice.getrandbits(30), "name": _name(dice), "path": f"src/{_name(dice)}.py", "v": dice.random()}
    return json.dumps(fields | {"mail": f"{_name(dice)}@example.org"}) + ", "


def _log_line(dice: random.Random) -> str:
    at = f"2026-03-{dice.randint(1, 28):02} {dice.randint(0, 23):02}:07:{dice.randint(0, 59):02}"
    what = f"{_name(dice)}.{_name(dice)}: {_word(dice)} took {dice.randint(1, 999)} ms"
    return f"{at} [WARN] {what} id={dice.getrandbits(64):x}\n"


def _markdown(dice: random.Random) -> str:
    path = f"tools/{_name(dice)}.py"
    return (
        f"- `{path}` has `{_name(dice)}_{_name(dice)}()`, see [{_word(dice)}](docs/{_name(dice)}.md) and {path}:7\n"
    )


def _setting(dice: random.Random) -> str:
    kind = dice.choice(("TOKEN", "KEY", "PASSWORD", "URL"))
    return f"{_name(dice).upper()}_{kind}={''.join(dice.choices(_VENDOR_LETTERS, k=24))}\n"


def _letters(*ranges: tuple[int, int]) -> Callable[[random.Random], str]:
    return lambda dice: chr(dice.randint(*dice.choice(ranges)))


KINDS: dict[str, Callable[[random.Random], str]] = {
    "prose": _sentence,
    "prose without an end": lambda dice: _word(dice) + " ",
    "rare words": lambda dice: "".join(dice.choices(string.ascii_lowercase, k=dice.randint(3, 12))) + " ",
    "code": _function,
    "json": _object,
    "log lines": _log_line,
    "markdown with paths": _markdown,
    "environment": _setting,
    "orders": lambda dice: f"You must {_word(dice)} the {_word(dice)} when you {_word(dice)} {_word(dice)}. ",
    "addresses": lambda dice: f"https://{_name(dice)}.example.org/{_name(dice)}?{_word(dice)}={_name(dice)} ",
    "stack traces": lambda dice: f'  File "/srv/{_name(dice)}.py", line {dice.randint(1, 999)}, in {_name(dice)}\n',
    "html": lambda dice: f'<div class="{_name(dice)}"><a href="/{_name(dice)}">{_word(dice)}</a></div>\n',
    "short lines": lambda dice: _word(dice)[:5] + "\n",
    "lines of a letter": lambda dice: dice.choice(string.ascii_letters) + "\n",
    "digits": lambda dice: f"{dice.randint(0, 9)} ",
    "numbers": lambda dice: f"{dice.random() * 100:.3f},",
    "hex dump": lambda dice: f"{dice.getrandbits(8):02x} ",
    "digests": lambda dice: f"{dice.getrandbits(128):032x}\n",
    "base64": lambda dice: "".join(dice.choices(_VENDOR_LETTERS + "+/", k=76)) + "\n",
    "one word": lambda dice: dice.choice(_VENDOR_LETTERS),
    "signs": lambda dice: dice.choice(string.punctuation),
    "ASCII": lambda dice: chr(dice.randint(32, 126)),
    "Chinese": _letters((0x4E00, 0x9FA5), (0x4E00, 0x9FA5), (0x3001, 0x3002)),
    "Kana": _letters((0x3041, 0x30FF)),
    "scripts mixed": _letters((32, 126), (0xA0, 0x24F), (0x370, 0x5FF), (0x900, 0xFFF), (0x1F300, 0x1F6FF)),
    "words of lookalikes": lambda dice: _word(dice).replace("a", "\u0430").replace("o", "\u043e") + " ",
}
