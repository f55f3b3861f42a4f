"""Words: the one tokenizer, the one stemmer and the one stop list, what search indexes, and short forms of a text.

`words` splits a text into plain words, `tokens_of` into typed tokens. Search and rough overlap use words:
`core/app.py` is three. Comparison uses tokens, because it must know that `core/app.py` is one path, `1,000` one
number and `don't` a negation (decision 0025). The features of the bundled classifiers
(`guard/injection_features.py`, `tools/classify.py`) have their own splitting, because their weights were trained
with it.

Search and comparison share PyStemmer's English stemmer and differ in how far they trust it. Search wants everything
that is related, so `stem` joins `product`, `products` and `production`. Whoever merges two texts unasked must not:
`word_form` joins only the inflections of one word (decision 0025). What search indexes is the text, the parts of its
identifiers, and its words as hashed stems (`search_text`, `terms`); both sides of a match come from here.

The search for names goes by lists of ordinary words, well-known software and small groups of words. They are text
files beside this module: `ordinary_words.txt` is counted by training/ordinary_words.py, the other two are written
by hand.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final, Literal
from zlib import crc32

import Stemmer  # type: ignore[import-not-found, unused-ignore] # publishes no types

_ORDINARY_ENDING: Final = re.compile(
    r"(?:ing|ings|tion|tions|ness|ment|ments|able|ible|ously|ly|ized|ised|ity|less)$"
)
_CACHED_SPELLINGS = 1 << 14


@lru_cache(maxsize=_CACHED_SPELLINGS)
def is_ordinary(word: str) -> bool:
    """Whether a word is one of ordinary prose, in any inflection."""
    lower = word.casefold()
    return (
        stem(lower) in _ordinary_stems()
        or lower in NUMBER_WORDS
        or bool(len(lower) > 5 and _ORDINARY_ENDING.search(lower))
    )


def is_software(phrase: str) -> bool:
    """Whether a phrase, as it is spelled, is a well-known name of software."""
    known = _software().get(phrase.casefold())
    return known is not None and (not known[1] or phrase[:1].isupper())


def needs_capital(phrase: str) -> bool:
    """Whether a well-known name is also a word, so that only its capital tells it from that."""
    known = _software().get(phrase.casefold())
    return known is not None and known[1]


def usual_name(phrase: str) -> str:
    """Return the first of the names of a well-known thing, in lower case; any other phrase in lower case."""
    lower = phrase.casefold()
    known = _software().get(lower)
    return lower if known is None else known[0]


def word_groups(name: str) -> Mapping[str, frozenset[str]]:
    """Return the sections of a file of words."""
    return {
        title: frozenset(word for line in section for word in line.split())
        for title, section in line_groups(name).items()
    }


def line_groups(name: str) -> Mapping[str, list[str]]:
    """Return the sections of a file of lines."""
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in _lines(name):
        if title := _SECTION.fullmatch(line):
            section = found.setdefault(title[1], [])
        else:
            section.append(line)
    return found


_SECTION: Final = re.compile(r"\[([\w ]+)\]")


@cache
def _ordinary_stems() -> frozenset[str]:
    listed = {word for line in _lines("ordinary_words.txt") for word in line.split()}
    return frozenset(listed | {stem(word) for word in FUNCTION_WORDS})


@cache
def _software() -> Mapping[str, tuple[str, bool]]:
    """Return well-known names in lower case, each with the usual one and whether it must have a capital."""
    found: dict[str, tuple[str, bool]] = {}
    for line in _lines("software_names.txt"):
        for group in line.split(","):
            names = [name.strip() for name in group.split("=")]
            found |= {name.casefold(): (names[0].casefold(), name[:1].isupper()) for name in names}
    return found


def _lines(name: str) -> list[str]:
    text = (files("reverie.text") / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


_CACHED_STEMS = 1 << 14
_CACHED_PAIRS = 65_536

_FREQUENT = """a about am an and are as at be been but by can could did do does for from had has have he her his how i
    if in into is it its just me my no not of on or our she should so such that the their then there these they this
    to was we were what when where which who will with would you your"""
FREQUENT_WORDS: Final = frozenset(_FREQUENT.split())
"""The function words of almost every sentence. Token vectors are not stored for them."""

_LESS_FREQUENT = """after all also any because before being both d doing done during each few get got having here hers
    him ll m more most now off once only other out over own re s same some t than them those through too under until
    up us ve very while whom why yours"""
FUNCTION_WORDS: Final = FREQUENT_WORDS | frozenset(_LESS_FREQUENT.split())
"""The stop list. Search gives these words less weight, never none."""

_FILLERS = "a an the is are be am it its this that these those of do does please also just so then now our we"
FILLERS: Final = frozenset(_FILLERS.split())
"""The stop words that comparison drops. Tense, person and direction (was, my, to) change what a text says."""

_INTENSIFIERS = "some there while who which that very really quite already any up"
INTENSIFIERS: Final = frozenset(_INTENSIFIERS.split())
"""Words that may come or go in a restatement without changing what it says."""

_IRREGULAR = (
    "be:was,were,been,being,is,are,am have:has,had,having do:did,done,does make:made take:took,taken give:gave,given "
    "go:went,gone,goes get:got,gotten run:ran see:saw,seen say:said tell:told "
    "write:wrote,written ride:rode,ridden drive:drove,driven speak:spoke,spoken break:broke,broken eat:ate,eaten "
    "wear:wore,worn throw:threw,thrown draw:drew,drawn show:shown grow:grew,grown know:knew,known "
    "blow:blew,blown fly:flew,flown drink:drank,drunk sing:sang,sung swim:swam,swum begin:began,begun ring:rang,rung "
    "hold:held keep:kept sleep:slept sweep:swept feed:fed lead:led build:built send:sent spend:spent lend:lent "
    "find:found bind:bound wind:wound stand:stood sit:sat catch:caught teach:taught buy:bought bring:brought "
    "think:thought fight:fought lose:lost leave:left meet:met pay:paid lie:lay,lain,lying lay:laid sell:sold "
    "choose:chose,chosen freeze:froze,frozen steal:stole,stolen wake:woke,woken shake:shook,shaken "
    "hang:hung dig:dug stick:stuck strike:struck shoot:shot "
    "child:children man:men woman:women person:people foot:feet mouse:mice index:indices "
    "queue:queued,queues,queuing,queueing"
)
_BASE_FORMS: Final[dict[str, str]] = {
    form: base
    for base, _, forms in (entry.partition(":") for entry in _IRREGULAR.split())
    for form in forms.split(",")
}

_DERIVED: Final = re.compile(
    r"""(?: (?:ation|ition|ion|ent|ant|ful|ous|ism|ness|less) (?=(?:e?s|ed|ing)?$)
          | (?:erer|er|(?:at|it|ct|ss|ut|pt)or)   (?=r?(?:s|ed|ing)?$)
          | (?:(?<=[tnvursw])al|ical|ial)         (?=l?(?:s|ed|ing)?$)
          | (?:anc|enc|abl|ibl|iv|iz|is|(?<![eo])at) (?=(?:e|es|ed|ing)$)
          | (?:nc|it)                             (?=(?:y|ies)$)
          | ic                                    (?=s?$)
          | (?:(?<=[aeiouy].)|(?<=[aeiouy]..))ings $
          | (?:[bcdghkmnrt]|al|ul|[a-z]{2}[ae])ly $
        )""",
    re.VERBOSE,
)
"""An ending that makes another word (`production`, `operator`), under any inflection (`operators`)."""

_SYNONYMS = (
    "start begin|use utilize utilise|fix repair|delete erase|need require|choose select pick|show display|"
    "config configuration|database db|directory folder|repo repository|doc documentation|function fn|"
    "parameter param|argument arg|environment env|application app|auth authentication|"
    "someone somebody|anyone anybody|everyone everybody|toward towards"
)
"""Words of software, and spellings, that mean the same wherever they occur. Each can merge two memories unasked."""


@lru_cache(maxsize=_CACHED_STEMS)
def stem(word: str) -> str:
    """Return the stem of a lower-case word, as search compares it."""
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=_CACHED_STEMS)
def word_form(word: str) -> str:
    """Return one key for all inflections of a lower-case word: `slicing`, `sliced` and `slices` share one.

    The key is the stem and, after a hyphen, the ending that derives the word: `product` and `production` differ.
    """
    base = _BASE_FORMS.get(word, word)
    derived = _DERIVED.search(base)
    return f"{stem(base)}-{derived[0]}" if derived else stem(base)


def same_meaning(one: str, other: str) -> bool:
    """Return whether two word forms are one word or synonyms."""
    return one == other or (one, other) in _synonyms()


_SHORTEST_BEGINNING = 5


@lru_cache(maxsize=_CACHED_PAIRS)  # a new text is compared with its neighbours word by word, and words come again
def is_related(one: str, other: str) -> bool:
    """Return whether two word forms have one stem, or one stem begins with the other."""
    shorter, longer = sorted((one.partition("-")[0], other.partition("-")[0]), key=len)
    return same_meaning(one, other) or (len(shorter) >= _SHORTEST_BEGINNING and longer.startswith(shorter))


class WordForms:
    """Word forms among which one that is related to another is found without comparing it with each of them."""

    def __init__(self, forms: Iterable[str]) -> None:
        self.forms = frozenset(forms)
        self._beginnings = frozenset(map(_beginning, self.forms)) - {""}

    def has_related(self, form: str) -> bool:
        """Return whether `is_related` holds between this form and one of them."""
        if form in self.forms:
            return True
        if _beginning(form) not in self._beginnings and form not in _with_synonyms():
            return False
        return any(is_related(form, other) for other in self.forms)


def _beginning(form: str) -> str:
    """Return the letters that two forms share if one stem begins with the other; none of a stem too short for it."""
    stem_of_it = form.partition("-")[0]
    return stem_of_it[:_SHORTEST_BEGINNING] if len(stem_of_it) >= _SHORTEST_BEGINNING else ""


@cache
def _with_synonyms() -> frozenset[str]:
    return frozenset(one for one, _ in _synonyms())


@cache
def _synonyms() -> frozenset[tuple[str, str]]:
    groups = [[word_form(word) for word in group.split()] for group in _SYNONYMS.split("|")]
    return frozenset((one, other) for group in groups for one in group for other in group)


@cache
def _stemmer() -> Any:
    return Stemmer.Stemmer("english")


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


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order, without fillers."""
    return _tokens_of_short(text) if len(text) <= _LONGEST_CACHED else _tokens_of(text)


def every_token_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order, fillers included."""
    return _every_token_of_short(text) if len(text) <= _LONGEST_CACHED else _every_token_of(text)


def _tokens_of(text: str) -> tuple[Token, ...]:
    all_capitals = text.isupper()  # of the text as written: expanded contractions are lower-case
    return tuple(token for token in every_token_of(text) if not _is_filler(token, all_capitals=all_capitals))


def _every_token_of(text: str) -> tuple[Token, ...]:
    return tuple(_tokens(_plain(text)))


_LONGEST_CACHED = 2_000  # characters
_MOST_CACHED = 1_024
_tokens_of_short = lru_cache(maxsize=_MOST_CACHED)(_tokens_of)
_every_token_of_short = lru_cache(maxsize=_MOST_CACHED)(_every_token_of)
"""A new text is compared with each of its neighbours, and those are often the neighbours of the next one."""


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


TITLE_LENGTH = 80


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces."""
    return " ".join(text.split())


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; an ellipsis marks the cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def cut_at_word(text: str, limit: int) -> str:
    """Return a text cut after a whole word within `limit` characters; an ellipsis marks the cut."""
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def first_line(text: str) -> str:
    """Return the first line of a text that is not blank, or nothing."""
    return next((line.strip() for line in text.strip().splitlines() if line.strip()), "")


def title_of(text: str) -> str:
    """Return the first line of a text, short enough for a list."""
    return cut_at_word(first_line(text), TITLE_LENGTH)
