"""Made-up secrets in the shapes of real ones, put together here so that no file holds one."""

import random
import string

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
B62 = LOWER + UPPER + DIGITS
HEX = DIGITS + "abcdef"
B64 = B62 + "+/"
URLSAFE = B62 + "_-"

_dice = random.Random(20260728)  # noqa: S311 - these are meant to be no secrets


def some(letters: str, length: int) -> str:
    """Return random characters that hold a digit and, where there can be, letters of both cases."""
    while True:
        made = "".join(_dice.choices(letters, k=length))
        wanted = [kind for kind in (LOWER, UPPER, DIGITS) if any(c in letters for c in kind)]
        starts_well = made[0].isalnum() and made[-1].isalnum()
        if starts_well and (length < 12 or all(any(c in made for c in kind) for kind in wanted)):
            return made


def uuid() -> str:
    """Return a random UUID."""
    return "-".join(some(HEX, n) for n in (8, 4, 4, 4, 12))


def shaped() -> dict[str, str]:
    """Return one token of every vendor whose tokens are known by their shape."""
    return {
        "aws access key": "AK" + "IA" + some(UPPER + "234567", 16),
        "aws session key": "AS" + "IA" + some(UPPER + "234567", 16),
        "gcp api key": "AI" + "za" + some(URLSAFE, 35),
        "gcp oauth secret": "GOC" + "SPX-" + some(URLSAFE, 28),
        "gcp oauth token": "ya" + "29." + some(URLSAFE, 60),
        "azure client secret": some(B62, 3) + "8Q" + "~" + some(B62, 34),
        "github classic": "gh" + "p_" + some(B62, 36),
        "github oauth": "gh" + "o_" + some(B62, 36),
        "github user": "gh" + "u_" + some(B62, 36),
        "github server": "gh" + "s_" + some(B62, 36),
        "github refresh": "gh" + "r_" + some(B62, 36),
        "github fine grained": "github" + "_pat_" + some(B62, 22) + "_" + some(B62, 59),
        "gitlab personal": "gl" + "pat-" + some(URLSAFE, 20),
        "gitlab runner": "gl" + "rt-" + some(URLSAFE, 20),
        "gitlab deploy": "gl" + "dt-" + some(URLSAFE, 20),
        "gitlab trigger": "gl" + "ptt-" + some(HEX, 40),
        "slack bot": "xo" + "xb-" + some(DIGITS, 12) + "-" + some(DIGITS, 13) + "-" + some(B62, 24),
        "slack user": "xo" + "xp-" + some(DIGITS, 12) + "-" + some(DIGITS, 12) + "-" + some(HEX, 32),
        "slack app": "xa" + "pp-1-A" + some(UPPER, 10) + "-" + some(DIGITS, 13) + "-" + some(HEX, 64),
        "slack webhook": "https://hooks.sl"
        + "ack.com/services/T"
        + some(UPPER, 8)
        + "/B"
        + some(UPPER, 8)
        + "/"
        + some(B62, 24),
        "discord bot": "MT" + some(B62, 24) + "." + some(B62, 6) + "." + some(URLSAFE, 38),
        "discord webhook": "https://discord.com/api/web" + "hooks/" + some(DIGITS, 18) + "/" + some(URLSAFE, 68),
        "telegram bot": some("123456789", 10) + ":AA" + some(URLSAFE, 33),
        "stripe live": "sk" + "_live_" + some(B62, 24),
        "stripe restricted": "rk" + "_live_" + some(B62, 24),
        "stripe test": "sk" + "_test_" + some(B62, 24),
        "stripe webhook": "wh" + "sec_" + some(B62, 32),
        "paypal": "access" + "_token$production$" + some(LOWER + DIGITS, 16) + "$" + some(HEX, 32),
        "twilio key": "S" + "K" + some(HEX, 32),
        "sendgrid": "S" + "G." + some(URLSAFE, 22) + "." + some(URLSAFE, 43),
        "mailgun": "ke" + "y-" + some(HEX, 32),
        "mailchimp": some(HEX, 32) + "-us" + "14",
        "openai project": "sk" + "-proj-" + some(URLSAFE, 48),
        "openai classic": "sk" + "-" + some(B62, 20) + "T3Blbk" + "FJ" + some(B62, 20),
        "openai service": "sk" + "-svcacct-" + some(URLSAFE, 48),
        "anthropic": "sk" + "-ant-api03-" + some(URLSAFE, 93) + "AA",
        "openrouter": "sk" + "-or-v1-" + some(HEX, 64),
        "huggingface": "h" + "f_" + some(LOWER + UPPER, 34),
        "groq": "gs" + "k_" + some(B62, 52),
        "npm": "np" + "m_" + some(B62, 36),
        "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + some(URLSAFE, 90),
        "rubygems": "ruby" + "gems_" + some(HEX, 48),
        "docker hub": "dckr" + "_pat_" + some(URLSAFE, 27),
        "digitalocean": "do" + "p_v1_" + some(HEX, 64),
        "heroku": "HR" + "KU-" + some(URLSAFE, 58),
        "databricks": "da" + "pi" + some(HEX, 32),
        "new relic": "NR" + "AK-" + some(UPPER + DIGITS, 27),
        "sentry token": "snt" + "rys_" + some(B62, 60),
        "grafana": "gl" + "sa_" + some(B62, 32) + "_" + some(HEX, 8),
        "atlassian": "ATA" + "TT3xFfGF0" + some(URLSAFE, 180),
        "bitbucket": "AT" + "BB" + some(B62, 32),
        "linear": "lin" + "_api_" + some(B62, 40),
        "notion": "nt" + "n_" + some(B62, 46),
        "notion old": "sec" + "ret_" + some(B62, 43),
        "airtable": "pa" + "t" + some(B62, 14) + "." + some(HEX, 64),
        "supabase": "sb" + "p_" + some(HEX, 40),
        "supabase secret": "sb" + "_secret_" + some(URLSAFE, 31),
        "vercel blob": "vercel" + "_blob_rw_" + some(B62, 40),
        "netlify": "nf" + "p_" + some(B62, 36),
        "shopify": "shp" + "at_" + some(HEX, 32),
        "square": "sq" + "0csp-" + some(URLSAFE, 43),
        "planetscale": "pscale" + "_tkn_" + some(URLSAFE, 43),
        "vault": "hv" + "s." + some(URLSAFE, 90),
        "terraform": some(B62, 14) + ".atlas" + "v1." + some(URLSAFE, 66),
        "doppler": "dp" + ".pt." + some(B62, 43),
        "tailscale": "ts" + "key-auth-" + some(B62, 12) + "-" + some(B62, 32),
        "postman": "PM" + "AK-" + some(HEX, 24) + "-" + some(HEX, 34),
        "dynatrace": "dt" + "0c01." + some(UPPER + DIGITS, 24) + "." + some(UPPER + DIGITS, 64),
        "figma": "fi" + "gd_" + some(URLSAFE, 40),
        "age": "AGE-SECRET" + "-KEY-1" + some(UPPER + DIGITS, 58),
        "jwt": "ey" + "J" + some(URLSAFE, 33) + ".ey" + "J" + some(URLSAFE, 90) + "." + some(URLSAFE, 43),
        "a vendor unheard of": "acme" + "_live_" + some(B62, 32),
        "another unheard of": "zorp" + "_" + some(B62, 40),
    }


def private_key(kind: str = "RSA ") -> str:
    """Return a private key block that opens nothing."""
    lines = "\n".join(some(B64, 64) for _ in range(12))
    return f"-----BEGIN {kind}PRIVATE" + f" KEY-----\n{lines}\n-----END {kind}PRIVATE" + " KEY-----"


def beside_words() -> dict[str, tuple[str, str]]:
    """Return (text, the secret in it) for secrets that only their surroundings give away."""
    cases: dict[str, tuple[str, str]] = {}

    def add(name: str, template: str, secret: str) -> None:
        cases[name] = (template.replace("@@", secret), secret)

    password = "Tr0ub4" + "dor&3x"
    for name, template in {
        "postgres": "postgresql://app:@@@db.internal:5432/prod",
        "mysql": "mysql+pymysql://root:@@@127.0.0.1/shop",
        "mongodb": "mongodb+srv://svc:@@@cluster0.abcde.mongodb.net/test?retryWrites=true",
        "redis": "redis://:@@@cache:6379/0",
        "amqp": "amqps://guest:@@@mq.example.org/vhost",
        "mssql": "mssql+pyodbc://sa:@@@host/db?driver=ODBC",
        "clickhouse": "clickhouse://default:@@@ch:9000",
        "snowflake": "snowflake://user:@@@account/db",
        "smtp": "smtps://mailer:@@@smtp.mail.org:465",
        "ftp": "ftp://deploy:@@@files.org/pub",
        "basic auth": "clone it from https://alice:@@@git.corp.net/x/y.git",
        "ado": "Server=tcp:sql.corp.net,1433;Database=x;User ID=sa;Password=@@;Encrypt=true",
        "odbc": "Driver={SQL Server};UID=sa;PWD=@@;",
        "jdbc": "jdbc:mysql://host/db?user=app&password=@@",
        "dsn": "host=db user=app password=@@ dbname=x",
        "env": "DB_PASSWORD=@@",
        "env quoted": "export SMTP_PASS='@@'",
        "json": '{"user": "sa", "password": "@@"}',
        "json escaped": '{\\"password\\": \\"@@\\"}',
        "yaml": "database:\n  password: @@\n  host: db",
        "yaml pair": "- name: DB_PASSWORD\n  value: @@",
        "json pair": '{"name": "DB_PASSWORD", "value": "@@"}',
        "toml": 'passwd = "@@"',
        "python": "connect(user='sa', password='@@')",
        "typed python": 'password: str = "@@"',
        "go": 'pwd := "@@"',
        "ruby": ':password => "@@"',
        "php": "'password' => '@@',",
        "xml": "<password>@@</password>",
        "prose": "The staging database password is @@, ask Bob.",
        "prose in ticks": "Log in with the password `@@` on the VPN.",
        "german": "Das Passwort lautet @@.",
        "french": "mot de passe : @@",
        "spanish": "contraseña: @@",
        "portuguese": "senha=@@",
        "russian": "пароль: @@",
        "chinese": "密码：@@",
        "japanese": "パスワードは@@",
        "korean": "비밀번호: @@",
        "option": "psqlx --password @@ --host db",
        "option equal": "tool --db-password=@@",
        "curl": "curl -u admin:@@ https://x.org",
        "mysql option": "mysql -u root -p@@ shop",
        "sshpass": "sshpass -p @@ ssh host",
    }.items():
        add(name, template, password)
    for name, template, secret in [
        ("aws secret", "aws_secret_access_key = @@", some(B64, 40)),
        ("aws secret in prose", "the AWS secret is @@ for the deploy user", some(B64, 40)),
        ("datadog", "DD_API_KEY=@@", some(HEX, 32)),
        ("twilio auth", "TWILIO_AUTH_TOKEN=@@", some(HEX, 32)),
        ("heroku", "HEROKU_API_KEY=@@", uuid()),
        ("cloudflare", "CLOUDFLARE_API_TOKEN=@@", some(URLSAFE, 40)),
        ("camel case", "const apiKey = '@@';", some(B62, 32)),
        ("kebab case", "x-api-key: @@", some(B62, 32)),
        ("upper case", "API_KEY: @@", some(B62, 28)),
        ("client secret", '"client_secret": "@@"', some(B62, 36)),
        ("secret key base", "SECRET_KEY_BASE=@@", some(HEX, 64)),
        ("django", 'SECRET_KEY = "django-insecure-@@"', "k3^" + some(B62, 40)),
        ("webhook", "webhook_secret: @@", some(B62, 24)),
        ("bearer", "Authorization: Bearer @@", some(URLSAFE, 40)),
        ("bearer in code", "headers={'Authorization': 'Bearer @@'}", some(B62, 40)),
        ("basic", "Authorization: Basic @@", some(B64, 24)),
        ("token header", "Authorization: token @@", some(HEX, 40)),
        ("npmrc", "//registry.npmjs.org/:_authToken=@@", uuid()),
        (
            "azure connection",
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@@;EndpointSuffix=core",
            some(B64, 86) + "==",
        ),
        ("service bus", "Endpoint=sb://x.net/;SharedAccessKeyName=Root;SharedAccessKey=@@", some(B64, 43)),
        ("sentry dsn", "https://@@@o1234.ingest.sentry.io/56789", some(HEX, 32)),
        ("token as user", "https://@@@github.com/org/repo.git", some(B62, 40)),
        ("told far away", "The Datadog API key for the staging account is @@.", some(HEX, 32)),
        ("told behind", "@@ is the access token of the build bot", some(B62, 40)),
        ("session cookie", "Cookie: sessionid=@@; csrftoken=abc", some(LOWER + DIGITS, 32)),
        ("kubernetes", "data:\n  api-token: @@", some(B64, 44)),
        ("encryption key", "ENCRYPTION_KEY=@@", some(B64, 43) + "="),
        ("github actions", "env:\n  DEPLOY_TOKEN: @@", some(B62, 32)),
        ("docker auth", '{"auths": {"x.io": {"auth": "@@"}}}', some(B64, 44)),
        ("ssh key of pgp", "passphrase: @@", "Vk9#" + some(B62, 8)),
        ("weak password", 'password = "@@"', "hunter" + "2"),
        ("word as password", 'DB_PASSWORD="@@"', "sword" + "fish" + "blue"),
    ]:
        add(name, template, secret)
    return cases


NO_SECRETS = {
    "md5": "the cache key is 5d41402abc4b2a76b9719d911017c592",
    "sha1 commit": "fixed the token refresh in 3f2a9c1b7d8e4f5a6b7c8d9e0f1a2b3c4d5e6f70",
    "sha256": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "integrity": '"integrity": "sha512-'
    + "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
    + '"',
    "go sum": "golang.org/x/text v0.3.7 h1:olpwvP2KacW1ZWvsR7uQoYafSvnpqa8VzzqNRBSjY3E=",
    "pip hash": "requests==2.31.0 --hash=sha256:58cd2187c01e70e6e26505bca751777aa9f2ee0b7f4300988b709f44e013003f",
    "uuid": "the request id is 550e8400-e29b-41d4-a716-446655440000",
    "uuid key": "primary key 550e8400-e29b-41d4-a716-446655440000",
    "your key": "API_KEY=your-api-key",
    "your key here": 'api_key = "YOUR_API_KEY_HERE"',
    "mask": "password=xxxxxxxx",
    "stars": "password: ********",
    "shell": "TOKEN=${GITHUB_TOKEN}",
    "shell plain": "export TOKEN=$GITHUB_TOKEN",
    "python environment": 'api_key = os.environ["OPENAI_API_KEY"]',
    "node environment": "const token = process.env.AUTH_TOKEN",
    "template": "password: {{ .Values.db.password }}",
    "angle": "Authorization: Bearer <token>",
    "actions": "token: ${{ secrets.GITHUB_TOKEN }}",
    "call": "password = getpass.getpass('Password: ')",
    "attribute": "password=settings.DB_PASSWORD",
    "annotation": "def login(user: str, password: str) -> Token:",
    "none": "password=None",
    "prose": "The token is refreshed every 15 minutes and the password is hashed with bcrypt.",
    "prose rule": "Passwords must have at least 12 characters; a password is required.",
    "prose key": "The primary key is customer_id2 and the sort key is created_at.",
    "tokens": "max_tokens=4096, the tokenizer is o200k_base",
    "public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl dev@host",
    "address": "http://localhost:8080/path@2x.png and https://user@host.org/x",
    "placeholder address": "postgres://user:password@localhost/db and redis://:${REDIS_PASSWORD}@cache",
    "scoped package": "npm install @types/node@20.11.5 from https://registry.npmjs.org/@scope/pkg/-/pkg-1.2.3.tgz",
    "image": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk is the key icon",
    "identifier": "getUserAuthenticationTokenById42 reads the secret from AWSSecretsManagerClientV2Factory",
    "vault path": "secret = vault:secret/data/app#password",
    "redacted": "password=[redacted: password] and token: [redacted: github-token]",
    "file": "the private key lives in ~/.ssh/id_ed25519 and the token in /run/secrets/token",
    "version": "auth 2.0.14, oauth2, key-value store v3.4.5",
    "css": ".token.keyword { color: #a1b2c3d4; }",
    "german": "Das Passwort wird mit argon2id gehasht.",
    "key press": "Press the key Ctrl+Shift+F12 to pass the token along.",
    "make": "Run make check TOKEN=... before pushing; key: value",
}
