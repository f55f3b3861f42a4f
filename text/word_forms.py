"""Word forms: the one stemmer, the stop lists and the synonyms.

Search and comparison share PyStemmer's English stemmer and differ in how far they trust it. Search wants everything
that is related, so `stem` joins `product`, `products` and `production`. A merge that nobody asked for must not:
`word_form` joins only the inflections of one word (decision 0025).
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, Final

import Stemmer  # type: ignore[import-not-found, unused-ignore] # publishes no types

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
