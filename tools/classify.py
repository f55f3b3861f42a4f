"""Guessing kind and layer of a text that came without them: by its words, and by its vector where there is one.

Two linear models on the bundled embedder's vectors, `kinds` and `passing`, see the vector of the text, the rules of
words below and the words and word pairs that the training set knows (decision 0022). What `passing` takes for passing
context is read again by `passing_pieces`, which sees the word pieces in their order: both decide together. With
another embedder, as in tests, the rules of words decide alone, in their order.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from reverie.embeddings.base import Embedder, Embedding
from reverie.embeddings.bundled import BundledEmbedder
from reverie.embeddings.classifier import bundled_model, embedder_for_models
from reverie.errors import EmbedderError
from reverie.memory import Kind, Layer, Memory, Tier

if TYPE_CHECKING:
    from reverie.storage.rows import Vector

KINDS_MODEL, PASSING_MODEL, PASSING_PIECES_MODEL = "kinds", "passing", "passing_pieces"
RULE_WEIGHT, WORD_WEIGHT = 0.6, 0.3
"""What a rule and a known word weigh as a feature, against a vector of length 1."""

PASSING, PASSING_WITHOUT_A_SIGN, PASSING_UNDER_A_HEADING = 0.5, 0.7, 0.35
"""From this probability on, a text is taken for passing context and starts in working memory: one whose main clause
speaks of the moment, one that has no such sign, and one under a heading like TODO.

Chosen on texts of authors that the models were not trained on: what lasts is dearer than what passes.
"""

MAYBE_PASSING, MAYBE_PASSING_OF_A_KIND, MAYBE_PASSING_OF_A_CERTAIN_KIND = 0.25, 0.35, 0.5
"""From this probability on, by vector and words, a fact, a text of another kind, or one whose kind is certain may not
last: it starts as an episode, and use can make it knowledge."""

CERTAIN_OF_KIND, CERTAINLY_PASSING = 0.7, 0.7
"""From the first probability on, a decision, an event, a fix … is not taken for passing context, unless that is
certain too: the model of kinds knows only what lasts, and takes "don't push, I am rebasing" for a preference."""

PASSING_TIER: Tier = "elephant"
"""Passing context expires after 90 days, later if it is recalled (000-passing)."""

PASSING_NOTE = "taken for passing context, which fades in weeks; give a layer if it lasts"

PERSONAL_NOTE = "kept personal: nobody but you sees it"

LONGEST_PASSING = 300
"""A longer text, in characters, is never given a short life: it says several things, and one of them may last."""

_FEW = 64
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
        r"plutôt que|convenu|decid\w+|decis(i[oó]n|ão|ione)|eligi\w+|acord\w+|optou|optamos|vamos (a )?(usar|adotar)|"
        r"abbiamo deciso|scelto|gekozen|zdecydowa\w+|решили)\b|决定|决策|选择了|決定|決め|採用|することに",
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
_UNIT: Final = (
    r"(?:minutes?|hours?|days?|weeks?|minuten|stunden?|tagen?|wochen?|heures?|jours?|semaines?|horas?|"
    r"d[íi]as?|semanas?|or[ea]|giorni)"
)
_WEEKDAY: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|montag|dienstag|mittwoch|donnerstag|freitag|lundi|mardi|"
    r"mercredi|jeudi|vendredi|lunes|martes|miércoles|jueves|viernes|segunda|terça|quarta|quinta|sexta|lunedì|"
    r"martedì|mercoledì|giovedì|venerdì)"
)
_MOMENT_RULES: Final[tuple[str, ...]] = (
    # the present moment
    r"\b(right now|just now|as we speak|at (the moment|present|this point)|for (now|the (moment|time being))|"
    r"in the meantime|by now|currently|momentan|gerade|zurzeit|derzeit|aktuell|im (moment|augenblick)|"
    r"en ce moment|pour (l'instant|le moment)|actuellement|ahora mismo|(de|por el) momento|por ahora|"
    r"actualmente|no momento|por enquanto|atualmente|al momento|per (ora|il momento)|"
    r"in questo momento|attualmente|op dit moment|пока)\b|"
    r"正在|暂时|途中|実装中|調査中|中です",
    # a day counted from this one, from here on
    r"\b(today|tonight|tomorrow|this (morning|afternoon|evening|week)|later today|next week|heute|morgen|"
    r"diese woche|aujourd'hui|demain|ce (matin|soir)|cet après-midi|cette semaine|hoy|mañana|esta (tarde|"
    r"mañana|noche|semana)|hoje|amanhã|oggi|domani|stamattina|stasera|questa settimana|vandaag|jutro|dzisiaj|"
    r"сегодня|завтра)\b|今天|明天|今日|明日",
    # since or until a moment that is near
    r"\b(until|till|by|since|before|due( on)?|bis|seit|jusqu'(à|au)|depuis|hasta|desde|até|fino a|"
    rf"dal?) (next |the end of |last |el |al |a |ce |zum |einer |an |une? |una |uma )*({_WEEKDAY}|noon|"
    r"midnight|tonight|tomorrow|lunch|yesterday|midi|hier|ayer|ontem|ieri|stamattina|gestern|heute|"
    rf"(\w+ )?{_UNIT}|the \d+(st|nd|rd|th)|the (demo|launch|release))\b|\bin (an?|\d+|two|three|"
    rf"a few) {_UNIT}\b|\babout to\b",
    # what is not done
    r"\b(yet|so far|not (finished|merged|deployed|tested|started|done|reviewed|signed)|have ?n[o']t|"
    r"has ?n[o']t|have not|has not|still|unresolved|outstanding|remaining|remains?|left|missing|to go|noch|"
    r"fehl(t|en)|encore|toujours|(il )?(me )?reste(nt)?|manque|todavía|aún|(me )?(falta|queda)n?|sigo|"
    r"seguimos|ainda|ancora|manca(no)?|nog|jeszcze|ещё)\b|还没|まだ",
    # how much is done
    r"\b(\d+|one|two|three|four|five|six|seven|zwei|drei|deux|trois|dos|tres|dois|due|tre) (\w+ )?(of|out of|"
    r"von|sur|de|su|di) (the |los |os |les |\w+ )?(\d+|four|five|six|seven|eight|nine|ten|twelve|fünf|neun|"
    r"sept|cinco|diez|cinque)\b|\b(half(way)?|a third|hälfte|moitié|mitad|metade|metà|almost|nearly|presque|"
    r"casi|quase|quasi)\b|\b\d+ ?(%|percent|prozent)( of| through|$|\.)|\d+ to go",
    # somebody at work on it
    r"\b(i'm|i am|we're|we are) (now |still |currently |just |about to |going to )?(in the (middle|midst)|"
    r"\w+ing|halfway|stuck)\b|\b(i|we)('ve| have) (just |got |only )?\w+(ed|t|en|wn)\b|\bi (was|left|pushed|"
    r"stopped|keep)\b|\b(i'll|i will|we'll|i'd like to|i (still )?(have|need|must) to|let me)\b|"
    r"\bich (bin (an|bei|mitten|gerade|dabei)|sitze|habe|muss|mache|schreibe|teste|warte|suche|komme|hänge)\b|"
    r"^(bin|sitze|warte)\b|\b(je suis (en|bloqu|au)|j'(ai|en suis)|je (dois|corrige|termine|teste|"
    r"travaille sur|cherche|reprends|finis))\b|\b(est(oy|amos|ou|á|án|ão)|sto|stiamo) (\w+ )?\w+ndo\b|"
    r"\b(tengo que|he \w+do|voy por|preciso|devo|ho \w+to|sono (bloccat\w|a metà|ferm\w))\b|\b\w+ is (looking|"
    r"testing|fixing|rewriting|deploying|checking|on it)\b",
    # waiting
    r"\b(waiting (for|on|until|to)|awaiting|blocked (on|by|until)|stuck|on hold|no (reply|answer)|(warten?|"
    r"liegt) (noch )?(auf|bei)|j'attends|on attend (le|la|les|l')|attendons|en attente d\w|bloqué|esperando|"
    r"en espera|aguardando|bloqueado|aspett(o|iamo|ando)|in attesa d\w+|bloccato|wacht op|czekam\w*|жду|"
    r"ждём)\b|待ち|等待",
    # one thing in a bad state
    r"\b(is|are|has been|have been|went|ist|sind|est|est[áa]n?|è|ligt|jest) (still |currently |now |again |"
    r"all |seit \w+ |momentan |gerade |zurzeit |derzeit )*(down|out|off|offline|broken|red|dead|unreachable|"
    r"unavailable|unusable|slow|stuck|flaky|failing|jammed|gone|full|locked|paused|delayed|behind|ill|sick|"
    r"away|kaputt|rot|weg|gesperrt|gestört|krank|tombée?|en panne|cassée?|rouge|hors service|bloquée?|"
    r"absente?|caíd[oa]|rot[oa]|apagad[oa]|saturad\w+|fora do ar|quebrad[oa]|rott[oa]|giù|ferm[oa]|"
    r"spent[oa])\b|\b(doesn't|does not|won't|can't) (answer|respond|build|compile|start|reach)\b|"
    r"\bantwortet (gerade )?nicht|\bne (répond|marche)|\bno (responde|funciona)|\bnão responde|"
    r"\bnon (risponde|va|funziona)|nie działa|не отвечает",
    # under way
    r"\b(is|are) (being|underway|under way|in progress|in review|pending|running|building|going|deploying|"
    r"restarting)\b|\bwird (gerade|momentan)|läuft (noch|gerade)|\ben (cours|curso)|\bse está|em andamento|"
    r"\bsendo\b|in corso|in fase|\bin progress|under ?way|\bongoing",
    # the heading of a note to oneself
    r"^\W*((to-?do|wip|next( up| step| thing)?|up next|remaining|open( (points?|question))?|pending|reminder|"
    r"outstanding|status|progress|current \w+|plan|goal|left( to do)?|session|handover|notes|paused|postponed|"
    r"not (done|started|yet)|offen|noch (offen|zu tun)|nächster schritt|à (faire|reprendre)|reste|"
    r"prochaine étape|étape suivante|pendiente|por hacer|siguiente paso|queda|falta|pendente|próximo passo|"
    r"da fare|in sospeso|prossimo passo|nog te doen)\b[^.:]{0,30}:|(todo|wip|remind me|remember to|"
    r"don't forget|heads.?up|fyi|als nächstes|left off|next (i|thing|step))\b(?! (comment|commit|item|branch|"
    r"limit)))|待办",
    # beginning with what is being done
    r"^\W*(currently|debugging|investigating|trying|looking (at|into|for)|working (on|through)|fixing|"
    r"waiting (for|on)|blocked (on|by)|stuck|picking|continu(e|ing)|resume|stopped|got|done so far|just \w+ed|"
    r"almost|nearly|temporarily|disabled|turned off|asked)\b(?!.*\b(is|are|needs?) )",
    # changed for a while
    r"\b(temporarily|workaround|hack|uncommitted|unpushed|stashed (my|the)|draft|commented( \w+)? out|"
    r"breakpoint|console\.log|hard-?coded|work(ing)? tree|switched off|turned (it )?off|disabled|"
    r"vorübergehend|vorläufig|abgeschaltet|provisoirement|désactivé|provisionalmente|desactivad[oa]|desativei|"
    r"desligad[oa]|disattivat[oa]|spento)\b",
    # one's own branch, ticket or machine
    r"\bmy (branch|pr|patch|laptop|local|machine|shell|current)\b|\bpr #?\d+|#\d{2,}|\b[A-Z]{2,}-\d+\b|"
    r"\bbranch (\w+ )?\w+/\w+|\bon branch\b",
)
_LASTING_RULES: Final[tuple[str, ...]] = (
    # "now" where it may as well mean nowadays: "adesso i log vanno su Loki"
    r"\b(jetzt|maintenant|ahora(?! mismo)|agora|adesso|ora|nu|teraz|obecnie|сейчас|теперь)\b|现在|目前|現在|今は",
    # again and again
    r"\b(every|each|always|usually|by (design|default)|on purpose|whenever|once an?|per (day|week|month|user|"
    rf"year)|daily|weekly|nightly|monthly|yearly|{_WEEKDAY}s|jede[nrsm]?|immer|täglich|nachts|(morgen|freitag|"
    r"sonntag)s|chaque|tou(s|tes) les|cada|todos? (los|as|os)|todas las|los (lunes|martes|viernes|fines)|toda|"
    r"às (segundas|terças|sextas)|ogni|sempre|il (lunedì|martedì|venerdì)|elke|co noc|по \w+ам)\b|每|毎",
    # under a condition
    r"^\W*(if|when|while|until|once|as (long|soon) as|during|whenever|before|after|whoever|wenn|während|"
    r"solange|sobald|si|quand|pendant|tant que|en cas|cuando|mientras|durante|se|quando|enquanto|mentre|"
    r"als)\b.{8,}(,|\bthen\b)",
    # a condition or a relative clause after the verb
    r"\w (that|which|who|whoever|whether|while|when|whenever|if|unless|ob|wenn|bevor|solange|bis zur?|qui|"
    r"quand|tant que|cuando|mientras|al|quando|enquanto|che|mentre|se) \w+",
    # for a fixed time
    r"\b(after|within|for|older than|at most|up to|longer than|more than|nach|après|au bout de|después de|"
    rf"depois de|dopo) (\w+) ({_UNIT}|seconds?|months?|years?|ms|settimana)\b",
    # what is done with things of a sort
    r"\b(are|is|gets?|were) (\w+ly |only )?(\w+ed|kept|shown|sent|run|written|held|set|done|taken|made|drawn|"
    r"built|cut|chosen) (by|in|on|to|at|after|from|as|with|under|when|into|for|before|only|once|twice)\b|"
    r"\b(werden|wird (immer|nur|von|in|aus|jede\w?)|sont \w+|se \w+n|são|vengono|viene)\b",
    # a rule
    r"\b(must|may|can|cannot|needs?|requires?|ha(s|ve) to be|should|(not )?allowed|forbidden|is limited|darf|"
    r"dürfen|müssen|doit|doivent|peut|peuvent|debe|deben|puede|pueden|deve|devem|pode|podem|può|possono)\b",
    # a definition
    r"\b(means|stands for|is (called|named|spelled|translated|based|required|the|an?|one|our)|are the|"
    r"bedeutet|heißt|signifie|s'appelle|significa|se llama|chama-se|si chiama|the words?|das wort|le mot|"
    r"la palabra)\b|«|„|\"\w",
    # where a thing is
    r"\b(lives?|sits?|lies?|stored|kept|located|hosted|comes?|defined|documented|configured|shared) (in|at|"
    r"under|from|on|with)\b|\b(is|are) (in|at|under|from) (the|/|[A-Z`])|\b(steht|stehen|liegt|liegen|"
    r"befindet sich) (in|im|unter|auf)\b|se trouve|\bestán? en\b|\bfica em|si trova|\bsta in\b",
    # who answers for what
    r"\b(owns?|leads?|maintains?|reviews|responsible|in charge|contact|maintainer|manager|zuständig|"
    r"verantwortlich|responsable|relit|encargad[oa]|responsável|referente)\b",
    # what people have or use
    r"\b(we|i|wir|ich|nous|je|on) (use|support|work (from|with|in)|prefer|want|always|only|hold|run|test|"
    r"arbeiten?|nutzen?|utilis\w+|travaill\w+ (avec|sous|en))\b|\b(we|i)('re| are|'m| am) using\b|"
    r"\bwe are (on|a|bound)\b|\bi('m| am) (on|in|an?|the|new|left|col\w+)\b|\b(usamos|trabalh(o|amos)|"
    r"trabaj(o|amos)|lavor(o|iamo)|usiamo|somos|siamo un)",
    # any one of a sort
    r"^\W*(an?|any(one)?|nobody|whoever|every|each|some|only|people|eine?|une?|uno|uma?) ",
    # all of a sort
    r"^\W*(?!this|is|was|status|progress|tests?\b)[a-z-]+( [a-z-]+)?s( (that|which|who|in|on|of|with|"
    r"from) .{2,30})? (are|get|go|have|need|live|take|run|become|start|must|may|can|belong|expire|wait|keep|"
    r"stay|follow)\b|^\W*(die|les|los|las|os|as|gli|le|i) \w+.{0,25} (werden|sind|sont|reçoivent|se|son|"
    r"reciben|são|recebem|vengono|sono|stehen|verfallen)\b",
    # a word of state as a name
    r"\bthe (current|next|remaining|working|temporary|last) \w+ (is|are|of|must|lies)\b|\b(der|die|"
    r"das) (aktuelle|nächste|laufende|heutige)\b|\b(le|la|el|il|o|a) \w+ (actuel(le)?|courante?|actual|atual|"
    r"attuale)\b|\b(pending|open|waiting|blocked|paused|unfinished|in-progress|stuck|remaining|missing|"
    r"left) \w+s? (is|are|can|may|must|go|get)\b|^\W*(todo|wip) (and|comment|commit|item|branch|limit)\w*",
    # something that is over
    rf"\b(yesterday|last (night|week|month|year|{_WEEKDAY})|gestern|hier|ayer|ontem|ieri|gisteren|wczoraj|"
    r"вчера)\b|^\W*(had|shipped|interviewed|decided|deployed|released|migrated|presented|met)\b|\b(was|were|"
    r"went|took|lost|ended|wurde|hat|haben|a été|fue|foi|è stat[oa])\b",
    # names of code
    r"`[^`]+`|\"[^\"]+\"|\w+_\w+|\w+\(\)|/\w+|\bv?\d+\.\d+\b",
    # the speaker
    r"\b(i|i'm|i've|i'll|me|my|ich|mein\w*|je|j'|yo|mi|eu|meu|minha)\b",
    # a participle without a verb
    r"^\W*\w+ing\b(?!.*\b(is|are|needs?|requires?|means|goes|has|takes|happens|uses|clears)\b)",
)
_MOMENT_CUES: Final = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _MOMENT_RULES)
_LASTING_CUES: Final = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _LASTING_RULES)
_HEADING_CUE: Final = re.compile(
    r"^\W*(to-?do|wip|next|reminder|open|pending|offen|à faire|pendiente|pendente|da fare)\b[^.:]{0,20}:|"
    r"^todo\b|^待办",
    re.IGNORECASE,
)
_SUBORDINATE: Final = re.compile(
    r"(?<=\w) (that|which|who|whoever|whether|while|when|whenever|if|unless|ob|wenn|bevor|solange|qui|que|quand|"
    r"tant que|cuando|mientras|quando|enquanto|che|mentre) [^,;.:]*",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"^\W*(an?|any|every|each|eine?|une?|uno|una|uma?|jede[rs]?|chaque|cada|ogni) [^,;.:]{2,40}? "
    r"(is|are|counts as|gilt|ist|est|es|está|é|è) [^,;.:]{2,40}?,? "
    r"(when|once|if|as soon as|wenn|sobald|falls|quand|dès que|lorsque|si|cuando|quando|se) ",
    re.IGNORECASE,
)
"""Says under which condition any one of a sort is in a state: "an order is stuck when …". That holds for good."""

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


@dataclass(frozen=True, slots=True)
class Reading:
    """What the bundled embedder makes of a text: its vector, and its word pieces for whoever asks."""

    vector: "Vector"
    pieces: "Callable[[], Vector]"  # costs no second run if the text is short and was just embedded


def classify(content: str, reading: Reading | None = None, *, kind: Kind | None = None) -> Guess:
    """Guess what a text is; a kind that somebody named is kept, and only a fact or an event can be passing.

    Without a reading, words decide alone.
    """
    text = content[:_READ]
    likely = _passing_likelihood(text, reading)
    found, share = (kind, 1.0) if kind is not None else _guessed(text, reading)
    fades = found == "fact" or (found == "event" if kind is not None else share < CERTAIN_OF_KIND)
    if (
        likely >= MAYBE_PASSING
        and not _CONDITION.search(text)
        and len(content.strip()) <= LONGEST_PASSING
        and (kind is None or kind in _FADING)
        and _agreed_likelihood(text, reading, likely) >= (_enough(text) if fades else CERTAINLY_PASSING)
    ):
        return Guess(found if kind is not None or found == "event" else "fact", "working", passing=True)
    maybe = MAYBE_PASSING_OF_A_KIND if share < CERTAIN_OF_KIND else MAYBE_PASSING_OF_A_CERTAIN_KIND
    unsure = kind is None and likely >= (MAYBE_PASSING if found == "fact" else maybe)
    return Guess(found, "episodic" if unsure else _LAYERS[found], passing=False)


def classified(
    draft: Memory,
    reading: Reading | None,
    *,
    kind_given: bool,
    layer_given: bool,
    default_tier: Tier | None = None,
) -> Memory:
    """Return a draft with the kind and the layer that nobody named, and a lifespan if it starts in working memory."""
    guess = classify(draft.content, reading, kind=draft.kind if kind_given else None)
    layer = draft.layer if layer_given else guess.layer
    passing = layer == "working" and draft.tier is None and draft.forget_after is None
    own = default_tier in (None, "permanent")  # where the domain has a lifespan for everything, that is shorter
    return replace(draft, kind=guess.kind, layer=layer, tier=PASSING_TIER if passing and own else draft.tier)


def readings_for(embedder: Embedder, texts: Sequence[str], embeddings: Sequence[Embedding]) -> list[Reading | None]:
    """Return what the bundled embedder makes of texts that another one may have embedded; it may have to load."""
    reader = embedder_for_models(embedder)
    if reader is None:
        return [None] * len(texts)
    try:
        own = embeddings if reader is embedder else reader.embed(texts)
    except EmbedderError:  # the text was embedded all the same: its words are enough for a guess
        return [None] * len(texts)
    return [reading_of(reader, text, embedding) for text, embedding in zip(texts, own, strict=True)]


def reading_of(embedder: BundledEmbedder, text: str, embedding: Embedding) -> Reading:
    """Return what the bundled embedder makes of a text that it has embedded."""
    return Reading(embedding.vector, partial(embedder.third_layer, text[:_READ]))


def read_for_guess(content: str) -> None:
    """Read the words of a text whose kind and layer will be guessed, so that guessing finds them read."""
    text = content[:_READ]
    rule_features(text)
    passing_features(text)
    words_of(text)


@lru_cache(maxsize=_FEW)
def rule_features(text: str) -> tuple[float, ...]:
    """Return which rules of kind fit a text."""
    return tuple(RULE_WEIGHT * bool(cue.search(text)) for _, cue in _CUES)


@lru_cache(maxsize=_FEW)  # two models ask for those of a text, one after the other
def passing_features(text: str) -> tuple[float, ...]:
    """Return which rules of passing context fit a text.

    What marks the moment is also looked for in the main clause alone: "the page shows which services are down right
    now" says nothing about now.
    """
    asserted = _SUBORDINATE.sub("", text)
    in_all = [RULE_WEIGHT * bool(cue.search(text)) for cue in (*_MOMENT_CUES, *_LASTING_CUES)]
    if asserted == text:
        return (*in_all, *in_all[: len(_MOMENT_CUES)])
    return (*in_all, *(RULE_WEIGHT * bool(cue.search(asserted)) for cue in _MOMENT_CUES))


@lru_cache(maxsize=_FEW)  # each model asks for them
def words_of(text: str) -> frozenset[str]:
    """Return the words and pairs of words in a text; `^` marks the first, `#` stands for any number.

    This is not `text.tokenize.words`: the bundled models were trained with this splitting. Changing it means
    training them again (`training/classify.py`).
    """
    words = ["#" if word[0].isdigit() else word.lower() for word in _WORD.findall(text)]
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    return frozenset((*words, *pairs, *(f"^{first}" for first in (*words[:1], *pairs[:1]))))


def word_features(text: str, known: tuple[str, ...]) -> list[float]:
    """Return which of the known words and pairs a text has."""
    features = [0.0] * len(known)
    indices = _indices(known)
    for word in words_of(text) & indices.keys():
        features[indices[word]] = WORD_WEIGHT
    return features


@cache
def _indices(known: tuple[str, ...]) -> dict[str, int]:
    """Return the index of each word that a model knows."""
    return {word: index for index, word in enumerate(known)}


def _guessed(text: str, reading: Reading | None) -> tuple[Kind, float]:
    """Return the likeliest kind and its probability."""
    if reading is None:
        return next(((kind, 0.0) for kind, cue in _CUES if cue.search(text)), ("fact", 0.0))
    model = bundled_model(KINDS_MODEL)
    shares = model.probabilities(reading.vector, [*rule_features(text), *word_features(text, model.words)])
    return max(((kind, shares[kind]) for kind in _LAYERS if kind in shares), key=lambda guess: guess[1])


def _passing_likelihood(text: str, reading: Reading | None) -> float:
    """Return how likely a text is passing context by its vector and its words."""
    if reading is None:
        return float(bool(_PASSING_ALONE.search(text)))
    model = bundled_model(PASSING_MODEL)
    cues = [*passing_features(text), *word_features(text, model.words)]
    return model.probabilities(reading.vector, cues)[PASSING_MODEL]


def _agreed_likelihood(text: str, reading: Reading | None, likely: float) -> float:
    """Return the mean, in log-odds, of this likelihood and of what the word pieces say."""
    if reading is None:
        return likely
    model = bundled_model(PASSING_PIECES_MODEL)
    cues = [*passing_features(text), *word_features(text, model.words)]
    by_pieces = model.probabilities_of_pieces(reading.pieces(), cues)[PASSING_MODEL]
    return 1.0 / (1.0 + math.exp(-(_log_odds(likely) + _log_odds(by_pieces)) / 2))


def _enough(text: str) -> float:
    """Return how likely a text has to be passing context: the less, the plainer its words say so."""
    if _HEADING_CUE.search(text):
        return PASSING_UNDER_A_HEADING
    asserted = _SUBORDINATE.sub("", text)
    return PASSING if any(cue.search(asserted) for cue in _MOMENT_CUES) else PASSING_WITHOUT_A_SIGN


def _log_odds(share: float) -> float:
    within = min(max(share, 1e-9), 1.0 - 1e-9)
    return math.log(within / (1.0 - within))
