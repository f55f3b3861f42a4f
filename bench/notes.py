"""What a team might remember of its software, drawn from a seed: varied, plausible, never the same twice."""

import random

_PARTS = (
    "the invoice exporter", "the login form", "the search indexer", "our retry queue", "the PDF renderer",
    "the mobile app's cache", "the webhook dispatcher", "the feature-flag service", "the nightly backup",
    "the image resizer", "the permission checker", "the audit log", "the GraphQL gateway", "the CSV importer",
    "the session store", "the rate limiter", "the translation loader", "the billing worker", "the metrics agent",
    "the deploy script", "the schema migrator", "the chat relay", "the geocoder", "the mail templates",
    "the test fixtures", "the type checker setup", "the Docker image", "the load balancer",
    "the object store client", "the recommendation job",
)  # fmt: skip
_DEEDS = (
    "now streams its results instead of collecting them", "was split into a reader and a writer",
    "times out after {n} seconds", "keeps at most {n} connections open", "must run before the {word} step",
    "no longer depends on {word}", "reads its settings from {word}.toml", "was moved to the {word} repository",
    "fails silently when {word} is missing", "logs one line per request to {word}", "retries {n} times with jitter",
    "is tested only on Linux", "uses {word} for its checksums", "stores dates as UTC milliseconds",
    "is owned by the {word} team", "was rewritten in Rust last {month}", "drops events older than {n} days",
    "needs {n} MB of memory at start", "is called twice on Safari", "expects UTF-16 from {word}",
    "returns 409 when two writers meet", "is switched off in the {word} environment", "batches writes by {n}",
    "caches answers for {n} minutes", "treats an empty list as an error",
)  # fmt: skip
_REASONS = (
    "because a customer lost {n} rows in {month}", "since the vendor changed its API",
    "after the incident of {month} {n}", "as agreed with {name}", "although the documentation says otherwise",
    "so that {word} can be replaced later", "because locks were held for {n} seconds",
    "to keep the bill below {n} euros", "on the advice of {name}", "because the old way broke on leap days",
    "until {word} supports paging", "for the auditors", "because phones with little memory crashed",
    "to survive a restart of {word}", "since {name} measured it", "as the benchmark in {word} showed",
    "because two teams had copied it", "while we wait for {name}'s review",
)  # fmt: skip
_DETAILS = (
    "See {folder}/{word}_{n}.py.", "The command is `make {word}-{n}`.", "Ask {name} before changing it.",
    "Ticket {word}-{n} has the details.", "The alternative with {word} was {n} ms slower.",
    "It is covered by {n} tests.", "Do not enable it for {word}.", "The constant lives in {folder}/limits.py.",
    "Version {n}.{m} was the first to do so.", "The branch was called {name}/{word}.",
    "It shows in the {word} dashboard.", "Rolling back takes {n} minutes.", "", "",
)  # fmt: skip
_WORDS = (
    "harbor", "lantern", "walnut", "comet", "thistle", "copper", "maple", "otter", "quartz", "saffron",
    "tundra", "velvet", "willow", "zephyr", "anchor", "birch", "cobalt", "delta", "ember", "falcon", "garnet",
    "hazel", "indigo", "juniper", "kestrel", "lotus", "meadow", "nimbus", "onyx", "pepper", "quill", "raven",
    "sable", "topaz", "umber", "violet", "wren", "yarrow", "acorn", "basil", "cedar", "dune", "elm", "fjord",
    "glacier", "heron", "iris", "jasper",
)  # fmt: skip
_NAMES = (
    "Ada", "Bjarne", "Chen", "Dalia", "Emeka", "Farah", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena", "Mira",
    "Nils", "Oana", "Pia", "Quinn", "Rosa", "Sven", "Tala",
)  # fmt: skip
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_FOLDERS = ("src/api", "services/billing", "lib/core", "packages/web", "tools/ops", "app/models", "internal/sync")


def notes(count: int, seed: int = 1) -> list[str]:
    """Return so many different notes; the same seed gives the same ones."""
    dice = random.Random(seed)  # noqa: S311 - a benchmark must repeat itself
    found: dict[str, None] = {}
    while len(found) < count:
        found[_note(dice)] = None
    return list(found)


def questions(count: int, seed: int = 2) -> list[str]:
    """Return questions such as an assistant would ask about those notes."""
    dice = random.Random(seed)  # noqa: S311
    forms = ("why does {part} behave like that", "what do we know about {part} and {word}", "who decided on {part}",
             "how do I change {part} safely", "limits and timeouts of {part}", "{word} and {part}")  # fmt: skip
    return [_filled(dice, dice.choice(forms).replace("{part}", dice.choice(_PARTS))) for _ in range(count)]


def _note(dice: random.Random) -> str:
    part = dice.choice(_PARTS)
    pieces = f"{part[0].upper()}{part[1:]} {dice.choice(_DEEDS)} {dice.choice(_REASONS)}. {dice.choice(_DETAILS)}"
    return _filled(dice, pieces).strip()


def _filled(dice: random.Random, text: str) -> str:
    return text.format(
        n=dice.randint(2, 99),
        m=dice.randint(0, 9),
        word=dice.choice(_WORDS),
        name=dice.choice(_NAMES),
        month=dice.choice(_MONTHS),
        folder=dice.choice(_FOLDERS),
    )
