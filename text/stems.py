"""Words as their plain forms: endings, irregular participles and a few words that always mean the same."""

from functools import lru_cache
from typing import Final

_WORDS_KEPT = 1 << 14

_IRREGULAR = (
    "be:was,were,been,being,is,are,am have:has,had,having do:did,done,does make:made take:took,taken give:gave,given "
    "go:went,gone,goes get:got,gotten put: cut: set: hit: let: read: run:ran see:saw,seen say:said tell:told "
    "write:wrote,written ride:rode,ridden drive:drove,driven speak:spoke,spoken break:broke,broken eat:ate,eaten "
    "wear:wore,worn throw:threw,thrown draw:drew,drawn show:showed,shown grow:grew,grown know:knew,known "
    "blow:blew,blown fly:flew,flown drink:drank,drunk sing:sang,sung swim:swam,swum begin:began,begun ring:rang,rung "
    "hold:held keep:kept sleep:slept sweep:swept feed:fed lead:led build:built send:sent spend:spent lend:lent "
    "find:found bind:bound wind:wound stand:stood sit:sat catch:caught teach:taught buy:bought bring:brought "
    "think:thought fight:fought lose:lost leave:left meet:met pay:paid lie:lay,lain,lying lay:laid sell:sold "
    "choose:chose,chosen freeze:froze,frozen steal:stole,stolen wake:woke,woken shake:shook,shaken tie:tying,tied "
    "die:dying,died hang:hung dig:dug stick:stuck strike:struck shoot:shot split: shut: hurt: cost: spread: "
    "child:children man:men woman:women person:people foot:feet mouse:mice index:indices,indexes"
)
_FORMS: Final[dict[str, str]] = {
    form: base
    for base, _, forms in (entry.partition(":") for entry in _IRREGULAR.split())
    for form in (base, *forms.split(","))
    if form
}

_SAME = (
    "begin start commence|big large|small little|fast quick|quickly rapidly swiftly|use utilize utilise|fix repair|"
    "buy purchase|help assist|choose pick select|need require|speak talk chat|picture photo photograph|"
    "delete erase|config configuration|database db|directory folder|repo repository|doc documentation|"
    "function fn|parameter param|argument arg|environment env|application app|auth authentication|"
    "someone somebody person human|lady woman|guy man gentleman|kid child youngster|dad father|mom mum mother|"
    "sofa couch|airplane plane aircraft|bike bicycle|biker bicyclist cyclist|road street|rock stone|"
    "cook prepare|slice cut chop|jump leap|shout yell scream|gather group assemble|"
    "several few|outside outdoors|crowd group bunch|hill slope|motorbike motorcycle|"
    "fight battle brawl|stir mix|hurl throw toss|forest woods|garbage trash rubbish|angry mad|"
    "film movie|tv television|phone telephone|car automobile|mistake error fault|"
    "in inside into|on onto upon|to towards toward|under beneath|while as|"
    "hat cap|jacket coat|play perform|food meal|ocean sea|"
    "dish plate|glass cup|soil dirt|grass lawn|sing perform|push shove|pull drag tug|show display|"
    "hit strike|put place|scare frighten|walk stroll|wedding marriage|carefully cautiously|dice chop|steps stairs"
)
_VOWELS: Final = frozenset("aeiouy")
_LIKE_VERBS = "something nothing anything everything string morning evening during thing king ring"
_NO_VERBS: Final = frozenset(_LIKE_VERBS.split())


@lru_cache(maxsize=_WORDS_KEPT)
def plain_form(word: str) -> str:
    """Return a small-letter word without its ending: `slicing`, `sliced` and `slices` are all `slice`."""
    if word in _FORMS:
        return _mended(_FORMS[word])
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and _VOWELS & set(stem) and word not in _NO_VERBS:
            return _mended(stem)
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return _mended(word[:-2])
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return _mended(word[:-1])
    return _mended(word)


def means_the_same(one: str, other: str) -> bool:
    """Say whether two plain forms are one word or always mean the same."""
    return one == other or (one, other) in SAME


def _mended(stem: str) -> str:
    """Bring the stems of `putting`, `slicing` and `carried` and their plain words to one form."""
    doubled = len(stem) > 3 and stem[-1] == stem[-2]
    if doubled and (stem[-1] not in "aeiouls" or (stem[-1] == "l" and len(stem) > 4)):
        stem = stem[:-1]
    if stem.endswith("i") and len(stem) > 2:
        return stem[:-1] + "y"
    return stem[:-1] if len(stem) > 3 and stem.endswith("e") else stem


SAME: Final[frozenset[tuple[str, str]]] = frozenset(
    (plain_form(one), plain_form(other))
    for group in _SAME.split("|")
    for one in group.split()
    for other in group.split()
)
"""Pairs of plain forms that always mean the same."""
