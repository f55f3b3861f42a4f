"""Wordings around a secret: the word before it, brackets, the line above, a sentence that says what it opens.

Each pattern names the words it cannot do without, and how much the value must look like a secret
(`positional_secrets`).
"""

from reverie.guard.secret_shapes import SecretPattern

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
_NOT_ITSELF = (
    r"(?!s?[ -](?:polic\w+|length|manager|hash\w*|reset|field|rules?|storage|algorithm|format|type|encoding|scheme"
    r"|expir\w*|file|store|generator|prompt|column)\b)"
)
"""Not followed by what a text has that is about passwords, not of one."""
_LINE_END = r"[ \t]*(?=\n|$)"
_ACCOUNT = r"root|sa|admin|administrator|guest|demo|tester|postgres|deploy(?:er)?|[a-z]{1,12}[-_]?(?:admin|user|bot)"

PHRASES = (
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
        r"|garage|vault|shed|cellar|basement|cabinet|drawer|warehouse|apartment|house|gym|lift"
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
        r"|works|and|or|on|at|when|if|gilt|is|expires|valid)\b|\s+\())",
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
        r"|(?:\w{1,20} )?passcode|(?:tür|tresor|tor|garagen|haus|alarm|schließfach|entsperr)-?code|zugangs-?code"
        r"|sicherheits-?code|bestätigungs-?code"
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
    # -- what a sixth list of secrets showed to be missing
    SecretPattern(  # `login: ops` and on the next line `pass: …`
        "labelled",
        ("user", "login", "account", "ssid", "benutzer"),
        r"\b(?:user(?: ?name)?|logins?|account|ssid"
        r"|benutzer(?:name)?)[ \t]{0,4}[:=]?[ \t]{1,4}[\w.@+-]{2,60}[ \t]{0,4}"
        rf"\n[ \t*-]{{0,12}}(?:pass|pw|psk|key|pin|secret|{_CALLED})[ \t]{{0,4}}[:=][ \t]{{0,4}}{_Q}"
        rf"(?P<value>[^\s\"'`]{{5,100}}){_Q}{_LINE_END}",
    ),
    SecretPattern(  # the word alone on its line
        "labelled",
        ("key", "psk", "pass", "secret", "pw"),
        r"(?:^|\n)[ \t*-]{0,12}(?:(?:api|access|wi-?fi|shared|app) )?(?:key|psk|pass|pw"
        r"|secret)[ \t]{0,4}:?[ \t]{0,4}\n"
        rf"[ \t*-]{{0,12}}{_Q}(?P<value>[^\s\"'`]{{6,200}}){_Q}{_LINE_END}",
    ),
    SecretPattern(
        "phrase",
        ("psk", "passphrase", "wpa"),
        r"(?:^|\n)[ \t*-]{0,12}(?:psk|passphrase|wpa[23]?(?: key)?)[ \t]{0,4}:?[ \t]{0,4}\n"
        rf"[ \t*-]{{0,12}}{_Q}(?P<value>[a-z]{{3,9}}(?:[ -][a-z0-9]{{1,9}}){{3,7}}){_Q}{_LINE_END}",
    ),
    SecretPattern(  # a place to log in, a name, and the password each on a line
        "signed",
        ("vpn", "admin", "panel", "portal", "console", "dashboard", "router", "nas", "zugang", "server", "wifi"),
        r"\b(?:vpn|admin|panel|portal|console|dashboard|router|nas|zugang|server|wi-?fi)\b[^\n]{0,60}\n[ \t*-]{0,12}"
        rf"[\w.@+-]{{2,60}}[ \t]{{0,4}}\n[ \t*-]{{0,12}}(?P<value>[^\s\"'`:/]{{8,100}}){_LINE_END}",
    ),
    SecretPattern(  # codes of a thing that is named between the word and the value
        "group",
        ("code", "key", "schlüssel"),
        r"\b(?:recovery|backup|licen[sc]e|unlock|emergency|wiederherstellungs|bitlocker)[ -]?(?:codes?|keys?"
        r"|schlüssel)"
        r"(?: (?:for|of|on|für) [^:\n]{1,40}?| ?\([^()\n]{1,40}\))\s?[:=]\s{0,3}"
        r"(?P<value>[a-z0-9]{3,8}(?:-[a-z0-9]{3,8}){1,8})\b",
    ),
    SecretPattern(
        "number",
        ("backup", "recovery", "rescue", "2fa"),
        r"\b(?:recovery|backup|rescue|2fa)[ -](?:codes?|keys?|passphrase|pins?)(?: for [^:\n]{1,40}?"
        r"| ?\([^()\n]{1,40}\))?"
        r"(?:\s?[:=]\s{0,3}| is | are | )(?P<value>\d{4,6}(?: \d{4,6}){1,11})(?![\w.])",
    ),
    SecretPattern(
        "base32",
        ("totp", "2fa", "otp", "mfa", "authenticator"),
        r"\b(?:totp|2fa|otp|mfa|authenticator) (?:secret|seed|key) (?:for|of) [^:.\n]{1,40}?(?:[:=]| is)\s{0,3}"
        r"(?P<value>[a-z2-7]{16,64}|[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,15})\b",
    ),
    SecretPattern(  # the words of a wallet
        "words",
        ("words",),
        r"\b(?:12|15|18|24|twelve|eighteen|twenty-four)[ -]words?\b[^\n:.]{0,30}?(?:\bare|\bis|:)\s{1,3}"
        r"(?P<value>[a-z]{3,8}(?:,? [a-z]{3,8}){11,23})(?![\w-])",
    ),
    SecretPattern(
        "phrase",
        ("passphrase",),
        r"\bpassphrase\s{1,3}(?:of )?[\"'`“‘](?P<value>[a-z]{3,9}(?:[ -][a-z0-9]{1,9}){3,7})[\"'`”’]",
    ),
    SecretPattern(
        "phrase",
        ("--passphrase",),
        r"--passphrase[ =](?P<value>[a-z]{3,9}(?: [a-z]{3,9}){2,6})(?= -|\n|$)",
    ),
    SecretPattern(  # codes of doors and alarms, with the place between
        "number",
        ("code", "código", "codice"),
        r"\b(?:(?:alarm|door|gate|access|entry|garage|safe|key ?box)[ -]?code (?:at|in|of|for|to|on) [^:.,\n]{1,40}?"
        r"|(?:code|código|codice)(?: [\w'’-]{1,20}){0,3}? ?(?:schlüssel\w*|tür\w*|tor\b|alarm\w*|garage\w*"
        r"|tresor\w*|aufzug"
        r"|immeuble|porte|portail|entrée|d'entrée|coffre|puerta|portón|porta|portone|cancello|deur|kluis|door"
        r"|gate|safe"
        r"|lockbox|building)(?: [\w'’-]{1,20}){0,3}?)\s{0,2}(?:is|ist|est|es|è|lautet|[:=])?\s{1,2}"
        r"(?P<value>\d{4,8}#?|\d{1,4}[a-f]\d{1,4})(?!\w)(?!\s+(?:digits?|ms|times|lines?|errors?|\w+s\b))",
    ),
    SecretPattern(
        "number",
        ("unlock", "opens", "entsperr", "déverrouill", "disarm"),
        r"\b(?:unlocks?|unlocked|opens|entsperrt?|déverrouille|disarms?|disarmed) (?:it )?(?:with|by|mit|using|avec)"
        r" (?:the )?(?:code |pin )?(?P<value>\d{4,8}#?)(?=[.,;!)]?(?:\s|$))(?!\s+(?:tokens?|coins?|points?|\w+s\b))",
    ),
    SecretPattern(
        "number", ("screen lock",), r"\bscreen lock (?:code )?(?:is|[:=]) ?(?P<value>\d{4,8})(?=[.,;!)]?(?:\s|$))"
    ),
    SecretPattern(
        "phrase",
        ("disk", "drive", "volume", "luks", "backup"),
        r"\b(?:key|password) (?:for|of) (?:the )?(?:encrypted )?(?:disk|drive|volume|luks \w{1,12}"
        r"|backups?) (?:is|was)"
        r" [\"'`“](?P<value>[a-z]{3,9}(?:[ -][a-z0-9]{1,9}){3,7})[\"'`”]",
    ),
    SecretPattern(  # a password of digits only
        "number",
        _PASSWORDS,
        rf"\b{_CALLED} ?(?:is|ist|est|es|è|lautet|[:=])\s{{1,2}}(?P<value>\d{{4,8}})(?=[.,;!)]?(?:\s*$|\n| (?:and"
        rf"|for|until|on)\b))",
    ),
    # in sentences
    SecretPattern(
        "line",
        _PASSWORDS,
        rf"\b(?:(?:re)?set|chang\w{{1,3}}|rotat\w{{1,3}}"
        rf"|updat\w{{1,3}})\b[^.\n]{{0,40}}?\b{_CALLED}\b{_NOT_ITSELF}[^.\n]{{0,40}}? to {_Q}"
        rf"(?P<value>[^\s\"'`]{{6,100}})",
    ),
    SecretPattern(
        "line",
        _PASSWORDS,
        rf"\b{_CALLED}\b{_NOT_ITSELF}[^.\n]{{0,30}}?\b(?:(?:re)?set|changed|rotated|updated)\b[^.\n]{{0,40}}? to {_Q}"
        rf"(?P<value>[^\s\"'`]{{6,100}})",
    ),
    SecretPattern(
        "line",
        _PASSWORDS,
        rf"\b(?:type|enter|typing|entering) {_Q}(?P<value>[^\s\"'`]{{6,100}}){_Q} (?:at|into|in|when|as"
        rf"|for)\b[^.\n]{{0,30}}?"
        rf"{_CALLED}\b",
    ),
    SecretPattern(
        "vendor",
        ("key is", "key was", "key:"),
        r"(?<!cache )(?<!primary )(?<!foreign )(?<!partition )(?<!object )(?<!sort )(?<!public )"
        r"(?<!host )(?<!routing )"
        rf"\bkey(?: is| was|:) {_Q}(?P<value>[a-z]{{2,10}}[-_][a-z0-9_-]{{12,100}})\b",
    ),
    SecretPattern(
        "mixed",
        ("community",),
        rf"\bcommunity(?: string)?(?: (?:for|of|on) [^:.\n]{{1,40}}?)?\s?(?:is"
        rf"|[:=])\s{{0,3}}{_Q}(?P<value>[^\s\"'`]{{5,60}})",
    ),
    SecretPattern(
        "signed",
        _SECRETS,
        rf"\b{_SECRET}\s?[:=]?\s?\{{{_Q}(?P<value>[^\s\"'`{{}}]{{6,100}}){_Q}\}}",
    ),
    SecretPattern(
        "camel",
        ("pass",),
        r"(?P<flag>[a-z]{2,30}pass)[\"']?\s{0,3}[:=]\s{0,3}[\"'](?P<value>[^\s\"']{5,100})[\"']",
    ),
    SecretPattern("capital", ("pass=",), r"\b(?P<flag>[a-z][a-z0-9_]{1,40}pass)=(?P<value>[^\s\"'`;$]{5,100})"),
    # -- what an eighth list of secrets showed to be missing
    SecretPattern(  # other verbs than "is": `le mot de passe reste …`, `das Passwort sei …`, `hasło do panelu to …`
        "line",
        (*_PASSWORDS, "hasło", "haslo", "lösenord", "heslo", "jelszó"),
        rf"\b(?:{_CALLED}|hasło|haslo|lösenord|heslo|jelszó)\b{_NOT_ITSELF}(?: [\w./-]{{1,30}}){{0,4}}?"
        rf" (?:reads|remains|stays|became|sei|bleibt|wurde|reste|resta|queda|sigue|fica|to|jest|brzmi|är|je) {_Q}"
        r"(?P<value>[^\s\"'`]{6,100})",
    ),
    SecretPattern(
        "phrase",
        ("passphrase",),
        rf"\bpassphrase(?: (?:of|for|on) [^:.,\n]{{1,40}}?)? (?:reads|is|remains|was|stays) {_Q}"
        r"(?P<value>[a-z]{3,9}(?:[ -][a-z0-9]{1,9}){3,7})(?=[\"'`]?(?:[.,;]|\s*(?:\n|$)))",
    ),
    SecretPattern(  # `log in as demo with …`, `admin goes with …`
        "paired",
        ("log in", "login", "logged in", "logon", "sign in", "signed in", "goes with", "gets in", "comes in"),
        r"\b(?:(?:log|sign)(?:ged|s|ed)? ?[io]n\b[^.\n]{0,40}?\b(?:as|with|by) [\"'`]?[\w.@+-]{2,60}[\"'`]?"
        rf"|(?:{_ACCOUNT}) (?:goes|gets in|comes in)),? (?:with|and|using|mit|und) {_Q}(?P<value>[^\s\"'`]{{6,100}})",
    ),
    SecretPattern(  # `set the wifi in the meeting room to …`
        "signed",
        ("wifi", "wi-fi", "wlan", "hotspot"),
        r"\b(?:set|changed|reset|rotated|switched)\b[^.\n]{0,30}?\b(?:wi-?fi|wlan|hotspot)\b[^.\n]{0,40}? to "
        rf"{_Q}(?P<value>[^\s\"'`]{{8,63}})",
    ),
    SecretPattern(  # a name for the network, and on a line below its key without a colon
        "labelled",
        ("wifi", "wi-fi", "wlan", "ssid"),
        r"\b(?:wi-?fi|wlan|ssid)\b[^\n]{0,40}\n(?:[^\n]{1,60}\n)?[ \t*-]{0,12}"
        rf"(?:schlüssel|key|pass|pw|psk|code|clé|chiave|{_CALLED})\s?[:=]?[ \t]{{1,4}}{_Q}"
        rf"(?P<value>[^\s\"'`]{{8,63}}){_Q}{_LINE_END}",
    ),
    SecretPattern(  # `creds → deploy:…`, `Zugang Testsystem: tester / …`, `credentials for the drop: bot and then …`
        "paired",
        ("cred", "login", "log-in", "zugang", "identifiants", "acceso", "доступ"),
        r"\b(?:cred(?:s|entials?)?|log-?ins?|zugang(?:sdaten)?|identifiants|acceso|доступ)\b[^\n:=→]{0,40}"
        rf"(?:[:=→]|->)[ \t]{{0,3}}{_Q}[\w.@+-]{{2,40}}{_Q}"
        rf"(?:\s?[/:,|]\s?|,? (?:and|und|et|y|then|и)(?: then)? ){_Q}(?P<value>[^\s\"'`()]{{6,100}})",
    ),
    SecretPattern(  # `phpMyAdmin (root, …)`
        "paired",
        ("(",),
        rf"\((?:{_ACCOUNT})\s?[,/:|]\s?{_Q}(?P<value>[^\s\"'`()]{{6,100}}){_Q}\)",
    ),
    SecretPattern(  # a heading, an account and its password, as a list
        "paired",
        ("- ", "* "),
        rf":[ \t]{{0,4}}\n[ \t]{{0,8}}[*-] (?:user(?:name)?: )?(?:{_ACCOUNT})[ \t]{{0,4}}\n[ \t]{{0,8}}[*-] {_Q}"
        rf"(?P<value>[^\s\"'`:]{{8,100}}){_Q}{_LINE_END}",
    ),
    SecretPattern(  # `basic:` and below it `- "ops:…"`
        "paired",
        ("basic", "htpasswd", "basicauth"),
        r"\b(?:basic(?:[_-]?auth)?|htpasswd)[\"']?\s?[:=][ \t]{0,4}(?:\n[ \t]{0,16}-?[ \t]{0,4})?\[?"
        r"[\"'][\w.@+-]{2,40}:(?P<value>[^\s\"']{5,100})[\"']",
    ),
    SecretPattern("labelled", ("pass {",), r"\bpass \{(?P<value>[^\s\"'`{}]{6,100})\}"),
    SecretPattern(  # what was typed when a program asked
        "paired",
        ("prompt",),
        rf"prompt\b[^\n]{{0,40}}?\b(?:entered|typed|answered|gave)(?: it)?:? {_Q}(?P<value>[^\s\"'`]{{6,100}})",
    ),
    SecretPattern(
        "session",
        ("key", "token"),
        r"(?<![\w/.-])(?P<value>[a-z0-9_-]{16,100})[\"'`]? as (?:the |its |an? |our |my )?(?:api|access|auth|secret"
        r"|bearer)[ _-]?(?:key|token)\b",
    ),
    SecretPattern(  # numbers that open: `to unlock the safe enter …`, `the alarm panel takes … as its code`
        "number",
        ("unlock", "disarm", "open"),
        r"\b(?:unlock|disarm|open the (?:[\w-]{1,20} ){0,2}?(?:safe|door|gate|lock|locker|vault|cabinet|lockbox))\b"
        r"[^.\n]{0,50}?\b(?:enter|type|dial|press|key in|punch in) (?:the )?(?:code |pin )?"
        r"(?P<value>\d{4,8}#?|\d{1,2}(?:-\d{1,2}){2,3})(?=[.,;!)]?(?:\s|$))(?!\s+\w+s\b)",
    ),
    SecretPattern(
        "number",
        ("code", "pin"),
        r"\b(?:alarm|door|gate|safe|panel|keypad|lock|locker|garage|kiosk|intercom)\b[^.\n]{0,30}? "
        r"(?P<value>\d{4,8}#?) as (?:its|the|our) (?:code|pin)\b",
    ),
    SecretPattern(
        "number",
        ("code",),
        r"\b(?:tablet|kiosk|ipad|handset|locker|keypad|alarm|door|gate|safe|garage)\b[^.\n:]{0,20}[:,] (?:the )?code"
        r"(?: is|:)? (?P<value>\d{4,8}#?)(?=[.,;!)]?(?:\s|$))(?!\s+\w+s\b)"
        r"|\bcode [(\[][^()\[\]\n]{0,20}(?:door|gate|safe|alarm|garage|locker|kiosk)[^()\[\]\n]{0,20}[)\]]"
        r"(?: is|:)? (?P<other>\d{4,8}#?)(?=[.,;!)]?(?:\s|$))",
    ),
)
