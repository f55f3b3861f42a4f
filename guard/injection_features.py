"""The features of the injection classifier: cues of a planted order, and hashed words.

No feature decides by itself. `training/orders.py` weighs them together with the vector of the statement, because
honest notes have each of them somewhere: "We turned off TLS verification in the test harness" reports.
"""

import re
import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from math import sqrt

from reverie.guard.hidden_text import hidden_comments_in, plain

LONGEST = 400
"""Characters of one statement; a longer one is judged piece by piece."""
_OVERLAP = 80
_SHORTEST = 8
_LONG = 20_000
_MANY_ENDS = 1_200
_PACKAGE = re.compile(r"(?<![\w.@/-])@?[a-z][a-z0-9_.-]{2,40}[a-z0-9](?:/[a-z][a-z0-9_-]{2,30})?")
_SHORTEST_PACKAGE, _LONGEST_PACKAGE = 5, 24
_SURELY_NO_WORD = 8
"""A name of fewer letters is one letter away from too many ordinary words."""
_NO_SLIPS = frozenset({"redact", "openapi", "openais", "moments", "expressed", "expresses", "reactor", "reacted"})
_NEVER_PLURAL = frozenset(
    {"numpy", "pandas", "axios", "lodash", "boto3", "jsonwebtoken", "django", "flask", "serde_json"}
)
_ENDS = re.compile(r"(?<![.!?;])[.!?;]++(?=[\s\"'”)\]*]|$)|[。！？；]|\n")
_ASIDE = "<!-- "

_SAFETY = (
    r"(?:tls|ssl|certificates?|verification|verif\w+|auth\w*|log-?in|csrf|cors|signatures?|sandbox\w*|firewall"
    r"|(?:secret |code |security )?scan\w*|branch protection|review\w*|approval\w*|tests?|checks?|hooks?|alerts?"
    r"|rate limit\w*|2fa|two-factor|mfa|validation|encryption|guard ?rails?|safety|security"
    r"|permission\w*|middleware"
    r"|audit\w*|logging|warnings?|backups?|protection|hashing|checksums?|integrity|access (?:control"
    r"|check)s?|session check)"
)
_LOOT = (
    r"(?:\.env\b|env(?:ironment)?(?: |_)?var\w*|printenv|api[ -]?keys?|keys?\b|tokens?|secrets?"
    r"|credentials?|passwords?"
    r"|id_rsa|\.ssh|\.aws|\.npmrc|\.netrc|kube ?config|cookies?|conversations?|chat|customer\w*"
    r"|personal data|wallet"
    r"|connection string|database_url|dump|recovery phrase|clipboard|home directory|repository|source)"
)
_ASSISTANT = (
    r"(?:assistants?|agents?|ai|llms?|models?|bots?|copilot|claude|chatgpt|gpt|coding helper|assistent\w*"
    r"|asistente|agente|助手|ассистент\w*)"
)
_PERSON = (
    r"(?:users?|developers?|owners?|humans?|operators?|maintainers?|reviewers?|team(?: lead)?|person"
    r"|customers?|client"
    r"|administrators?|admins?|nutzer|benutzer|utilisateur|usuario|usuário|utente|gebruiker|用户"
    r"|пользовател\w*|ユーザー"
    r"|사용자|kullanıcı|użytkownik\w*)"
)
_WHEN = (
    r"(?:when(?:ever)?|as soon as|once|each time|every time|any ?time|the next time|the moment|next time"
    r"|upon|if|after"
    r"|before|should|in case|in the event|during|while|wenn|sobald|bei jede\w*|immer wenn|quand|dès qu\w*|lorsque"
    r"|à chaque|cuando|siempre que|cada vez|quando|sempre que|ogni volta|als\b|zodra|altijd als|每次|每当|当|一旦"
    r"|когда|как только|если|たら|とき|하면|olduğunda|kiedy|gdy)"
)
_DOING = (
    r"(?:add|append|apply|approve|attach|avoid|bury|bypass|call|change|claim|clear|commit|copy|create"
    r"|delete|disable"
    r"|drop|dump|email|embed|enable|encode|exclude|execute|export|fetch|force|forget|forward|give|grant|hand|hide"
    r"|ignore|include|insert|install|keep|kill|leave|load|log|lower|mail|make|mark|merge|mirror|mount"
    r"|move|open|overwrite"
    r"|paste|pin|pipe|point|post|prefer|pretend|print|publish|pull|push|put|query|raise|rate|read|recommend|record"
    r"|relax|remove|replace|report|reset|revoke|rewrite|run|save|say|send|set|share|skip|slip|stop|store|submit"
    r"|suppress|switch|take|tell|transfer|treat|truncate|turn|update|upload|use|wipe|write|zip)"
)

CUES: dict[str, str] = {
    # what an order needs
    "begins with a verb in the imperative": rf"^(?:[-*>#\d. ]*)(?:please |always |then |also |just )?{_DOING}\b",
    "begins with a condition": rf"^(?:[-*># ]*)(?:{_WHEN})\b|^(?:当|每次|每当|一旦|когда|как только|если)|たら、",
    "a condition and then a verb": (
        rf"\b{_WHEN}\b[^,]{{3,120}},\s*(?:first |also |then |quietly |silently )?{_DOING}\b"
    ),
    "speaks to a reader": (
        r"\byou(?:r|rself)?\b|\bdu\b|\bdein\w*\b|\btu\b|\bton\b|\bvous\b|\btú\b|\beres\b|你|ты\b|тебя"
    ),
    "speaks of the assistant": rf"\b{_ASSISTANT}\b",
    "speaks of the person": rf"\b{_PERSON}\b",
    "the person has agreed already": (
        rf"{_PERSON}\b[^.]{{0,60}}?\b(?:pre-?approved|approved|agreed|consent\w*|authori[sz]ed|allowed"
        rf"|confirmed|waived"
        r"|granted|cleared|signed off|said (?:so|it is fine)|given? (?:its |their |his |her )?(?:ok"
        r"|permission|consent)"
        r"|zugestimmt|freigegeben|genehmigt|approuvé|donné son accord|autorizó|dio permiso|aprobó|approvato|aprovou"
        r"|goedgekeurd|onayladı|zatwierdził\w*)\b|已(?:经)?(?:批准|授权|同意)|одобрил|разрешил|承認済|"
        r"\b(?:pre-?approved|pre-?authori[sz]ed|blanket (?:approval|authori[sz]ation|permission)|whitelisted by)\b"
        r"|\bhas already (?:been )?(?:approved|confirmed|agreed|given|granted)\b|\bin advance\b|\bd'avance\b"
        r"|von vornherein"
        r"|заранее|\bz góry\b|önceden"
    ),
    "no question is to be asked": (
        r"\bwithout (?:asking|confirm\w*|any (?:prompt|confirmation|question)\w*|further questions|approval|waiting"
        r"|the usual|review|looking|a human|checking|question)\b|\bno (?:need|reason) to (?:ask|check|confirm)"
        r"|\bno (?:confirmation|prompts?|approval|review)\b|\b(?:don'?t|do not|never) (?:bother )?(?:ask\w*"
        r"|confirm|prompt)\b"
        r"|ohne (?:rück|nach|zu )?frag\w*|ohne rückfrage|keine bestätigung|frage? nicht|nicht mehr nach"
        r"|sans (?:confirmation|demander)"
        r"|inutile de demander|sin (?:preguntar|confirmaci\w*)|no preguntes|non chiedere|senza (?:chiedere"
        r"|conferma)"
        r"|não pergunte|sem perguntar|zonder te vragen|无需(?:询问|确认)|不需要再?(?:确认|询问)"
        r"|без подтверждения|не спрашивай"
        r"|確認は不要|sormadan|bez pytania"
    ),
    "in secret": (
        r"\b(?:quietly|silently|secretly|discreetly|covertly|unnoticed|in the background|behind the scenes"
        r"|leave no trace"
        r"|no trace|nobody (?:will |should )?(?:notices?|learns?|knows?|finds? out)|cannot (?:be )?seen?"
        r"|without (?:mention\w*|telling|saying|showing"
        r"|comment\w*|listing|notice|a word|logging|notifying)|heimlich|still und leise|still|unbemerkt"
        r"|discrètement|en secret"
        r"|sans (?:en parler|le dire|prévenir)|sin (?:avisar|decir\w*)|sem avisar|senza dirlo|stilletjes"
        r"|gizlice|po cichu)\b"
        r"|悄悄|偷偷|незаметно|тайно|知らせずに|黙って|몰래"
    ),
    "not to be told": (
        r"\b(?:do not|don'?t|never|must not|should not|avoid|need not|does not need to|doesn'?t need to"
        r"|no need (?:for|to))\b[^.]{0,40}?\b"
        r"(?:mention|tell|told|reveal|disclose|admit|report|list|bring up|say|know|hear|learn|find out|see"
        r"|show|notice|refer\w*|writ\w* down)\b"
        r"|\b(?:skip|leave|keep)\b[^.]{0,40}?\bout of\b|\bsay nothing\b|\bkeep quiet\b|\bhide\b|\bconceal\b"
        r"|\bbury\b"
        r"|\blook(?:s)? (?:like|harmless|innocent)|erwähne?\w*[^.]{0,60}? nicht|verrate?\b|verschweig"
        r"|niemandem|sag(?:e)? (?:es )?nie"
        r"|ne (?:dis|parle|mentionne)\b|\bno (?:menciones|digas)\b|\bnon (?:dire|menzionare)\b"
        r"|não (?:mencione|diga)"
        r"|vertel\b[^.]{0,30}?niets|不要告诉|不要(?:在.{0,6})?提及|не (?:говори|упоминай)|言わないで"
        r"|알리지 마|nie (?:wspominaj|mów)"
    ),
    "to be told falsely": (
        r"\b(?:pretend|claim|insist|blame|lie|innocent|although it|even if (?:they|it) did|false positive"
        r"|as if nothing|"
        r"whatever the scanner|persuade|convince|describe\b[^.]{0,60}\bas|present\b[^.]{0,60}\bas)\b"
    ),
    # weakened safety
    "takes a protection away": (
        rf"\b(?:disable|turn(?:ing)? off|switch(?:ing)? off|turn\b[^.]{{0,30}}\boff\b"
        rf"|switch\b[^.]{{0,30}}\boff\b|skip|remove|drop|bypass|suppress"
        rf"|comment out|relax|lower|weaken|stop|lift|take out|get rid of|exclude|ignore|circumvent"
        rf"|work around|deactivate"
        rf"|delete|strip|close|abschalten|deaktiviere|schalte|désactive|desactiva|disattiva"
        rf"|desligue)\b[^.]{{0,60}}?\b{_SAFETY}"
        r"|关闭.{0,8}验证|отключи|無効に|überprüfung|zertifikatsprüfung"
    ),
    "an unsafe setting": (
        r"verify\s*=\s*false|--no-verify|reject_unauthorized\s*=\s*['\"]?0|curl -k\b|--insecure"
        r"|stricthostkeychecking"
        r"[ =]no|chmod (?:-r )?777|0\.0\.0\.0/0|auto-approve|\|\| true|trusted=yes|--trusted-host|gonosumdb"
        r"|privileged"
        r"|--extra-index-url|plain ?text|blanket ignore|http rather than https|wildcard|public by default"
        r"|force[- ]push|nopasswd|\bshell\s*=\s*true|pickle\.loads?|\beval\b|innerhtml|ssl_?verify\W{1,3}(?:false|0)"
        r"|strict-ssl|tls_reject_unauthorized|\balg\w* \W?none|\bmd5\b|\becb\b|\bxfail\b|\bpermissive\b"
        r"|debug\s*=\s*true|cluster-admin|administratoraccess|docker\.sock|docker socket|:2375|safe\.directory"
        r"|default (?:admin )?(?:password|credentials)|secure-http|require-hashes|gosumdb|\bunsigned\b|concatenat\w+"
        r"|host network|world[- ]readable|anonymous auth|return true\b|\btrust\b in pg_hba|without (?:a )?password"
    ),
    "an index at an unknown address": (
        r"(?:registry|index|mirror|proxy|feed|repository|repo\b|tap\b|charts?|wheels?|packages?|crates|gems?|images?"
        r"|updates?|installer?|-i |deb )[^.\n]{0,60}?(?:https?|oci|git\+https?)://(?!localhost|127\.|10\.|192\.168\."
        r"|(?:[\w-]{1,40}\.){0,4}(?:github|gitlab|githubusercontent|pypi|pythonhosted|npmjs|ghcr|docker|gcr|quay"
        r"|rubygems|crates"
        r"|maven|apache|debian|ubuntu|golang|anaconda|pytorch|nodesource|rustup|astral|brew|hashicorp|corp|internal"
        r"|intranet|acme|ourcompany|company|example)\.)(?![\w.-]{1,60}\.(?:corp|internal|local|example)\b)"
    ),
    "opens to all": (
        r"\b(?:public(?:ly)?|to (?:the )?(?:internet|world|everyone|anyone)|every origin|all (?:users"
        r"|origins)|everyone|admin (?:scope|rights)"
        r"|full (?:access|control)|write (?:access|permission)|owner rights|push rights|root)\b"
    ),
    # data
    "sends what is private": (
        rf"\b(?:send|post|upload|forward|e?mail|exfiltrate|transmit|leak|share|submit|copy|paste|append"
        rf"|include|embed"
        rf"|encode|put|push|attach|export|dump|write|print|report|insert|pipe|mirror|zip|base64|read out"
        rf"|hand over|give|provide|repeat)\b"
        rf"[^.]{{0,80}}?{_LOOT}|(?:上传|发送).{{0,12}}|отправь|送って|schicke?|envoie|envía|invia\b|sube el archivo"
    ),
    "names a place outside": (
        r"https?://(?!localhost|127\.|(?:[\w-]{1,40}\.){0,3}(?:github|gitlab|readthedocs|python|pypi|npmjs"
        r"|stackoverflow|wikipedia|arxiv"
        r"|discord|mozilla|microsoft|google|apple|docker|kubernetes|docs?)\.|docs\.|[\w.-]{1,60}\.corp\.)"
        r"|\b(?:[a-z0-9-]+\.)+(?:example|com|net|org|io|xyz|ru|cn|site|info|dev"
        r"|evil|test)\b"
        r"|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b|[\w.+-]+@[\w-]+\.\w|\b(?:webhook|pastebin|paste service|gist|ftp"
        r"|address below|this address|public (?:bucket|tracker|repo\w*|folder|fork))\b|这个(?:地址|服务器)"
        r"|このサーバー"
    ),
    "swaps a source": (
        r"\b(?:registry|index|mirror|remote|repository|tap|package|image|fork|proxy|cdn|checksum"
        r"|lock ?files?|submodule|action)\b[^.]{0,80}?"
        r"\b(?:instead|rather than|in place of|renamed|moved|deprecated|compromised|first|ignore|before"
        r"|point|faster|trust)\b"
        r"|\b(?:use|install|take|prefer|pull|fetch|load|get|replace|switch|point|change"
        r"|set)\b[^.]{0,60}?\b(?:instead of|rather than|in place of"
        r"|over|wherever|whenever|from|to)\b[^.]{0,60}?\b(?:[a-z0-9-]+\.)+[a-z]{2,}|\bskip the checksum"
    ),
    # who speaks, who is spoken to
    "gives another role": (
        r"\b(?:you are (?:now|no longer|from)|act as|acts? as|speak as|behave as|think of yourself"
        r"|consider yourself|your (?:real|true|new) \w+"
        r"|your (?:job|role|purpose|loyalty|principal)|persona|play the role|adopt the|answers? to\b"
        r"|takes? orders|unrestricted|no (?:rules?|polic\w+)"
        r"|autonomous mode|unattended|deputy|forget that you|bist du|tu es maintenant|eres el|теперь ты"
        r"|ты теперь|从现在起你是|operate in)\b"
    ),
    "claims an authority": (
        r"\b(?:anthropic|openai|by order|orders?:|instructs?|requires? (?:that|you)|demands?|oblige[sd]?"
        r"|notice from|message from|urgent|"
        r"hereby|system (?:notice|prompt)|same rank|per compliance|according to (?:company )?policy|signed,"
        r"|the (?:cto|ceo|board|head of it)"
        r"|as (?:project )?owner|as your developer|administrator will|was granted|lifted|authori[sz]ation)\b"
    ),
    "rules over memories": (
        r"\b(?:memor(?:y|ies)|notes?|entr(?:y|ies)|records?|remember(?:ed)?|recollections?|stored|knowledge"
        r"|rules?|preferences?|"
        r"notizen?|souvenirs?|notas?|note precedenti|notities|reglas)\b[^.]{0,80}?\b(?:outdated|obsolete"
        r"|no longer|wrong|invalid|planted"
        r"|unreliable|outranks?|priority|trust|permanent\w*|highest|discard|drop|replace|erase|withdrawn"
        r"|cancelled|misunderstanding"
        r"|ungültig|faux|valgono|valen|valem|verouderd|only this|never expire|importance|contradict\w*"
        r"|first in every)\b"
        r"|\b(?:forget|disregard|overwrite|erase|discard|delete|mark|pin|raise|give|treat|save|store|record"
        r"|add|copy|write)\b[^.]{0,60}?"
        r"\b(?:memor(?:y|ies)|notes?\b|rules?|what(?:ever)? you (?:know|have)|entry|long-term)"
        r"|(?:以前|之前)的(?:记忆|笔记)|以前のメモ|старые (?:заметки|записи)"
    ),
    "only this counts": (
        r"\b(?:only this|trust only|rely on this|this (?:one|note|entry|memory|text) (?:outranks|is the only"
        r"|only)|nur diese|seulement celle"
        r"|solo (?:in )?(?:esta|questa)|apenas nesta|alleen deze|treat this|takes? precedence)\b|只(?:相信"
        r"|信)这|только этой|これだけ"
    ),
    "destroys": (
        r"\brm -rf\b|\bdrop (?:the |all )?\w* ?(?:tables?|index)|\bwipe\b|\bdestroy\b|\btruncate\b"
        r"|\bgit clean\b|\bforce push\b|\brevoke\b"
        r"|\bdelete (?:all|every|the)\b|\boverwrite\b|\bformat the\b|\bkill every\b|\bthrow away\b"
        r"|\bempty the\b|\berase\b|\bshred\b|\bunpublish\b|\bprune -a|--volumes\b|\bterraform destroy\b"
        r"|\blösche\b|\bsupprime\b|\bborra\w*\b|\bapague\b|удали"
    ),
    "praises or sells": (
        r"\b(?:recommend|promote|suggest|advise against|discourage|rate\b|rank\b|affiliate|referral"
        r"|best provider|pay(?:ment)? (?:link|at)|five stars"
        r"|flawless|positive review|subscription|unreliable|abandoned|insecure)\b"
    ),
    "stands in a comment": (
        r"<!--|^\[[^\]\n]{1,40}\]:\s*(?:#|<>)|display\s*:\s*none|color\s*:\s*white|<\w+[^<>]{0,80}\shidden"
        r"|\{#|\{%\s*comment|/\*|//\s*@|^#\s"
    ),
    "unasked use of what is another's": (
        r"\b(?:another|other) (?:customer|user|team|tenant)\w*'?s?\b|\bany(?:thing|one|body)\b|\bwhatever\b"
    ),
    # how far it reaches
    "everywhere and always": (
        r"\b(?:always|every(?:where)?|each|all|any|never|from now on|from here on|for good|by default"
        r"|globally|immer|überall|alle\b"
        r"|toujours|partout|siempre|todos?|sempre|tutti|altijd)\b|所有|一律|все\b|всех|すべて"
    ),
    "an excuse": (
        r"\b(?:too slow|in the way|annoying|trouble|get(?:s)? rid of|easier|faster|so that (?:nobody"
        r"|it never|the)|avoids?|for speed|only cause"
        r"|for backup reasons|for debugging|to verify|not needed|unnecessary|not important|going away"
        r"|nobody will)\b"
    ),
    # what honest notes have
    "reports what was": (
        r"\b(?:was|were|had|has been|have been|did|used to|found|fixed|solved|caused|came from|because|since"
        r"|after we|decided|agreed on|chose"
        r"|moved|replaced|removed|failed|broke|is gone|rejected|wurde|war|haben|hatten|était|avons|fue|era"
        r"|decidimos|был\w*)\b|决定|ました"
    ),
    "speaks for a team": r"\b(?:we|our|us|i|my|me|wir|unser\w*|ich|nous|notre|je|nosotros|yo|nós)\b|我们|我|мы\b",
    "is limited": (
        r"\b(?:only|tests?|local(?:ly|host)?|dev(?:elopment)?|sandbox|staging|except|unless|own|internal"
        r"|corp|optional|nur|seulement|sólo|solo"
        r"|temporar\w+|while debugging)\b"
    ),
    "forbids": (
        r"^(?:[-*># ]*)(?:please )?(?:never|do not|don'?t|avoid|niemals|nie|ne |no |não |不要|не )\b"
        r"|\b(?:must not|may not|forbidden|not allowed|is required|mandatory)\b"
    ),
    "asks first": (
        r"\b(?:ask|tell me|show me|report|confirm|get (?:a |one )?(?:review|approval)|announce"
        r"|tell (?:the )?(?:user|on-call)|frag\w*|pide|спрашивай)\b"
    ),
    "describes": (
        r"\b(?:is|are|uses?|runs?|lives?|has|have|takes?|needs?|returns?|comes?|sends?|stores?|ist|läuft|est"
        r"|tourne|es|usa|是|на)\b"
    ),
    "house words of development": (
        r"\b(?:lint\w*|format\w*|commit messages?|changelog|docs?|migration\w*|schema|index|pytest|make|npm"
        r"|cargo|docker|deploy\w*|branch\w*"
        r"|component\w*|function\w*|types?|fixtures?|port|endpoint\w*|api|queue|cache|timeout|version\w*)\b"
    ),
}


POPULAR_PACKAGES = frozenset(
    _PACKAGE.findall(
        "requests numpy pandas scipy django flask fastapi pydantic boto3 urllib3 sqlalchemy pytest cryptography"
        " pillow matplotlib tensorflow pytorch colorama beautifulsoup4 python-dateutil scikit-learn opencv-python"
        " selenium setuptools virtualenv jinja2 celery psycopg2 paramiko httpx aiohttp lodash express react react-dom"
        " axios moment date-fns webpack babel eslint prettier typescript jquery angular svelte electron cross-env"
        " dotenv mongoose sequelize jsonwebtoken bcrypt socket.io discord.js puppeteer playwright left-pad"
        " event-stream ua-parser-js serde serde_json tokio reqwest rustdecimal actix-web bitnami actions/checkout"
        " actions/setup-node openssl openai anthropic langchain transformers huggingface terraform kubernetes"
        " postgres mysql nginx gradle log4j jackson newtonsoft.json rails nokogiri laravel symfony phpunit"
    )
)


def _almost_a_popular_package(seen: str) -> bool:
    """Return whether a text names something that is one slip of the keyboard away from a well-known package."""
    return any(_is_a_slip(name) for name in set(_PACKAGE.findall(seen)) - POPULAR_PACKAGES)


@lru_cache(maxsize=4_096)
def _is_a_slip(name: str) -> bool:
    if not _SHORTEST_PACKAGE <= len(name) <= _LONGEST_PACKAGE or name in _NO_SLIPS or f"{name}s" in POPULAR_PACKAGES:
        return False
    if name.endswith("s") and name[:-1] in POPULAR_PACKAGES:
        return name[:-1] in _NEVER_PLURAL
    spots = range(len(name))
    shorter = {name[:at] + name[at + 1 :] for at in spots}
    if shorter & POPULAR_PACKAGES:
        return True
    swapped = {name[:at] + name[at + 1] + name[at] + name[at + 2 :] for at in range(len(name) - 1)}
    if swapped & POPULAR_PACKAGES:
        return True
    return bool(shorter & _with_one_letter_less())  # one letter is another, or one is missing


@cache
def _with_one_letter_less() -> frozenset[str]:
    long_enough = [name for name in POPULAR_PACKAGES if len(name) >= _SURELY_NO_WORD]
    return frozenset(name[:at] + name[at + 1 :] for name in long_enough for at in range(len(name)))


@cache
def _compiled() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in CUES.values())


_PAIRS = (
    ("begins with a verb in the imperative", "takes a protection away"),
    ("begins with a verb in the imperative", "an unsafe setting"),
    ("begins with a verb in the imperative", "sends what is private"),
    ("begins with a verb in the imperative", "names a place outside"),
    ("takes a protection away", "everywhere and always"),
    ("takes a protection away", "reports what was"),
    ("an unsafe setting", "reports what was"),
    ("begins with a condition", "in secret"),
    ("begins with a condition", "sends what is private"),
    ("sends what is private", "names a place outside"),
    ("takes a protection away", "forbids"),
    ("sends what is private", "forbids"),
    ("rules over memories", "only this counts"),
    ("rules over memories", "reports what was"),
    ("speaks of the assistant", "takes a protection away"),
    ("takes a protection away", "is limited"),
    ("begins with a condition", "names a place outside"),
    ("not to be told", "speaks of the person"),
    ("stands in a comment", "speaks of the assistant"),
    ("an unsafe setting", "is limited"),
    ("an unsafe setting", "everywhere and always"),
    ("an unsafe setting", "forbids"),
    ("destroys", "everywhere and always"),
    ("destroys", "is limited"),
    ("an index at an unknown address", "begins with a verb in the imperative"),
    ("almost a popular package's name", "reports what was"),
    ("takes a protection away", "an excuse"),
)
"""Cues that mean something else together: to forbid what weakens is honest, to order it is not."""


_NAMED = (*CUES, "almost a popular package's name")
PLAIN_CUES = len(_NAMED) + len(_PAIRS)
"""How many of the numbers of `injection_cues_in` come before the words."""


def injection_cues_in(statement: str) -> list[float]:
    """Return the features of a statement, always in one order: cues, pairs of cues, hashed words."""
    seen = plain(statement)[: LONGEST + _OVERLAP]
    shown = _shown(seen)
    paired = [shown[one] and shown[other] for one, other in _PAIRS]
    return [*(_CUE if there else 0.0 for there in (*shown.values(), *paired)), *_words_in(seen)]


def injection_marks_in(statement: str) -> list[str]:
    """Return the cues in a statement that are typical of injection, for the reviewer."""
    seen = plain(statement)[: LONGEST + _OVERLAP]
    return [name for name, there in _shown(seen).items() if there and name in _TELLING]


def _shown(seen: str) -> dict[str, bool]:
    """Return for each cue, in the order of `_NAMED`, whether a plain text has it."""
    found = [pattern.search(seen) is not None for pattern in _compiled()]
    return dict(zip(_NAMED, (*found, _almost_a_popular_package(seen)), strict=True))


_TELLING = frozenset(
    {
        *("a condition and then a verb", "the person has agreed already", "no question is to be asked", "in secret"),
        *("not to be told", "to be told falsely", "takes a protection away", "an unsafe setting", "opens to all"),
        *("sends what is private", "names a place outside", "swaps a source", "gives another role", "destroys"),
        *(
            "claims an authority",
            "rules over memories",
            "only this counts",
            "praises or sells",
            "stands in a comment",
            "an index at an unknown address",
            "almost a popular package's name",
        ),
    }
)
_CUE = 0.5
"""How much a cue counts before training, against a vector of length one."""
WORD_BUCKETS = 4096
"""How many of the last numbers of `injection_cues_in` stand for words."""
_PIECE = 4
_WORD = re.compile(r"\w+|[^\w\s]")


def _words_in(seen: str) -> list[float]:
    """Return words, pairs of words and pieces of words, hashed into buckets; each sort has a length of about one.

    This is not `text.tokenize.words`: `bundle/orders.json` was trained with this splitting. Changing it means
    training it again (`training/orders.py`).
    """
    words = _single_words(seen)
    grams = {*words, *(f"{one} {other}" for one, other in pairwise(words))}
    # Pieces of four letters know a word in its other forms, which matters most in languages the vectors do not know.
    edged = [f"<{word}>" for word in words if word.isalpha()]
    pieces = {f"#{word[at : at + _PIECE]}" for word in edged for at in range(max(1, len(word) - _PIECE + 1))}
    buckets = [0.0] * WORD_BUCKETS
    for sort in (grams, pieces):
        for bucket in set(map(_bucket, sort)):
            buckets[bucket] += 1.0 / sqrt(len(sort))
    return buckets


def word_buckets(statement: str) -> set[int]:
    """Return the buckets of the single words of a statement, at a tenth of the cost of all its features."""
    return set(map(_bucket, _single_words(plain(statement))))


def _single_words(seen: str) -> list[str]:
    words: list[str] = []
    for word in _WORD.findall(seen):
        # Scripts without spaces give one long word: their pairs of letters say more.
        words += [word] if word < "\u2e80" else [word[at : at + 2] for at in range(max(1, len(word) - 1))]
    return words


def _bucket(gram: str) -> int:
    return zlib.crc32(gram.encode("utf-8", "replace")) % WORD_BUCKETS


def statements_in(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text, and what its comments say, in pieces of bounded length."""
    if len(text) > _LONG and len(_ENDS.findall(text)) > _MANY_ENDS:
        yield from _pieces(text)  # lines of a few characters: a log, a table, an attempt to keep us busy
    else:
        start = 0
        for end in _ENDS.finditer(text):
            yield from _pieces(text[start : end.end()])
            start = end.end()
        yield from _pieces(text[start:])
    for aside in hidden_comments_in(text):
        yield from _pieces(_ASIDE + " ".join(aside.split()))


def _pieces(statement: str) -> Iterator[str]:
    bare = statement.strip()
    if len(bare) <= LONGEST:
        if len(bare) >= _SHORTEST or not bare.isascii():
            yield bare
        return
    for start in range(0, len(bare) - _OVERLAP, LONGEST - _OVERLAP):
        yield bare[start : start + LONGEST]
