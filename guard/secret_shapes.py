"""Secrets that show by their own form: vendors' tokens, random strings, key blocks, addresses and headers.

Also what looks like a secret and is none: words, identifiers, hashes and placeholders.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Span:
    """A labelled span of a text."""

    start: int
    end: int
    kind: str


def lowered(text: str) -> str:
    """Return a text in lower case with every character at its old index.

    A few capitals are lowered to two characters, after which every place would be off; those stay.
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := c.lower()) == 1 else c for c in text)


_RUN = re.compile(r"[A-Za-z0-9_\-.:/~=+$!%@?&;]{16,}")


@dataclass(frozen=True, slots=True)
class Runs:
    """The long runs of a text, one per line, and where each begins in the text."""

    text: str
    _starts: list[int]
    _origins: list[int]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the text of a part of a run."""
        number = bisect_right(self._starts, start) - 1
        shift = self._origins[number] - self._starts[number]
        return start + shift, end + shift


def runs_of(text: str) -> Runs:
    """Collect the runs of a text that are long enough to hold a token."""
    parts: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    length = 0
    for run in _RUN.finditer(text):
        parts.append(run[0])
        starts.append(length)
        origins.append(run.start())
        length += len(run[0]) + 1
    return Runs("\n".join(parts), starts, origins)


_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?[0-9a-f]+", re.IGNORECASE)
_DIGEST = re.compile(r"(?:sha-?(?:1|224|256|384|512)|md5|blake[23][bs]?|crc32|h1|g1)[-:=]", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"[<>]|\{\{|\{[\w.,()\[\]\"' |-]{0,60}\}|\$[({]|(?<!\w)\$[A-Z_][A-Z0-9_]*(?!\w)"
    r"|%\(\w{1,60}\)|%(?:[A-Z_][A-Z0-9_]{0,60}|[a-z_]{1,60})%|\.\.\.|…|\*{3}|•{3}|\[redacted|#\{"
)
_REFERENCE = re.compile(r"(?<!\w)\$[a-z_][a-z0-9_]*(?!\w)")
_MASK = re.compile(r"(.)\1*|[xX*.•_#-]{4,}|[0-9]{1,5}")
_STAND_IN = re.compile(
    r"your[-_ ]?\w*|(?:my|the|some|an?)[-_ ](?:\w+[-_ ])*(?:key|token|secret|password|pass|value)|change[-_]?me\w*"
    r"|change[-_]this\w*|replace[-_]?(?:me|with|this)\w*|insert[-_]\w*|enter[-_]\w*|put[-_]\w*|todo|tbd|fixme"
    r"|dummy\w*"
    r"|fake\w*|mock\w*|foo(?:bar)?|bar|baz|sample\w*|example\w*|placeholder\w*|redacted|hidden|masked|removed|none"
    r"|null|nil|undefined|true|false|yes|no|empty|string|text|str|bytes|int|optional|required|any|unknown|default"
    r"|pass(?:word|wd|phrase|code)?s?|pwd|secrets?|tokens?|api[-_]?keys?|keys?|credentials?|user(?:name)?|login"
    r"|auth|basic|bearer|abc(?:123|def)?|(?:test|dev|demo|local)[-_]?(?:key|token|secret|password|pass)?|x{3,}\w*"
    r"|\w*(?:_|-)(?:here|placeholder|goes[-_]here)",
    re.IGNORECASE,
)
_ANY_DIGIT = re.compile(r"\d")
_LONGEST_STAND_IN = 64
_EVERY_CLASS = 4
_MIXED_FROM = 20
_SHORT_PIECES = 2.8
_SHORTER_WITHOUT_DIGITS = 2.4
"""Characters of a random string stand in runs of this length at most: `kJ8fQ2` in six, `getUserById` in four."""


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder for a secret: a template, a mask, an example."""
    bare = value.strip("\"'`()[],;. ")
    if not bare or _TEMPLATE.search(value) or _MASK.fullmatch(bare):
        return True
    if _REFERENCE.search(value) and classes_of(value) < _EVERY_CLASS:  # `$umm3r-Rain` is no variable
        return True
    return len(bare) <= _LONGEST_STAND_IN and bool(_STAND_IN.fullmatch(bare) or "example" in bare)


def is_mask(token: str) -> bool:
    """Return whether a token only has the shape of one: `ghp_xxxxxxxx`, `AKIA0000000000000000`, `sk-your-key`."""
    tail = token[-16:]
    return max(map(tail.count, tail)) > len(tail) // 2 or "your" in token.lower()


def is_uuid(value: str) -> bool:
    """Return whether a value is a UUID."""
    return _UUID.fullmatch(value) is not None


def is_hex(value: str) -> bool:
    """Return whether a value is plain hexadecimal, as hashes and commit ids are."""
    return _HEX.fullmatch(value) is not None


def is_digest(value: str) -> bool:
    """Return whether a value calls itself a digest: `sha512-…`, `md5:…`."""
    return _DIGEST.match(value) is not None


def classes_of(value: str) -> int:
    """Count the kinds of characters: lower case, upper case, digits, signs."""
    return sum(
        (
            value != value.upper(),
            value != value.lower(),
            has_digit(value),
            bool(value) and not value.isalnum(),
        )
    )


def has_digit(value: str) -> bool:
    """Return whether there is a digit; one search instead of a call for each character."""
    return _ANY_DIGIT.search(value) is not None


def looks_random(value: str, shortest: int = _MIXED_FROM) -> bool:
    """Return whether letters and digits alternate too often for words."""
    dense = [piece for part in re.split(r"[-_./=+~:]", value) for piece in _PIECES.findall(part)]
    letters = sum(map(len, dense))
    if letters < shortest or not any(c.isalpha() for c in value):
        return False
    digits = any(c.isdigit() for c in value)
    return letters / len(dense) < (_SHORT_PIECES if digits else _SHORTER_WITHOUT_DIGITS)


_GROUPS = re.compile(r"[A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){3}")  # as mail providers print them
_WORDS = re.compile(r"[a-z]{3,9}(?:[ -][a-z]{3,9}){3,7}\d{0,4}")
_JOINED_GROUPS = re.compile(r"[a-z]{4}(?:-[a-z]{4}){3}")
_REST_IN_GROUPS = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}(?=[ \t.]*$)", re.MULTILINE)
_LISTED = """
    the this that these those your you our their its his her and but nor for from with without into onto about after
    before are was were will would shall should can could may might must has have had been being does did not never
    please enter type confirm repeat choose change changed reset forgot forgotten invalid wrong incorrect missing
    required optional new old current login user users username account email password passwords passwd passphrase
    secret secrets token tokens key keys hash hashed encrypted plain text field value values string set get use used
    uses using when where which who why how only one two at least than more less characters letters digits stored
    sent read written given found matches match expired
"""
_FEW_WORDS = 3
_OF_SENTENCES = frozenset(_LISTED.split())


def is_passphrase(value: str) -> bool:
    """Return whether a value with spaces is a password: four groups of four, or four words that make no sentence."""
    bare = value.strip()
    if _WORDS.fullmatch(bare):
        words = bare.replace("-", " ").split()
        return _OF_SENTENCES.isdisjoint(words) and not any(word.startswith(("pass", "kenn")) for word in words)
    return _GROUPS.fullmatch(bare) is not None and any(c.isdigit() for c in bare)


def is_spaced_password(value: str) -> bool:
    """Return whether a quoted value of two or three words is a password: one of them mixes letters and digits."""
    words = value.split()
    mixed = any(has_digit(word) and word.lower() != word.upper() for word in words)
    return len(words) <= _FEW_WORDS and mixed and _OF_SENTENCES.isdisjoint(value.lower().split())


def is_grouped(value: str) -> bool:
    """Return whether a value is four letters four times over, as Apple prints passwords: `abcd-efgh-ijkl-mnop`."""
    return _JOINED_GROUPS.fullmatch(value) is not None


def four_groups(text: str, start: int) -> str:
    """Return the four groups of four letters that make up the rest of a line, as Google prints passwords, if any."""
    found = _REST_IN_GROUPS.match(text, start)
    return found[0] if found and _OF_SENTENCES.isdisjoint(found[0].split()) else ""


# -- tokens of vendors, and the generic pattern: a short prefix, then a long random tail --------------------

_B62 = "[A-Za-z0-9]"
_URLSAFE = "[A-Za-z0-9_-]"
_B64 = "[A-Za-z0-9+/]"
_HEX_DIGIT = "[0-9a-f]"
_ANY_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_BEFORE = r"(?<![A-Za-z0-9_])"
_AFTER = r"(?![A-Za-z0-9])"


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """One kind of secret: its pattern, and the words without which it does not occur."""

    kind: str
    needles: tuple[str, ...]
    pattern: str

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first needed."""
        return _compiled(self.pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _token(kind: str, needles: str, pattern: str) -> SecretPattern:
    """Return the pattern of a token that is a word of its own; needles are separated by spaces."""
    return SecretPattern(kind, tuple(needles.split()), f"{_BEFORE}(?:{pattern}){_AFTER}")


def _within(kind: str, needles: str, pattern: str) -> SecretPattern:
    """Return the pattern of a token that may be part of something longer, such as a URL."""
    return SecretPattern(kind, tuple(needles.split()), pattern)


SHAPES: tuple[SecretPattern, ...] = (
    # cloud
    _token("aws-access-key", "AKIA ASIA ABIA ACCA A3T", r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}"),
    _token("aws-bedrock-key", "ABSK", rf"ABSK{_B64}{{80,}}={{0,2}}"),
    _token("gcp-api-key", "AIza", rf"AIza{_URLSAFE}{{35}}"),
    _token("gcp-api-key", "AQ.Ab", rf"AQ\.Ab{_URLSAFE}{{30,}}"),
    _token("gcp-oauth-secret", "GOCSPX-", rf"GOCSPX-{_URLSAFE}{{20,}}"),
    _token("gcp-oauth-token", "ya29.", r"ya29\.[A-Za-z0-9_.-]{20,}"),
    _token("gcp-refresh-token", "1//0", rf"1//0{_URLSAFE}{{35,}}"),
    _token("azure-client-secret", "Q~", r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{30,36}"),
    _within("azure-storage-key", "AccountKey=", rf"(?<=AccountKey=){_B64}{{40,}}={{0,2}}"),
    _within("azure-function-key", "code=", rf"(?<=[?&]code=){_URLSAFE}{{40,}}={{0,2}}"),
    _within("azure-sas-signature", "sig=", r"(?<=[?&;]sig=)[A-Za-z0-9%+/]{30,}={0,2}"),
    _token("azure-devops-token", "AZDO", rf"{_B62}{{76}}AZDO{_B62}{{4}}"),
    _token("azure-api-key", "JQQJ99", rf"{_B62}{{40,60}}JQQJ99{_B62}{{20,40}}"),
    _token("alibaba-access-key", "LTAI", rf"LTAI{_B62}{{12,30}}"),
    _token("tencent-secret-id", "AKID", rf"AKID{_B62}{{32}}"),
    _token("digitalocean-token", "_v1_", rf"do[oprt]_v1_{_HEX_DIGIT}{{64}}"),
    _token("heroku-key", "HRKU-", rf"HRKU-{_URLSAFE}{{30,}}"),
    _token("cloudflare-key", "v1.0-", rf"v1\.0-{_HEX_DIGIT}{{24}}-{_HEX_DIGIT}{{100,}}"),
    _token("cloudflare-tunnel-token", "eyJhIjoi", rf"eyJhIjoi{_B64}{{100,}}={{0,2}}"),
    _token("fly-token", "fo1_ fm1 fm2_", rf"fo1_{_URLSAFE}{{40,}}|fm[12][ar]?_[A-Za-z0-9+/=]{{50,}}"),
    _token("vercel-token", "vercel_blob_rw_ vcp_ vci_ vca_ vck_", rf"(?:vercel_blob_rw|vc[pikar])_{_URLSAFE}{{20,}}"),
    _token("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", rf"nf[pcoubm]_{_B62}{{30,}}"),
    _token("supabase-key", "sbp_ sb_secret_ sbv_", rf"sb[pv]_(?:v0_)?{_HEX_DIGIT}{{40}}|sb_secret_{_URLSAFE}{{20,}}"),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    _token("databricks-token", "dapi dose", rf"(?:dapi|dose){_HEX_DIGIT}{{32}}(?:-\d)?"),
    _token("mongodb-secret", "mdb_sa_sk_", rf"mdb_sa_sk_{_URLSAFE}{{30,}}"),
    _token("render-key", "rnd_", rf"rnd_{_B62}{{28,}}"),
    _token("yandex-token", "y0_ AQVN", rf"y0_{_URLSAFE}{{50,}}|AQVN{_URLSAFE}{{35,}}"),
    _token("scaleway-key", "SCW", r"SCW[A-Z0-9]{17}"),
    # code and packages
    _token("reverie-token", "rvr_", rf"rvr_{_B62}{{43}}"),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{_B62}{{30,255}}"),
    _token("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glsoat- glffct- glimt- glagent- gloas- glft- glwt-",
        r"gl(?:pat|dt|rtr?|cbt|ptt|soat|ffct|imt|agent|oas|ft|wt)-[A-Za-z0-9_.=-]{20,}",
    ),
    _token("gitlab-token", "GR1348941", rf"GR1348941{_URLSAFE}{{20,}}"),
    _token("bitbucket-token", "ATBB BBDC-", rf"ATBB{_B62}{{24,}}|BBDC-{_B64}{{40,}}={{0,2}}"),
    _token("atlassian-token", "ATATT ATCTT ATSTT", r"AT[ACS]TT[A-Za-z0-9_=-]{40,}"),
    _token("npm-token", "npm_", rf"npm_{_B62}{{36,}}"),
    _token("pypi-token", "pypi-", rf"pypi-{_URLSAFE}{{50,}}"),
    _token("rubygems-key", "rubygems_", rf"rubygems_{_HEX_DIGIT}{{48}}"),
    _token("crates-token", "cio", rf"cio{_B62}{{32}}"),
    _token("nuget-key", "oy2", r"oy2[a-z0-9]{43}"),
    _token("clojars-token", "CLOJARS_", r"CLOJARS_[A-Za-z0-9]{50,}"),
    _token("docker-token", "dckr_", rf"dckr_(?:pat|oat)_{_URLSAFE}{{20,}}"),
    _token("jfrog-token", "AKCp cmVmd", rf"AKCp{_B62}{{50,}}|cmVmd{_B62}{{50,}}"),
    _token("sonar-token", "squ_ sqp_ sqa_", rf"sq[upa]_{_HEX_DIGIT}{{40}}"),
    _token("circleci-token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9_]{20,}"),
    _token("buildkite-token", "bkua_ bkat_ bkct_", rf"bk(?:ua|at|ct)_{_HEX_DIGIT}{{40}}"),
    _token("sourcegraph-token", "sgp_", rf"sgp_(?:{_HEX_DIGIT}{{16}}_|local_)?{_B62}{{40,64}}"),
    _token("postman-key", "PMAK-", rf"PMAK-{_HEX_DIGIT}{{24}}-{_HEX_DIGIT}{{34}}"),
    _token("terraform-token", ".atlasv1.", rf"{_B62}{{14}}\.atlasv1\.{_URLSAFE}{{60,}}"),
    _token("pulumi-token", "pul-", rf"pul-{_HEX_DIGIT}{{40}}"),
    _token("vault-token", "hvs. hvb. hvr.", rf"hv[sbr]\.{_URLSAFE}{{20,}}"),
    # What it was before 1.10: too like an attribute of something called s, unless all kinds of characters are there.
    _token("vault-token", "s.", r"s\.(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{24}"),
    _token("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{30,}"),
    _token("1password-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/=_-]{60,}"),
    _token("1password-key", "A3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,5}[A-Z0-9]{5,6}"),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    _token("prefect-key", "pnu_ pnb_", rf"pn[ub]_{_B62}{{36}}"),
    _token("readme-key", "rdme_", r"rdme_[a-z0-9]{60,}"),
    # chat
    _token("slack-token", "xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    _token("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _within(
        "slack-webhook", "hooks.slack.com/", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w+/-]{16,}"
    ),
    _within("discord-webhook", "/api/webhooks/", r"(?<=/api/webhooks/)\d{16,20}/[\w-]{50,}"),
    _token("discord-token", "M N O", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    _within("telegram-token", ":A", rf"(?<!\d)\d{{8,10}}:A{_URLSAFE}{{32,36}}{_AFTER}"),
    _within("teams-webhook", ".webhook.office.com/", r"(?<=\.webhook\.office\.com/)webhookb2/[\w@/-]{30,}"),
    _within("zapier-webhook", "hooks.zapier.com/", r"(?<=hooks\.zapier\.com/hooks/catch/)\d+/\w{5,}"),
    _token("twitch-token", "oauth:", r"oauth:[a-z0-9]{30}"),
    _token("facebook-token", "EAA", rf"EAA[A-Z]{_B62}{{60,}}"),
    _token("twitter-token", "AAAAAAAAA", r"A{16,40}[B-Za-z0-9][A-Za-z0-9]{3,60}%[A-Za-z0-9%]{20,}"),
    _token("firebase-key", "AAAA", rf"AAAA{_URLSAFE}{{7}}:{_URLSAFE}{{100,}}"),
    # payment and commerce
    _token("stripe-key", "sk_ rk_", rf"[sr]k_(?:live|test|prod|org)_{_B62}{{10,}}"),
    _token("stripe-webhook-secret", "whsec_", rf"whsec_{_B64}{{20,}}={{0,2}}"),
    _token(
        "paypal-token", "access_token$", rf"access_token\$(?:production|sandbox)\$[a-z0-9]{{16}}\${_HEX_DIGIT}{{32}}"
    ),
    _token("square-token", "sq0 EAAA", rf"sq0[a-z]{{3}}-{_URLSAFE}{{20,}}|EAAA{_URLSAFE}{{50,}}"),
    _token("paddle-key", "pdl_", r"pdl_(?:live|sdbx)_apikey_[A-Za-z0-9_]{30,}"),
    _token("shopify-token", "shp", r"shp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{32}"),
    _token("razorpay-key", "rzp_", rf"rzp_(?:live|test)_{_B62}{{14,}}"),
    _token("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{10,}(?:-X)?"),
    _token("mollie-key", "live_ test_", rf"(?:live|test)_{_B62}{{30,}}"),
    _token("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_ANY_UUID}"),
    _token("adyen-key", "AQE", r"AQE[A-Za-z0-9+/]{60,}[A-Za-z0-9+/=:_.-]{0,200}"),
    # mail and phone
    _token("sendgrid-key", "SG.", rf"SG\.{_URLSAFE}{{16,32}}\.{_URLSAFE}{{16,64}}"),
    _token("mailgun-key", "key-", rf"(?:pub)?key-{_HEX_DIGIT}{{32}}"),
    _token("mailgun-key", "-", rf"{_HEX_DIGIT}{{32}}-{_HEX_DIGIT}{{8}}-{_HEX_DIGIT}{{8}}"),
    _token("mailchimp-key", "-us", rf"{_HEX_DIGIT}{{32}}-us\d{{1,2}}"),
    _token("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("resend-key", "re_", rf"re_{_B62}{{6,10}}_{_B62}{{16,}}"),
    _token("twilio-key", "SK", rf"SK{_HEX_DIGIT}{{32}}"),
    # artificial intelligence
    _token("anthropic-key", "sk-ant-", rf"sk-ant-{_URLSAFE}{{20,}}"),
    _token("openrouter-key", "sk-or-", rf"sk-or-{_URLSAFE}{{20,}}"),
    _token("openai-key", "sk-", rf"sk-(?:proj|svcacct|admin|service|org|None)-{_URLSAFE}{{20,}}|sk-{_B62}{{30,}}"),
    _token("openai-session", "sess-", rf"sess-{_B62}{{40}}"),
    _token("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    _token("groq-key", "gsk_", rf"gsk_{_B62}{{40,}}"),
    _token("xai-key", "xai-", rf"xai-{_B62}{{40,}}"),
    _token("perplexity-key", "pplx-", rf"pplx-{_B62}{{40,}}"),
    _token("replicate-token", "r8_", rf"r8_{_B62}{{30,}}"),
    _token("nvidia-key", "nvapi-", rf"nvapi-{_URLSAFE}{{40,}}"),
    _token("langsmith-key", "lsv2_", rf"lsv2_[a-z]{{2}}_{_HEX_DIGIT}{{32}}_{_HEX_DIGIT}{{10}}"),
    _token("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    _token("tavily-key", "tvly-", rf"tvly-{_URLSAFE}{{20,}}"),
    _token("jina-key", "jina_", rf"jina_{_URLSAFE}{{40,}}"),
    _token("firecrawl-key", "fc-", rf"fc-{_HEX_DIGIT}{{32}}"),
    # watching and tracking
    _token(
        "newrelic-key",
        "NRAK- NRJS- NRII- NRAA- NRAL",
        rf"NR(?:AK|AA)-[A-Z0-9]{{27}}|NRJS-{_HEX_DIGIT}{{19}}|NRII-{_URLSAFE}{{32}}|\w{{6}}{_HEX_DIGIT}{{26,34}}NRAL",
    ),
    _token("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_+/=-]{40,}"),
    _token("grafana-token", "glsa_ glc_", rf"glsa_{_B62}{{32}}_{_HEX_DIGIT}{{8}}|glc_[A-Za-z0-9+/=]{{32,}}"),
    _token("dynatrace-token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("honeycomb-key", "hcaik_ hcalk_ hcbik_ hcxik_ hcxlk_", r"hc[abx][il]k_[A-Za-z0-9]{26,}"),
    _token("posthog-key", "phx_", rf"phx_{_B62}{{40,}}"),
    _token("launchdarkly-key", "sdk- api-", rf"(?:sdk|api)-{_ANY_UUID}"),
    # work
    _token("linear-key", "lin_", rf"lin_(?:api|oauth)_{_B62}{{32,}}"),
    _token("notion-token", "secret_ ntn_", rf"(?:secret|ntn)_{_B62}{{40,}}"),
    _token("airtable-token", "pat", rf"pat{_B62}{{14}}\.{_HEX_DIGIT}{{64}}"),
    _token("asana-token", "/", rf"\d/\d{{10,}}(?:/\d{{10,}})?:{_HEX_DIGIT}{{32}}"),
    _token("clickup-token", "pk_", r"pk_\d{6,}_[A-Z0-9]{32}"),
    _token("dropbox-token", "sl.", rf"sl\.(?:u\.)?{_URLSAFE}{{100,}}"),
    _token("figma-token", "figd_ figo_ figu_ figdr_ figor_ figur_ figdh_ figoh_ figuh_", r"fig[dou][rh]?_[\w-]{40,}"),
    _token("hubspot-token", "pat-", rf"pat-(?:na|eu|ap)\d-{_ANY_UUID}"),
    _token("salesforce-token", "00D", r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}"),
    _token("intercom-token", "dG9r", r"dG9r[A-Za-z0-9+/]{50,}={0,2}"),
    _token("mapbox-token", "sk.eyJ", rf"sk\.eyJ{_URLSAFE}{{30,}}\.{_URLSAFE}{{16,}}"),
    # passwords as systems keep them: they can be tried offline
    _within(
        "password-hash",
        "$2 $5$ $6$ $y$ $argon2",
        r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$(?:5|6|y)\$[^\s:$]{1,40}"
        r"(?:\$[^\s:$]{1,40})?\$[./A-Za-z0-9]{43,86}|\$argon2(?:id|i"
        r"|d)\$v=\d+\$[^\s$]{5,60}\$[^\s$]{10,60}\$[^\s$]{20,100}",
    ),
    # keys that are text
    _token("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Za-z]{50,}"),
    _token("nats-seed", "SU SA SO SN SC", r"S[UAONC](?=[A-Z]*[2-7])[A-Z2-7]{56}"),
    _token("nostr-key", "nsec1", r"nsec1[a-z0-9]{58}"),
    _token("wallet-key", "prv", r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    _token("jwt", "eyJ", rf"eyJ{_URLSAFE}{{8,}}\.{_URLSAFE}{{4,}}\.{_URLSAFE}*(?:\.{_URLSAFE}+\.{_URLSAFE}+)?"),
)


_SHORTEST_TAIL = 24
# What interfaces call their objects by, in the same form.
_IDS = re.compile(
    r"(?:call|msg|resp|run|req|evt|event|cus|sub|price|prod|acct|asst|thread|file|step|toolu|batch|chunk|item"
    r"|obj|sha)_"
)


@cache
def _prefixed() -> re.Pattern[str]:
    return re.compile(
        r"(?<![A-Za-z0-9_/.+-])[A-Za-z][A-Za-z0-9]{1,11}(?:[_-][a-z0-9]{1,8}){0,2}_(?P<tail>[A-Za-z0-9]{24,200})"
        r"(?![A-Za-z0-9_/.+-])"
    )


def prefixed_in(text: str) -> Iterator[Span]:
    """Yield what is built like a vendor's token: `acme_live_` and a tail of mixed letters and digits."""
    if "_" not in text:
        return
    for found in _prefixed().finditer(text):
        tail = found["tail"]
        # Upper and lower case and digits all through: hashes and names in snake case have one case only.
        if classes_of(tail) < 3 or not looks_random(tail, _SHORTEST_TAIL):
            continue
        if not is_placeholder(found[0]) and not _IDS.match(found[0]):
            yield Span(*found.span(), "prefixed-token")


# -- key blocks, addresses, headers ------------------------------------------------------------

_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{20}")
_SNAKE = re.compile(r"[a-z]+(?:[_-][a-z0-9]+)+")
_IN_AN_ADDRESS = r"[^\s\"'`<>\\|]"


@cache
def _key_block() -> re.Pattern[str]:
    # To its end line; where that is cut off, as far as lines of base64 go.
    return re.compile(
        r"-----BEGIN (?P<name>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
        r"(?:(?:(?!-----)[\s\S]){0,20000}-----END (?P=name)-----|[A-Za-z0-9+/=:,\s\\-]*)"
    )


_PUTTY = "PuTTY-User-Key-File-"
_PUTTY_LINES = re.compile(r"Private-Lines: \d{1,4}(?:\s{1,4}[A-Za-z0-9+/=]{4,100}){0,200}")
_LONGEST_PUTTY = 4_000


def _putty_keys(text: str) -> Iterator[Span]:
    start = text.find(_PUTTY)
    while start >= 0:
        lines = text.find("Private-Lines: ", start, start + _LONGEST_PUTTY)
        found = _PUTTY_LINES.match(text, lines) if lines >= 0 else None
        if found:
            yield Span(start, found.end(), "private-key")
        start = text.find(_PUTTY, found.end() if found else start + len(_PUTTY))


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}$")
_REST = re.compile(rf"{_IN_AN_ADDRESS}{{3,2000}}")
_PORT = re.compile(r"\d+(?:[/?#]|$)")


@cache
def _header_words() -> re.Pattern[str]:
    return re.compile("authorization|bearer |basic |cookie")


@cache
def _header() -> re.Pattern[str]:
    return re.compile(
        r"authorization[\"']?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:(?:bearer|basic|token|apikey|digest|negotiate|bot|key)\s+)?"
        r"(?P<value>[a-z0-9._~+/:=-]{6,4000})"
        r"|(?:bearer|basic)\s+[\"'`]?(?P<bare>[a-z0-9._~+/=-]{16,4000})"
        r"|cookie[\"']?\s{0,3}:\s{0,3}[\"']?(?P<cookie>[^\s\"';]{1,60}=[^\s\"';]{8,4000}"
        r"(?:; ?[^\s\"';]{1,60}=[^\s\"';]{1,4000}){0,40})"
    )


@cache
def _pair() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:creds?|credentials|basic[ _-]?auth|logins?)\b[\"']?\s{0,3}(?:are|is|[:=])?\s{0,3}[\"'`]?[\w.@+-]{2,60}"
        r"\s?[:/]\s?(?P<password>(?=[^\s\"'`]{0,40}\d)[^\s\"'`/,;]{8,100})",
        re.IGNORECASE,
    )


@cache
def _seed_phrase() -> re.Pattern[str]:
    return re.compile(
        r"(?:seed|recovery|mnemonic|backup|wallet|secret)[ _-]?(?:phrase|words|seed)?\s{0,3}(?:is|are"
        r"|[:=])\s{0,3}[\"'`]?"
        r"(?P<words>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})\b"
    )


def credentials_in(text: str, lower: str) -> Iterator[Span]:
    """Yield the credentials of a text; `lower` is the text in lower case."""
    if "-----BEGIN" in text:
        for found in _key_block().finditer(text):
            if _KEY_MATERIAL.search(found[0]):  # code that only looks for such blocks holds none
                yield Span(found.start(), found.end(), "private-key")
    yield from _putty_keys(text)
    yield from _in_addresses(text)
    yield from _in_headers(text, lower)
    if any(word in lower for word in ("cred", "basic", "login")):
        for found in _pair().finditer(text):
            password = found["password"]
            if classes_of(password) >= 3 and not _SNAKE.fullmatch(password) and not is_placeholder(password):
                yield Span(*found.span("password"), "password")
    if any(word in lower for word in ("seed", "mnemonic", "recovery", "wallet")):
        yield from (Span(*found.span("words"), "seed-phrase") for found in _seed_phrase().finditer(lower))


def _in_addresses(text: str) -> Iterator[Span]:
    at = text.find("://")
    while at >= 0:
        start = at + 3
        rest = _REST.match(text, start)
        if rest and "@" not in rest[0]:  # then nothing that begins within it has one either
            at = text.find("://", max(start, rest.end() - 3))
            continue
        if rest and _SCHEME.search(text, max(0, at - 31), at):
            yield from _in_address(rest[0], start)
        at = text.find("://", start)


def _in_address(rest: str, start: int) -> Iterator[Span]:
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" not in authority:
        # A password may hold a slash that nobody escaped; a port may not be taken for one.
        user, colon, behind = rest.partition(":")
        odd, at, _ = behind.partition("@")
        if not (colon and at) or "/" in user or _PORT.match(behind) or "://" in odd:
            return
        authority = rest[: len(user) + len(odd) + 2]
    user_info = authority.rpartition("@")[0]
    user, colon, password = user_info.partition(":")
    if colon and password and not is_placeholder(password):
        yield Span(start + len(user) + 1, start + len(user_info), "password-in-address")
    if user and (looks_random(user, 16) or (is_hex(user) and len(user) >= 32)) and not is_placeholder(user):
        yield Span(start, start + len(user), "token-in-address")


def _in_headers(text: str, lower: str) -> Iterator[Span]:
    for word in _header_words().finditer(lower):
        found = _header().match(lower, word.start())
        if found is None or found.lastgroup is None:
            continue
        first, last = found.span(found.lastgroup)
        if _is_credential(found.lastgroup, text[first:last]):
            yield Span(first, last, "cookie" if found.lastgroup == "cookie" else "authorization")


def _is_credential(place: str, value: str) -> bool:
    digit = has_digit(value)
    if is_placeholder(value) or not digit:
        return False
    return place != "bare" or looks_random(value, 16) or len(value) >= 20
