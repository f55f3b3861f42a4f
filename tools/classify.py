"""Guessing kind and layer of a text that came without them: by its words, and by its vector where there is one.

Two linear models on the bundled embedder's vectors, `kinds` and `passing`, see the vector of the text, the rules of
words below and the words and word pairs that the training set knows (docs/decisions/0030). With another embedder,
as in tests, the rules of words decide alone, in their order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from reverie.embeddings.base import Embedder, Embedding
from reverie.embeddings.classifier import bundled_model, embedder_for_models
from reverie.errors import EmbedderError
from reverie.memory import Kind, Layer, Memory, Tier

if TYPE_CHECKING:
    from reverie.storage.rows import Vector

KINDS_MODEL, PASSING_MODEL = "kinds", "passing"
RULE_WEIGHT, WORD_WEIGHT = 0.6, 0.3
"""What a rule and a known word weigh as a feature, against a vector of length 1."""

PASSING = 0.55
"""From this probability on, a text is taken to speak of the moment only, and starts in working memory.

Cross-validated on the training set, four of five passing texts reach it: what lasts is dearer than what passes.
"""

MAYBE_PASSING = 0.25
"""From this probability on, a fact is not certain to last: it starts as an episode, and use can make it knowledge."""

CERTAIN_OF_KIND = 0.7
"""From this probability on, a decision, a preference, a fix … is not let go for speaking of the moment."""

PASSING_TIER: Tier = "elephant"
"""What speaks of the moment is let go after 90 days, later if it is recalled (000-passing)."""

PASSING_NOTE = "taken for passing context, which fades in weeks; give a layer if it lasts"

_READ = 2_000  # characters that are looked at: kind and moment show at the beginning
_FADING: Final[frozenset[Kind]] = frozenset({"fact", "event"})

# In order: the first that fits wins where words decide alone. What was turned down mentions what was chosen, and
# what was mended mentions when, so those come first.
_RULES: Final[tuple[tuple[Kind, str], ...]] = (
    (
        "rejected",
        r"\b(reject(ed)?|rul(ed|ing) out|(decid|chos|vot)\w* (against|not to|down)|abandon(ed)?|gave up on|"
        r"given up|giving up|"
        r"drop(ped)? (it|the (idea|plan))|and dropped|discard(ed)?|dismiss(ed)?|scrapped|shelved|vetoed|"
        r"turned (it )?down|"
        r"said no to|(won't|will not|not going to) (use|adopt|do|support)|not worth|off the (table|list)|"
        r"out of the question|"
        r"(tried|tested|evaluated|considered|looked (at|into)|experimented|attempted|prototyped?)\b.{0,90}\b(but|"
        r"dropped|"
        r"gave|didn't|did not|too|back|without|never|failed|killed)|did(n't| not) (work out|make it|convince|fly)|"
        r"verworfen|abgelehnt|fallen gelassen|dagegen entschieden|gegen .{2,40} entschieden|abgesehen|"
        r"abstand genommen|"
        r"kam nicht in frage|écarté\w*|rejeté\w*|abandonné\w*|refusé\w*|descart\w+|rechaz\w+|rejeitad\w+|desistimos|"
        r"abandonó|no usar|não usar|scartat\w+|respint\w+|afgewezen|odrzuci\w+|отказались|отклонил\w*)\b|"
        r"放弃|否决|却下|見送|採用しなかった|やめた",
    ),
    (
        "error_fix",
        r"\b(fix(ed|es)|solv(ed|es)|resolv(ed|es)|cured?|root cause|workaround|traceback|stack trace|segfault|"
        r"(caused by|due to|came from|comes from|because)\b.{0,120}\b(now|set|add(ed|ing)?|rais\w+|switch\w+|"
        r"helped|pass\w*|"
        r"correct\w*|instead)|(goes|went) away|(helped|helps|works) (again|now)?$|(fail(s|ed)?|dies|crash(es|ed)?|"
        r"hangs?) "
        r"(with|when|because|on)|exit code \d|\w{3,}(Error|Exception)\b|err_\w+|exception in|"
        r"behob\w*|behebt|gelöst|lag an|hilft|ursache|corrigé|résolu|venait de|erreur|arregl\w+|solucion\w+|resuelto|"
        r"se debía|corrigido|resolvido|por causa|erro de|risolt\w+|risolve|corretto|opgelost|naprawi\w+|исправ\w+|"
        r"ошибк\w+)\b|解决|修复|直った|解決し",
    ),
    (
        "decision",
        r"\b(decided?|decision|adr[- ]?\d+|rfc \d+ accepted|we('ve| have)? (chose(n)?|picked|agreed|settled|opted|"
        r"selected|adopted)|"
        r"(was|is|were|been) (agreed|decided|settled)|(team|group|board|guild) (agreed|picked|chose|settled|voted|"
        r"took|went)|"
        r"^(chose|chosen|picked|settled|opted|adopted|selected|agreed|resolved|going with|let's|let us)|"
        r"going with|go(es)? with|"
        r"went (with|for)|we('ll| will) (use|go|keep|ship|write|take|stay|support|move)|we('re| are) (moving|"
        r"switching|going to|"
        r"standardi[sz]ing|replacing|dropping|keeping)|rather than|instead of|from now on|standardi[sz]ed? on|"
        r"entschieden|entscheidung|beschlossen|geeinigt|festgelegt|statt|wir (nehmen|setzen)|décid\w+|choisi\w*|"
        r"plutôt que|convenu|decid\w+|decisi[oó]n|eligi\w+|acord\w+|optou|optamos|vamos (a )?(usar|adotar)|"
        r"abbiamo deciso|scelto|gekozen|zdecydowa\w+|решили)\b|决定|选择了|決め|採用|することに",
    ),
    (
        "how_to",
        r"\b(how (to|do)|steps?( \w+)*:|to \w+[^.:;]{0,60}[:,] |^to \w+|in order to|you can \w+|you need to|"
        r"^(run|start|use|open|create|build|deploy|generate|restore|flash|execute|call) .{0,60}(`|\bwith\b|\bby\b|"
        r"\bvia\b|"
        r"\bthen\b)|then `|&& |first .{3,60} then|um .{3,60} zu |so (wird|startet|geht)|zuerst|ausführen|"
        r"pour \w+er|comment \w+|puis|para \w+(ar|er|ir)|cómo|como \w+r\b|ejecut\w+|rode|rodar|per \w+(are|ere|ire)|"
        r"om .{3,40} te |aby|чтобы)\b|`[^`]+ [^`]+`|方法|手順|には|作り方|运行|先.{1,20}再",
    ),
    (
        "event",
        r"\b(yesterday|today|last (night|week|month|year|spring|summer|autumn|winter|(mon|tues|wednes|thurs|fri|"
        r"satur|sun)day)|"
        r"(this|in the) (morning|afternoon|evening|week)|two weeks ago|ago|over the weekend|"
        r"on (the )?\d{1,2}(st|nd|rd|th)?( of)? ?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)?\w*|"
        r"\d{4}-\d\d-\d\d|"
        r"on (mon|tues|wednes|thurs|fri|satur|sun)day|in (january|february|march|april|may|june|july|august|"
        r"september|october|"
        r"november|december|20\d\d)|deployed|released|merged|shipped|went live|migrated|upgraded|rolled (out|back)|"
        r"joined|gestern|letzte (woche|nacht)|am (montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|\d)|"
        r"wurde|"
        r"hier|mardi|lundi|dernier|ayer|pasad[oa]|el (lunes|martes|\d)|se (desplegó|publicó)|ontem|passad[oa]|"
        r"ieri|gisteren|wczoraj|вчера)\b|昨天|昨日|上周|リリースした",
    ),
    (
        "preference",
        r"\b(prefer\w*|preference|(dis)?likes?|hates?|favou?rs?|wants?|would rather|'d (rather|like)|i('d)? like|"
        r"always|never|"
        r"please|avoid|stick to|keep|don't|do not|no emojis|should|must be|convention|"
        r"bevorzug\w*|bitte|immer|niemals|nie|möchte|préf\w+|jamais|toujours|merci d|évite|prefier\w+|nunca|siempre|"
        r"por favor|prefir\w+|sempre|preferisc\w+|mai|altijd|nooit|proszę|всегда|никогда|предпочит\w+)\b|"
        r"ください|ほしい|好き|请|不要|喜欢",
    ),
)
_CUES: Final = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _RULES)
_PASSING_RULES: Final[tuple[str, ...]] = (
    r"\b(right now|at (the moment|present)|for now|for the (moment|time being)|just now|momentan|gerade|"
    r"en ce moment|ahora mismo|"
    r"de momento|por enquanto|agora|in questo momento|op dit moment|сейчас)\b|正在|现在|現在|途中|実装中|今",
    r"\b(currently|aktuell|derzeit|actuellement|actualmente|atualmente|attualmente)\b",
    r"^\W*(todo|wip|next( up| step)?|remaining|open|pending|reminder|remind me|offen|à faire|por hacer|pendiente|"
    r"da fare|"
    r"in progress|waiting|still|left|blocked|currently|debugging|investigating|trying|looking)\b|待办",
    r"\b(waiting (for|on|until)|awaiting|warte|j'attends|esperando|aguardando|aspettando|czekam|жду)\b|待ち",
    r"\b(i'm|i am|ich (bin|sitze)|je suis|estoy|estou|sto|ik ben) (now |currently |gerade )?(\w+ing|in the middle|"
    r"halfway|stuck|"
    r"on|at|en train|dabei|a medias|no meio|bezig)\b|\b(i'll|i will|have to|need to|muss noch|bin bei|je reprends|"
    r"sigo|continuo)\b",
    r"\b(is|are|ist|est|está|è|jest) (still |currently |now )?(down|out|broken|red|unreachable|slow|stuck|on hold|"
    r"on (leave|vacation)|"
    r"sick|ill|locked|paused|being|running|failing|kaputt|rot|tombé|en panne|caíd[oa]|fora do ar|giù)\b",
    r"\b(not (yet|finished|merged|deployed)|yet|so far|still|noch( nicht)?|il reste|falta\w?|half[- ](done|"
    r"finished)|halfway|"
    r"left|to go|missing|in progress|under way|pas encore)\b",
    r"\b(today|tonight|tomorrow|this (morning|afternoon|evening|week)|until (monday|tuesday|wednesday|thursday|"
    r"friday|tonight|"
    r"tomorrow|six)|heute|morgen|diese woche|demain|ce matin|hoy|mañana|hoje|amanhã|oggi|domani)\b",
    r"\b(temporarily|uncommitted|stash\w*|draft|commented out|breakpoint|print statement|hard-?coded|my (branch|"
    r"pr|laptop|local))\b|"
    r"\bpr #?\d+|#\d{2,}",
    # What speaks for a statement that lasts.
    r"\b(every|each|always|by (design|default)|on purpose|whenever|means|rule|per (day|week|month|user)|once a|"
    r"(mon|tues|wednes|thurs|fri|satur|sun)days|jede[nrs]?|chaque|cada|toda|ogni|elke|co noc)\b|每|毎",
    r"^\W*(if|when|while|until|once|as long as|during|whenever|wenn|während|ist|si|quand|pendant|cuando|se|quando|"
    r"als)\b",
    r"\b(after|within|for|older than|at most|up to) (\d+|one|two|three|five|ten|a|an|thirty|sixty) "
    r"(seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms)\b",
    r"\b(are|is|gets?|were) (\w+ly )?(\w+ed|kept|shown|sent|run|written|held|set|done|taken|made) (by|in|on|to|at|"
    r"after|from|as|"
    r"with|under|when|into|for|before)\b|\b(werden|wird|sont|se \w+n|são|vengono)\b",
    r"\b(needs?|requires?|must|cannot|can be|has to be|is (called|based|required|responsible)|lives? in|comes? from|"
    r"we (use|support|are using)|(is|am) the|works? (from|on|half))\b",
    r"`\w+`|\"[^\"]+\"|\w+_\w+|\w+\(\)|/\w+|\bv?\d+\.\d+\b",
    r"\b(i|i'm|i've|i'll|me|my|ich|mein\w*|je|j'|yo|mi|eu|meu|minha)\b",
    r"^\W*\w+ing\b(?!.*\b(is|are|needs?|requires?|means|goes|has)\b)",
)
_PASSING_CUES: Final = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _PASSING_RULES)
_PASSING_ALONE: Final = re.compile(
    r"\b(right now|at the moment|in progress|for now|i'm working|half done)\b|"
    r"^\W*(todo|wip|next step|waiting for|currently \w+ing|working on|blocked (on|by))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(
    r"[^\W\d_\u3040-\u30ff\u4e00-\u9fff]+(?:'[a-z]+)?|\d+|[\u3040-\u30ff\u4e00-\u9fff]|[`→:?\";]", re.IGNORECASE
)

_LAYERS: Final[dict[Kind, Layer]] = {
    "fact": "semantic",
    "preference": "semantic",
    "peer_card": "semantic",
    "bridge": "semantic",
    "decision": "procedural",
    "how_to": "procedural",
    "rejected": "procedural",
    "error_fix": "procedural",
    "event": "episodic",
    "digest": "episodic",
    "code": "codebase",
}


@dataclass(frozen=True, slots=True)
class Guess:
    """The kind and the layer that fit a text, and whether it speaks of the moment only."""

    kind: Kind
    layer: Layer
    passing: bool


def classify(content: str, vector: "Vector | None" = None, *, kind: Kind | None = None) -> Guess:
    """Guess what a text is; a kind that somebody named is kept, and only a fact or an event can be passing.

    `vector` is the bundled embedder's, None where words have to decide alone.
    """
    text = content[:_READ]
    likely = _passing_likelihood(text, vector)
    found, share = (kind, 1.0) if kind is not None else _guessed(text, vector)
    fades = found in _FADING or share < CERTAIN_OF_KIND
    if likely >= PASSING and fades:
        return Guess(found if kind is not None or found == "event" else "fact", "working", passing=True)
    unsure = kind is None and likely >= (MAYBE_PASSING if found == "fact" else PASSING)
    return Guess(found, "episodic" if unsure else _LAYERS[found], passing=False)


def classified(
    draft: Memory,
    vector: "Vector | None",
    *,
    kind_given: bool,
    layer_given: bool,
    default_tier: Tier | None = None,
) -> Memory:
    """Return a draft with the kind and the layer that nobody named, and a lifespan if it starts in working memory."""
    guess = classify(draft.content, vector, kind=draft.kind if kind_given else None)
    layer = draft.layer if layer_given else guess.layer
    passing = layer == "working" and draft.tier is None and draft.forget_after is None
    own = default_tier in (None, "permanent")  # where the domain has a lifespan for everything, that is shorter
    return replace(draft, kind=guess.kind, layer=layer, tier=PASSING_TIER if passing and own else draft.tier)


def vectors_for(embedder: Embedder, texts: Sequence[str], embeddings: Sequence[Embedding]) -> "list[Vector | None]":
    """Return the bundled embedder's vectors of texts that another one may have embedded; it may have to load."""
    reader = embedder_for_models(embedder)
    if reader is embedder:
        return [embedding.vector for embedding in embeddings]
    if reader is None:
        return [None] * len(texts)
    try:
        return [embedding.vector for embedding in reader.embed(texts)]
    except EmbedderError:  # the text was embedded all the same: its words are enough for a guess
        return [None] * len(texts)


def rule_features(text: str) -> list[float]:
    """Return which rules of kind fit a text."""
    return [RULE_WEIGHT * bool(cue.search(text)) for _, cue in _CUES]


def passing_features(text: str) -> list[float]:
    """Return which rules of passing context fit a text."""
    return [RULE_WEIGHT * bool(cue.search(text)) for cue in _PASSING_CUES]


def words_of(text: str) -> set[str]:
    """Return the words and pairs of words in a text; `^` marks the first, `#` stands for any number."""
    words = ["#" if word[0].isdigit() else word.lower() for word in _WORD.findall(text)]
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    return {*words, *pairs, *(f"^{first}" for first in (*words[:1], *pairs[:1]))}


def word_features(text: str, known: tuple[str, ...]) -> list[float]:
    """Return which of the known words and pairs a text has."""
    found = words_of(text)
    return [WORD_WEIGHT * (word in found) for word in known]


def _guessed(text: str, vector: "Vector | None") -> tuple[Kind, float]:
    """Return the likeliest kind and its probability."""
    if vector is None:
        return next(((kind, 0.0) for kind, cue in _CUES if cue.search(text)), ("fact", 0.0))
    model = bundled_model(KINDS_MODEL)
    shares = model.probabilities(vector, [*rule_features(text), *word_features(text, model.words)])
    return max(((kind, shares[kind]) for kind in _LAYERS if kind in shares), key=lambda guess: guess[1])


def _passing_likelihood(text: str, vector: "Vector | None") -> float:
    if vector is None:
        return float(bool(_PASSING_ALONE.search(text)))
    model = bundled_model(PASSING_MODEL)
    return model.probabilities(vector, [*passing_features(text), *word_features(text, model.words)])[PASSING_MODEL]
