"""The names in a text: people, services, libraries, tables, variables, files, classes and functions.

A name is told by its shape (`beat_count`, `FeedBuilder`, `HIVE_KEY`, `app/feed.rb`, `@alice`), by two lists (well-known
software, and the words of ordinary prose, which are no names), by what the project already calls by that name, and by
its place in the sentence: a proper noun has a capital or no article (`from loki`, `millrace fleet`), and a part of a
system is a noun before a word for a machine (`the fare engine`).
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from reverie.text.tokenize import FUNCTION_WORDS, NUMBER_WORDS, stem

LONGEST_NAME = 80
MOST_NAMES = 60
_READ = 20_000
"""Characters of a text that are looked at: a longer one is a document, and names its subjects before that."""

_LONGEST_PHRASE = 3

# -- words ---------------------------------------------------------------------------------------------

_CALENDAR = (
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays "
    "sundays january february march april may june july august september october november december mon tue wed thu "
    "fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec christmas easter"
)
_LANGUAGES = "english german french spanish italian dutch polish portuguese european american british chinese japanese"
_EXCLAMATIONS = "i ok okay yes no todo fixme note nb hi hey thanks please tl dr eod asap fyi ps true false none null"
_NO_NAMES: Final = frozenset(f"{_CALENDAR} {_LANGUAGES} {_EXCLAMATIONS}".split())

_GIVEN_NAMES: Final = frozenset(
    "amber angel art ben bill carol chase dan dawn dean drew ed eve faith frances frank gene grace grant guy hope hunter jack "
    "jade jean joy kay ken kimberly luis mark mason matt mei max miles nat nick nils pat ray rich rob robin rose ruby rusty "
    "sandy skip sky sue summer tony victor violet wade wes will".split()
)
"""Given names that are also words: at the start of a sentence a capital alone proves nothing about them."""

_GERMAN: Final = frozenset("der die das und ist nicht wir mit ein eine im auf von zu den wird nur haben sich".split())
_FOREIGN: Final = _GERMAN | frozenset(
    "el la los las un una en es se de del que por para con y le les des du est et une pour dans sur avec nous il di che "
    "per non gli nel della o os em não do da dos na uma het een van niet zijn voor met wij op w z na nie jest".split()
)
"""Frequent words of other languages: in their texts an unknown word, or a German noun's capital, proves nothing."""

_DETERMINERS: Final = frozenset(
    "the a an this that these those each every any some no our my your their his her its another which whose one".split()
)
_BEFORE_A_NAME: Final = frozenset(
    "from to in into on onto via by with without of for at behind under over between against through using use uses used "
    "and or nor but than like as both either call calls called deploy deploys run runs running read reads write writes "
    "need needs depend depends import imports replace replaces replaced drop drops dropped add adds added prefer prefers "
    "chose choose picked pick install installs installed start starts restart restarts upgrade upgrades move moved "
    "migrate migrated keep keeps kept when if while because since until after before not only also just".split()
)
"""Words after which a noun without an article is a name: prepositions, conjunctions, and verbs of software."""

_PREPOSITIONS: Final = frozenset("from to into via by with and of in behind through".split())
_IS: Final = frozenset("is are was were be been being stays stay becomes become remains seems looks".split())

_TYPE_WORDS: Final = frozenset(
    "service services fleet cluster table tables repo repository package library gem crate database db schema host "
    "box machine container pod namespace bucket topic channel binary deployment instance environment".split()
)
"""What a name is an instance of: `the thrush service` names thrush, `the payment service` is the name of a part."""

_PARTS: Final = frozenset(
    "engine planner gateway app application service worker scheduler importer exporter parser portal console pipeline "
    "broker proxy client server api bot daemon agent collector processor renderer resizer builder handler loader router "
    "crawler indexer mailer monitor tracker registry frontend backend module plugin widget calculator dispatcher "
    "consumer producer publisher subscriber listener poller watcher generator validator checker limiter migrator "
    "converter transformer aggregator archiver uploader downloader fetcher sender receiver notifier matcher allocator "
    "allocation optimizer optimiser simulator dashboard store storefront backoffice website site cli sdk ledger wallet "
    "catalog catalogue kiosk relay bridge adapter connector controller manager orchestrator reconciler sync replicator "
    "balancer cache warehouse lake index editor viewer player recorder encoder decoder transcoder scanner reader writer "
    "geocoder authenticator authorizer job queue".split()
)
"""Words for parts of a system: with a noun before one they make its name."""

_NAMING_PARTS: Final = _PARTS - _TYPE_WORDS

_GENERIC: Final = frozenset(
    "new old main same other first second third last next web test tests local remote background public private prod "
    "production staging whole entire single external internal current default legacy mobile desktop native custom own "
    "load central shared separate different second-level small big large simple real fake mock right wrong best only main "
    "primary secondary existing previous original actual upstream downstream slow fast dedicated running http https rest "
    "tcp smtp ftp dns json xml csv sql database db application build release third-party managed hosted dead stuck idle "
    "busy failed failing broken read write async asynchronous synchronous sync long short full empty available language "
    "package dependency cron task job batch worker server client host machine in-memory work open closed "
    "common usual free paid nightly daily weekly hourly monthly linux windows type process thread connection query file "
    "api error log request response text code data".split()
)
"""Words that say which or what kind of machine, not what it is called: `the new service`, `a web server`."""

_TABLE_WORDS: Final = frozenset("table topic bucket collection".split())
_INTRODUCING: Final = _TYPE_WORDS | frozenset("flag branch queue job script command function class module column role".split())
"""Words that a name may follow: `the flag new-checkout`."""


_HYPHEN_FIRST: Final = frozenset(
    "non re pre post co self multi sub per anti semi cross half well full low high long short one two three four five six "
    "single double triple all ever far near part built hard hand pro ex un over under micro mid early late old new open "
    "end day week first second third last next real fine coarse set follow e on off in out up left right top bottom "
    "ad de so go no back front down run time".split()
)
_HYPHEN_LAST: Final = frozenset(
    "only based free ready safe aware wide level time in out up off on down by to of date specific driven side term like "
    "first last scale end grained party size sized length style friendly facing heavy light range day hour minute second "
    "week month year fold way step shot case key value wise proof bound test tests ins ups offs outs to-end back through "
    "over under around ahead after before away long limit limits review reviews stop word words line lines old base "
    "related dependent independent compatible intensive critical sensitive tolerant".split()
)
_COMPOUND_PARTS: Final = _HYPHEN_FIRST | _HYPHEN_LAST
"""Parts of compound adjectives and of ordinary compounds: `read-only`, `long-running`, `check-in`."""

_ORDINARY_ENDING: Final = re.compile(r"(?:ing|ings|tion|tions|ness|ment|ments|able|ible|ously|ously|ly|ized|ised|ity|less)$")
_FOLDERS: Final = frozenset(
    "app apps api assets bin build ci cmd components conf config configs contrib controllers core crates data db deploy "
    "dist doc docs e2e etc examples features fixtures frontend backend handlers helpers hooks include infra integration "
    "internal k8s lib libs migrations models modules ops packages pages pkg playbooks plugins public routes schema schemas "
    "script scripts server services share spec specs sql src static stories storage styles tasks templates terraform test "
    "tests tmp tools types usr utils var vendor views web workers".split()
)
_EXTENSIONS: Final = frozenset(
    "py pyi ipynb js jsx mjs cjs ts tsx vue svelte rb erb rs go java kt kts scala clj groovy gradle php pl pm c h cc cpp hpp "
    "cs fs swift dart ex exs erl hs ml lua jl r sh bash zsh fish ps1 bat sql graphql proto thrift json jsonl yaml yml toml "
    "ini cfg conf env properties xml html htm css scss sass less md rst txt adoc csv tsv parquet lock mod sum tf tfvars hcl "
    "log pem key crt cert zip gz tar tgz whl jar war so dll exe dockerfile mk cmake plist service timer socket svg png "
    "jpg jpeg gif webp ico pdf db sqlite bak dump patch diff tmpl tpl j2 hbs feature snap wasm".split()
)
_FILES: Final = frozenset(
    "makefile dockerfile gemfile rakefile procfile jenkinsfile vagrantfile justfile codeowners podfile brewfile".split()
)
_LITERALS: Final = frozenset(
    "true false none null nil undefined main master yes no on off ok get post put patch delete const let var def class import "
    "export return async await self this if else elif for while int str bool string number float any unknown void static "
    "public private final lambda yield with as in is not and or".split()
)
"""What backticks quote that is a value or a word of a language."""
_NO_ABBREVIATION: Final = frozenset("e.g i.e a.m p.m etc vs u.s u.k".split())


@cache
def ordinary_stems() -> frozenset[str]:
    """Return the stems of the words of ordinary development prose."""
    return frozenset(word for line in _data_lines("ordinary_words.txt") for word in line.split()) | frozenset(
        stem(word) for word in FUNCTION_WORDS
    )


@cache
def software_names() -> Mapping[str, tuple[str, bool]]:
    """Return well-known names in lower case, each with its usual spelling and whether it must have a capital."""
    found: dict[str, tuple[str, bool]] = {}
    for line in _data_lines("software_names.txt"):
        for group in line.split(","):
            for name in group.split("="):
                known = name.strip()
                found[known.casefold()] = (group.split("=")[0].strip(), known[:1].isupper())
    return found


def _data_lines(name: str) -> list[str]:
    text = (files("reverie.text") / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@lru_cache(maxsize=1 << 14)
def is_ordinary(word: str) -> bool:
    """Whether a word is one of ordinary prose, in any inflection."""
    lower = word.casefold()
    return (
        stem(lower) in ordinary_stems()
        or lower in NUMBER_WORDS
        or bool(len(lower) > 5 and _ORDINARY_ENDING.search(lower))
    )


def is_software(phrase: str) -> bool:
    """Whether a phrase, as it is spelled, is a well-known name of software."""
    known = software_names().get(phrase.casefold())
    return known is not None and (not known[1] or phrase[:1].isupper())


# -- tokens --------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r"""
      (?P<skip>    [a-zA-Z][a-zA-Z+]*+://[^\s`]+ | (?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]+ | (?<![\w-])--?[A-Za-z][\w-]* )
    | (?P<code>    `[^`\n]{1,120}` )
    | (?P<path>    (?<![\w.@+/-])(?:~|\.{1,2}|@?[\w.+-]++)?(?:/[\w.@+{}\[\]:*-]+)+/?(?:::\w+)? | (?<![\w.@+/-])[\w.+-]++/(?!\S) )
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
_QUOTES: Final = ('"', "“", "”")
_POSSESSIVE: Final = re.compile(r"['’]s?$")
_PARTICLES: Final = frozenset("van von der den de di da dos la le bin ibn al ter ten zu".split())


@dataclass(frozen=True, slots=True)
class _Word:
    """A token with its place: whether it begins a sentence, and whether a call's brackets follow it."""

    text: str
    kind: str
    starts: bool
    calls: bool

    @property
    def lower(self) -> str:
        return self.text.casefold()


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
        found.append(_Word(shown, kind, starts, calls))
        if kind == "stop":
            starts = shown not in ("(", ")") and shown.strip("\"“”") != "" or shown.startswith("\n") or starts
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

    def __init__(self, words: Sequence[_Word], known: Known) -> None:
        self._words = words
        self._known = known
        plain = [word.lower for word in words if word.kind == "word"]
        foreign, english = (sum(word in frequent for word in plain) for frequent in (_FOREIGN, FUNCTION_WORDS))
        self._english = all(word.isascii() for word in plain[:1]) and (foreign < 2 or english > foreign)
        self._german = not self._english and sum(word in _GERMAN for word in plain) > 1
        capitals = sum(word.text[:1].isupper() for word in words if word.kind == "word")
        self._title_case = len(plain) > 3 and capitals * 3 > len(plain) * 2

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
                return _code(word.text.strip("` "), self._known), 1
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
        if word.text[:1].isupper() and not _CONSTANT.fullmatch(word.text) and (run := self._capital_run(at)):
            if phrase is None or run[1] > phrase[1]:
                return run
        if phrase is not None:
            return phrase
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
            if is_software(phrase) and not self._is_plain_word(words[:length]):
                return phrase, length
            if self._known(lower) and (length > 1 or not is_ordinary(lower) or self._stands_alone(at)):
                return phrase, length
        return None

    def _is_plain_word(self, words: Sequence[_Word]) -> bool:
        """Whether a name that needs its capital has it only because the sentence begins here."""
        return len(words) == 1 and words[0].starts and software_names()[words[0].lower][1] and is_ordinary(words[0].lower)

    def _stands_alone(self, at: int) -> bool:
        """Whether a noun that is also a word is used as a name: with a capital, or after a preposition without article."""
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
        """Return the proper noun that begins here: capitalised words in a row, without what only begins a sentence."""
        if self._title_case:
            return None
        words = self._capitalised(at)
        if not words:
            return None
        first = words[0]
        if len(words) == 1:
            return self._one_capital(first, at)
        if first.starts and first.lower not in _GIVEN_NAMES and (_is_common(first.text) or first.lower in FUNCTION_WORDS):
            return None  # "Ask Ingrid Solheim": the next word is looked at by itself
        if first.lower in _NO_NAMES:
            return None
        split = next((n for n in range(1, len(words)) if is_software(words[n].text) and is_software(words[0].text)), 0)
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
            if word.kind != "word" or not (particle or (word.text[0].isupper() and _CAPITAL.fullmatch(word.text))) or (words and word.starts):
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
        if word.lower in _NO_NAMES or _ACRONYM.fullmatch(word.text) or _TICKET.fullmatch(word.text) or len(word.text) < 2:
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
        adjective = parts[0] in _HYPHEN_FIRST or parts[-1] in _HYPHEN_LAST or parts[0] in NUMBER_WORDS or parts[0][0].isdigit()
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
        if words[0].starts and not words[0].text.islower():
            lead = self._text(at)
            if lead in _DETERMINERS:
                return None
        for length in (3, 2):
            if len(words) < length:
                continue
            *nouns, head = words[:length]
            if head.lower not in _PARTS or any(not self._is_noun(noun, at + n) for n, noun in enumerate(nouns)):
                continue
            if length == 2 and head.lower in _TYPE_WORDS and not is_ordinary(nouns[0].lower):
                return None  # the thrush service: the name is thrush
            following = self._text(at + length)
            if following in _PARTS and self._words[at + length].text.islower():
                continue
            if self._text(at - 1) in _DETERMINERS or (length == 2 and self._bare_before(at)):
                return " ".join(word.text for word in words[:length]), length
        return None

    def _is_noun(self, word: _Word, at: int) -> bool:
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
        if plural and self._text(at - 1) in _TABLE_WORDS and self._text(at - 2) in _DETERMINERS and after not in _TYPE_WORDS:
            return (word.text, 1) if not self._ends_verb(word.text) else None
        return None

    @staticmethod
    def _ends_verb(word: str) -> bool:
        return word in ("has", "holds", "keeps", "gets", "grows", "stores", "contains", "lives", "needs", "uses", "is", "was")

    def _lower_case(self, at: int) -> tuple[str, int]:
        """Return a word that ordinary prose does not have, where a name can stand: without an article."""
        word = self._words[at]
        if not self._english or not _LOWER.fullmatch(word.text) or len(word.text) < 3 or is_ordinary(word.text):
            return "", 1
        before, after = self._text(at - 1), self._text(at + 1)
        if after in _TYPE_WORDS or word.starts or (before in _QUOTES and after in _QUOTES):
            return word.text, 1
        if re.fullmatch(r"[pv]\d+", word.text) or before in _DETERMINERS or re.search(r"(?:ed|er|ers|es)$", word.text):
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
        is_ordinary(part) or part.casefold() in _COMPOUND_PARTS
        for part in re.split(r"[-']", word)
        if len(part) > 2
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
    if re.fullmatch(r"\w+_\w+", text) or re.fullmatch(r"\w*[a-z]\w*(?:-\w+)*", text) and "_" in text:
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
    if not parts or not re.search(r"[A-Za-z]", shown):
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
    if not _IDENTIFIER.fullmatch(bare) or bare.endswith(("-", "_")) or re.fullmatch(r"[\d.]+\w{0,3}|[a-z]+://.*", bare):
        return ""
    return bare.lstrip("$").strip("{}") if bare.startswith("$") else bare
