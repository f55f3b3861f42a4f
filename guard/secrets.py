"""Secrets and private parts, removed from every text before it is embedded, written, exported or sent anywhere.

`redact` gathers what shows by its form (`secret_shapes`), by its position (`positional_secrets`) and, here, by the
word beside it: `password = …`, `"apiKey": …`, `the token is …`, in several languages. How much a value must look
like a secret depends on the word. Whatever is set as a password is one unless it is plainly something else; a token
or a secret must hold digits among its letters; what is merely called a key must be random.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from reverie.guard.command_line_secrets import command_line_secrets_in
from reverie.guard.positional_secrets import positional_secrets_in, secrets_after_cues_in
from reverie.guard.secret_shapes import (
    SHAPES,
    Span,
    classes_of,
    credentials_in,
    four_groups,
    has_digit,
    is_digest,
    is_grouped,
    is_hex,
    is_mask,
    is_passphrase,
    is_placeholder,
    is_spaced_password,
    is_uuid,
    looks_random,
    lowered,
    prefixed_in,
    runs_of,
)

_TAG = re.compile(r"<\s*(?P<closing>/?)\s*private\b[^<>]{0,100}>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Public:
    """A text without its private parts, and how many there were."""

    text: str
    dropped: int = 0


def without_private(text: str) -> Public:
    """Drop everything within `<private>…</private>`; a part that is never closed goes to the end of the text."""
    if "private" not in text.lower():
        return Public(text)
    kept: list[str] = []
    depth = at = dropped = 0
    for tag in _TAG.finditer(text):
        if tag["closing"]:
            if depth:
                depth -= 1
                at = tag.end()
        else:
            if depth == 0:
                kept.append(text[at : tag.start()])
                dropped += 1
            depth += 1
            at = tag.end()
    if depth == 0:
        kept.append(text[at:])
    return Public("".join(kept), dropped) if dropped else Public(text)


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what kinds they were, in their order."""

    text: str
    found: tuple[str, ...] = ()


def redact(text: str) -> Redacted:
    """Replace each secret by a mark that names its kind: `[redacted: aws-access-key]`."""
    if len(text) < _SHORTEST:
        return Redacted(text)
    spans = _without_overlaps(span for span in _found_in(text) if not _is_public(text, span))
    if not spans:
        return Redacted(text)
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], mark(span.kind)]
        at = span.end
    return Redacted("".join([*parts, text[at:]]), tuple(span.kind for span in spans))


def mark(kind: str) -> str:
    """Return the mark that replaces a secret."""
    return f"[redacted: {kind}]"


_SHORTEST = 7


def _found_in(text: str) -> Iterator[Span]:
    runs = runs_of(text)
    for span in (*_shaped(runs.text), *prefixed_in(runs.text)):
        yield Span(*runs.place(span.start, span.end), span.kind)
    lower = lowered(text)
    yield from credentials_in(text, lower)
    yield from assigned_secrets_in(text, lower)
    yield from command_line_secrets_in(text)
    yield from positional_secrets_in(text, lower)
    yield from secrets_after_cues_in(text, lower)


def _shaped(text: str) -> Iterator[Span]:
    present = {needle for needle in _needles() if needle in text}
    for shape in SHAPES:
        if not present.isdisjoint(shape.needles):
            for found in shape.compiled.finditer(text):
                if not is_mask(found[0]):
                    yield Span(*found.span(), shape.kind)


_PUBLIC_BEFORE = re.compile(
    r"(?:public|publishable|site|search-only|client-side|verification)[ _-]?keys?\W{0,4}(?:is|are|="
    r"|:)?\W{0,4}$|publickey\W{0,6}$"
    r"|(?:fingerprint|message[ -]id|recipient|request[ -]id|trace[ -]id|public key (?:of|for"
    r"|from)(?: \w{1,20}){1,4}?)"
    r"\W{0,4}(?:is|=|:)?\W{0,4}$",
    re.IGNORECASE,
)
_PUBLIC_SHAPE = re.compile(r"(?:pk_(?:live|test)_|pk\.eyJ|sb_publishable_|age1|ssh-|AAAA[BCE]|G-|GTM-|UA-)")
_DOCUMENTED = re.compile(r"EXAMPLE(?:KEY)?$|^(?:sk|pk|ghp|xox\w|AKIA)[-_]?(?:\.{3}|x{4,}|X{4,})")


def _is_public(text: str, span: Span) -> bool:
    """Return whether a match is meant to be public: a public key, a documented example, a tutorial's password."""
    value = text[span.start : span.end]
    if _DOCUMENTED.search(value) or (_PUBLIC_SHAPE.match(value) and span.kind in _VAGUE):
        return True
    before = text[max(0, span.start - 40) : span.start]
    if span.kind == "password-in-address":
        user = re.search(r"//(\w+):$", before)
        return user is not None and user[1] == value and bool(_LOCAL.match(text, span.end))
    return span.kind in _VAGUE and bool(_PUBLIC_BEFORE.search(before))


_LOCAL = re.compile(r"@(?:localhost|127\.0\.0\.1|db|postgres|mysql)\b")


@cache
def _needles() -> frozenset[str]:
    return frozenset(needle for shape in SHAPES for needle in shape.needles)


def _without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Keep the spans of vendor patterns, and of the others the longest that covers each overlap."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        last = kept[-1] if kept else None
        if last is None or span.start >= last.end:
            kept.append(span)
        else:
            kind = last.kind if last.kind not in _VAGUE else span.kind
            kept[-1] = Span(last.start, max(last.end, span.end), kind)
    return kept


_VAGUE = ("secret", "password", "authorization", "cookie", "prefixed-token")


# -- values beside a word ----------------------------------------------------------------------

Word = Literal["password", "token", "key"]
How = Literal["quoted", "bare", "environment", "prose"]


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_PASSWORD_STEMS = _words(
    """
    password passwd passphrase passcode passwort kennwort passord adgangskode wachtwoord lösenord losenord salasana
    contraseña contrasena senha parola hasło haslo jelszó heslo şifre sifre pwd mdp motdepasse пароль 密码 密碼 口令
    パスワード 비밀번호 סיסמה รหัสผ่าน पासवर्ड κωδικός mot_de_passe mật_khẩu كلمة_المرور pass pw psk
    """
) | {"mot de passe", "mật khẩu", "كلمة المرور", "shared secret", "pre-shared key", "preshared key", "pre shared key"}
_PASSWORD_STEMS |= {"wifi key", "wi-fi key", "wlan key", "wlan-schlüssel", "network key", "codice di accesso"}
_TWO_WORDS = _words(
    """
    api_key access_key private_key secret_key signing_key encryption_key auth_key master_key license_key account_key
    session_key session_id connection_string client_secret shared_access_key shared_key subscription_key admin_key
    write_key deploy_key integration_key instrumentation_key app_key application_key consumer_key function_key
    service_key ingest_key server_key
    """
)
_TOKEN_STEMS = _words(
    """
    token secret credential authorization geheimnis zugangsschlüssel токен секрет 密钥 密鑰 令牌 トークン
    シークレット 토큰 jeton segredo clave apiキー
    """
) | {"clé api", "chave de api", "chiave api", "ключ api", "api 키", "api-schlüssel", "api schlüssel"}
_TOKEN_STEMS |= {stem.replace("_", joint) for stem in _TWO_WORDS for joint in ("_", "-", " ", "")}
_KEY_STEMS = ["key", "auth", "schlüssel", "ключ", "akia", "asia", "login"]
_JOINED_STEMS = ("pass", "pw", "psk")  # parts of too many words: `bypass`, `upskill`

_NO_SECRET_NAME = re.compile(
    r"(?:hash|hashed|digest|checksum|fingerprint|ids?|names?|files?|filename|path|dir|folder|ur[li]s?|types?"
    r"|length|len"
    r"|size|count|limit|field|label|hint|placeholder|policy|regex|pattern|prefix|suffix|env|var|variable|header|param"
    r"|expir\w*|ttl|version|alg|algorithm|format|class|index|error|message|reset|changed|_at|izers?|iz\w+|ist|less"
    r"|strength|rules?|manager|provider|service|store|storage|generator|required|validator|prompt|input|map|arn)$"
    r"|^(?:public|pub|primary|foreign|partition|sort|cache|idempotency|object|row|unique|hot|keyboard|monkey"
    r"|key_?word"
    r"|max|min|num|next|prev|page|sync|cursor|stop|pad|eos|bos|csrf|bypass|compass|trespass|passing|passed|passes"
    r"|passenger|passive|passion|passport|site_?key)|(?:public|primary|foreign|cache)[_ -]?key",
    re.IGNORECASE,
)
_HASH_BEFORE = re.compile(
    r"(?:sha-?\d*|md5|digest|checksum|integrity|hash|commit|etag|fingerprint|revision|resolved|cid|uuid|guid)\W{0,4}"
    r"(?:\w+\W{1,3}){0,2}$"
    r"|\b(?:cache|partition|primary|foreign|sort|shard\w*|object|row|routing|lookup|storage|idempotency|dedup\w*"
    r"|map|index|s3|redis|react|public|host|translation|message|i18n|bucket|blob)[ _-]?keys?\W{1,4}(?:(?:is|are|was"
    r"|like|such as|e\.g\.)\W{1,3})?$",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"(?:\\?[\"'`\])]){0,3}[ \t]{0,8}"
    r"(?:\?{0,2}(?:=>|:=|={1,3}|->|→)|[:：](?:[ \t]{0,4}[\w\[\]|., ]{1,40}?=(?!=)(?=[ \t]*\S))?"
    r"(?:\s{0,8}\{\s{0,20}[\"'][^\"'\n]{1,60}[\"']\s{0,4}:)?"
    r"|[\"'],?\s{0,40}[\"']?value[\"']?[ \t]*[:=]"
    r"|\n[ \t]*value:|\[\]=|[ \t]{0,4}\{[^{}=]{0,200}(?:=[^{}=]{0,100})?\bdefault[ \t]{0,20}=)"
    r"\s{0,8}(?:[|>][+-]?[ \t]{0,4}\n[ \t]{1,20})?(?:[bfruBFRU@]{0,2}(?P<quote>\\?[\"'`]{1,3}))?"
)
_MARKUP = re.compile(
    r"(?:[\"'][^<>\n]{0,60}|</t[dh]>\s{0,20}<td[^<>]{0,100})?>[ \t]{0,4}(?=[^<>\s]{4,200}[ \t]{0,4}</)"
)
# `the password for the staging box is`, `пароль от базы:`
_OF_WHAT = re.compile(
    r"[ \t]{1,3}(?:for|of|on|to|between|für|von|vom|zum|der|des|de|du|del|della|di|da|do|para|per|pour|voor|van"
    r"|от|для|к|на)"
    r"[ \t]{1,3}(?:[\w.@/-]{1,40}[ \t]{1,3}){0,4}?[\w.@/-]{1,40}?"
    r"(?=[ \t]{0,2}(?:[:：=]|[ \t](?:is|was|ist|lautet|est|es|è|é)\b))"
)
_SETTING_BEFORE = re.compile(
    r"\b(?:user(?:name)?|uid|user id|host|server|dbname|database)=[^\s;,()]{1,60}[ ;]+$", re.I
)
_NAMES_A_SETTING = re.compile(r"(?:password|passwd|pass|pwd|secret|token|api[_-]?key)$")
_GIVEN_AS_SECOND = re.compile(  # define('DB_PASSWORD', '…')
    r"[\"'](?:[ \t]{0,4},[ \t]{0,4}|[ \t]{1,4})(?P<quote>[\"'])"
)
_IN_PROSE = re.compile(
    r"[ \t]{1,3}(?:is|was|are|ist|lautet|est|es|è|é|är|er|equals|to|=|of)[ \t]{1,3}(?:(?:now|set|reset|changed"
    r"|updated|currently|still|to)[ \t]{1,3}){0,3}"
    r"(?P<quote>[\"'`‘“«]?)|(?:は|是|为|為|은|는)[ ]?(?P<quote2>[\"'`「]?)|[ \t]{1,3}\(?(?P<quote3>[\"'`‘“])"
)
_BESIDE = re.compile(r"[ \t]{1,3}(?P<value>[^\s\"'`<>(){}\[\],;:]{8,200}?)(?=[.,;:)]{0,2}(?:\s|$))")
_OPTION = re.compile(r"[ =](?P<quote>[\"']?)")
_QUOTED = re.compile(r"[^\"'`\n\\’”»」<>]{1,512}")
_BARE = re.compile(r"[^\s\"'`<>]{1,256}")
_IN_A_QUERY = re.compile(r"&\w+=")
_BEFORE_A_VALUE = frozenset("\"'`])\\ \t=:：><-→?[\n(,は是为為은는")
_TOO_SHORT = 2  # `pw` stands in too many words to be a neighbour of anything
_JOINT = re.compile(r"[^A-Za-z0-9+/]")  # within a blob of base64 a word is chance
_DEFAULTS = _words(
    "admin root guest postgres mysql mariadb mongo redis rabbitmq elastic minio minioadmin sample toor"
)
_FIRST_BEYOND_GREEK_AND_CYRILLIC = "\u0590"  # CJK writes on without a space
_LONG_WORD = 20
_MOST_IN_A_RUN = 6
"""Names with a value in 256 characters without a space; more than any address holds, and each costs a look."""
_LONG_HEX = 32
_SHORT_RANDOM = 10
_LONGEST_NAME = 60
_NAME_AFTER = re.compile(r"[\w-]{0,40}")
_ENVIRONMENT_NAME = re.compile(r"(?:^|[\s;&'\"])(?:export |set |ENV |ARG |-e ?|--env[ =])?[A-Z][A-Z0-9_]{2,60}$")
_REFERENCE = re.compile(r"[&*!@]?[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*[(\[{]?")
_BEGINS_WITH_A_BRACKET = re.compile(r"[(\[{](?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)[^()\[\]{}.,:;\s]{6,60}")
"""A password such as `(Copper7`: what would be code closes its bracket."""
_CMDLET = re.compile(r"[A-Z][a-z]+(?:To|From)?-[A-Z][A-Za-z]+")
_ELSEWHERE = re.compile(
    r"(?:https?|file|op|vault|ssm|arn|ref|env|keyring|secretsmanager|projects|gcp-sm|aws-sm|doppler)(?::|/)"
    r"|[~.]{1,2}/|/(?:[a-z._-]+|Users|Library|Volumes|Applications|System|[A-Z][a-z]+)(?:/|$)"
    r"|[A-Za-z]:\\|os\.environ|process\.env|getenv|import\.meta|secrets\.|env\.",
    re.IGNORECASE,
)
_LONG_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9+/=_.~-]{19,511}")
_STRONG_PHRASE = re.compile(
    r"(?:api|access|auth|secret|private|client|signing|bearer|session|master|admin)[ _.-]?(?:key|token|secret)", re.I
)
_HELD = re.compile(r"(?:\bis|\bholds|\bcontains|[:=→])\s{0,3}[\"'`]?$")
_CALLED_SO = re.compile(
    r"[\"'`]?\s{1,3}(?:is|was|as)\s(?:the|our|my|an?)\s(?:\w+\s){0,2}?"
    r"(?:private key|api key|secret|(?:\w+ )?token)\b",
    re.IGNORECASE,
)
_PUBLIC_KEYS = (
    "AAAAB3NzaC1",
    "AAAAC3NzaC1",
    "AAAAE2Vj",
)  # what `ssh-rsa`, `ssh-ed25519` and `ecdsa-…` are followed by
_PUBLIC_BLOCK = re.compile(
    r"-----(?:BEGIN|END) (?:[A-Z0-9]+ )*(?:PUBLIC KEY|CERTIFICATE|CERTIFICATE REQUEST|SIGNATURE)"
)
_NEAR_BEFORE, _NEAR_AFTER = 60, 40


@dataclass(frozen=True, slots=True)
class _Named:
    """A word found in the text, with the whole name it is part of."""

    word: Word
    name: str
    start: int
    end: int
    option: bool  # written as --name
    environment: bool  # written as NAME at the start of a setting


_EVERY_STEM = tuple(sorted({*_PASSWORD_STEMS, *_TOKEN_STEMS, *_KEY_STEMS}, key=lambda stem: (-len(stem), stem)))


@cache
def _any_of(stems: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, stems)))


def assigned_secrets_in(text: str, lower: str) -> Iterator[Span]:
    """Yield the values that are assigned to the name of a secret; `lower` is the text in lower case."""
    # A search for the few words that occur is many times as fast as one for all that might.
    present = tuple(stem for stem in _EVERY_STEM if stem in lower)
    if not present:
        return
    places: list[tuple[int, int]] = []
    done = run_end = in_this_run = 0
    for found in _any_of(present).finditer(lower):
        if _may_have_neighbours(text, found.start(), found.end()):
            places.append(found.span())
        if found.start() < done:
            continue  # a part of a name that was looked at
        after = _NAME_AFTER.match(text, found.end())
        end = after.end() if after and found[0] < _FIRST_BEYOND_GREEK_AND_CYRILLIC else found.end()
        done = end
        if text[end : end + 1] not in _BEFORE_A_VALUE:
            continue
        if found.start() >= run_end:
            run = _BARE.match(text, end)
            run_end, in_this_run = run.end() if run else end, 0
        in_this_run += 1
        if in_this_run > _MOST_IN_A_RUN:
            continue
        named = _named(text, lower, found.start(), end, found[0])
        span = _value(text, named) if named is not None else None
        if span is not None:
            yield span
            done = span.end
    yield from _random_near(text, places)


def _may_have_neighbours(text: str, start: int, end: int) -> bool:
    """Return whether a word counts with letters around it: an access key always, others not inside a blob."""
    if text[start:end] in ("AKIA", "ASIA"):
        return True
    return end - start > _TOO_SHORT and bool(_JOINT.search(text, max(0, start - 16), end + 16) or start < 16)


def _named(text: str, lower: str, start: int, end: int, stem: str) -> _Named | None:
    first = start
    while first > 0 and start - first < _LONGEST_NAME and (text[first - 1].isalnum() or text[first - 1] in "_.-"):
        first -= 1
    name = lower[first:end]
    stripped = name.strip("-._")
    word: Word = "password" if stem in _PASSWORD_STEMS else "token" if stem in _TOKEN_STEMS else "key"
    if word == "key" and any(other in stripped for other in ("token", "secret", "password", "passwd")):
        word = "token" if "pass" not in stripped else "password"  # `auth_token` is more than an auth
    if stem in _JOINED_STEMS and not re.search(r"(?:^|[_.-])(?:pass|pw|psk)$", stripped):
        return None
    if word == "key" and not stripped.endswith(("key", "auth", "schlüssel", "ключ")):
        return None
    if _NO_SECRET_NAME.search(stripped):
        return None
    line_start = max(text.rfind("\n", 0, first) + 1, first - 12)
    environment = text[first:end].isupper() and bool(_ENVIRONMENT_NAME.search(text, line_start, end))
    return _Named(word, stripped, first, end, option=name.startswith("--"), environment=environment)


def _value(text: str, named: _Named) -> Span | None:
    of_what = _OF_WHAT.match(text, named.end)
    end = of_what.end() if of_what and named.word != "key" else named.end
    assigned = _ASSIGNED.match(text, end)
    if assigned:
        quoted = bool(assigned["quote"])
        literal = assigned[0] == "=" and (named.environment or _is_among_settings(text, named.start))
        how: How = "quoted" if quoted else "environment" if literal else "bare"
        return _judged(text, named, assigned.end(), how)
    second = _GIVEN_AS_SECOND.match(text, named.end)
    if second and _NAMES_A_SETTING.search(named.name):
        given = _judged(text, named, second.end(), "quoted", in_prose=True)
        return given if given and classes_of(text[given.start : given.end]) >= 3 else None
    markup = _MARKUP.match(text, named.end)
    if markup:
        return _judged(text, named, markup.end(), "quoted")
    if named.option and (option := _OPTION.match(text, named.end)):
        return _judged(text, named, option.end(), "quoted" if option["quote"] else "prose")
    beside = _BESIDE.match(text, named.end)
    if beside and _is_secret_beside(named, beside["value"]):
        return Span(*beside.span("value"), "password" if named.word == "password" else "secret")
    stated = _IN_PROSE.match(text, end)
    if stated and not named.name.endswith("pass"):  # "pass `stream=True`" sets no password
        if named.word == "key" and _HASH_BEFORE.search(text[max(0, named.start - _NEAR_BEFORE) : stated.end()]):
            return None  # the key of a cache or of a row
        quoted = bool(stated["quote"] or stated["quote2"] or stated["quote3"])
        return _judged(text, named, stated.end(), "quoted" if quoted else "prose", in_prose=True)
    return None


def _is_among_settings(text: str, start: int) -> bool:
    """Return whether a name is in a URL or a connection string, where values are literal."""
    return text[start - 1 : start] in ("?", "&") or bool(_SETTING_BEFORE.search(text[max(0, start - 80) : start]))


def _is_secret_beside(named: _Named, value: str) -> bool:
    """Return whether what merely follows the word is a secret: `with password Zx81!…`, `session secret 9f86d0…`."""
    if named.word == "key" or named.name == "pass" or is_placeholder(value):
        return False
    if named.word == "password":
        if is_hex(value):
            return len(value) >= _LONG_HEX
        digit, letter = has_digit(value), value.lower() != value.upper()
        signed = digit and letter and any(sign in value for sign in "!@#$%^&*?~")
        return signed or (classes_of(value) >= 3 and looks_random(value, _SHORT_RANDOM))
    return (is_hex(value) and len(value) >= _LONG_HEX) or (not is_hex(value) and looks_random(value))


def _judged(text: str, named: _Named, start: int, how: How, *, in_prose: bool = False) -> Span | None:
    found = (_QUOTED if how == "quoted" else _BARE).match(text, start)
    if named.word == "password" and how == "bare" and (spaced := four_groups(text, start)):
        return Span(start, start + len(spaced), "password")
    if found is None:
        return None
    value = found[0]
    if how != "quoted":
        value = _IN_A_QUERY.split(value, maxsplit=1)[0]
        value = value.rstrip(",;)]}.:") if how != "environment" else value.rstrip(",;")
    if is_placeholder(value) or is_digest(value) or _ELSEWHERE.match(value):
        return None
    if how == "environment" and not named.environment and "(" in value:
        return None  # username='x' password=SecretStr(…)
    if how in ("bare", "prose") and _is_code(value):
        return None
    if not _says_secret(named, value, how, in_prose=in_prose):
        return None
    return Span(start, start + len(value), "password" if named.word == "password" else "secret")


def _is_code(value: str) -> bool:
    """Return whether an unquoted value is a name, a call or an expression rather than a secret itself."""
    if any(sign in value for sign in ("(", "[", "{")):
        return not _BEGINS_WITH_A_BRACKET.fullmatch(value)
    if len(value) >= _LONG_WORD and value.isalpha() and value.islower():
        return False  # words run together, as in a passphrase; names have joints
    if _CMDLET.fullmatch(value):
        return True
    if not _REFERENCE.fullmatch(value) or looks_random(value, _SHORT_RANDOM):
        return False
    return "." in value or not has_digit(value)


def _says_secret(named: _Named, value: str, how: How, *, in_prose: bool) -> bool:
    if any(c.isspace() for c in value.strip()):
        if named.word != "password" or in_prose:
            return False
        return is_passphrase(value) or (how == "quoted" and is_spaced_password(value))
    digit, letter = has_digit(value), value.lower() != value.upper()
    if named.word == "password":
        if is_grouped(value) or (named.name.endswith("passcode") and value.isdigit()):
            return True
        if value.isalpha() and any(stem in value.lower() for stem in ("pass", "pwd")):
            return False  # a label such as challengePassword
        if how == "environment":
            # POSTGRES_PASSWORD=postgres
            return len(value) >= 4 and value.lower() not in named.name and value.lower() not in _DEFAULTS
        if looks_random(value, _SHORT_RANDOM):
            return True
        if how == "quoted" and not in_prose:
            return len(value) >= 4 and (classes_of(value) >= 2 or len(value) >= 8)
        run_together = how == "bare" and len(value) >= _LONG_WORD and value.isalpha()
        return run_together or (len(value) >= 5 and classes_of(value) >= 2 and (digit or classes_of(value) >= 3))
    if named.word == "token":
        if is_uuid(value) or is_hex(value):
            return len(value) >= 16 and letter and not named.name.endswith(("id", "hash"))
        if looks_random(value, 12):
            return True
        if how == "prose":
            return False
        return len(value) >= 8 and digit and letter and classes_of(value) >= 2 and not _is_wordy(value)
    if is_hex(value):
        return named.name.endswith("oauth") and len(value) >= _LONG_HEX
    return not is_uuid(value) and looks_random(value)


def _is_wordy(value: str) -> bool:
    """Return whether a value is words with a number at an end: `v2-credentials`, `oauth2`, `token_2024`."""
    return (
        re.fullmatch(r"(?:[A-Za-z]+\d{0,4}|v?\d{1,4})(?:[-_./ ](?:[A-Za-z]+\d{0,4}|v?\d{1,4}))*", value) is not None
    )


def _random_near(text: str, places: list[tuple[int, int]]) -> Iterator[Span]:
    """Yield long random runs near one of the words that are not assigned to it."""
    if not places:
        return
    number = 0
    for run in _LONG_RUN.finditer(text):
        value = run[0].rstrip(".=-_~/")
        start = run.start()
        while number < len(places) and places[number][1] < start - _NEAR_BEFORE:
            number += 1
        if not _has_word_beside(places, number, start, run.end()):
            continue
        if _is_secret_here(text, start, value):
            yield Span(start, start + len(value), "secret")


def _has_word_beside(places: list[tuple[int, int]], number: int, start: int, end: int) -> bool:
    """Return whether one of the words is near a run, not only inside it."""
    while number < len(places) and places[number][0] <= end + _NEAR_AFTER:
        if places[number][1] <= start or places[number][0] >= end:
            return True
        number += 1
    return False


def _is_secret_here(text: str, start: int, value: str) -> bool:
    if is_placeholder(value) or is_digest(value) or not looks_random(value):
        return False
    if "." in value or value.startswith(_PUBLIC_KEYS):  # tokens with dots have shapes of their own
        return False
    before = text[max(0, start - _NEAR_BEFORE) : start]
    if _PUBLIC_BLOCK.search(before) or _PUBLIC_BLOCK.search(text, start, start + len(value) + _NEAR_BEFORE):
        return False
    line = before.rpartition("\n")[2]
    if _HASH_BEFORE.search(line) or line.endswith(("base64,", "@", "sha256:", "/")):
        return False
    if is_hex(value) or is_uuid(value):
        if _STRONG_PHRASE.search(line) and _HELD.search(line):
            return True
        after = text[start + len(value) : start + len(value) + _NEAR_AFTER]
        return bool(_CALLED_SO.match(after))
    return classes_of(value) >= 3 or ("/" not in value and "." not in value and "-" not in value)
