"""What came of a decision, as later statements tell it: it worked, failed, was reversed or superseded.

A statement is read clause by clause for a phrase that judges a choice ("turned out to be a mistake", "was rolled
back", "has paid off"), and for what it judges. That has to be what the decision chose: "the move to Kafka failed" is
about the decision for Kafka, "the Kafka consumer test failed" is about a test. It is certain if every word of what is
judged is in the decision and the name of what was chosen is among them; otherwise somebody is asked.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from reverie.text.entities import names_in
from reverie.text.outcome_languages import (
    DECIDES,
    NOT_CHOSEN,
    Judgement,
    OutcomeResult,
    folded,
    judgements_in_languages,
)
from reverie.text.tokenize import words
from reverie.text.word_forms import FUNCTION_WORDS, stem
from reverie.text.word_lists import is_ordinary

LONGEST_STATEMENT = 600
"""Characters; a longer text tells of many things."""

LONGEST_DECISION = 1_500


@dataclass(frozen=True, slots=True)
class ReportedOutcome:
    """What a statement says came of a decision, the phrase that says it, and whether nothing else can be meant."""

    result: OutcomeResult
    phrase: str
    is_certain: bool


_BE: Final = r"(?:is|are|was|were|has been|have been|had been|got|gets)"
_HAS: Final = r"(?:has|have|had)"
_WELL: Final = r"(?:very |really |quite |rather |so )?(?:well|fine|great|nicely|smoothly|reliably)"
_BAD: Final = r"(?:mistake|failure|disaster|dead end|bad idea|bad choice|bad call|fiasco|flop)"
_GOOD: Final = r"(?:success|good (?:idea|choice|call|decision)|win|right (?:choice|call|decision))"

_COST: Final = (
    r"(?:p\d\d|latency|latencies|times?|costs?|bills?|errors?|memory|load|downtime|noise|duplicates|incidents"
    r"|outages)"
)
"""What is better if there is less of it."""

_AFTER_SUBJECT: Final[tuple[tuple[OutcomeResult, str], ...]] = (
    (
        "failed",
        rf"(?:turned out|proved|proves|turns out)(?: to be)? (?:an? |the )?(?:{_BAD}|wrong|unworkable|too \w+)",
    ),
    ("failed", rf"{_BE} (?:an? )?(?:complete |total |costly )?{_BAD}"),
    (
        "failed",
        r"(?:did not|didn't|does not|doesn't|has not|hasn't) (?:really )?(?:work out|pan out|pay off|scale|hold up)",
    ),
    ("failed", r"backfired|flopped|never worked(?: \w+)?|never paid off"),
    ("failed", rf"{_BE} (?:abandoned|given up|scrapped)"),
    ("worked", rf"(?:turned out|turns out|proved) (?:{_WELL}|(?:to be )?(?:right|(?:an? |the ){_GOOD}))"),
    (
        "worked",
        rf"{_HAS} (?:worked|been working|held up|served (?:us|\w+)|been running|been doing) (?:out |up )?{_WELL}",
    ),
    (
        "worked",
        rf"{_HAS} been (?:{_WELL}|(?:rock |very )?(?:solid|stable|reliable)|excellent|painless|an? (?:joy|{_GOOD}))",
    ),
    (
        "worked",
        rf"(?:{_HAS} )?(?:exceeded|met|exceeds|meets|lived up to|lives up to) (?:our |all |the )?expectations",
    ),
    ("worked", r"(?:turned out to be|turned out|is|was) (?:exactly |just )?what (?:we|the \w+) (?:needed|wanted)"),
    ("worked", rf"(?:{_HAS} )?work(?:s|ed)? like a charm|{_HAS} served its purpose"),
    ("failed", rf"(?:{_HAS} )?caused? (?:us )?more (?:problems|trouble|work|pain|bugs) than|keeps? failing us"),
    ("worked", rf"(?:{_HAS} )?(?:did|done|does) the (?:job|trick)|{_BE} here to stay"),
    ("failed", rf"{_BE} (?:an? )?(?:complete |huge |big )?(?:waste of|nightmare|disappointment|burden|liability)"),
    (
        "failed",
        r"(?:did not|didn't|does not|doesn't|never) (?:live up to|meet (?:our|the)|deliver|catch on|take off)",
    ),
    ("failed", rf"(?:{_HAS} )?(?:fell short|fallen short|let us down|disappointed us|never (?:took off|caught on))"),
    ("failed", r"(?:could not|couldn't) (?:cope|keep up|handle|deliver)"),
    ("failed", rf"(?:turned|{_HAS} turned|grew|became) into an? (?:nightmare|burden|mess|bottleneck)"),
    ("worked", rf"(?:{_HAS} )?(?:paid off|proven itself|proved itself|proven themselves|worked out|held up {_WELL})"),
    ("worked", rf"{_BE} (?:an? |the )(?:big |full |great )?{_GOOD}"),
    ("worked", rf"works? (?:{_WELL}|as (?:hoped|intended|planned|expected))"),
    ("worked", rf"{_HAS} saved (?:us|\w+)|causes? no (?:trouble|problems)"),
    ("worked", rf"serves? (?:us|\w+|the \w+(?: \w+)?) {_WELL}"),
    ("reversed", rf"{_BE} (?:rolled back|reverted|undone|reversed|backed out|taken back|merged back|moved back)"),
    ("reversed", rf"{_BE} (?:out of|off|taken out of|moved out of|moved off) .+ again"),
    ("reversed", rf"{_BE} (?:removed|stopped|dropped|disabled|switched off|taken out|turned off|ended) again"),
    ("superseded", rf"(?:{_BE} )?(?:replaced|superseded|supplanted) (?:by|with)"),
    ("superseded", rf"{_BE} (?:decommissioned|phased out|shut down for good|sunset)"),
    ("superseded", rf"(?:{_BE} )?(?:dropped|given up) in favou?r of"),
    ("superseded", r"made way for|gave way to|makes way for"),
    (
        "worked",
        rf"(?:{_HAS} )?(?:cut|reduced|shortened|halved|lowered) (?:the |our |its )?(?:\w+ )?{_COST}\b",
    ),
    ("worked", rf"(?:{_HAS} )?brought (?:the |our )?(?:\w+ )?{_COST} down"),
    ("worked", rf"(?:{_HAS} )?(?:solved|cured|(?:rid|freed) us of|put an end to)"),
    ("worked", r"(?:is|are) (?:\w+ times|twice) (?:as fast|faster)"),
    ("worked", rf"(?:works?|ran|runs?|went|{_HAS} gone|{_HAS} worked) without (?:a hitch|problems|trouble|issues)"),
    ("worked", r"went (?:very |really )?smoothly"),
    ("failed", r"(?:did not|didn't|does not|doesn't) (?:really )?(?:help|suit \w+|fit us)"),
    ("failed", rf"(?:{_HAS} )?(?:made|makes?) no difference"),
    ("failed", r"(?:cannot|can't|can not) (?:cope|keep up)"),
    ("failed", rf"(?:{_HAS} )?brought .{{1,40}} to (?:its|their) knees"),
    ("failed", rf"(?:{_HAS} )?(?:kept|keeps) (?:dropping|losing|crashing|failing|breaking|corrupting|timing out)"),
    ("failed", rf"(?:{_HAS} )?cost us .{{1,60}} (?:more than|too much)"),
    ("failed", rf"(?:{_HAS} )?(?:led to|caused|brought) (?:nothing but|endless|constant)"),
    ("reversed", rf"{_BE} lifted(?! (?:from|onto|to|into))"),
    ("reversed", rf"{_BE} (?:ditched|dropped) in favou?r of"),
    ("superseded", r"(?:is|are) (?:gone|history|no more)|has been retired|(?:was|were) retired"),
    ("worked", r"(?:did|does|do) (?:exactly |just )?what (?:we|it) (?:wanted|needed|was meant to)"),
    (
        "worked",
        rf"{_HAS} (?:solved|fixed) (?:the|our|that|this) (?:problem|issue)s?|(?:was|were|{_HAS} been) worth it",
    ),
    (
        "failed",
        rf"(?:was|were|{_HAS} been) (?:not worth|more trouble than)|cost us more than|caused (?:nothing but|only)",
    ),
    ("failed", rf"{_HAS} (?:been )?(?:caused|causing|given us) nothing but (?:trouble|problems|grief)"),
    ("reversed", rf"{_BE} (?:ripped out|torn out|backed out|pulled|walked back|rolled back)(?: again)?"),
)
"""Phrases after what they judge; they judge a choice, whatever it is."""

_AFTER_CHANGE: Final[tuple[tuple[OutcomeResult, str], ...]] = (
    ("failed", rf"(?:{_HAS} )?failed|went wrong|fell through"),
    ("worked", rf"(?:{_HAS} )?(?:worked|succeeded)(?: {_WELL})?|went {_WELL}"),
    ("worked", rf"(?:{_HAS} )?fixed (?:the|our|that|this)"),
)
"""Phrases that judge a choice only after a word for a change: a job fails too."""

_BEFORE_OBJECT: Final[tuple[tuple[OutcomeResult, str], ...]] = (
    ("reversed", r"(?:rolled back|reverted|undid|backed out of|reversed|went back on|took back|walked back)"),
    ("reversed", r"(?:ripped out|tore out|pulled out|pulled the plug on|backed away from|moved off|got off)(?: of)?"),
    ("reversed", r"(?:moved|migrated|switched|went|gone|changed) back from"),
    ("reversed", r"stopped (?:using|doing|running|letting|having|writing|deploying)"),
    ("reversed", r"no longer (?:runs?|lives?|works?) (?:in|on|with)|no longer uses?"),
    ("superseded", r"(?:swapped|traded|exchanged|ditched|dropped|dumped|left)(?: out)?(?= .+ (?:with|by|for) )"),
    ("superseded", r"replaced|superseded|supplanted|displaced|(?:took|takes|taken) (?:over from|the place of)"),
    ("worked", r"no regrets? (?:about|over|with|for)|(?:happy|pleased|satisfied|content|thrilled) with"),
    ("worked", r"(?:glad|happy)(?: that)? we (?:chose|picked|adopted|took|moved to|went (?:with|for)|switched to)"),
    ("superseded", r"(?:moved|migrated|switched|moving) (?:away )?from(?= .+ to )"),
    ("failed", r"(?:abandoned|gave up on|gave up|scrapped|ditched|(?<!no )regret(?:ted|s)?)"),
)
"""Phrases before what they judge."""


def _stems(said: str) -> frozenset[str]:
    return frozenset(map(stem, said.split()))


_CHANGE: Final = _stems(
    "move migration switch change rollout adoption adopting experiment trial attempt decision choice choosing "
    "introduction introducing moving switching migrating trying using use approach idea plan pilot setup step "
    "going betting bet picking adoption conversion"
)
"""Words for a change itself, which say nothing about what was chosen."""

_SUBJECT_FILLER: Final = _stems("so far still now again since actually just finally own as well whole entire exact")
_HEDGE: Final = re.compile(
    r"\b(?:if|unless|might|may|could|should|would|will|whether|not|never|cannot|plan|plans|planned|planning|consider"
    r"|considering|want|wants|maybe|perhaps|until|when|whenever|once|hope|hopes|fear|fears|expect|propose|proposed"
    r"|suggest|suggested)\b|n't\b",
    re.IGNORECASE,
)
_MAY_JUDGE: Final = re.compile(
    r"\b(?:turn|prov|mistake|fail|disaster|work|pan out|pa[iy]d? off|scale|h[eo]ld up|backfire|flop|abandon"
    r"|g[ai]ven? up|scrap|regret|well|fine|great|solid|stable|success|saved|no (?:trouble|problem)|serve|back"
    r"|revert|undo|undid|undone|revers|again|replac|supersed|favou?r of|way (?:for|to)|gone|no longer|swap|from"
    r"|wrong|through|win|call|retire|solve|fixed|worth|caus|trouble|ripped|torn?|tore|pulled|off|trad|exchang"
    r"|ditch|drop|dump|left|displac|supplant|place|happy|pleas|satisf|content|thrill|glad|history|no more|did"
    r"|does|expectation|here to|short|let us|disappoint|cope|keep up|handle|deliver|live up|what we|what the"
    r"|charm|purpose|more|keeps? failing|into|became|decommission|phased|shut down|sunset|stopped|return|use|run"
    r"|waste|nightmare|burden|liability|reliab|excellent|painless|joy|catch|caught|take off|took"
    r"|cut|reduc|short|halv|lower|brought|cured|rid of|freed|fast|without|smooth|help|suit|fit us|difference|can't"
    r"|cannot|can not|kept|cost|led to|lifted)",
    re.IGNORECASE,
)
"""What one of the phrases has at least: most texts have none of it and are not read further."""

_QUESTION: Final = re.compile(r"[?\uff1f]\s*$")
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[\u3002\uff01\uff1f])")
_CLAUSES: Final = re.compile(r"\s*[;:,–—]\s+|\s+(?:because|since|but|after|although|while)\s+", re.IGNORECASE)
_LED_IN: Final = re.compile(
    r"^(?:so far|by now|in the end|eventually|meanwhile|update|outcome|result|note)\b[:,]?\s*", re.IGNORECASE
)
_OBJECT_ENDS: Final = re.compile(
    r"\s+(?:to|with|by|for good|last|yesterday|today|and|again|in favou?r|on \w+day)\b.*$"
)
_EXCHANGED: Final = re.compile(r"\s+for\b.*$")
_BACK_TO: Final = re.compile(
    r"\b(?:(?:are|is|went|gone|came|moved|switched|migrated|now) back (?:on|to|with|in)|returned to"
    r"|(?:use|uses|run|runs) (?:on )?(?=.+ again$))\s*",
    re.IGNORECASE,
)
_AND_BACK: Final = re.compile(r"\b(?:back (?:on|to|in)|again)\b", re.IGNORECASE)
_OTHERS: Final = re.compile(
    r"\b(?:they|their|his|her|others?|another|competitors?|rivals?|customers?|clients?|partners?|vendors?|suppliers?|upstream|agency"
    r"|somebody|someone|people|everybody|everyone)\b",
    re.IGNORECASE,
)
"""Who decides for themselves: what they replaced or gave up is no outcome of a decision of ours."""

_NOT_CHOSEN: Final = re.compile(
    r"\b(?:(?<!come )(?<!comes )from|instead of|rather than|over|not|in place of|away from)\s+[\w.+#/-]+(?:\s+to\b)?"
    r"|\b(?:replac|swap|drop|ditch|trad)\w*\s+[\w.+#/-]+(?=\s+(?:with|by|for|in favou?r)\b)",
    re.IGNORECASE,
)
_DECIDES: Final = re.compile(
    r"\b(?:decided|decision|chose|chosen|choose|adopted|adopt|agreed|settled on|picked|opted|going with|went with"
    r"|switched|migrated|moved|from now on|we will|we'll|we use|let's|introduced?|we (?:go|replace))\b"
    r"|^(?:use|go (?:for|with)|adopt|prefer) ",
    re.IGNORECASE,
)


def is_decision(text: str) -> bool:
    """Whether a text says that something was decided, whatever kind it was given."""
    return len(text) <= LONGEST_DECISION and bool(_DECIDES.search(text) or DECIDES.search(folded(text)))


def reported_outcome(decision: str, statement: str) -> ReportedOutcome | None:
    """Return what a later statement says came of a decision; None if it says nothing of it."""
    if len(decision) > LONGEST_DECISION:
        return None
    unsure: ReportedOutcome | None = None
    for judged in judgements_in(statement):
        fits = _fits(_chosen(decision, judged.language), judged)
        if fits is True:
            return ReportedOutcome(judged.result, judged.phrase, is_certain=True)
        if fits is None and unsure is None:
            unsure = ReportedOutcome(judged.result, judged.phrase, is_certain=False)
    return unsure


@lru_cache(maxsize=1 << 16)  # a dream looks at every memory in each of its rounds
def judgements_in(statement: str) -> tuple[Judgement, ...]:
    """Return the judgements of a statement and what each is about; most statements have none."""
    if len(statement) > LONGEST_STATEMENT:
        return ()
    sentences = [one for one in _SENTENCES.split(statement) if one.strip() and not _QUESTION.search(one)]
    english = sentences if _MAY_JUDGE.search(statement) else ()
    return (
        *(
            judged
            for sentence in english
            for clause in _CLAUSES.split(_LED_IN.sub("", sentence.strip()))
            for judged in _told_in(_judgements_of(clause.strip(" .!")), sentence)
        ),
        *(judged for sentence in sentences for judged in judgements_in_languages(sentence)),
    )


def _told_in(judged: Iterable[Judgement], sentence: str) -> Iterator[Judgement]:
    """Yield judgements as their sentence tells them: what is gone was reversed if something older is back."""
    is_back = bool(_BACK_TO.search(sentence))
    for one in judged:
        yield replace(one, result="reversed") if is_back and one.result == "superseded" else one


def _judgements_of(clause: str) -> Iterator[Judgement]:
    for result, pattern in _BEFORE:
        for found in pattern.finditer(clause):
            rest = clause[found.end() :]
            if _HEDGE.search(clause[: found.start()]) or _HEDGE.search(rest):
                continue
            if _OTHERS.search(clause[: found.start()]):
                continue
            rest = _EXCHANGED.sub("", rest) if result == "superseded" else rest
            was_undone = result == "failed" and _AND_BACK.search(rest)
            yield _judged("reversed" if was_undone else result, found[0], _OBJECT_ENDS.sub("", rest))
    if (back := _BACK_TO.search(clause)) and not _HEDGE.search(clause):
        yield replace(_judged("reversed", back[0], _OBJECT_ENDS.sub("", clause[back.end() :])), is_back_to=True)
    for result, pattern in (*_AFTER, *_AFTER_A_CHANGE):
        judged = pattern.search(clause)
        subject = clause[: judged.start()] if judged else ""
        if judged is None or _HEDGE.search(subject):
            continue
        if (result, pattern) in _AFTER_A_CHANGE and not _names_a_change(subject):
            continue
        yield _judged(result, judged[0], subject)


def _judged(result: OutcomeResult, phrase: str, subject: str) -> Judgement:
    return Judgement(result, phrase, _content(subject) - _CHANGE, _head(subject), "en")


def _compiled(phrases: tuple[tuple[OutcomeResult, str], ...]) -> tuple[tuple[OutcomeResult, re.Pattern[str]], ...]:
    return tuple((result, re.compile(rf"\b(?:{phrase})(?!\w)", re.IGNORECASE)) for result, phrase in phrases)


_AFTER: Final = _compiled(_AFTER_SUBJECT)
_AFTER_A_CHANGE: Final = _compiled(_AFTER_CHANGE)
_BEFORE: Final = _compiled(_BEFORE_OBJECT)


def _names_a_change(subject: str) -> bool:
    """Whether what is judged is a change: it has a word for one, or begins with what was done ("splitting …")."""
    said = words(subject)
    return any(stem(word) in _CHANGE for word in said) or bool(said and said[0].endswith("ing"))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a decision chose: its text in lower case, the stems of it, and of the names in it; and what it left."""

    text: str
    content: frozenset[str]
    names: frozenset[str]
    left: frozenset[str]


@lru_cache(maxsize=1 << 13)
def _chosen(decision: str, language: str) -> _Chosen:
    """Return what a decision chose, as a statement in a language would name it.

    Ordinary words of English are known, so every other word of an English decision is a name. Those of other
    languages are not, so a name there has to look like one.
    """
    chosen = _NOT_CHOSEN.sub(" ", decision)
    left = " ".join(found[0] for found in _NOT_CHOSEN.finditer(decision))
    if language == "en":
        return _Chosen(chosen.lower(), _content(chosen), _names(chosen), _stems(" ".join(words(left))))
    left += " " + " ".join(found[0] for found in NOT_CHOSEN.finditer(folded(chosen)))
    chosen = NOT_CHOSEN.sub(" ", folded(chosen))
    named = _LATIN.findall(chosen) if not chosen.isascii() and _UNSPACED.search(chosen) else names_in(chosen)
    names = frozenset(stem(word) for name in named for word in words(name))
    left_names = frozenset(stem(word) for name in _LATIN.findall(left) for word in words(name))
    return _Chosen(chosen.lower(), frozenset(map(stem, words(chosen))) | names, names, left_names)


def _fits(chosen: _Chosen, judged: Judgement) -> bool | None:
    """Whether what is judged is what a decision chose: True if surely, None if perhaps, False if not."""
    about = frozenset(one for one in judged.about if one.isascii() or one not in chosen.text)
    if judged.is_back_to:
        return bool(about) and about <= chosen.left
    shared = about & chosen.content
    if not shared:
        return False
    is_named = bool(chosen.names & shared)
    if about <= chosen.content and (is_named or (not chosen.names and (len(shared) > 1 or judged.is_bare))):
        return True
    is_about_it = judged.head in chosen.content | _CHANGE and 2 * len(shared) >= len(about)
    return None if is_about_it and (is_named or len(shared) > 1) else False


_LATIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+#]*(?:[._-][A-Za-z0-9]+)*")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def _names(text: str) -> frozenset[str]:
    """Return the stems of the names in a text: capitals inside a sentence, and words that ordinary prose has not."""
    return frozenset(
        stem(lower)
        for found in _SPELLED.finditer(text)
        for lower in words(found[0])
        if (found[0] != lower and found["start"] is None) or not is_ordinary(lower)
    )


def _head(subject: str) -> str:
    """Return the stem of the word that a phrase is about: the last one before "of", "in", "to" and the like."""
    said = words(_PREPOSITION.split(subject.strip(), maxsplit=1)[0])
    return stem(said[-1]) if said else ""


_SPELLED: Final = re.compile(r"(?P<start>(?:^|[.:!?]\s+))?[\w+#]+")
_PREPOSITION: Final = re.compile(
    r"\s+(?:of|in|on|for|to|as|between|against|with|into|from|at|over|by)\s+", re.IGNORECASE
)


def _content(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in words(text) if w not in FUNCTION_WORDS) - _SUBJECT_FILLER
