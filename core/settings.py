"""Settings: `REVERIE_*` environment variables, and an optional `reverie.toml` in the data folder.

The environment wins over the file, and in the file the section of the domain over the settings above it. Nothing is
ever read from the working directory.
"""

import hashlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from reverie.errors import SettingError
from reverie.folders import data_folder
from reverie.installation import Installation, default_config_folder
from reverie.memory import TIERS, Tier
from reverie.parameters import STANDARD, Parameters, read_parameters

DreamMode = Literal["auto", "manual"]
CaptureMode = Literal["off", "ask", "auto"]
RetentionMode = Literal["huber", "l2", "elastic", "exponential", "power", "lifespan", "strength"]
RETENTION_MODES: tuple[RetentionMode, ...] = get_args(RetentionMode)

BUNDLED_EMBEDDER = "bundled"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OBJECT_STORE = re.compile(r"[a-z0-9+]{2,}://", re.ASCII)
_BUCKET = re.compile(r"(?:s3|gs|az)://[^/\s]+(?:/\S*)?", re.ASCII)
_SECURE = re.compile(r"https://[^\s/]|http://(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: a row of the README's table."""

    variable: str
    takes: str
    default: str
    meaning: str

    @property
    def key(self) -> str:
        """The name of this setting in reverie.toml."""
        return self.variable.removeprefix("REVERIE_").lower()


HOME = Setting(
    "REVERIE_HOME",
    "an absolute path, or a bucket such as `s3://bucket/prefix` (`gs://`, `az://`)",
    "the platform's user data folder",
    "Where memories are kept.",
)
HOST_FOLDER = Setting(
    "REVERIE_HOST_FOLDER",
    "an absolute path",
    "the platform's user data folder",
    "Where this host keeps its part of a home in a bucket: write-ahead log, locks, caches. Keep it while memories "
    "wait there. Only in the environment.",
)
CONFIG = Setting(
    "REVERIE_CONFIG",
    "an absolute path",
    "the platform's user configuration folder",
    "Where the key of this installation is kept, which seals the journal and exports; never inside the data folder.",
)
DOMAIN = Setting(
    "REVERIE_DOMAIN",
    "a name of letters, digits, `.`, `_` and `-`",
    "default",
    "A separate decay domain with its own folder and tables; pruning one never touches another.",
)
PROJECT = Setting(
    "REVERIE_PROJECT",
    "a project name",
    "the project of the folder that the client names (`CLAUDE_PROJECT_DIR`), else of the working directory",
    "The project whose memories this session reads and writes; `global` is seen from every project.",
)
EMBEDDER = Setting(
    "REVERIE_EMBEDDER",
    "`bundled` or `openai:MODEL`",
    BUNDLED_EMBEDDER,
    "What turns text into vectors. `openai:` uses OPENAI_API_KEY and OPENAI_BASE_URL.",
)
RETENTION = Setting(
    "REVERIE_RETENTION",
    ", ".join(f"`{mode}`" for mode in RETENTION_MODES),
    "huber",
    "The forgetting curve of this domain.",
)
TIER = Setting(
    "REVERIE_TIER",
    ", ".join(f"`{tier}`" for tier in TIERS),
    "none: a memory lives three years, longer with each recall",
    "How long memories of this domain that have no tier of their own live unused.",
)
MAX_DISTANCE = Setting(
    "REVERIE_MAX_DISTANCE",
    "a number from 0 to 2",
    "1.4",
    "Vector hits farther away than this (L2 on unit vectors) are not recalled; `filtered` counts them.",
)
SEARCH_MEMORY = Setting(
    "REVERIE_SEARCH_MEMORY",
    "megabytes, from 0 to 1000000",
    "a sixteenth of the machine's memory",
    "How much memory vectors and rows may take; a larger store is searched on disk. `status` says which.",
)
LLM = Setting(
    "REVERIE_LLM",
    "`openai:MODEL`",
    "none: dreams judge by rules, and you or your assistant through `review`",
    "A language model for dreams and captures. Uses OPENAI_API_KEY and OPENAI_BASE_URL.",
)
LLM_PRICE = Setting(
    "REVERIE_LLM_PRICE",
    "dollars for a million tokens in and out, such as `0.15/0.60`",
    "OpenAI's list price; for a model that is not on it, `10/30`",
    "What the model's calls are counted at before they are sent; a local model costs `0/0`.",
)
DREAM = Setting(
    "REVERIE_DREAM",
    "`auto` or `manual`",
    "auto",
    "Whether a server that is idle dreams by itself once a day.",
)
CAPTURE = Setting(
    "REVERIE_CAPTURE",
    "`off`, `ask` or `auto`",
    "ask",
    "What to do with the statements that hooks find in a transcript: nothing, ask about them, or keep them.",
)
CLOCK = Setting(
    "REVERIE_CLOCK",
    "a shift such as `+90d` or `-2h`, or an ISO moment",
    "the real time",
    "Moves the clock, for tests, demos and forecasts.",
)

ENGINE = Setting(
    "REVERIE_ENGINE",
    "`auto`, `off` or `port`",
    "auto",
    "Whether sessions share one engine on this machine; `off`: each serves alone; `port`: by a loopback port instead "
    "of a socket. Only in the environment.",
)
ENGINE_IDLE = Setting(
    "REVERIE_ENGINE_IDLE",
    "minutes, from 0 to 10000",
    "10; with a moved clock 0.2",
    "How long the engine stays after its last session.",
)
RUNTIME = Setting(
    "REVERIE_RUNTIME",
    "an absolute path, short enough for a socket",
    "the platform's folder for sockets",
    "Where the engine's socket, lock and log are; on this machine. Only in the environment.",
)

OAUTH_ISSUER = Setting(
    "REVERIE_OAUTH_ISSUER",
    "the issuer's identifier, an https address",
    "none: only tokens of `reverie tokens` are taken",
    "Whose access tokens `reverie serve --http` takes, exactly as their `iss` names it.",
)
OAUTH_JWKS = Setting(
    "REVERIE_OAUTH_JWKS",
    "an https address; http only on this machine",
    "none; needed with an issuer",
    "Where the issuer publishes its keys.",
)
OAUTH_AUDIENCE = Setting(
    "REVERIE_OAUTH_AUDIENCE",
    "what `aud` must name",
    "the address that clients use, such as `https://memory.example.com/mcp`",
    "For whom an access token must have been issued.",
)
HTTP_RATE = Setting(
    "REVERIE_HTTP_RATE",
    "requests, from 1 to 1000000",
    "1200",
    "How many requests a minute one user may send to `reverie serve --http`.",
)
HTTP_CONCURRENT = Setting(
    "REVERIE_HTTP_CONCURRENT",
    "calls, from 1 to 1000",
    "16",
    "How many calls of one user `reverie serve --http` works on at once.",
)

TABLE: tuple[Setting, ...] = (
    HOME,
    HOST_FOLDER,
    CONFIG,
    DOMAIN,
    PROJECT,
    EMBEDDER,
    RETENTION,
    TIER,
    MAX_DISTANCE,
    SEARCH_MEMORY,
    LLM,
    LLM_PRICE,
    DREAM,
    CAPTURE,
    CLOCK,
    ENGINE,
    ENGINE_IDLE,
    RUNTIME,
    OAUTH_ISSUER,
    OAUTH_JWKS,
    OAUTH_AUDIENCE,
    HTTP_RATE,
    HTTP_CONCURRENT,
)

ONLY_IN_THE_ENVIRONMENT = (HOME, HOST_FOLDER, CONFIG, ENGINE, RUNTIME)
"""Settings that a file in the data folder cannot have: they are needed to find the file, or before it is read."""

OF_A_DOMAIN: tuple[Setting, ...] = (RETENTION, TIER)
"""Settings that a section `[domains.NAME]` of reverie.toml may have: how that domain forgets."""

_DOMAINS = "domains"
_FORGETTING = "forgetting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a user can set, checked."""

    home: str
    host_folder: str | None = None
    config: str | None = None
    domain: str = DOMAIN.default
    project: str | None = None
    embedder: str = BUNDLED_EMBEDDER
    retention: RetentionMode = "huber"
    tier: Tier | None = None
    max_distance: float = 1.4
    search_memory: float | None = None  # megabytes; None: a share of what the machine has
    llm: str | None = None
    llm_price: tuple[float, float] | None = None
    dream: DreamMode = "auto"
    capture: CaptureMode = "ask"
    clock: str | None = None
    engine_idle: float = 10.0  # minutes
    parameters: Parameters = STANDARD
    oauth_issuer: str | None = None
    oauth_jwks: str | None = None
    oauth_audience: str | None = None
    http_rate: int = 1200  # requests of one user in a minute
    http_concurrent: int = 16

    @property
    def installation(self) -> Installation:
        """The key of this installation, in the configuration folder."""
        return Installation(Path(self.config) if self.config else default_config_folder(os.environ, sys.platform))

    @property
    def is_local(self) -> bool:
        """Return whether the data folder is a folder on this machine, not an object store."""
        return not _OBJECT_STORE.match(self.home)

    @property
    def domain_uri(self) -> str:
        """Where the tables of this domain live."""
        if self.is_local:
            return str(Path(self.home) / "domains" / self.domain)
        return f"{self.home.rstrip('/')}/domains/{self.domain}"

    @property
    def domain_folder(self) -> Path:
        """Where this host keeps files of this domain: with the tables, or on this host if they are in a bucket."""
        if self.is_local:
            return Path(self.domain_uri)
        name = hashlib.sha256(self.home.rstrip("/").encode("utf-8", "surrogateescape")).hexdigest()[:24]
        own = Path(self.host_folder) if self.host_folder else default_home(os.environ)
        return own / "buckets" / name / "domains" / self.domain


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of this process.

    Raises:
        SettingError: naming the first setting that is wrong, and what it takes.
    """
    environment = os.environ if environment is None else environment
    home = _home(environment)
    file = _file(home)
    given = {
        setting: environment[setting.variable].strip()
        for setting in TABLE
        if environment.get(setting.variable, "").strip()
    }
    domain = _matching(file.values | given, DOMAIN)
    values = file.values | file.domains.get(domain, {}) | given
    return Settings(
        home=home,
        host_folder=_host_folder(given),
        config=_config(values, home),
        domain=domain,
        project=values.get(PROJECT),
        embedder=_embedder(values),
        retention=_retention(values),
        tier=_tier(values),
        max_distance=_distance(values),
        search_memory=_search_memory(values),
        llm=_llm(values),
        llm_price=_price(values),
        dream=_dream(values),
        capture=_capture(values),
        clock=values.get(CLOCK),
        engine_idle=_idle_minutes(values),
        parameters=file.parameters.get(domain, file.parameters[""]),
        oauth_issuer=_secure_address(values, OAUTH_ISSUER),
        oauth_jwks=_secure_address(values, OAUTH_JWKS),
        oauth_audience=values.get(OAUTH_AUDIENCE),
        http_rate=_count(values, HTTP_RATE, highest=1_000_000),
        http_concurrent=_count(values, HTTP_CONCURRENT, highest=1_000),
    )


def unknown_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the REVERIE_* variables that are no setting, most likely misspelled."""
    known = {setting.variable for setting in TABLE}
    environment = os.environ if environment is None else environment
    return sorted(name for name in environment if name.startswith("REVERIE_") and name not in known)


def meant_by(unknown: str) -> str:
    """Return the setting that a misspelled variable most likely means, in brackets, or nothing."""
    import difflib  # needed once in a while; starting a server should not wait for it

    close = difflib.get_close_matches(unknown, [setting.variable for setting in TABLE], n=1, cutoff=0.8)
    return f" ({close[0]} is one)" if close else ""


def default_home(environment: Mapping[str, str]) -> Path:
    """Return the platform's folder for data that belongs to the user."""
    return Path(data_folder(environment))


def _home(environment: Mapping[str, str]) -> str:
    given = environment.get(HOME.variable, "").strip()
    if not given:
        return _storable(str(default_home(environment)))
    if _OBJECT_STORE.match(given):
        if not _BUCKET.fullmatch(given):
            raise SettingError(HOME.variable, given, HOME.takes)
        return given
    try:
        path = Path(given).expanduser()
    except RuntimeError:  # ~somebody who is no user here
        raise SettingError(HOME.variable, given, "the home of a user who exists, or an absolute path") from None
    if not path.is_absolute():
        raise SettingError(HOME.variable, given, "an absolute path, so that it never depends on where you start")
    return _storable(str(path))


_NOT_IN_A_PATH = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # the last: bytes that are not UTF-8


def _storable(path: str) -> str:
    """Return a path, unless LanceDB cannot open tables there and would blame the tables."""
    if _NOT_IN_A_PATH.search(path):
        raise SettingError(HOME.variable, path, "a path in UTF-8 without control characters")
    return path


def project_from(environment: Mapping[str, str]) -> str | None:
    """Return the project that an environment names.

    Raises:
        SettingError: if no answer could name it.
    """
    project = environment.get(PROJECT.variable, "").strip()
    if not _is_text(project):
        raise SettingError(PROJECT.variable, project, "a name in UTF-8")
    return project or None


def _is_text(value: str) -> bool:
    """Return whether a value can be written as UTF-8, which bytes in a variable or a file name may prevent."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _host_folder(values: Mapping[Setting, str]) -> str | None:
    value = values.get(HOST_FOLDER)
    if value is not None and not Path(value).is_absolute():
        raise SettingError(HOST_FOLDER.variable, value, HOST_FOLDER.takes)
    return value


@dataclass(frozen=True, slots=True)
class _File:
    """The values of reverie.toml: for every domain, and for each domain that has a section."""

    values: dict[Setting, str] = field(default_factory=dict)
    domains: dict[str, dict[Setting, str]] = field(default_factory=dict)
    parameters: dict[str, Parameters] = field(default_factory=lambda: {"": STANDARD})
    """How memories fade, by domain; the empty name stands for every other domain."""


def _file(home: str) -> _File:
    if _OBJECT_STORE.match(home):
        return _File()
    path = Path(home) / "reverie.toml"
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return _File()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(str(path), str(error), "a readable TOML file") from error
    import tomllib  # few have such a file, and every command starts with this module

    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError(str(path), str(error), "a readable TOML file") from error
    domains = written.pop(_DOMAINS, {})
    everywhere = read_parameters(written.pop(_FORGETTING, {}), f"[{_FORGETTING}] of {path}")
    parameters = {"": everywhere} | _written_parameters(domains, path, everywhere)
    anywhere = [setting for setting in TABLE if setting not in ONLY_IN_THE_ENVIRONMENT]
    values = _written_values(written, anywhere, str(path), sections=True)
    return _File(values, _written_domains(domains, path), parameters)


def _written_parameters(domains: Any, path: Path, everywhere: Parameters) -> dict[str, Parameters]:
    """Take the sections `[domains.NAME.forgetting]` out of the domains and read them."""
    sections = domains.items() if isinstance(domains, dict) else ()
    return {
        name: read_parameters(
            section.pop(_FORGETTING), f"[{_DOMAINS}.{name}.{_FORGETTING}] of {path}", defaults=everywhere
        )
        for name, section in sections
        if isinstance(section, dict) and _FORGETTING in section
    }


def _written_domains(domains: Any, path: Path) -> dict[str, dict[Setting, str]]:
    """Read every section, also those of other domains, so that a mistake shows at once."""
    example = f"sections such as [{_DOMAINS}.alfred]"
    if not isinstance(domains, dict):
        raise SettingError(f"{_DOMAINS} in {path}", str(domains), example)
    found: dict[str, dict[Setting, str]] = {}
    for name, section in domains.items():
        here = f"[{_DOMAINS}.{name}] of {path}"
        if not isinstance(section, dict):
            raise SettingError(f"{_DOMAINS}.{name} in {path}", str(section), example)
        if not _NAME.fullmatch(name):
            raise SettingError(here, name, DOMAIN.takes)
        found[name] = _written_values(section, OF_A_DOMAIN, here)
        _retention(found[name], f"{RETENTION.key} in {here}")
        _tier(found[name], f"{TIER.key} in {here}")
    return found


def _written_values(
    written: Mapping[str, Any], allowed: Sequence[Setting], here: str, *, sections: bool = False
) -> dict[Setting, str]:
    known = {setting.key: setting for setting in allowed}
    values: dict[Setting, str] = {}
    for key, value in written.items():
        if key not in known:
            others = f", or sections [{_DOMAINS}.NAME] and [{_FORGETTING}]" if sections else ""
            takes = f"one of: {', '.join(sorted(known))}{others}"
            raise SettingError(f"{key} in {here}", str(value), takes)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise SettingError(f"{key} in {here}", str(value), known[key].takes)
        if str(value).strip():
            values[known[key]] = str(value).strip()
    return values


def _config(values: Mapping[Setting, str], home: str) -> str | None:
    value = values.get(CONFIG)
    if value is None:
        return None
    path = Path(value)
    if not path.is_absolute() or path.is_relative_to(home):
        raise SettingError(CONFIG.variable, value, "an absolute path outside the data folder")
    return value


def _matching(values: Mapping[Setting, str], setting: Setting) -> str:
    value = values.get(setting, setting.default)
    if not _NAME.fullmatch(value):
        raise SettingError(setting.variable, value, setting.takes)
    return value


def _embedder(values: Mapping[Setting, str]) -> str:
    value = values.get(EMBEDDER, BUNDLED_EMBEDDER)
    provider, _, model = value.partition(":")
    if value != BUNDLED_EMBEDDER and not (provider == "openai" and model.strip()):
        raise SettingError(EMBEDDER.variable, value, EMBEDDER.takes)
    return value


def _retention(values: Mapping[Setting, str], named: str = RETENTION.variable) -> RetentionMode:
    value = values.get(RETENTION, RETENTION.default)
    for mode in RETENTION_MODES:
        if mode == value:
            return mode
    raise SettingError(named, value, RETENTION.takes)


def _tier(values: Mapping[Setting, str], named: str = TIER.variable) -> Tier | None:
    value = values.get(TIER)
    if value is None:
        return None
    for tier in TIERS:
        if tier == value:
            return tier
    raise SettingError(named, value, TIER.takes)


def _distance(values: Mapping[Setting, str]) -> float:
    return _number(values, MAX_DISTANCE, MAX_DISTANCE.default, highest=2.0)


def _search_memory(values: Mapping[Setting, str]) -> float | None:
    if SEARCH_MEMORY not in values:
        return None
    return _number(values, SEARCH_MEMORY, "0", highest=1_000_000.0)


def _idle_minutes(values: Mapping[Setting, str]) -> float:
    # A moved clock is for tests and demos, which use many: their engines should not pile up.
    return _number(values, ENGINE_IDLE, "0.2" if CLOCK in values else "10", highest=10_000.0)


def _number(values: Mapping[Setting, str], setting: Setting, default: str, *, highest: float) -> float:
    value = values.get(setting, default)
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= highest:
        raise SettingError(setting.variable, value, setting.takes)
    return number


def _count(values: Mapping[Setting, str], setting: Setting, *, highest: int) -> int:
    value = values.get(setting, setting.default)
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) <= highest:
        raise SettingError(setting.variable, value, setting.takes)
    return int(value)


def _secure_address(values: Mapping[Setting, str], setting: Setting) -> str | None:
    value = values.get(setting)
    if value is not None and not _SECURE.match(value):
        raise SettingError(setting.variable, value, setting.takes)
    return value


def _llm(values: Mapping[Setting, str]) -> str | None:
    value = values.get(LLM)
    if value is None:
        return None
    provider, _, model = value.partition(":")
    if provider != "openai" or not model.strip():
        raise SettingError(LLM.variable, value, LLM.takes)
    return value


def _price(values: Mapping[Setting, str]) -> tuple[float, float] | None:
    value = values.get(LLM_PRICE)
    if value is None:
        return None
    parts = value.split("/")
    try:
        prices = [float(part) for part in parts]
    except ValueError:
        prices = []
    if len(prices) != 2 or not all(0.0 <= price <= 10_000.0 for price in prices):
        raise SettingError(LLM_PRICE.variable, value, LLM_PRICE.takes)
    return prices[0], prices[1]


def _dream(values: Mapping[Setting, str]) -> DreamMode:
    value = values.get(DREAM, DREAM.default)
    if value == "auto":
        return "auto"
    if value == "manual":
        return "manual"
    raise SettingError(DREAM.variable, value, DREAM.takes)


def _capture(values: Mapping[Setting, str]) -> CaptureMode:
    value = values.get(CAPTURE, CAPTURE.default)
    for mode in get_args(CaptureMode):
        if mode == value:
            chosen: CaptureMode = mode
            return chosen
    raise SettingError(CAPTURE.variable, value, CAPTURE.takes)
