"""Secrets recognised by their position: an argument of a login, a field of a line, a column of a table.

Also by the cue before them: a program's flag, a word for PINs or recovery codes, brackets, the line above.
"""

import re
from collections.abc import Iterator

from reverie.guard.command_line_secrets import ARGUMENT_PATTERNS
from reverie.guard.secret_shapes import (
    SecretPattern,
    Span,
    classes_of,
    four_groups,
    has_digit,
    is_hex,
    is_passphrase,
    is_placeholder,
    is_uuid,
    looks_random,
)

_UNDER_HEADINGS = re.compile(r"\n[ \t]{0,8}\|[ :|-]{3,400}\|[ \t]*(?=\n)")
_SECRET_COLUMN = re.compile(r"\b(?:passwor[dt]|passwd|pwd|pass|secret|token|api[ _-]?key)$", re.I)
_DELIMITED_HEADING = re.compile(
    r"(?m)^(?=[^\n]{0,200}?(?:pass|pwd|secret|token|key))[\w \"'./-]{1,40}(?:[\t;,][\w \"'./-]{1,40}){1,8}\r?$"
)


_LOGINS = (
    *("auth=", "auth", "credential", "credentials", "login", "log_in", "signin", "connect", "connection"),
    *(
        "set_password",
        "setpassword",
        "change_password",
        "changepassword",
        "authenticate",
        "create_user",
        "createuser",
    ),
)
_CLIENTS = ("client", "api", "sdk", "init", "configure")
_POSITIONS = (
    # auth=("user", "…"), NetworkCredential("user", "…"), smtp.login("user", "…"), getConnection(url, "user", "…")
    SecretPattern(
        "pair",
        tuple(f"{word}(" for word in _LOGINS),
        r"\((?:" + "|".join(rf"(?<={word}\()" for word in _LOGINS) + r")(?:[^()\"'\n]{0,80},)?\s{0,4}"
        r"[\"'][^\"'\n]{1,80}[\"']\s{0,2},\s{0,4}[\"'](?P<value>[^\"'\n]{5,200})[\"']\s{0,2}[,)]",
    ),
    # SDK clients that take nothing but the key: Client("…")
    SecretPattern(
        "sole",
        tuple(f"{word}(" for word in _CLIENTS),
        r"\((?:" + "|".join(rf"(?<={word}\()" for word in _CLIENTS) + r")\s{0,2}"
        r"[\"'](?P<value>[a-z0-9_-]{24,200})[\"']\s{0,2}[,)]",
    ),
    SecretPattern(
        "set",
        ("identified",),
        r"\bidentified\s+(?:with\s+\S{1,60}\s+)?by\s+[\"'](?P<value>[^\"'\n]{3,200})[\"']",
    ),
    SecretPattern(
        "set",
        ("convertto-securestring",),
        r"convertto-securestring\s+(?:-string\s+)?[\"'](?P<value>[^\"'\n]{3,200})[\"']",
    ),
    SecretPattern("set", ("net use",), r"net use\s[^\n]{0,200}?/user:\S{1,80}\s+(?P<value>[^\s/\"'][^\s\"']{3,100})"),
    SecretPattern("pair", ("net user",), r"net user\s+[\w.-]{1,40}\s+(?P<value>[^\s/\"'*][^\s\"']{3,100})"),
    # ~/.pgpass
    SecretPattern(
        "set",
        (":543", ":6432:", ":*:"),
        r"(?m)^[\w.*-]{1,80}:(?:543\d|6432|\*):[\w*.-]{1,60}:[\w*.@-]{1,60}:(?P<value>[^\s\"']{4,200})$",
    ),
    # snyk auth …, codecov -t …
    SecretPattern(
        "sole uuid",
        ("auth ", "login ", "authtoken ", "codecov "),
        r"\b(?:auth|login|authtoken|codecov(?: [^\n]{0,100})? -t) +"
        r"(?P<value>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\b",
    ),
    # log in as admin / …
    SecretPattern(
        "prose",
        ("log in", "login", "logged in", "sign in", "signed in", "logon"),
        r"(?:log|sign)(?:ged|ed)? ?[io]n\b[^.\n]{0,60}?(?:\b(?:as|with|using) |\()[\"'`]?"
        r"[\w.@+-]{2,60}[\"'`]?\s?[:/]\s?[\"'`]?"
        r"(?P<value>[^\s\"'`,;()]{8,100})",
    ),
)


def positional_secrets_in(text: str, lower: str) -> Iterator[Span]:
    """Yield the secrets that their position alone gives away; `lower` is the text in lower case."""
    for place in _POSITIONS:
        if not any(needle in lower for needle in place.needles):
            continue
        for found in place.compiled.finditer(lower):
            first, last = found.span("value")
            if _is_positional_secret(place.kind, text[first:last]):
                yield Span(first, last, "secret" if place.kind.startswith("sole") else "password")
    if "|" in text:
        yield from _in_tables(text)
    yield from _in_delimited_lines(text, lower)


def _is_positional_secret(kind: str, value: str) -> bool:
    if is_placeholder(value) or any(c.isspace() for c in value):
        return False
    digit = has_digit(value)
    match kind:
        case "sole uuid":
            return True
        case "set":
            return classes_of(value) >= 2 or len(value) >= 8
        case "sole":
            return not is_uuid(value) and digit and classes_of(value) >= 3 and looks_random(value)
        case "prose":
            return digit and classes_of(value) >= 3
        case _:
            mixed = len(value) >= 10 and value.isalnum() and not value.islower() and not value.isupper()
            return mixed or looks_random(value, 10) or (digit and classes_of(value) >= 4 and "/" not in value)


def _in_tables(text: str) -> Iterator[Span]:
    """Yield the cells under a heading such as password, in a table drawn with bars."""
    done = 0
    for under in _UNDER_HEADINGS.finditer(text):
        if under.start() < done:
            continue  # a row of the table before
        heading = text[text.rfind("\n", 0, under.start()) + 1 : under.start()]
        columns = [n for n, cell in enumerate(heading.split("|")) if _SECRET_COLUMN.search(cell.strip(" *`"))]
        done = under.end() + 1
        for row in _rows(text, done) if columns else ():
            if not row.lstrip().startswith("|"):
                break
            yield from _in_cells(row, done, columns, "|")
            done += len(row) + 1


def _in_delimited_lines(text: str, lower: str) -> Iterator[Span]:
    """Yield the cells under a heading such as password, in lines divided by tabs, commas or semicolons."""
    done = 0
    for heading in _DELIMITED_HEADING.finditer(lower):
        if heading.start() < done:
            continue
        divider = max("\t;,", key=heading[0].count)
        names = [cell.strip(" \"'\r") for cell in heading[0].split(divider)]
        columns = [number for number, name in enumerate(names) if _SECRET_COLUMN.search(name)]
        done = heading.end() + 1
        for row in _rows(text, done) if columns and len(names) > 1 else ():
            if row.count(divider) != len(names) - 1:
                break
            yield from _in_cells(row, done, columns, divider)
            done += len(row) + 1


def _rows(text: str, at: int) -> Iterator[str]:
    """Yield the lines from a place on."""
    while (end := text.find("\n", at)) >= 0:
        yield text[at:end]
        at = end + 1
    yield text[at:]


def _in_cells(row: str, at: int, columns: list[int], divider: str) -> Iterator[Span]:
    cells = row.split(divider)
    for number in columns:
        value = cells[number].strip(" *`\"'\t\r") if number < len(cells) else ""
        digit = has_digit(value)
        telling = (digit and classes_of(value) >= 2) or looks_random(value, 10)
        if len(value) >= 6 and telling and " " not in value and not is_placeholder(value):
            start = at + sum(len(cell) + 1 for cell in cells[:number]) + cells[number].find(value)
            yield Span(start, start + len(value), "password")


_CALLED = (
    r"(?:passwor[dt]|passwd|passphrase|kennwort|pwd|pw|contraseña|contrasena|clave|senha|parola"
    r"|mot de passe|wachtwoord"
    r"|пароль|密码|パスワード)"
)
_SECRET = rf"(?:{_CALLED}|api[ _-]?key|access key|token|secret|credentials?|creds|logins?)"
_PASSWORDS: tuple[str, ...] = (
    *("passw", "passphrase", "kennwort", "pwd", "pw", "contrase", "clave", "senha", "parola", "mot de passe"),
    *("wachtwoord", "пароль", "密码", "パスワード"),
)
_SECRETS = (*_PASSWORDS, "key", "token", "secret", "cred", "login")
_Q = r"[\"'`]?"
_LINE_END = r"[ \t]*(?=\n|$)"

_PHRASES = (
    # codes in groups, one-time codes, PINs
    SecretPattern(
        "group",
        ("code", "key", "schlüssel", "serial"),
        r"\b(?:recovery|backup|licen[sc]e|product|activation|emergency(?: kit)?|unlock|serial|2fa"
        r"|registration|lizenz|rescue"
        r"|produkt|aktivierungs|wiederherstellungs|scratch)(?:[ -]|\b)?(?:/ ?unlock )?(?:codes?|keys?"
        r"|schlüssel|serial|number|code)?"
        r"\s{0,3}(?:is|are|ist|lautet|[:=#])?\s{0,4}(?:\d[.)]\s?|[*-] )?[\"'`]?"
        r"(?P<value>[a-z0-9]{3,8}(?:-[a-z0-9]{3,8}){1,8}(?:[,\s]{1,3}[a-z0-9]{3,8}(?:-[a-z0-9]{3,8}){1,8}){0,15})\b",
    ),
    SecretPattern(
        "group",
        ("licen", "lizenz"),
        r"\b(?:licen[sc]e|lizenz)\s?[:=]\s?[\"'`]?(?P<value>[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){2,7})\b",
    ),
    SecretPattern(
        "number",
        ("code",),
        r"\bcode (?:for|to|of|on) (?:the |our |my )?(?:[\w-]{1,20} ){0,2}?(?:safe|door|gate|lock|lockbox|alarm"
        r"|garage|vault"
        r"|building|entrance|elevator|box|locker|keypad|padlock|parking|room|office) (?:is|was"
        r"|[:=]) ?(?P<value>\d{3,8}#?)(?!\w)",
    ),
    SecretPattern(
        "spaced",
        ("code", "key", "schlüssel"),
        r"\b(?:recovery|backup|rescue|emergency|security|wiederherstellungs-?|encryption|unlock)[ -]?(?:codes?|keys?"
        r"|schlüssel)\s{0,3}(?:is|are|ist|lautet|[:=])?\s{0,4}[\"'`]?(?P<value>[a-z0-9]{4}(?: [a-z0-9]{4}){2,15})\b",
    ),
    SecretPattern(
        "lettered",
        _PASSWORDS,
        rf"\b{_CALLED}\s{{0,2}}[:=]?\s{{0,2}}{_Q}(?P<value>[a-z]{{4}}(?:-[a-z]{{4}}){{2,3}})\b(?!-)",
    ),
    SecretPattern(
        "number",
        ("pin", "puk", "otp", "cvv", "cvc", "tan"),
        r"\b(?:pin|puk|otp|tan|cvv2?|cvc2?)(?:[ -]?(?:code|number|nummer))?"
        r"(?: (?:for|of|to|für|vom) (?:[\w-]{1,20} ){0,2}[\w-]{1,20}?)?"
        r"\s{0,2}(?:is|was|ist|est|es|è|é|er|är|jest|lautet|[:=→])?\s{0,2}[\"'`(]{0,2}"
        r"(?P<value>\d{3,8}#?)(?!\w)(?=[\"'`)]{0,2}(?:\s*(?:$|\n|[.,;)!](?!\d))|\s+(?:for|until|unlocks|opens"
        r"|works|and|or|on|at|when|if|gilt|is|expires|valid)\b))",
    ),
    SecretPattern(
        "number",
        ("code", "código", "codice", "one-time pass", "one time pass", "einmal"),
        r"\b(?:(?:verification|security|alarm|access|door|gate|keypad|2fa|sms|unlock|one[- ]time|entry|mfa"
        r"|confirmation"
        r"|auth\w{0,12}|login|log-in|sign-in|lock(?:box|er)?|key ?box|safe|vault|garage|building|elevator"
        r"|entrance|intercom"
        r"|parking|storage|office|server room|padlock|bike|voicemail|backup|recovery|reset) ?(?:pin|code)"
        r"|one[- ]time pass(?:word|code)|einmal-?passwor[dt]|einmal-?kennwort"
        r"|(?:\w{1,20} )?passcode|tür-?code|zugangs-?code|sicherheits-?code|bestätigungs-?code"
        r"|code (?:pin|de vérification|d'accès|de sécurité)|código (?:de )?(?:verificación|verificação"
        r"|acc?es?so|seguridad|segurança|pin)"
        r"|codice (?:di )?(?:verifica|accesso|sicurezza|pin))"
        r"\s{0,2}(?:(?:is|was|ist|est|es|è|é|lautet|[:=→])\s{0,2}[\"'`(]{0,2}(?=\d{3})|[\"'`(]{0,2}(?=\d{4}"
        r"|\d{3} \d{3}))"
        r"(?P<value>\d{3}[ -]\d{3}|\d{3,8}#?)(?![\w.]\w)(?!\w|\s+(?:digits?|characters?|letters?|numbers?|boxes|times"
        r"|attempts?|seconds?|minutes?|hours?|bits?|bytes?|lines?|rows?|fields?|tests?|chars?|stellig|chiffres)\b)",
    ),
    SecretPattern(
        "number",
        ("combination",),
        r"\bcombination\s{0,2}(?:is|was|[:=])?\s{0,2}(?P<value>\d{1,2}(?:[- ]\d{1,2}){2,3})\b",
    ),
    SecretPattern(  # the other way round: `4711 is the PIN`, `Quartz!9 is the new password`
        "number",
        ("pin", "code"),
        r"(?<![\w.,-])(?P<value>\d{4,8}) (?:is|was|ist) (?:the|our|my|your|his|her|die|der|unsere) (?:\w{1,20} ){0,2}"
        r"(?:pin|otp|passcode|(?:door|alarm|access|gate|security) code)\b",
    ),
    SecretPattern(
        "mixed",
        _PASSWORDS,
        rf"(?<!\S){_Q}(?P<value>[^\s\"'`]{{5,100}}){_Q} (?:is|was|ist) (?:the|our|my|your|das"
        rf"|unser) (?:\w{{1,20}} ){{0,2}}"
        rf"{_CALLED}\b",
    ),
    SecretPattern(
        "network",
        ("wifi", "wi-fi", "wlan", "wpa", "hotspot", "router"),
        r"\b(?:wi-?fi|wlan|wpa[23]?(?:-psk)?|hotspot|router)\b[^\n]{0,40}?\b(?:key|pass(?:word|phrase|code)?|pw|psk"
        rf"|code|schlüssel|kennwort|passwort)\b\)?\s{{0,2}}(?:is|ist"
        rf"|[:=])\s{{0,2}}{_Q}(?P<value>[^\s\"'`,;()]{{8,63}})",
    ),
    SecretPattern(
        "grouped",
        _PASSWORDS,
        rf"\b{_CALLED}s?\s?(?:\([^()\n]{{1,40}}\)|for [^:\n]{{1,40}})?\s?[:=]\s?{_Q}(?P<value>[a-z]{{4}}"
        rf"(?: [a-z]{{4}}){{3}})"
        r"(?=[\"'`]?[ \t.]*(?:\n|$))",
    ),
    SecretPattern(
        "base32",
        ("totp", "2fa", "otp", "mfa", "authenticator", "two-factor"),
        r"\b(?:totp|2fa|otp|mfa|authenticator|two-factor)\b[^\n]{0,30}?\b(?:secret|seed|key)\b\W{0,4}(?:is )?"
        r"(?P<value>[a-z2-7]{16,64}|[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,15})\b",
    ),
    # in brackets
    SecretPattern(
        "mixed",
        _SECRETS,
        rf"\b{_SECRET}(?: (?:for|of|to|on) [\w.@/-]{{1,40}}(?: [\w.@/-]{{1,40}}){{0,2}})?\s?[:=]?\s?[(\[<]\s?{_Q}"
        r"(?:(?:which|that) (?:is|was) |it is |it's |namely |i\.e\. |ist |temporary,? |currently |now |still "
        r"|initially )?(?:[\w.@-]{2,40} ?[/:] ?)?"
        rf"(?P<value>[^\s\"'`()\[\]<>]{{5,100}}){_Q}\s?[)\]>]",
    ),
    SecretPattern(
        "mixed", _SECRETS, rf"\b{_SECRET}\s?\([^()\n]{{1,40}}\)\s?[:=]\s?{_Q}(?P<value>[^\s\"'`]{{5,200}})"
    ),
    # on the next line
    SecretPattern(
        "line",
        _SECRETS,
        rf"\b{_SECRET}[ \t]{{0,4}}(?:is|ist|was"
        rf"|[:=])?[ \t]{{0,4}}\n{{1,2}}(?:[=~*_-]{{3,60}}\n{{1,2}})?[ \t>*-]{{0,12}}{_Q}"
        rf"(?P<value>[^\s\"'`]{{6,200}}){_Q}{_LINE_END}",
    ),
    SecretPattern(
        "line",
        ("user", "cred", "login", "account"),
        rf"\b(?:user(?: ?name)?|logins?|account|cred(?:s"
        rf"|entials)?)\b[ \t]{{0,4}}[:=]?[ \t]{{0,4}}(?:\n[ \t*-]{{0,12}})?[\w.@+-]{{2,60}}[ \t]{{0,4}}\n"
        rf"[ \t*-]{{0,12}}(?P<value>[^\s\"'`:]{{8,100}}){_LINE_END}",
    ),
    SecretPattern(
        "signed",
        ("user", "cred", "login", "account"),
        rf"\b(?:user(?: ?name)?|logins?|account|cred(?:s|entials)?)\b[^\n=]{{1,40}}\n[ \t*-]{{0,12}}"
        rf"[\w.@+-]{{2,60}}[ \t]{{0,4}}\n[ \t*-]{{0,12}}(?P<value>[^\s\"'`:]{{8,100}}){_LINE_END}",
    ),
    SecretPattern(
        "phrase",
        ("passphrase", "seed", "mnemonic"),
        rf"\b(?:passphrase|seed phrase|mnemonic)\b[^\n]{{0,40}}\n{{1,2}}[ \t>*-]{{0,12}}{_Q}"
        rf"(?P<value>[a-z]{{3,9}}(?:[ -][a-z0-9]{{1,9}}){{3,7}}){_Q}{_LINE_END}",
    ),
    SecretPattern(  # `mot de passe admin : …`
        "line",
        _PASSWORDS,
        rf"\b{_CALLED}(?! (?:policy|length|manager|hash\w*|reset|field|min\w*|max\w*|rules?|strength|storage"
        rf"|algorithm"
        rf"|format|type|version|encoding|entropy|expir\w*|file|store|generator)\b)(?: [\w.@/-]{{2,30}}){{1,3}}?"
        rf" ?[:：=]\s{{1,3}}{_Q}(?P<value>[^\s\"'`]{{6,100}}){_Q}(?=[.,;]?(?:\s|$))",
    ),
    # in sentences
    SecretPattern(
        "mixed",
        _PASSWORDS,
        rf"(?<!\S){_Q}(?P<value>[^\s\"'`]{{5,100}}){_Q}\s(?:as|for|als|comme|como)\s(?:(?:the|my|our|a|its"
        rf"|das) )?(?:\w+ )?{_CALLED}\b",
    ),
    SecretPattern(  # `Quartz!9 (password)`
        "line",
        _PASSWORDS,
        rf"(?<!\S){_Q}(?P<value>[^\s\"'`()]{{6,100}}){_Q} \((?:the |our |my |das )?(?:\w{{1,20}} ){{0,2}}{_CALLED}\b",
    ),
    SecretPattern(
        "mixed",
        _PASSWORDS,
        rf"\b{_CALLED}(?! (?:column|field|policy|length|hash\w*|type"
        rf"|format)\b)(?: [\w./-]{{1,30}}){{1,4}}? (?:est|es|è|é|is|ist|lautet"
        rf"|was) {_Q}(?P<value>[^\s\"'`]{{6,100}})",
    ),
    SecretPattern(
        "beside",
        _PASSWORDS,
        rf"\b{_CALLED}\s(?P<value>[^\s\"'`,;()<>:=]{{6,100}}?)[.,;]?(?=\n|$|[,;)\]]| (?:and|until|for|but|on|in"
        rf"|or|then|to)\b)",
    ),
    SecretPattern(
        "signed",
        ("@",),
        r"[\w+-][\w.+-]{0,60}@[\w-]{1,40}(?:\.[\w-]{1,20}){1,3}\s{1,2}(?:with|mit|and|/"
        r"|\|)\s{1,2}(?P<value>[^\s\"'`]{8,100})",
    ),
    SecretPattern(
        "phrase",
        ("passphrase",),
        rf"\bpassphrase\s{{0,2}}(?:[:=]"
        rf"|is)\s{{0,2}}{_Q}(?P<value>[a-z]{{3,9}}(?:[ -][a-z0-9]{{1,9}}){{3,7}}){_Q}(?=\s*(?:$|\n|[.,]))",
    ),
    SecretPattern(
        "session",
        ("session", "cookie", "sid="),
        r"\b(?:session|cookie|sid|\w{0,12}sess(?:ion)?_?id)\b[ \w]{0,12}?[\w.-]{0,20}=(?P<value>[^\s\"';]{16,400})",
    ),
)
_NO_SECRET = re.compile(
    r"(?:argon2\w*|sha-?\d+|md5|base-?\d+|utf-?\d+|pbkdf2|oauth-?2?(?:\.\d)?|http/?\d?|v?\d+(?:\.\d+)*"
    r"|[a-z]+_[a-z_\d]+|[a-z]+(?:\.[a-z]\w*)+(?:\(\))?|rs\d+|hs\d+|es\d+"
    r"|ed25519|x509|[a-z]+/[\w./-]+|[~.]?/[\w./-]*|[a-z]+:\S*|\d+(?:st|nd|rd|th|s|ms|min|h|d)"
    r"|[a-z]+-\d+(?:\.\d+)*|1password|step\d|[a-z]+\d?=\S*"
    r"|--?[a-z]\S*|@\S+|\$\w+|%\w+%?)",
    re.IGNORECASE,
)


_ARGUMENTS = ("argument", "capital", "sure")


def secrets_after_cues_in(text: str, lower: str) -> Iterator[Span]:
    """Yield the secrets that the words or the program before them give away; `lower` is in lower case."""
    for place in (*ARGUMENT_PATTERNS, *_PHRASES):
        if not any(needle in lower for needle in place.needles):
            continue
        for found in place.compiled.finditer(lower):
            if place.kind == "capital" and (flag := text[slice(*found.span("flag"))]) != flag.upper():
                continue
            group = next(name for name, value in found.groupdict().items() if name != "flag" and value is not None)
            first, last = found.span(group)
            value = text[first:last] if place.kind in _ARGUMENTS else text[first:last].rstrip(".,;:")
            if _is_spoken_secret(place.kind, value):
                yield Span(first, first + len(value), "password")


def _is_spoken_secret(kind: str, value: str) -> bool:
    if kind == "number":
        return len(set(value)) > 1
    if is_placeholder(value) or (value.startswith(("$", "%", "-")) and kind in _ARGUMENTS):
        return False
    digit, letter = has_digit(value), value.upper() != value.lower()
    match kind:
        case "argument" | "capital":
            return not value.isdigit() and (digit or classes_of(value) >= 2) and not _NO_SECRET.fullmatch(value)
        case "login":
            return digit and letter and not _NO_SECRET.fullmatch(value)
        case "sure":
            return True
        case "network":
            return digit or classes_of(value) >= 3
        case "spaced":
            return sum(has_digit(group) and not group.isdigit() for group in value.split()) > 1
        case "grouped":
            return bool(four_groups(value, 0))
        case "group":
            return digit
        case "lettered":
            return True
        case "base32":
            return digit and (value.isupper() or " " in value)
        case "phrase":
            return is_passphrase(value)
        case "session":
            return looks_random(value, 16) or (is_hex(value) and len(value) >= 24)
        case "signed":
            return digit and classes_of(value) >= 4
        case _:
            return _is_mixed(kind, value, digit=digit, letter=letter)


def _is_mixed(kind: str, value: str, *, digit: bool, letter: bool) -> bool:
    """Return whether a value near the word is a secret, not a method, a version, a file or a setting."""
    if not (digit and letter) or _NO_SECRET.fullmatch(value) or (is_hex(value) and len(value) < 20):
        return False
    if kind == "line":
        return classes_of(value) >= 3 or looks_random(value, 16)
    return True
