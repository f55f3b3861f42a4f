"""What judges a choice in German, French, Spanish, Portuguese, Chinese and Japanese; English is in text.outcomes.

A phrase is a pattern with `W` for what it judges: "W hat sich bewährt", "wir haben W rückgängig gemacht". They are in
`outcome_phrases.txt`. What is judged has to be named (see text.outcomes): in these languages nothing is certain by
common nouns alone. Patterns are compared without accents and written so: `bewahrt` is bewährt.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, get_args

from reverie.text.tokenize import words
from reverie.text.word_forms import stem
from reverie.text.word_lists import line_groups

OutcomeResult = Literal["worked", "failed", "reversed", "superseded"]
_RESULTS: Final[tuple[OutcomeResult, ...]] = get_args(OutcomeResult)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A result, the phrase that tells it, the stems of what is judged, which of them it is about, the language."""

    result: OutcomeResult
    phrase: str
    about: frozenset[str]
    head: str
    language: str
    is_back_to: bool = False  # what is named is what the decision had left
    is_bare: bool = False  # a German noun without an article, which is a name or what a decision is about


@dataclass(frozen=True, slots=True)
class Language:
    """How one language judges a choice.

    `judges` has the phrases that judge whatever they name, `judges_a_change` those that need a word for a change too.
    """

    name: str
    judges: tuple[tuple[OutcomeResult, re.Pattern[str]], ...]
    judges_a_change: tuple[tuple[OutcomeResult, re.Pattern[str]], ...]
    back_to: tuple[re.Pattern[str], ...]
    hedge: re.Pattern[str]
    moment: re.Pattern[str]
    change: frozenset[str]
    filler: frozenset[str]
    has_spaces: bool = True


_SPACED: Final = ("de", "fr", "es", "pt")
_UNSPACED_LANGUAGES: Final = ("zh", "ja")


def _language(name: str, sections: Mapping[str, list[str]]) -> Language:
    """Return a language from its sections of the file; `W` in a phrase is what is judged."""
    has_spaces = name in _SPACED

    def judging(*kinds: str) -> Iterator[tuple[OutcomeResult, re.Pattern[str]]]:
        for kind in kinds:
            result = next(one for one in _RESULTS if kind.endswith(one))
            yield from ((result, _phrase(line, has_spaces=has_spaces)) for line in sections[f"{name} {kind}"])

    def listed(kind: str) -> frozenset[str]:
        found = [word for line in sections[f"{name} {kind}"] for word in line.split()]
        return frozenset(map(stem, found) if has_spaces else found)

    def any_of(kind: str) -> re.Pattern[str]:
        said = "|".join(sections[f"{name} {kind}"])
        return re.compile(rf"(?<!\w)(?:{said})(?!\w)" if has_spaces else said, re.IGNORECASE)

    return Language(
        name,
        # The order matters where two fit: what did not work did not work.
        tuple(judging("failed", "reversed", "superseded", "worked")),
        tuple(judging("change_failed", "change_worked")),
        tuple(_phrase(line, has_spaces=has_spaces) for line in sections[f"{name} back_to"]),
        any_of("hedge"),
        any_of("moment"),
        listed("change"),
        listed("filler"),
        has_spaces,
    )


def _phrase(line: str, *, has_spaces: bool) -> re.Pattern[str]:
    """Return the pattern of one line; one that begins with what is judged begins with the clause."""
    start = "^" if line.startswith("W") else r"(?<!\w)" if has_spaces else ""
    what = re.sub(r"(?<![\w\\])W(?!\w)" if has_spaces else "W", "(?P<what>.+?)", line)
    return re.compile(f"{start}(?:{what})" + (r"(?!\w)" if has_spaces else ""), re.IGNORECASE)


@cache
def _languages() -> Mapping[str, Language]:
    sections = line_groups("outcome_phrases.txt")
    return {name: _language(name, sections) for name in (*_SPACED, *_UNSPACED_LANGUAGES)}


DECIDES: Final = re.compile(
    r"(?<!\w)(?:beschlossen|beschluss|entschieden|entscheidung|entschlossen|geeinigt|umgestellt|festgelegt|ab sofort"
    r"|(?:nous avons|on a) (?:decide|choisi|opte|retenu|adopte)|decision|desormais"
    r"|decidimos|hemos decidido|se decidio|elegimos|optamos|acordamos|adoptamos|a partir de ahora"
    r"|decidiu-se|decisao|escolhemos|adotamos|concordamos|a partir de agora)(?!\w)"
    r"|决定|選定|选择了|选用|改用|采用|決定|決め(?:た|ました)|ことにし|採用し(?:た|ました)",
    re.IGNORECASE,
)
"""Words of a decision, without accents."""

NOT_CHOSEN: Final = re.compile(
    r"(?<!\w)(?:von \S+(?: \S+)?(?= (?:auf|zu|nach) )|(?:statt|anstatt|anstelle von|weg von) \S+"
    r"|\S+(?= durch )|(?:remplacer|reemplazar|sustituir|substituir|trocar|cambiar) \S+(?= p(?:ar|or|elo|ela) )"
    r"|de \S+(?: \S+)?(?= (?:a|vers|para|al|hacia) )|(?:au lieu de|plutot que|en lugar de|en vez de|em vez de) \S+)"
    r"|从\s*[\w.+#-]+?\s*(?=迁移|切换|换|改|转)|[A-Za-z][\w.+#-]*\s*から|(?:而不是|代替)\s*[A-Za-z][\w.+#-]*"
    r"|[A-Za-z][\w.+#-]*\s*の代わりに",
    re.IGNORECASE | re.ASCII,
)
"""What a decision turned away from, without accents."""

_ACCENT: Final = re.compile(r"(?<=[A-Za-z])[\u0300-\u036f]+")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_ASCII_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+#]*(?:[._-][A-Za-z0-9]+)*")
_CLAUSE: Final = re.compile(r"\s*[;:,–—]\s+|\s*[,;:。!?、]\s*")
_PARENTHESIS: Final = re.compile(r"\s+(?:weil|denn|aber|obwohl|nachdem|parce que|car|mais|porque|pero|pois|mas)\s+")


def folded(text: str) -> str:
    """Return a text with its Latin letters without accents, as the patterns of this module compare it."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text.replace("’", "'"))
    return unicodedata.normalize("NFC", _ACCENT.sub("", parts))


def judgements_in_languages(sentence: str) -> Iterator[Judgement]:
    """Yield what a sentence judges in one of the languages; most sentences judge nothing."""
    plain = folded(sentence)
    has_spaces = not _UNSPACED.search(plain)
    languages = [_languages()[name] for name in (_SPACED if has_spaces else _UNSPACED_LANGUAGES)]
    for clause in _CLAUSE.split(plain):
        for part in _PARENTHESIS.split(clause):
            for language in languages:
                yield from _judgements(part.strip(" .!"), language)


def _judgements(clause: str, language: Language) -> Iterator[Judgement]:
    """Yield what a clause says of a choice, by the first phrase that fits, and what it says is used again."""
    for result, pattern in language.judges:
        match = pattern.search(clause)
        if match and not _is_hedged(clause, match, language):
            if result in ("worked", "failed") and _is_incident(match, language):
                continue
            yield _judged(result, match, language)
            break
    else:
        for result, pattern in language.judges_a_change:
            match = pattern.search(clause)
            if match and not _is_hedged(clause, match, language) and _names_a_change(match["what"], language):
                yield _judged(result, match, language)
                break
    for pattern in language.back_to:
        match = pattern.search(clause)
        if match and not _is_hedged(clause, match, language):
            yield replace(_judged("reversed", match, language), is_back_to=True)
            break


def _is_hedged(clause: str, match: re.Match[str], language: Language) -> bool:
    return any(
        language.hedge.search(part) for part in (clause[: match.start()], match["what"], clause[match.end() :])
    )


def _is_incident(match: re.Match[str], language: Language) -> bool:
    """Whether something is said to have worked or failed at a moment: it did so this morning."""
    return match.start("what") == match.start() and bool(language.moment.search(match.string))


def _judged(result: OutcomeResult, match: re.Match[str], language: Language) -> Judgement:
    about = content_in(match["what"], language.name)
    last = _ASCII_WORD.findall(match["what"])
    head = stem(words(last[-1])[-1]) if last else ""
    is_bare = language.name == "de" and match["what"][:1].isupper() and len(about) == len(words(match["what"]))
    return Judgement(result, match[0].strip(), about, head, language.name, is_bare=is_bare)


def _names_a_change(what: str, language: Language) -> bool:
    if language.has_spaces:
        return any(stem(word) in language.change for word in words(what))
    return any(word in what for word in language.change)


def content_in(what: str, language: str) -> frozenset[str]:
    """Return the stems of what a phrase judges, without articles and words for a change.

    Chinese and Japanese have no spaces: what is left of them between names counts as one word each.
    """
    spoken = _languages()[language]
    if spoken.has_spaces:
        return frozenset(map(stem, words(what))) - spoken.filler - spoken.change
    named = {stem(part) for name in _ASCII_WORD.findall(what) for part in words(name)}
    rest = _ASCII_WORD.sub(" ", what)
    for word in sorted(spoken.change | spoken.filler, key=len, reverse=True):
        rest = rest.replace(word, " ")
    return frozenset(named | set(re.findall(r"\w+", rest.lower())))
