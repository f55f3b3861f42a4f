"""The tokenizer. `words` splits a text into plain words, `tokens_of` into typed tokens.

Search and rough overlap use words: `core/app.py` is three. Comparison uses tokens, because it must know that
`core/app.py` is one path, `1,000` one number and `don't` a negation (decision 0025). The features of the
bundled classifiers (`guard/injection_features.py`, `tools/classify.py`) have their own splitting, because their
weights were trained with it.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from reverie.text.stems import FILLERS

TokenKind = Literal["number", "version", "path", "name", "negation", "word"]


@dataclass(frozen=True, slots=True)
class Token:
    """One token: `form` is what is compared, `shown` is how the text spells it."""

    kind: TokenKind
    form: str
    shown: str


_NEGATIONS = "not no never without none neither nor nothing nobody except unless"
NEGATIONS: Final = frozenset(_NEGATIONS.split())

_UNITS = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS: Final = {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
ONES: Final = {word: value for value, word in enumerate(_UNITS.split()) if value > 0}
NUMBER_WORDS: Final[dict[str, int]] = (
    {word: value for value, word in enumerate(f"{_UNITS} {_TEENS}".split())}
    | TENS
    | {f"{tens}-{ones}": TENS[tens] + ONES[ones] for tens in TENS for ones in ONES}
)
SAME_WORDS: Final = {"&": "and", "percent": "%"}

_CONTRACTIONS: Final = (
    (re.compile(r"\bcan't\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"(?<=\w)n't\b", re.IGNORECASE), " not"),
    (re.compile(r"(?<=\w)'(?:s|re)\b", re.IGNORECASE), ""),
    (re.compile(r"(?<=\w)'ll\b", re.IGNORECASE), " will"),
    (re.compile(r"(?<=\w)'ve\b", re.IGNORECASE), " have"),
)
_TOKEN: Final = re.compile(
    r"""
      (?P<url>     (?<![a-zA-Z+])[a-zA-Z][a-zA-Z+]*+://\S+ )
    | (?P<path>    (?<![\w.@+-])~?[\w.@+-]*+(?:[/\\][\w.@+-]+)+[/\\]? )
    | (?P<flag>    (?<![\w-])--?[A-Za-z][\w-]* )
    | (?P<version> (?<![\w.])(?:[vV]\d+(?:\.\d+)*|\d+(?:\.\d+){2,})(?:[-+]\w[\w.+-]*)?\b )
    | (?P<amount>  (?<![\w.])[-+]?\d+(?:\.\d+)?(?=[A-Za-z]+\b) )
    | (?P<number>  (?<![\w.])[-+]?\d(?:[\w.,:-]*\w)? )
    | (?P<word>    [^\W\d]\w*(?:(?:\.|::|'|-)\w+)*(?:\+\+|\#)? )
    | (?P<bang>    (?<!\w)!(?=[\w(]) )
    | (?P<sign>    [<>=!]=|[-=]>|[^\s\w.,;:!?'"()\[\]{}`*\#“”‘’–—…-] )
    """,
    re.VERBOSE,
)
_WORD: Final = re.compile(r"\w+")
_LOOK_BACK = 8
_CACHED_WORDS = 1 << 15  # a few thousand words make up most of any store
_GROUPED: Final = re.compile(r"[-+]?\d{1,3}(?:[,_]\d{3})+")
_FILE: Final = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z]{1,4}")
_IDENTIFIER: Final = re.compile(r".*(?:[a-z][A-Z]|\d|_|::|\w\.\w|[#+]$).*")


def words(text: str) -> list[str]:
    """Return the words of a text in order, lower-case and without accents: `café` is found by `cafe`."""
    return _WORD.findall(_without_accents(text.lower()))


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))


@lru_cache(maxsize=32)  # a new text is compared with each of its neighbours
def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order, without fillers."""
    plain = _plain(text)
    all_capitals = text.isupper()  # of the text as written: expanded contractions are lower-case
    return tuple(token for token in _tokens(plain) if not _is_filler(token, all_capitals=all_capitals))


def every_token_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order, fillers included."""
    return tuple(_tokens(_plain(text)))


def is_mixed_case(token: Token) -> bool:
    """Return whether a token is spelled like `userId`, where case is part of the name."""
    return bool(re.search(r"[a-z][A-Z]", token.shown))


def _is_filler(token: Token, *, all_capitals: bool) -> bool:
    """Return whether a token is a filler. `A` in `plan A` and `IT` in `the IT team` are names."""
    if token.form not in FILLERS:
        return False
    return all_capitals or token.kind != "name" or not token.shown.isupper()


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFC", text).replace("’", "'")
    for contraction, expanded in _CONTRACTIONS:
        plain = contraction.sub(expanded, plain)
    return plain


def _tokens(text: str) -> Iterator[Token]:
    pending: Token | None = None  # a number word for tens, which a word for ones may follow
    for match in _TOKEN.finditer(text):
        token = _token(match, text)
        if pending is not None:
            joined = NUMBER_WORDS.get(f"{pending.shown.casefold()}-{token.shown.casefold()}")
            if joined is not None:
                yield Token("number", str(joined), f"{pending.shown} {token.shown}")
                pending = None
                continue
            yield pending
        pending = token if token.shown.casefold() in TENS else None
        if pending is None:
            yield token
    if pending is not None:
        yield pending


def _token(match: re.Match[str], text: str) -> Token:
    shown = match.group()
    match match.lastgroup:
        case "url" | "path":
            return _path(shown)
        case "flag":
            return Token("name", shown, shown)
        case "version":
            return Token("version", shown.casefold().removeprefix("v"), shown)
        case "amount" | "number":
            form = re.sub(r"[,_]", "", shown) if _GROUPED.fullmatch(shown) else shown.casefold()
            return Token("number", form.removeprefix("+"), shown)
        case "bang":
            return Token("negation", "not", shown)
        case "sign":
            return Token("word", SAME_WORDS.get(shown, shown), shown)
        case _:
            return _word(shown, starts=_starts_sentence(text, match.start()))


def _path(shown: str) -> Token:
    bare = shown.rstrip(".,;:!?)>\"'")
    form = bare.replace("\\", "/").removeprefix("./")
    kind: TokenKind = "path" if re.search(r"[^\W\d]", form) else "number"  # 24/7 and 01/02 are no paths
    return Token(kind, form.rstrip("/") or "/", bare)


@lru_cache(maxsize=_CACHED_WORDS)
def _word(shown: str, *, starts: bool) -> Token:
    form = shown.casefold()
    if form in NEGATIONS:
        return Token("negation", form, shown)
    if form in NUMBER_WORDS:
        return Token("number", str(NUMBER_WORDS[form]), shown)
    if _FILE.fullmatch(shown):
        return Token("path", shown, shown)
    capital = shown[0].isupper() and not starts
    all_capitals = len(shown) > 1 and shown.isupper()
    if capital or all_capitals or _IDENTIFIER.fullmatch(shown):
        return Token("name", form, shown)
    return Token("word", SAME_WORDS.get(form, form), shown)


def _starts_sentence(text: str, at: int) -> bool:
    before = text[max(0, at - _LOOK_BACK) : at].rstrip(" \t\"'`(*_#")
    return not before or before[-1] in ".!?:\n"
