"""The one tokenizer: plain words, typed tokens, and the terms that search indexes.

`words` splits a text into plain words, `tokens_of` into typed tokens. Search and rough overlap use words:
`core/app.py` is three. Comparison uses tokens, because it must know that `core/app.py` is one path, `1,000` one
number and `don't` a negation (decision 0025). The features of the bundled classifiers
(`guard/injection_features.py`, `tools/classify.py`) have their own splitting, because their weights were trained
with it.

Search indexes the text, the parts of its identifiers, and its words as hashed stems (`search_text`, `terms`); the
query and the memory are both read here.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, wraps
from typing import Final, Literal, TypeVar
from zlib import crc32

from reverie.text.word_forms import FILLERS, FUNCTION_WORDS, stem

Result = TypeVar("Result")

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
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
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
    return _NOT_ASCII.sub(lambda run: _plain_letters(run[0]), text)  # most texts have one dash or ellipsis


def _plain_letters(run: str) -> str:
    parts = unicodedata.normalize("NFKD", run)
    return unicodedata.normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))


_LONGEST_CACHED = 2_000  # characters
_MOST_CACHED = 1_024


def kept_if_short(read: Callable[[str], Result]) -> Callable[[str], Result]:
    """Keep what a function says of the last short texts.

    A new text is compared with each of its neighbours, and those are often the neighbours of the next one.
    """
    kept = lru_cache(maxsize=_MOST_CACHED)(read)

    @wraps(read)
    def read_once(text: str) -> Result:
        return kept(text) if len(text) <= _LONGEST_CACHED else read(text)

    return read_once


@kept_if_short
def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order, without fillers."""
    all_capitals = text.isupper()  # of the text as written: expanded contractions are lower-case
    return tuple(token for token in every_token_of(text) if not _is_filler(token, all_capitals=all_capitals))


@kept_if_short
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
    if "'" not in plain and "cannot" not in plain.lower():
        return plain
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
        pending = token if token.kind == "number" and token.shown.casefold() in TENS else None
        if pending is None:
            yield token
    if pending is not None:
        yield pending


def _token(match: re.Match[str], text: str) -> Token:
    shown = match.group()
    match match.lastgroup:
        case "word":
            starts = shown[0].isupper() and _starts_sentence(text, match.start())  # matters for capitals only
            return _word(shown, starts=starts)
        case "url" | "path":
            return _path(shown)
        case "flag":
            return Token("name", shown, shown)
        case "version":
            return Token("version", shown.casefold().removeprefix("v"), shown)
        case "bang":
            return Token("negation", "not", shown)
        case "sign":
            return Token("word", SAME_WORDS.get(shown, shown), shown)
        case _:  # an amount or a number
            form = re.sub(r"[,_]", "", shown) if _GROUPED.fullmatch(shown) else shown.casefold()
            return Token("number", form.removeprefix("+"), shown)


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


# In two linear steps: one pattern for both takes minutes over a minified line of a few thousand characters.
_RUN = re.compile(r"\w[\w\-./:\\]*")
_IN_AN_IDENTIFIER = re.compile(r"[_\-./:\\]\w|[a-z][A-Z]|[A-Z]{2}[a-z]|\d")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,}")
_CACHED_TERMS = 8_192


def search_text(*texts: str) -> str:
    """Return the texts with the parts of each identifier, and of each unspaced run of CJK, added."""
    written = "\n".join(text for text in texts if text)
    added = [*_identifier_parts(written), *_cjk_pairs(written)]
    return f"{written}\n{' '.join(dict.fromkeys(added))}" if added else written


def _identifier_parts(text: str) -> list[str]:
    """Split `getUserById`, `HTTPServer2`, `snake_case` and `a/path-like.name` into their words."""
    parts: list[str] = []
    for run in _RUN.findall(text):
        if _IN_AN_IDENTIFIER.search(run):
            humps = _HUMP.findall(run)
            if len(humps) > 1:
                parts.extend(humps)
    return parts


def _cjk_pairs(text: str) -> list[str]:
    """Return every pair of neighbouring characters in Chinese, Japanese and Korean, which use no spaces."""
    return [run[i : i + 2] for run in _CJK_RUN.findall(text) for i in range(len(run) - 1)]


def terms(text: str) -> list[int]:
    """Return the words of a text in order, each stemmed and hashed."""
    return [_term(word) for word in words(text)]


@cache
def function_terms() -> frozenset[int]:
    """Return the terms of the stop list."""
    return frozenset(map(_term, FUNCTION_WORDS))


@lru_cache(_CACHED_TERMS)
def _term(word: str) -> int:
    return crc32(stem(word).encode("utf-8", "replace")) or 1  # zero means no term
