"""The names in a text: people, services, libraries, tables, variables, files, classes and functions.

A name is told by its shape (`beat_count`, `FeedBuilder`, `HIVE_KEY`, `app/feed.rb`, `@alice`), by two lists
(well-known software, and the words of ordinary prose, which are no names), by what the project already calls by that
name, and by its place in the sentence: a proper noun has a capital or no article (`from loki`, `millrace fleet`), and
a part of a system is a noun before a word for a machine (`the fare engine`).
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from reverie.text.tokenize import NUMBER_WORDS
from reverie.text.word_forms import FUNCTION_WORDS
from reverie.text.word_lists import is_ordinary, is_software, needs_capital, word_groups

LONGEST_NAME = 80
MOST_NAMES = 60
_READ = 20_000
"""Characters of a text that are looked at: a longer one is a document, and names its subjects before that."""

_LONGEST_PHRASE = 3

# -- words ---------------------------------------------------------------------------------------------

_WORDS: Final = word_groups("name_words.txt")
_NO_NAMES: Final = _WORDS["no_names"]
_GIVEN_NAMES: Final = _WORDS["given_names"]
_GERMAN: Final = _WORDS["german"]
_DETERMINERS: Final = _WORDS["determiners"]
_BEFORE_A_NAME: Final = _WORDS["before_a_name"]
_PREPOSITIONS: Final = _WORDS["prepositions"]
_IS: Final = _WORDS["is"]
_TYPE_WORDS: Final = _WORDS["type_words"]
_PARTS: Final = _WORDS["parts"]
_ROMANCE_PARTS: Final = _WORDS["romance_parts"]
_GENERIC: Final = _WORDS["generic"]
_TABLE_WORDS: Final = _WORDS["table_words"]
_HYPHEN_FIRST: Final = _WORDS["hyphen_first"]
_HYPHEN_LAST: Final = _WORDS["hyphen_last"]
_FOLDERS: Final = _WORDS["folders"]
_EXTENSIONS: Final = _WORDS["extensions"]
_FILES: Final = _WORDS["files"]
_LITERALS: Final = _WORDS["literals"]
_NO_ABBREVIATION: Final = _WORDS["no_abbreviation"]
_PARTICLES: Final = _WORDS["particles"]
_FOREIGN: Final = _GERMAN | _WORDS["foreign"]
_NAMING_PARTS: Final = _PARTS - _TYPE_WORDS
_INTRODUCING: Final = _TYPE_WORDS | _WORDS["introducing"]
_COMPOUND_PARTS: Final = _HYPHEN_FIRST | _HYPHEN_LAST

# -- tokens --------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r"""
      (?P<url>     [a-zA-Z][a-zA-Z+]*+://[^\s`]+ )
    | (?P<mail>    (?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]+ )
    | (?P<flag>    (?<![\w-])--?[A-Za-z][\w-]* )
    | (?P<code>    `[^`\n]{1,120}` )
    | (?P<path>    (?<![\w.@+/-])(?:~|\.{1,2}|@?[\w.+-]++)?(?:/[\w.@+{}\[\]:*-]+)+/?(?:::\w+)?
                 | (?<![\w.@+/-])[\w.+-]++/(?!\S) )
    | (?P<handle>  (?<![\w.])@[A-Za-z][\w-]*(?:\.\w+)* )
    | (?P<dotfile> (?<![\w.])\.[a-z][\w-]*(?:\.\w+)* )
    | (?P<word>    (?:(?<=\$)|(?<=\$\{)|(?<!\w))_*[^\W\d_]\w*+(?:(?:\.|::|-|')\w+)*(?:\+\+|\#(?!\w))? )
    | (?P<number>  \d[\w.,:-]*\w|\d )
    | (?P<stop>    [.!?;:](?=\s|$)|\n+|[()"“”] )
    | (?P<comma>   [,] )
    | (?P<other>   [^\s\w] )
    """,
    re.VERBOSE,
)
_SNAKE: Final = re.compile(r"_*[a-z][a-z0-9]*(?:_+[a-z0-9]+)+_*|_+[a-z]\w+|__\w+__")
_CONSTANT: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_CAMEL: Final = re.compile(r"[A-Za-z][a-z0-9]+[A-Z]\w*|[A-Z]{1,4}[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]{2,}\w*|[a-z][A-Z]\w+")
_ACRONYM: Final = re.compile(r"[A-Z][A-Z0-9]+s?")
_TICKET: Final = re.compile(r"[A-Z]{2,}[0-9]*-\d+")
_CAPITAL: Final = re.compile(r"[^\W\d_a-z][^\W_]*(?:[-'][^\W_]+)*")
_LOWER: Final = re.compile(r"[a-z][a-z0-9]*")
_HYPHENATED: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
_DOTTED: Final = re.compile(r"[A-Za-z_]\w+(?:(?:\.|::)[A-Za-z_]\w+)+")
_IDENTIFIER: Final = re.compile(r"[\w$@./:+#*\[\]{}-]+(?:\(\))?")
_KINDS: Final = "service|table|library|package|queue|topic|bucket|cluster|repository|database|team|job|branch"
_QUOTES: Final = ('"', "“", "”")
_POSSESSIVE: Final = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class _Word:
    """A token with its place: whether it begins a sentence, and whether a call's brackets follow it."""

    text: str
    lower: str
    kind: str
    starts: bool
    calls: bool


def _tokens(text: str) -> list[_Word]:
    found: list[_Word] = []
    starts = True
    for match in _TOKEN.finditer(text):
        kind, shown = match.lastgroup or "other", match.group()
        calls = kind == "word" and text.startswith("()", match.end())
        if kind == "word":
            shown = _POSSESSIVE.sub("", shown)
        elif kind in ("path", "handle", "dotfile"):
            shown = shown.rstrip(".,:;")
        found.append(_Word(shown, shown.casefold(), kind, starts, calls))
        if kind == "stop":
            starts = (shown not in ("(", ")") and shown.strip('"“”') != "") or shown.startswith("\n") or starts
        elif kind != "other":
            starts = False
        elif shown in "-*#>•":
            starts = starts or not found[:-1]
    return found


# -- rules ---------------------------------------------------------------------------------------------

Known = Callable[[str], bool]
"""Says whether the project already calls something by this name, given in lower case."""


def names_in(text: str, known: Known | Collection[str] = ()) -> tuple[str, ...]:
    """Return the names in a text, as it spells them, in the order in which they come; each once.

    `known` has the names, in lower case, that the project uses already.
    """
    is_known = known if callable(known) else known.__contains__
    reader = _Reader(_tokens(text[:_READ].replace("’", "'")), is_known)
    found: dict[str, str] = {}
    for name in reader.names():
        if 1 < len(name) <= LONGEST_NAME:
            found.setdefault(name.casefold(), name)
            if len(found) == MOST_NAMES:
                break
    return tuple(found.values())


class _Reader:
    """Reads tokens from left to right; each rule returns a name and how many tokens it took."""

    def __init__(self, words: list[_Word], known: Known) -> None:
        self._words = words
        self._known = known
        plain = [word.lower for word in words if word.kind == "word"]
        foreign = [word.lower for n, word in enumerate(words) if word.lower in _FOREIGN and not self._in_surname(n)]
        english = sum(word in FUNCTION_WORDS for word in plain)
        self._english = all(word.isascii() for word in plain[:1]) and len(foreign) <= english // 2
        self._german = not self._english and any(word in _GERMAN for word in foreign)
        capitals = sum(word.text[:1].isupper() for word in words if word.kind == "word")
        self._title_case = len(plain) > 3 and capitals * 3 > len(plain) * 2

    def _in_surname(self, at: int) -> bool:
        """Whether a word can be a particle of a surname: Sofia de la Cruz."""
        return (
            self._words[at].text in _PARTICLES
            and at > 0
            and (self._words[at - 1].text[:1].isupper() or self._in_surname(at - 1))
        )

    def names(self) -> Iterator[str]:
        at = 0
        while at < len(self._words):
            name, taken = self._name_at(at)
            if name:
                yield name
            at += taken

    def _name_at(self, at: int) -> tuple[str, int]:
        word = self._words[at]
        match word.kind:
            case "code":
                quoted = word.text.strip("` ")
                if " " not in quoted:
                    return _code(quoted, self._known), 1
                self._words[at : at + 1] = [one for one in _tokens(quoted) if _shaped(one) or one.kind == "path"]
                return "", 0
            case "path":
                return _path(word.text), 1
            case "handle":
                return word.text, 1
            case "dotfile":
                return (word.text if _is_file(word.text[1:]) or word.text.startswith(".env") else ""), 1
            case "word":
                return self._word(at)
            case _:
                return "", 1

    def _word(self, at: int) -> tuple[str, int]:
        word = self._words[at]
        phrase = self._known_phrase(at)
        run = self._capital_run(at) if word.text[:1].isupper() and not _CONSTANT.fullmatch(word.text) else None
        if run is not None and (phrase is None or run[1] > phrase[1]):
            return run
        if phrase is not None:
            return self._extended(at, *phrase)
        if name := _shaped(word) or (self._is_variable(at) and word.text):
            return name, 1
        if _HYPHENATED.fullmatch(word.text):
            return self._hyphenated(at)
        if _LOWER.fullmatch(word.text) or word.text[:1].isupper():
            return self._compound(at) or self._table(at) or self._lower_case(at)
        return "", 1

    # -- by lists

    def _known_phrase(self, at: int) -> tuple[str, int] | None:
        """Return the longest well-known name, or one that the project uses, that begins here."""
        words = self._plain_words(at, _LONGEST_PHRASE)
        for length in range(len(words), 0, -1):
            phrase = " ".join(word.text for word in words[:length])
            lower = phrase.casefold()
            if lower in _NO_NAMES:
                continue
            if is_software(phrase) and not (length == 1 and self._is_plain_word(at)):
                return phrase, length
            if self._known(lower) and (length > 1 or not is_ordinary(lower) or self._stands_alone(at)):
                return phrase, length
        return None

    def _is_plain_word(self, at: int) -> bool:
        """Whether a name that is also a word has its capital because the sentence begins here: `Express delivery`."""
        word = self._words[at]
        is_word = needs_capital(word.text) and is_ordinary(word.lower)
        return word.starts and is_word and not _is_third_person(self._text(at + 1))

    def _extended(self, at: int, phrase: str, length: int) -> tuple[str, int]:
        """Return a known name with what makes it another: `nats jetstream`, `the stripe webhook handler`."""
        words = self._plain_words(at + length, 2)
        is_part = len(words) == 2 and words[1].lower in _NAMING_PARTS and self._is_noun(words[0])
        if is_part and self._text(at - 1) in _DETERMINERS:
            return f"{phrase} {words[0].text} {words[1].text}", length + 2
        if words and self._english and phrase.islower() and not words[0].starts:
            following = words[0].text
            strange = _LOWER.fullmatch(following) and len(following) > 3 and not is_ordinary(following)
            if strange and not is_software(following) and not following.endswith(("s", "ed")):
                return f"{phrase} {following}", length + 1
        return phrase, length

    def _stands_alone(self, at: int) -> bool:
        """Whether a noun that is also a word is used as a name: with a capital, or without an article."""
        word = self._words[at]
        return (word.text[:1].isupper() and not word.starts) or self._text(at - 1) in _PREPOSITIONS

    def _plain_words(self, at: int, most: int) -> list[_Word]:
        found = []
        for word in self._words[at : at + most]:
            if word.kind not in ("word", "number"):
                break
            found.append(word)
        return found

    # -- by capitals

    def _capital_run(self, at: int) -> tuple[str, int] | None:
        """Return the proper noun that begins here: capitalised words in a row, without a sentence's first."""
        if self._title_case:
            return None
        words = self._capitalised(at)
        if not words:
            return None
        first = words[0]
        if len(words) == 1:
            return self._one_capital(first, at)
        if (
            first.starts
            and first.lower not in _GIVEN_NAMES
            and (_is_common(first.text) or first.lower in FUNCTION_WORDS)
        ):
            return None  # "Ask Ingrid Solheim": the next word is looked at by itself
        if first.lower in _NO_NAMES:
            return None
        split = next(
            (n for n in range(1, len(words)) if is_software(words[n].text) and is_software(words[0].text)), 0
        )
        chosen = words[:split] if split else words
        while chosen and (_ACRONYM.fullmatch(chosen[-1].text) or chosen[-1].lower in _NO_NAMES) and len(chosen) > 1:
            chosen = chosen[:-1]
        return " ".join(word.text for word in chosen), len(chosen)

    def _capitalised(self, at: int) -> list[_Word]:
        words: list[_Word] = []
        for word in self._words[at:]:
            particle = bool(words) and word.lower in _PARTICLES and word.text.islower() and not self._german
            if _TICKET.fullmatch(word.text):
                break
            if (
                word.kind != "word"
                or not (particle or (word.text[0].isupper() and _CAPITAL.fullmatch(word.text)))
                or (words and word.starts)
            ):
                break
            if not particle and _shaped(word) and _CAMEL.fullmatch(word.text) and words:
                break
            words.append(word)
            if len(words) == 4:
                break
        while words and words[-1].text.islower():
            words.pop()
        return words

    def _one_capital(self, word: _Word, at: int) -> tuple[str, int] | None:
        if (
            word.lower in _NO_NAMES
            or _ACRONYM.fullmatch(word.text)
            or _TICKET.fullmatch(word.text)
            or len(word.text) < 2
        ):
            return None
        if _CAMEL.fullmatch(word.text) or word.lower in FUNCTION_WORDS:
            return None
        if self._german:
            return None  # where every noun has a capital, one proves nothing
        if word.starts and word.lower in _GIVEN_NAMES:
            return (word.text, 1) if _is_third_person(self._text(at + 1)) else None
        if word.starts and (not self._english or _is_common(word.text)):
            return None
        return word.text, 1

    # -- by shape and place

    def _is_variable(self, at: int) -> bool:
        """Whether capitals name a variable: `DEBUG=1`, `the PORT variable`, `$HOME`."""
        word = self._words[at]
        if not re.fullmatch(r"[A-Z][A-Z0-9]{2,}", word.text):
            return False
        return self._text(at + 1) in ("=", "variable") or self._text(at - 1) in ("$", "export")

    def _hyphenated(self, at: int) -> tuple[str, int]:
        word = self._words[at]
        parts = word.text.split("-")
        before, after = self._text(at - 1), self._text(at + 1)
        strange = [
            part
            for part in parts
            if part.isalpha() and len(part) > 1 and not is_ordinary(part) and part not in _COMPOUND_PARTS
        ]
        adjective = (
            parts[0] in _HYPHEN_FIRST
            or parts[-1] in _HYPHEN_LAST
            or parts[0] in NUMBER_WORDS
            or parts[0][0].isdigit()
        )
        if before in _INTRODUCING:
            return word.text, 1
        if after in _NAMING_PARTS and before in _DETERMINERS and not strange:
            return f"{word.text} {after}", 2  # the check-in app
        if any(is_software(part) for part in parts if part not in _HYPHEN_FIRST) and not adjective:
            return word.text, 1
        if strange and not (adjective and re.search(r"(?:ed|ing|able|ible)$", parts[-1])):
            return word.text, 1
        if adjective or re.search(r"(?:ed|ing|able|ible|ly)$", parts[-1]) or parts[0].endswith("ly"):
            return "", 1
        if parts[-1] in _PARTS or after in _TYPE_WORDS or word.starts:
            return word.text, 1
        if before in _IS or before in _DETERMINERS or not self._ends_phrase(at + 1):
            return "", 1
        return (word.text, 1) if before in _BEFORE_A_NAME or before in (",", "(") else ("", 1)

    def _compound(self, at: int) -> tuple[str, int] | None:
        """Return the name of a part of a system: one or two nouns before a word for a machine."""
        words = self._plain_words(at, 3)
        if len(words) == 3 and words[0].lower in _ROMANCE_PARTS and words[1].lower in ("de", "di", "da"):
            return " ".join(word.text for word in words), 3  # servicio de facturación
        for length in (3, 2):
            if len(words) < length:
                continue
            *nouns, head = words[:length]
            if head.lower not in _PARTS or not all(map(self._is_noun, nouns)):
                continue
            if length == 2 and head.lower in _TYPE_WORDS and not is_ordinary(nouns[0].lower):
                return None  # the thrush service: the name is thrush
            following = self._text(at + length)
            if following in _PARTS and self._words[at + length].text.islower():
                continue
            if self._text(at - 1) in _DETERMINERS or (length == 2 and self._bare_before(at)):
                return " ".join(word.text for word in words[:length]), length
        return None

    @staticmethod
    def _is_noun(word: _Word) -> bool:
        lower = word.lower
        return bool(
            _LOWER.fullmatch(word.text)
            and len(lower) > 2
            and lower not in _GENERIC
            and lower not in FUNCTION_WORDS
            and lower not in _BEFORE_A_NAME
            and lower not in _IS
            and lower not in _DETERMINERS
            and not re.search(r"(?:ed|ly|ful|ous|ive|able|ible|est)$", lower)
        )

    def _bare_before(self, at: int) -> bool:
        """Whether what stands before lets a compound begin here without an article."""
        return self._text(at - 1) in _PREPOSITIONS

    def _table(self, at: int) -> tuple[str, int] | None:
        """Return what the words say is a table: `the orders table`, `table orders has`."""
        word = self._words[at]
        if not _LOWER.fullmatch(word.text) or len(word.text) < 4:
            return None
        after = self._text(at + 1)
        plural = word.text.endswith("s") and not word.text.endswith("ss")
        if plural and after in _TABLE_WORDS and self._text(at - 1) in _DETERMINERS:
            return word.text, 1
        if (
            plural
            and self._text(at - 1) in _TABLE_WORDS
            and self._text(at - 2) in _DETERMINERS
            and after not in _TYPE_WORDS
        ):
            return (word.text, 1) if not self._ends_verb(word.text) else None
        return None

    @staticmethod
    def _ends_verb(word: str) -> bool:
        return word in (
            "has",
            "holds",
            "keeps",
            "gets",
            "grows",
            "stores",
            "contains",
            "lives",
            "needs",
            "uses",
            "is",
            "was",
        )

    def _lower_case(self, at: int) -> tuple[str, int]:
        """Return a word that ordinary prose does not have, where a name can stand: without an article."""
        word = self._words[at]
        if (
            not self._english
            or word.text in _NO_NAMES
            or needs_capital(word.text)
            or not _LOWER.fullmatch(word.text)
            or len(word.text) < 3
            or is_ordinary(word.text)
        ):
            return "", 1
        before, after = self._text(at - 1), self._text(at + 1)
        if after in _TYPE_WORDS or word.starts or (before in _QUOTES and after in _QUOTES):
            return word.text, 1
        if (
            re.fullmatch(r"[pv]\d+", word.text)
            or before in _DETERMINERS
            or re.search(r"(?:ed|er|ers|es)$", word.text)
        ):
            return "", 1
        if before in _BEFORE_A_NAME or before in (",", "(", ":"):
            return word.text, 1
        return "", 1

    def _ends_phrase(self, at: int) -> bool:
        """Whether a noun phrase ends before this token."""
        if at >= len(self._words):
            return True
        word = self._words[at]
        lower = word.lower
        return word.kind != "word" or lower in FUNCTION_WORDS or lower in _BEFORE_A_NAME or lower in _IS

    def _text(self, at: int) -> str:
        return self._words[at].lower if 0 <= at < len(self._words) else ""


def _is_common(word: str) -> bool:
    """Whether all parts of a word are of ordinary prose: `Server-side`, `We'll`, `Tests`."""
    return all(
        is_ordinary(part) or part.casefold() in _COMPOUND_PARTS for part in re.split(r"[-']", word) if len(part) > 2
    )


def _is_third_person(verb: str) -> bool:
    return verb in ("is", "was", "has", "had", "will", "said") or (len(verb) > 3 and verb.endswith(("s", "ed")))


def _shaped(word: _Word) -> str:
    """Return a word that no prose has: an identifier, a call, a file, a dotted name."""
    text = word.text
    if word.calls and re.fullmatch(r"[\w.:]+", text):
        return text
    if _is_file(text):
        return text
    if _TICKET.fullmatch(text) or text.casefold() in _NO_ABBREVIATION or re.fullmatch(r"[A-Z]{2,}s", text):
        return ""
    if _SNAKE.fullmatch(text) or _CONSTANT.fullmatch(text) or _CAMEL.fullmatch(text):
        return text
    if re.fullmatch(r"\w+_\w+(?:-\w+)*", text):
        return text
    if _DOTTED.fullmatch(text):
        return text
    if "-" in text and any(_CAMEL.fullmatch(part) or is_software(part) for part in text.split("-")):
        return text
    return ""


def _is_file(text: str) -> bool:
    stem_of, dot, ending = text.rpartition(".")
    return text.casefold() in _FILES or bool(dot and stem_of and ending in _EXTENSIONS and not is_software(text))


def _path(shown: str) -> str:
    """Return a path; words with a slash between them (`and/or`, `read/write`, `CI/CD`) are none."""
    parts = [part for part in shown.split("/") if part]
    if not parts or parts[0].isdigit() or not re.search(r"[A-Za-z]", shown):
        return ""
    if shown.startswith(("/", "./", "../", "~", "@")) or shown.endswith("/"):
        return shown if len(parts) > 1 or shown.startswith(("/", "~", ".")) or parts[0] in _FOLDERS else ""
    named = any(re.search(r"[_.*]|-|\d|[a-z][A-Z]", part) for part in parts)
    strange = any(part.islower() and not is_ordinary(part) for part in parts)
    return shown if named or strange or parts[0] in _FOLDERS else ""


def _code(quoted: str, known: Known) -> str:
    """Return what backticks quote if it is one name; commands, flags, numbers and literals are none."""
    bare = re.sub(r"\(.*\)$", "", quoted)
    if not bare or quoted.startswith("-") or bare.casefold() in _LITERALS or not re.search(r"[A-Za-z]{2}", bare):
        return bare if known(bare.casefold()) else ""
    if (
        not _IDENTIFIER.fullmatch(bare)
        or bare.endswith(("-", "_"))
        or re.fullmatch(r"[\d.]+\w{0,3}|[a-z]+://.*", bare)
    ):
        return ""
    return bare.lstrip("$").strip("{}") if bare.startswith("$") else bare


# -- what a name is ------------------------------------------------------------------------------------


def what_is(name: str, texts: Iterable[str]) -> str:
    """Return in a few words what a name is the name of, by what texts call it or by its shape; nothing if unclear."""
    bare = name.removesuffix("()")
    if "/" in bare or _is_file(bare):
        return "a path or file"
    said = "" if is_software(bare) or is_software(bare.capitalize()) else _called(bare, texts)
    if said:
        return said
    if _CONSTANT.fullmatch(bare):
        return "a variable or constant"
    if is_software(bare) or is_software(bare.capitalize()):
        return "software"
    if name.startswith("@") or _is_full_name(bare):
        return "a person"
    if re.split(r"[-_\s]", bare.casefold())[-1] in _PARTS:
        return "a part of the system"
    return "a name in code" if _SNAKE.fullmatch(bare) or _CAMEL.fullmatch(bare) or _DOTTED.fullmatch(bare) else ""


def _called(name: str, texts: Iterable[str]) -> str:
    """Return the kind of thing that most texts say beside a name: `the listens table`, `service thrush`."""
    beside = re.compile(
        rf"\b({_KINDS})\s+`?{re.escape(name)}\b|(?<![\w-]){re.escape(name)}`?\s+({_KINDS})\b", re.IGNORECASE
    )
    kinds = [(match[1] or match[2]).lower() for text in texts if (match := beside.search(text))]
    return f"a {max(sorted(set(kinds)), key=kinds.count)}" if kinds else ""


def _is_full_name(name: str) -> bool:
    words = name.split()
    return 1 < len(words) < 5 and all(word[:1].isupper() or word in _PARTICLES for word in words)
