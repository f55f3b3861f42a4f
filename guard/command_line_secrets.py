"""Passwords on command lines: arguments of programs that are known to take one."""

import re
from collections.abc import Iterator
from functools import cache

from reverie.guard.secret_shapes import SecretPattern, Span, is_placeholder

_PROGRAMS = (
    *("curl ", "wget ", "xh ", "mysql", "mariadb ", "mongo", "sshpass", "docker ", "podman ", "helm ", "az ", "oc "),
    *("redis-cli ", "ldap", "jdbc:oracle", "sqlplus", "sudo -S"),
)


@cache
def _command_line() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:curl|wget|xh)\b[^\n]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,60}:(?P<curl>[^\s\"']{3,200})"
        r"|\b(?:mysql|mysqldump|mariadb|mysqladmin|mongo|mongosh)\b[^\n]{0,300}?\s-p(?P<mysql>[^\s\"']{4,200})"
        r"|\bsshpass\s+-p\s*[\"']?(?P<sshpass>[^\s\"']{3,200})"
        r"|\b(?:(?:docker|podman|helm|az|oc)\b[^\n]{0,100}?\blogin\b[^\n]{0,200}?\s(?:-p|--pass)"
        r"|redis-cli\b[^\n]{0,300}?"
        r"\s(?:-a|--pass)|ldap\w{3,8}\b[^\n]{0,300}?\s-w)[ =][\"']?"
        r"(?P<login>[^\s\"']{6,200})"
        r"|\bjdbc:oracle:\w+:\w+/(?P<oracle>[^\s\"'@]{3,100})@"
        r"|\bsqlplus\s+(?:-\w\s+)?\w+/(?P<sqlplus>[^\s\"'@]{3,100})@"
        r"|\becho\s+[\"']?(?P<sudo>[^\s\"'|]{4,100})[\"']?\s*\|\s*sudo\s+-S\b"
    )


def command_line_secrets_in(text: str) -> Iterator[Span]:
    """Yield the passwords that are arguments of well-known programs."""
    if not any(program in text for program in _PROGRAMS):
        return
    for found in _command_line().finditer(text):
        for name, value in found.groupdict().items():
            if value is not None and not is_placeholder(value):
                yield Span(*found.span(name), "password")


_Q = r"[\"'`]?"
_ARGUMENT = r"(?P<value>[^\s\"'`|;&<>-][^\s\"'`|;&<>]{3,100})"
_QUOTED_OR_NOT = r"(?:[\"'](?P<value>[^\"'\n]{3,100})[\"']|(?P<bare>[^\s\"'`|;&<>-][^\s\"'`|;&<>]{3,100}))"

ARGUMENT_PATTERNS = (
    SecretPattern("argument", ("openssl",), rf"\bopenssl\b[^\n]{{0,200}}?\s-k\s+{_Q}{_ARGUMENT}"),
    SecretPattern(
        "argument",
        ("htpasswd",),
        r"\bhtpasswd\s+(?:-[a-z]{1,8}\s+){0,3}?-[a-z]{0,6}b[a-z]{0,6}\s+(?:-[a-z]{1,8}\s+){0,3}"
        r"(?:[^\s\"'-][^\s\"']{0,80}\s+){1,2}[\"']?(?P<value>[^\s\"']{4,100})[\"']?[ \t]*(?=\n|$|[|&>])",
    ),
    SecretPattern(
        "argument",
        ("smbclient", "rpcclient", "smbmap"),
        rf"\s-u\s{{0,2}}{_Q}[^\s%\"']{{1,60}}%(?P<value>[^\s\"']{{3,100}})",
    ),
    SecretPattern(
        "argument",
        ("mongo", "sqlcmd", "bcp ", "isql", "useradd", "usermod"),
        rf"\b(?:mongo(?:sh|dump|restore|import|export)?|sqlcmd|bcp|isql|useradd"
        rf"|usermod)\b[^\n]{{0,200}}?\s-p\s+{_QUOTED_OR_NOT}",
    ),
    SecretPattern(
        "argument",
        ("mysql", "mariadb"),
        r"\b(?:mysql|mariadb)\w{0,10}\b[^\n]{0,200}?\s-p[\"'](?P<value>[^\"'\n]{3,100})[\"']",
    ),
    SecretPattern("capital", ("zip ",), rf"\b(?:un)?zip\b[^\n]{{0,100}}?\s(?P<flag>-p)\s*{_QUOTED_OR_NOT}"),
    SecretPattern("argument", ("7z", "rar "), rf"\b(?:7za?|rar|unrar)\s[^\n]{{0,100}}?\s-h?p{_QUOTED_OR_NOT}"),
    SecretPattern(
        "argument", ("ssh-keygen",), r"\bssh-keygen\b[^\n]{0,200}?\s-[np]\s+[\"'](?P<value>[^\"'\n]{4,100})[\"']"
    ),
    SecretPattern(
        "argument",
        ("echo ", "printf "),
        r"\b(?:echo|printf)\s+(?:-n\s+)?[\"']?(?:[\w.-]{1,40}:(?=[^|\n]{3,100}\|\s{0,4}(?:sudo\s+)?chpasswd))?"
        r"(?P<value>[^\s\"'|\n][^\"'|\n]{3,100}?)[\"']?\s{0,4}\|\s{0,4}(?:(?:sudo\s+)?chpasswd|(?:docker"
        r"|podman|helm|oc|az)"
        r"[^\n|]{0,60}login|sudo\s+-s|gpg|kinit|cryptsetup|passwd|gh\s+auth)\b",
    ),
    SecretPattern(
        "login",
        ("login ", "authtoken ", "auth "),
        r"\b(?:vault|doppler|heroku|railway|fly|snyk|ngrok|npm|wandb|huggingface-cli|sentry-cli|oc|argocd)\s+"
        r"(?:config\s+)?(?:login|authtoken|auth"
        r"|add-authtoken)\s+(?:--\w+[ =])?(?P<value>[a-z0-9._-]{12,200})(?![^\s\"'`])",
    ),
    SecretPattern(
        "argument",
        ("freerdp", "mstsc", "rdesktop"),
        rf"\b\w?freerdp\b[^\n]{{0,200}}?\s/p:{_QUOTED_OR_NOT}"
        rf"|\brdesktop\b[^\n]{{0,200}}?\s-p\s+{_ARGUMENT.replace('value', 'desktop')}",
    ),
    SecretPattern(
        "argument", ("storepass", "keypass"), rf"-(?:src|dest)?(?:store|key)pass(?::\w+)?\s+{_QUOTED_OR_NOT}"
    ),
    SecretPattern(
        "argument",
        ("http ", "https ", "xh ", "httpie"),
        rf"\b(?:https?|xh|httpie)\s[^\n]{{0,100}}?(?:-a"
        rf"|--auth)[ =]{_Q}[^\s:\"']{{1,60}}:(?P<value>[^\s\"']{{3,100}})",
    ),
    SecretPattern(
        "sure",
        ("rabbitmqctl", "encrypt_string", "wpa_passphrase", "chpasswd"),
        rf"\b(?:rabbitmqctl\s+(?:-\S+\s+){{0,4}}(?:add_user|change_password|authenticate_user)\s+\S{{1,60}}"
        rf"|ansible-vault\s+encrypt_string(?:\s+--?[a-z]\S*(?:\s+[^\s'\"-]\S*)?){{0,4}}"
        rf"|wpa_passphrase\s+\S{{1,60}})\s+"
        rf"{_QUOTED_OR_NOT}"
        r"|\becho\s+(?:-\w\s+)?[\"']?[\w.-]{1,40}:(?P<piped>[^\s\"'"
        r"|]{3,100})[\"']?\s{0,4}\|\s{0,4}(?:sudo\s+)?chpasswd",
    ),
    SecretPattern(
        "argument",
        ("rclone", "requirepass", "masterauth"),
        rf"\b(?:rclone\s+(?:config\s+\w+\b[^\n]{{0,160}}?\spass|obscure)|requirepass|masterauth)\s+{_QUOTED_OR_NOT}",
    ),
    SecretPattern(
        "session",
        ("curl", "wget", "http"),
        r"\b(?:curl|https?)\s[^\n]{0,200}?\s(?:-b|--cookie)[ =][\"']?[\w.-]{1,40}=(?P<value>[^\s\"';]{16,400})",
    ),
    SecretPattern(
        "argument",
        ("<<<",),
        r"(?:\b(?:cryptsetup|passwd|sudo\s+-s|kinit|gpg|su|chpasswd)|--password-stdin)\b[^\n<]{0,120}<<<\s{0,2}"
        rf"{_QUOTED_OR_NOT}",
    ),
    SecretPattern(
        "argument",
        ("snmp",),
        rf"\bsnmp\w{{2,12}}\b[^\n]{{0,120}}?\s-[cax]\s+{_QUOTED_OR_NOT}",
    ),
    SecretPattern(
        "argument",
        (
            "psexec",
            "cqlsh",
            "influx",
            "clickhouse",
            "impala",
            "lftp",
            "sftp",
            "vncviewer",
            "ipmitool",
            "mosquitto",
            "tsql",
        ),
        rf"\b(?:psexec|cqlsh|influx|clickhouse-client|impala-shell|ipmitool|mosquitto_\w+"
        rf"|tsql)\b[^\n]{{0,160}}?\s-p\s*"
        rf"{_QUOTED_OR_NOT}"
        r"|\blftp\b[^\n]{0,80}?\s-u\s+[^\s,]{1,40},(?P<lftp>[^\s\"']{3,100})",
    ),
    SecretPattern(
        "argument",
        ("plink", "pscp", "psftp", "add-generic-password", "add-internet-password", "cmdkey", "pdftk"),
        rf"\b(?:(?:plink|pscp|psftp)\b[^\n]{{0,160}}?\s-pw|add-(?:generic|internet)-password\b[^\n]{{0,160}}?\s-w"
        rf"|pdftk\b[^\n]{{0,160}}?\b(?:user|owner|input)_pw)\s+{_QUOTED_OR_NOT}"
        r"|\bcmdkey\b[^\n]{0,160}?/pass:(?P<cmdkey>[^\s\"']{3,100})",
    ),
    SecretPattern(  # any program with a flag of one dash, as Java's and Go's have
        "argument",
        (" -pass", " -pw", " -secret", " -token"),
        rf"\s-(?:passw(?:or)?d|passphrase|pass|pwd|secret|token)(?:=|[ \t]+){_QUOTED_OR_NOT}",
    ),
    SecretPattern(
        "argument",
        ("<(echo", "<(printf", "<( echo"),
        r"pass[^\n]{0,40}<\(\s?(?:echo|printf)\s+(?:-n\s+)?[\"']?(?P<value>[^\s\"'()]{4,100})[\"']?\s?\)",
    ),
    SecretPattern(
        "argument",
        ("net use",),
        r"\bnet use\s+\S{1,20}\s+\\\\\S{1,100}\s+(?P<value>[^\s/\"'*][^\s\"']{3,100})\s+/user:",
    ),
    SecretPattern(  # any program that is given a user and a password
        "login",
        (" -p ", " -p\t", "send"),
        r"\s-u\s+[^\s-]\S{0,60}\s(?:[^\n]{0,80}?\s)?-p\s+[\"']?(?P<value>[^\s\"'/:-][^\s\"'/:]{5,100})"
        r"|\bsend\s+(?:--\s+)?\\?[\"'](?P<sent>[^\s\"'\\]{6,100})\\[rn]",
    ),
    SecretPattern(
        "capital",
        ("env ", "arg "),
        r"(?<![\w-])(?P<flag>env|arg)[ \t]+\w{0,40}(?:pass(?:word|wd)?|pwd|secret|token|api_?key)[ \t]+"
        rf"{_QUOTED_OR_NOT}",
    ),
    SecretPattern(
        "argument",
        ("setx ", "config set", "configure set", "config:set", "secret set"),
        r"\b(?:setx|(?:config(?:ure)?|secrets?)[ :]set)(?:\s+/m)?\s+[\w./:@-]{0,60}"
        r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|secret_access_key)(?:[ \t]+(?:--(?:body|value)[ =])?|=)"
        rf"{_QUOTED_OR_NOT}",
    ),
)
"""Each kind says how much the value must look like a secret (`positional_secrets`)."""
