"""Finds what is worth keeping in a session, without a language model: few statements, each with where it was said.

Four sorts: what the person stated as a rule, preference, decision or correction; what they rejected; which command
worked after which error; which files were edited. A person's sentence is kept in their words and quoted, so that it
stays a statement about what was said. Nothing is decided here: `tools.capture` screens, compares with what is known,
and asks.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reverie.tools.transcripts import Step, Transcript

MOST_ITEMS = 6
"""A handful: more would be skimmed, and so would the question that asks about them."""

ItemKind = Literal["preference", "decision", "rejected", "fact", "error_fix", "event"]

_LONGEST_STATEMENT = 400
_LONGEST_MESSAGE = 2_000
"""A longer message is a document that was pasted."""

_FEWEST_WORDS = 4
_SHORT = 6
_MOST_FIXES = 2
_MOST_PATHS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedItem:
    """A statement that may be worth keeping, its kind, and the turn it comes from."""

    kind: ItemKind
    text: str
    turn: int


def captured(transcript: Transcript, folder: str = "") -> list[CapturedItem]:
    """Return what is worth keeping of a session, the most useful first: a handful at most."""
    steps = transcript.steps
    found = [
        *(item for step in steps if step.kind == "said" for item in _statements(step.text, step.turn)),
        *(item for step in steps if step.kind == "summary" for item in _from_summary(step.text, step.turn)),
    ]
    fixes = list(_fixes(steps))[-_MOST_FIXES:]
    edited = _edited(steps, transcript.folder or folder)
    return _distinct([*reversed(found), *fixes], MOST_ITEMS - len(edited)) + edited  # the last word is the newest


def _distinct(items: Iterable[CapturedItem], most: int) -> list[CapturedItem]:
    ordered = sorted(items, key=lambda item: _USEFUL.index(item.kind))  # stable: newest first within a kind
    chosen = {re.sub(r"\W+", " ", item.text).casefold(): item for item in reversed(ordered)}
    return list(reversed(chosen.values()))[:most]


_USEFUL: Final[tuple[ItemKind, ...]] = ("preference", "decision", "rejected", "fact", "error_fix", "event")


# -- what the person stated --------------------------------------------------------------------------------

_FENCED: Final = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_NOT_THEIRS: Final = re.compile(
    r"^\s*(?:>|\||\$ |# |@@|[-+]{3} |\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[?(?:ERROR|WARN\w*|INFO|DEBUG|TRACE)\b|"
    r"Traceback|at \w+[.(]|File \"|\w*(?:Error|Exception):)|^(?: {4}|\t)\S"
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。])[)\"”’]?\s+(?=[\w`\"“(¿¡])")
_QUESTION: Final = re.compile(r"\?\s*[)\"”]?\s*$|^\s*¿|\b(?:can|could|would) you\b", re.IGNORECASE)
_TASK: Final = re.compile(
    r"^(?:(?:ok(?:ay)?|now|then|and|also|so|please|bitte|por favor|thanks?|great|perfect)[,!.]?\s+)*"
    r"(?:add|write|create|make|implement|build|fix|explain|show|generate|draft|refactor|rename|update|change|move|"
    r"delete|remove|run|check|look|find|list|print|tell|give|describe|summari[sz]e|continue|commit|push|deploy|"
    r"review|test|try|read|open|bump|install|schreib|füge|mach|zeig|erklär|añade|escribe|crea|muestra|"
    r"ajoute|écris|crée|montre)\b",
    re.IGNORECASE,
)

# What makes a sentence more than a task of the moment, by kind. The order decides between kinds.
_SIGN_PATTERNS: Final[Mapping[ItemKind, str]] = {
    "rejected": (
        r"\b(?:we|i)(?:'ve| have)? (?:already )?(?:tried|rejected|ruled out|dropped|gave up on)\b|"
        r"\blet'?s not\b|^(?-i:[Nn]o (?:more )?[A-Z`]\w+)|\bnot worth\b|\bwir haben \w+ (?:verworfen|probiert)|"
        r"\b(?:haben|habe) uns gegen\b|\bprobamos\b|\bon a (?:essayé|rejeté)\b|"
        r"\b(?:decided|voted|opted) against\b|\bsaid no to\b"
    ),
    "decision": (
        r"\b(?:let'?s|we(?:'ll| will|'re going to| are going to)?|i(?:'ll| will)?) "
        r"(?:go(?:ing)? with|stick (?:with|to)|settle on)\b|"
        r"\b(?:we|i)(?:'ve| have)? (?:decided|agreed|chose|settled)\b|^\W*(?:decision|decided)\b|"
        r"\bthe decision is\b|\bwe(?:'re| are)? drop(?:ping)?\b|"
        r"\bwe(?:'re| are) (?:moving|switching|migrating) (?:to|off|away)\b|"
        r"\bwe(?:'ll| will| shall)? stay (?:with|on)\b|\bpinned (?:to|at)\b|"
        r"\b(?:should|must)(?:n't| not)? be \w+(?:ed|n)\b.{0,40}(?:: |\b(?:because|since)\b)|"
        r"\b(?:haben|habe) (?:uns|mich) (?:für|gegen)\b.*\bentschieden\b|\bwir (?:nehmen|bleiben bei)\b|"
        r"\b(?:hemos|he) decidido\b|\b(?:on a|nous avons|j'ai) décidé\b|\babbiamo deciso\b|\bdecidimos\b"
    ),
    "preference": (
        r"\b(?:always|never|from now on|in (?:the )?future|every time|whenever|by default|by convention)\b|"
        r"\bwe (?:only |always )?(?:use|don'?t use|do not use|write|keep|follow|run)\b"
        r"(?! (?:it|this|that|them|these|a lot|too|so)\b)|"
        r"\w, not (?:in|on|with|via|from|by|under|as)\b|^(?:all )?\w+s (?:have to|must|need to|may not)\b|"
        r"^(?:please )?(?:all )?(?:commits?|commit messages?|branch names|comments|docstrings|identifiers|names|"
        r"log messages|imports)\b.{0,30}\b(?:in|with|without|no|start|are|must|should)\b|"
        r"\b(?:our|the) (?:convention|rule|policy|standard|style)\b|"
        r"\b(?:all|every|each)(?: of)?(?: our| my| the)? \w+ (?:uses?|must|should)\b|"
        r"\beverything (?:goes|must|should|lives)\b|"
        r"^(?:(?:all|our|the) )?\w+s (?:go|live|belong|sit) (?:in|into|to|under|through|next to|beside)\b|"
        r"^\w+ \w+s (?:go |live )?next to\b|\b(?:via|through|using) [^,.;]{2,40},? not \w|"
        r"^no (?!wait|problem|worr|idea|need|rush|thanks|luck|clue|matter|hurry|doubt|no\b)\w+(?: \w+)?, \w+ |"
        r", no (?!errors|changes|warnings|issues|problems|results|tests)\w+s\W*$|"
        r"\binsist(?:s|ed)?\b|\b(?:legal|compliance|security|finance|auditors?|customers?|marketing) "
        r"(?:wants?|needs?|requires?|asked for)\b|"
        r"\buse .{1,60}(?:instead of|, not|rather than)\b|\b(?:don'?t|do not|please don'?t|stop) (?:ever )?"
        r"(?:use|using|add|adding|touch|commit|push|deploy|skip|mock|edit|change|put|writ)\w*\b|"
        r"\bi(?:'d| would)? (?:really )?(?:prefer|rather(?! not)|like it when|hate|dislike|don'?t like|"
        r"want you to)\b|"
        r"\b(?:immer|niemals|nie|ab (?:jetzt|sofort)|künftig|in zukunft)\b|"
        r"\b(?:verwenden|benutzen|nutzen) wir\b|\bwir (?:verwenden|benutzen|nutzen)\b|\blieber\b|\bbevorzuge\b|"
        r"\b(?:siempre|nunca|a partir de ahora|prefiero|usamos)\b|\bno (?:uses|utilices|añadas)\b|"
        r"\b(?:toujours|jamais|désormais|dorénavant|je préfère|on utilise|nous utilisons)\b|"
        r"\b(?:sempre|mai più|d'ora in poi|de agora em diante|preferisco|prefiro|usiamo)\b"
    ),
    "fact": (
        r"\bby the way\b|^btw\b|\bbtw\W*$|\bfor us\b|"
        r"\b(?:is|are) (?:there|like (?:this|that)|so|deliberate(?:ly)?|intentional(?:ly)?|on purpose) "
        r"(?:because|since|as)\b|"
        r"\b(?:budget|limit|quota|retention|deadline|maximum|minimum)\b.{0,20}\b(?:is|are)\b.{0,20}\d|"
        r", [\w./-]+ not [\w./-]+\W*$|"
        r"^\W*(?:please |bitte )?(?:remember|keep in mind|note|be aware|fyi|heads up|merk dir|denk daran|recuerda|"
        r"souviens-toi|rappelle-toi|lembre-se|ricorda)\b|"
        r"^\W*(?:no|nope|nein|non|wrong|falsch|incorrect|actually|eigentlich|not quite|"
        r"that'?s (?:wrong|not right|incorrect|not true)|"
        r"this is wrong|das (?:stimmt|ist) (?:nicht|falsch)|i (?:said|told you|meant))\b"
    ),
}
_SIGNS: Final = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _SIGN_PATTERNS.items()}
_RELATIVE: Final = re.compile(r"\b(?:that|which|who|so that|whether|dass|die|que|qui)\b[^,;]*$", re.IGNORECASE)
_LASTING: Final = re.compile(r"\b(?:from now on|in (?:the )?future|every time|whenever|ab jetzt|künftig)\b", re.I)
_DESCRIBES: Final = re.compile(
    r"\b(?:i|it|this|that|he|she|they|which)(?:'s|'ve| has| have| should| must| can| will| would)? "
    r"(?:always|never)\b|"
    r"\b(?:immer|nie|siempre|nunca|toujours|jamais) noch\b|^never ?mind\b|"
    r"\bnever (?:seen|thought|knew|heard|been|expected|felt|noticed|realised|realized)\b|\balways something\b",
    re.IGNORECASE,
)
_CORRECTS: Final = re.compile(
    r"^\W*(?:no|nope|nein|non|wrong|falsch|incorrect|actually|eigentlich|not quite|that'?s|this is|das|i)\b",
    re.IGNORECASE,
)
_REFERS_BACK: Final = re.compile(r"\b(?:to|through|with|against) (?:that|this|it|those|these)\b", re.IGNORECASE)
_OUR_WAY: Final = re.compile(
    r"[.!] we (?!need|should|can|could|have to|had|are|were|will|might|must)\w+ \w", re.IGNORECASE
)
_SPECIFIC: Final = re.compile(r"`|\w[/_.]\w|\w::\w|\b\d|(?-i:\b[a-z]+[A-Z]\w)", re.IGNORECASE)
_VAGUE: Final = re.compile(
    r"\b(?:with|for|on|to) (?:(?:the )?(?:first|second|third|last|other|latter|former|suggested)(?: \w+)?|option \w+|"
    r"that|it|this|your \w+|[a-d1-9])(?: (?:for now|then|please|first|again))?\W*$",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(
    r"^(?:(?:no|nope|nein|ok(?:ay)?|yes|hm+|well|looks good|perfect|great|thanks?|thank you|and|also|but|so)\b"
    r"[,.!:]?\s*)+",
    re.IGNORECASE,
)


def _statements(text: str, turn: int) -> Iterator[CapturedItem]:
    """Return what a message of the person states, at most one item for each paragraph."""
    if len(text) > _LONGEST_MESSAGE:
        return
    for paragraph in _paragraphs(text):
        sentences = [sentence.strip() for sentence in _SENTENCE_END.split(paragraph) if sentence.strip()]
        kinds = [_kind_of(sentence) for sentence in sentences]
        first = next((number for number, kind in enumerate(kinds) if kind is not None), None)
        if first is None:
            continue
        if first and _CORRECTS.match(sentences[first - 1]) and len(_words(sentences[first - 1])) < _SHORT:
            first -= 1  # "No, not that one. We use the other."
        named_before = first > 0 and _REFERS_BACK.search(sentences[first]) is not None
        before = [sentences[first - 1]] if named_before else []  # "Drop axios. Everything goes through that."
        kept = before + [
            sentence
            for sentence, kind in zip(sentences[first:], kinds[first:], strict=True)
            if kind is not None or not (_QUESTION.search(sentence) or _TASK.match(sentence))
        ]
        statement = " ".join(kept)
        if len(statement) > _LONGEST_STATEMENT or len(_words(_OPENING.sub("", statement))) < _FEWEST_WORDS:
            continue
        kind = _first_kind(kinds)
        says_what = _SPECIFIC.search(statement) or _OUR_WAY.search(statement)
        if kind == "fact" and _CORRECTS.match(statement) and not says_what:
            continue  # a correction that names nothing helps nobody who was not there
        yield CapturedItem(kind=kind, text=f"The user said: “{statement}”", turn=turn)


def _paragraphs(text: str) -> Iterator[str]:
    """Return the paragraphs that the person wrote themself: no code, quotes, logs or traces."""
    lines: list[str] = []
    for line in [*_FENCED.sub("\n", text).split("\n"), ""]:
        if _NOT_THEIRS.match(line) or not line.strip():
            if lines:
                yield " ".join(lines)
            lines = []
        elif re.match(r"\s*(?:[-*•]|\d+[.)])\s", line):  # each point of a list stands for itself
            if lines:
                yield " ".join(lines)
            lines = [re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", line)]
        else:
            lines.append(line.strip())


def _kind_of(sentence: str) -> ItemKind | None:
    """Return what a sentence states beyond the moment, or None."""
    if _QUESTION.search(sentence) or len(sentence) > _LONGEST_STATEMENT:
        return None
    for kind, signs in _SIGNS.items():
        found = signs.search(sentence)
        if found is None:
            continue
        if _TASK.match(sentence) and not _LASTING.search(sentence) and _RELATIVE.search(sentence[: found.end()]):
            continue  # "write a poem that never mentions the sea"
        if kind == "decision" and _VAGUE.search(sentence):
            continue  # "let's go with the second option": nobody will know which
        if kind == "preference" and _DESCRIBES.search(sentence) and not _LASTING.search(sentence):
            continue  # "it never finishes": what happens, not what should
        return kind
    return None


def _first_kind(kinds: Sequence[ItemKind | None]) -> ItemKind:
    found = {kind for kind in kinds if kind is not None}
    return next(kind for kind in _SIGNS if kind in found)


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'/.-]+", text)


# -- a client's own summary --------------------------------------------------------------------------------

_HEADING: Final = re.compile(r"^\s*(?:#{1,4}\s+|\d+\.\s+|\*\*)([A-Z][^:\n]{2,60}?)(?::|\*\*|\s*$)")
_ERRORS: Final = re.compile(r"\berrors?\b|\bfix(?:es)?\b", re.IGNORECASE)
_OF_THE_MOMENT: Final = re.compile(
    r"\b(?:pending|next|current|todo|files?|code|concepts?|request|intent|problem|tasks?)\b", re.IGNORECASE
)
_POINT: Final = re.compile(r"^\s*[-*•]\s+(.*)$")
_FIXED: Final = re.compile(
    r"\b(?:fixed|fix|solved|solution|resolved|works? (?:with|after)|workaround)\b", re.IGNORECASE
)
_LONGEST_POINT = 300


def _from_summary(text: str, turn: int) -> Iterator[CapturedItem]:
    """Return the points of a summary that state something beyond the moment."""
    heading = ""
    for line in _FENCED.sub("\n", text).split("\n"):
        point = _POINT.match(line)
        found = None if point else _HEADING.match(line)
        if found is not None:
            heading = found[1]
        if point is None or len(point[1]) > _LONGEST_POINT:
            continue
        said = point[1].strip()
        if _ERRORS.search(heading):
            if _FIXED.search(said) and len(_words(said)) > _FEWEST_WORDS:
                yield CapturedItem(kind="error_fix", text=said, turn=turn)
        elif "user message" in heading.casefold():
            yield from _statements(said.strip('"“” '), turn)
        elif not _OF_THE_MOMENT.search(heading):
            kind = _kind_of(said)
            if kind is not None and len(_words(said)) >= _FEWEST_WORDS:
                yield CapturedItem(kind=kind, text=said, turn=turn)


# -- which command worked after which error ----------------------------------------------------------------

_STEPS_TO_A_FIX = 8
_LOOKS_ONLY: Final = re.compile(
    r"^\s*(?:ls|cat|head|tail|less|grep|rg|find|pwd|cd|which|echo|tree|wc|file|stat|sed -n|ps|env|"
    r"git (?:status|log|diff|show|branch|stash list)|docker(?: compose)? (?:ps|logs)|kubectl (?:get|describe|logs))\b"
)
_ERROR_LINE: Final = re.compile(
    r"error|not found|failed|fatal|cannot|can't|refused|denied|expired|no such|unable|invalid|missing|unknown|"
    r"unrecognized|no rule|exception|unsupported|incompatible|mismatch",
    re.IGNORECASE,
)
_FRAME_LINE: Final = re.compile(r"^\s*(?:Exit code|>|at |File \"|npm ERR! code|ERROR tests|FAILED )", re.IGNORECASE)
_LONGEST_ERROR = 160
_LONGEST_COMMAND = 160
_ALIKE = 0.5
_VERSIONED: Final = re.compile(r"[\d.-]+$")


def _fixes(steps: Sequence[Step]) -> Iterator[CapturedItem]:
    """Return which command worked where another had failed, or after what the same one did.

    A test that passes after an edit is no such fix: what fixed it is in the code.
    """
    told: set[str] = set()
    for number, failing in enumerate(steps):
        error = _error_in(failing.output) if failing.kind == "ran" and failing.failed else ""
        if not error or failing.text in told or not _is_short(failing.text):
            continue
        worked = _what_worked(failing.text, steps[number + 1 : number + 1 + _STEPS_TO_A_FIX])
        if worked:
            told.add(failing.text)
            yield _fix(failing, error, worked)


def _what_worked(failing: str, later: Sequence[Step]) -> str:
    """Return what made a command work: one before its second try, or another form of it; nothing if nothing did."""
    instead = ""
    between = ""
    for step in later:
        if step.kind == "edited":
            break
        if step.kind != "ran" or _LOOKS_ONLY.match(step.text):
            continue
        is_alike = _are_alike(failing, step.text)
        if step.failed:
            if is_alike:
                break  # it is this one's error that has to be told
        elif step.text == failing:
            return f"after `{between}` it worked" if between else ""
        elif is_alike:
            instead = instead or step.text
            between = step.text
        elif _is_short(step.text):
            between = step.text
    return f"`{instead}` worked" if instead and _is_short(instead) else ""


def _fix(failing: Step, error: str, worked: str) -> CapturedItem:
    return CapturedItem(
        kind="error_fix", text=f"`{failing.text}` failed with “{error}”; {worked}.", turn=failing.turn
    )


def _is_short(command: str) -> bool:
    return len(command) <= _LONGEST_COMMAND and "\n" not in command


def _error_in(output: str) -> str:
    """Return the line of an output that says what went wrong, or nothing."""
    lines = [re.sub(r"^E\s+", "", line.strip()) for line in output.splitlines() if not _FRAME_LINE.match(line)]
    named = [line for line in lines if _ERROR_LINE.search(line)]
    return named[0][:_LONGEST_ERROR].rstrip() if named else ""


def _are_alike(command: str, other: str) -> bool:
    """Return whether a command is another try at the same thing: the same program, and half of the words."""
    ours, theirs = _command_words(command), _command_words(other)
    if not ours or not theirs:
        return False
    if _VERSIONED.sub("", theirs[0]) == _VERSIONED.sub("", ours[0]):
        theirs = [ours[0], *theirs[1:]]  # python and python3
    shared = len(set(ours) & set(theirs))
    return ours[0] in theirs and shared / len(set(ours)) >= _ALIKE


def _command_words(command: str) -> list[str]:
    """Return the words of a command without assignments, and of its program only the name."""
    words = [word for word in re.split(r"\s+|&&|;|\|", command) if word and not re.match(r"^\w+=|^export$", word)]
    return [os.path.basename(words[0]), *words[1:]] if words else []


# -- which files were edited -------------------------------------------------------------------------------


def _edited(steps: Sequence[Step], folder: str) -> list[CapturedItem]:
    """Return one line on the files that were edited, and what the session was asked for first."""
    paths = list(dict.fromkeys(_inside(step.text, folder) for step in steps if step.kind == "edited"))
    inside = [path for path in paths if path]
    if not inside:
        return []
    asked = next((step for step in steps if step.kind == "said" and len(_words(step.text)) >= _FEWEST_WORDS), None)
    topic = f" A session on “{_line(asked.text)}” edited" if asked else " A session edited"
    more = f" and {len(inside) - _MOST_PATHS} more files" if len(inside) > _MOST_PATHS else ""
    last = max(step.turn for step in steps)
    return [CapturedItem(kind="event", text=f"{topic[1:]} {', '.join(inside[:_MOST_PATHS])}{more}.", turn=last)]


def _inside(path: str, folder: str) -> str:
    """Return a path as the project names it; nothing for one outside."""
    path = path.replace("\\", "/")
    if folder and path.startswith(folder.rstrip("/") + "/"):
        return path[len(folder.rstrip("/")) + 1 :]
    is_absolute = path.startswith("/") or path[1:3] == ":/"
    return path if not is_absolute or not folder else ""


def _line(text: str, longest: int = 100) -> str:
    flat = " ".join(_FENCED.sub(" ", text).split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"
