"""Patterns of vendors' tokens, and the generic pattern: a short prefix, then a long random tail."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from reverie.guard.entropy import Span, classes_of, is_placeholder, looks_random

_B62 = "[A-Za-z0-9]"
_URLSAFE = "[A-Za-z0-9_-]"
_B64 = "[A-Za-z0-9+/]"
_HEX = "[0-9a-f]"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
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
    _token("digitalocean-token", "_v1_", rf"do[oprt]_v1_{_HEX}{{64}}"),
    _token("heroku-key", "HRKU-", rf"HRKU-{_URLSAFE}{{30,}}"),
    _token("cloudflare-key", "v1.0-", rf"v1\.0-{_HEX}{{24}}-{_HEX}{{100,}}"),
    _token("cloudflare-tunnel-token", "eyJhIjoi", rf"eyJhIjoi{_B64}{{100,}}={{0,2}}"),
    _token("fly-token", "fo1_ fm1 fm2_", rf"fo1_{_URLSAFE}{{40,}}|fm[12][ar]?_[A-Za-z0-9+/=]{{50,}}"),
    _token("vercel-token", "vercel_blob_rw_ vcp_ vci_ vca_ vck_", rf"(?:vercel_blob_rw|vc[pikar])_{_URLSAFE}{{20,}}"),
    _token("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", rf"nf[pcoubm]_{_B62}{{30,}}"),
    _token("supabase-key", "sbp_ sb_secret_ sbv_", rf"sb[pv]_(?:v0_)?{_HEX}{{40}}|sb_secret_{_URLSAFE}{{20,}}"),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    _token("databricks-token", "dapi dose", rf"(?:dapi|dose){_HEX}{{32}}(?:-\d)?"),
    _token("mongodb-secret", "mdb_sa_sk_", rf"mdb_sa_sk_{_URLSAFE}{{30,}}"),
    _token("render-key", "rnd_", rf"rnd_{_B62}{{28,}}"),
    _token("yandex-token", "y0_ AQVN", rf"y0_{_URLSAFE}{{50,}}|AQVN{_URLSAFE}{{35,}}"),
    _token("scaleway-key", "SCW", r"SCW[A-Z0-9]{17}"),
    # code and packages
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
    _token("rubygems-key", "rubygems_", rf"rubygems_{_HEX}{{48}}"),
    _token("crates-token", "cio", rf"cio{_B62}{{32}}"),
    _token("nuget-key", "oy2", r"oy2[a-z0-9]{43}"),
    _token("clojars-token", "CLOJARS_", r"CLOJARS_[A-Za-z0-9]{50,}"),
    _token("docker-token", "dckr_", rf"dckr_(?:pat|oat)_{_URLSAFE}{{20,}}"),
    _token("jfrog-token", "AKCp cmVmd", rf"AKCp{_B62}{{50,}}|cmVmd{_B62}{{50,}}"),
    _token("sonar-token", "squ_ sqp_ sqa_", rf"sq[upa]_{_HEX}{{40}}"),
    _token("circleci-token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9_]{20,}"),
    _token("buildkite-token", "bkua_ bkat_ bkct_", rf"bk(?:ua|at|ct)_{_HEX}{{40}}"),
    _token("sourcegraph-token", "sgp_", rf"sgp_(?:{_HEX}{{16}}_|local_)?{_B62}{{40,64}}"),
    _token("postman-key", "PMAK-", rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}"),
    _token("terraform-token", ".atlasv1.", rf"{_B62}{{14}}\.atlasv1\.{_URLSAFE}{{60,}}"),
    _token("pulumi-token", "pul-", rf"pul-{_HEX}{{40}}"),
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
    _token("paypal-token", "access_token$", rf"access_token\$(?:production|sandbox)\$[a-z0-9]{{16}}\${_HEX}{{32}}"),
    _token("square-token", "sq0 EAAA", rf"sq0[a-z]{{3}}-{_URLSAFE}{{20,}}|EAAA{_URLSAFE}{{50,}}"),
    _token("paddle-key", "pdl_", r"pdl_(?:live|sdbx)_apikey_[A-Za-z0-9_]{30,}"),
    _token("shopify-token", "shp", r"shp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{32}"),
    _token("razorpay-key", "rzp_", rf"rzp_(?:live|test)_{_B62}{{14,}}"),
    _token("flutterwave-key", "FLWSECK", r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{10,}(?:-X)?"),
    _token("mollie-key", "live_ test_", rf"(?:live|test)_{_B62}{{30,}}"),
    _token("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    _token("adyen-key", "AQE", r"AQE[A-Za-z0-9+/]{60,}[A-Za-z0-9+/=:_.-]{0,200}"),
    # mail and phone
    _token("sendgrid-key", "SG.", rf"SG\.{_URLSAFE}{{16,32}}\.{_URLSAFE}{{16,64}}"),
    _token("mailgun-key", "key-", rf"(?:pub)?key-{_HEX}{{32}}"),
    _token("mailgun-key", "-", rf"{_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}}"),
    _token("mailchimp-key", "-us", rf"{_HEX}{{32}}-us\d{{1,2}}"),
    _token("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("resend-key", "re_", rf"re_{_B62}{{6,10}}_{_B62}{{16,}}"),
    _token("twilio-key", "SK", rf"SK{_HEX}{{32}}"),
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
    _token("langsmith-key", "lsv2_", rf"lsv2_[a-z]{{2}}_{_HEX}{{32}}_{_HEX}{{10}}"),
    _token("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    _token("tavily-key", "tvly-", rf"tvly-{_URLSAFE}{{20,}}"),
    _token("jina-key", "jina_", rf"jina_{_URLSAFE}{{40,}}"),
    _token("firecrawl-key", "fc-", rf"fc-{_HEX}{{32}}"),
    # watching and tracking
    _token(
        "newrelic-key",
        "NRAK- NRJS- NRII- NRAA- NRAL",
        rf"NR(?:AK|AA)-[A-Z0-9]{{27}}|NRJS-{_HEX}{{19}}|NRII-{_URLSAFE}{{32}}|\w{{6}}{_HEX}{{26,34}}NRAL",
    ),
    _token("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9_+/=-]{40,}"),
    _token("grafana-token", "glsa_ glc_", rf"glsa_{_B62}{{32}}_{_HEX}{{8}}|glc_[A-Za-z0-9+/=]{{32,}}"),
    _token("dynatrace-token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("honeycomb-key", "hcaik_ hcalk_ hcbik_ hcxik_ hcxlk_", r"hc[abx][il]k_[A-Za-z0-9]{26,}"),
    _token("posthog-key", "phx_", rf"phx_{_B62}{{40,}}"),
    _token("launchdarkly-key", "sdk- api-", rf"(?:sdk|api)-{_UUID}"),
    # work
    _token("linear-key", "lin_", rf"lin_(?:api|oauth)_{_B62}{{32,}}"),
    _token("notion-token", "secret_ ntn_", rf"(?:secret|ntn)_{_B62}{{40,}}"),
    _token("airtable-token", "pat", rf"pat{_B62}{{14}}\.{_HEX}{{64}}"),
    _token("asana-token", "/", rf"\d/\d{{10,}}(?:/\d{{10,}})?:{_HEX}{{32}}"),
    _token("clickup-token", "pk_", r"pk_\d{6,}_[A-Z0-9]{32}"),
    _token("dropbox-token", "sl.", rf"sl\.(?:u\.)?{_URLSAFE}{{100,}}"),
    _token("figma-token", "figd_ figo_ figu_ figdr_ figor_ figur_ figdh_ figoh_ figuh_", r"fig[dou][rh]?_[\w-]{40,}"),
    _token("hubspot-token", "pat-", rf"pat-(?:na|eu|ap)\d-{_UUID}"),
    _token("salesforce-token", "00D", r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}"),
    _token("intercom-token", "dG9r", r"dG9r[A-Za-z0-9+/]{50,}={0,2}"),
    _token("mapbox-token", "sk.eyJ", rf"sk\.eyJ{_URLSAFE}{{30,}}\.{_URLSAFE}{{16,}}"),
    # passwords as systems keep them: they can be tried offline
    _within(
        "password-hash",
        "$2 $5$ $6$ $y$ $argon2",
        r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$(?:5|6|y)\$[^\s:$]{1,40}(?:\$[^\s:$]{1,40})?\$[./A-Za-z0-9]{43,86}|\$argon2(?:id|i|d)\$v=\d+\$[^\s$]{5,60}\$[^\s$]{10,60}\$[^\s$]{20,100}",
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
