"""Real stores and git repositories in temporary folders, a clock that tests move, a tiny deterministic embedder."""

import functools
import gc
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from reverie.codebase import anchors
from reverie.codebase.identity import has_commit, identify_project, root_commits
from reverie.codebase.tree import SourceTree
from reverie.embeddings import bundled, tokens
from reverie.embeddings.base import Embedder
from reverie.folders import CLIENT_FOLDERS
from reverie.settings import Settings
from reverie.storage import database
from reverie.time import iso
from reverie.tools import recall
from reverie.tools.session import Session
from tests.tiny_embedder import TinyEmbedder

PATIENCE = 60.0
START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, **span: float) -> None:
        """Move on by days, hours, minutes or seconds."""
        self.moment += timedelta(**span)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the folders with the longest files first, so that no process is left alone with one at the end.

    Properties are tried on a quarter of their examples, unless `--hypothesis-profile default` asks for all.
    """
    items.sort(key=lambda item: item.path.parent.name not in ("server", "cli"))
    share = 4 if config.getoption("--hypothesis-profile") is None else 1
    properties = {item.obj for item in items if isinstance(item, pytest.Function) and "hypothesis" in item.keywords}
    for test in properties:
        full = test._hypothesis_internal_use_settings
        examples = max(full.max_examples // share, min(full.max_examples, 10))
        # Timing decides no test: on a busy machine any example may take a second, and drawing one as well.
        unhurried = {*full.suppress_health_check, HealthCheck.too_slow}
        test._hypothesis_internal_use_settings = settings(
            full, max_examples=examples, deadline=None, suppress_health_check=unhurried
        )


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays to the end: five thousand tests and the modules that they import."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def anyio_backend() -> str:
    """LanceDB's asynchronous interface runs on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def config_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The key of the installation goes to a temporary folder, also in the processes that tests start."""
    folder = tmp_path_factory.mktemp("config")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        patch.setenv("REVERIE_ENGINE", "off")  # tests of the engine start their own, and see that it leaves
        for variable in CLIENT_FOLDERS:  # an assistant may be running the tests
            patch.delenv(variable, raising=False)
        yield folder


@pytest.fixture(scope="session", autouse=True)
def bundled_model_is_loaded_once() -> Iterator[None]:
    """Load the bundled model once for all sessions and commands of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundled, "_load", functools.cache(bundled._load))
        yield


class LoadedAtTheFirstCount(tokens.Tokenizer):
    """Counts are exact from the first, so that no test depends on how far loading has come."""

    @property
    def counter(self) -> Any:
        """Counts with tiktoken."""
        self.load()
        return super().counter

    @property
    def is_exact(self) -> bool:
        """Whether loading succeeded."""
        self.load()
        return super().is_exact


@pytest.fixture(scope="session", autouse=True)
def tokenizer_is_loaded_once() -> Iterator[None]:
    """Load tiktoken once, when a test first counts; `tokenizer_not_loaded` gives a test what users start with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "tokenizer", LoadedAtTheFirstCount(tokens.BUNDLED))
        yield


@pytest.fixture
def tokenizer_not_loaded(monkeypatch: pytest.MonkeyPatch) -> tokens.Tokenizer:
    """Count from above, as in the first seconds of a process; the exact counter is what stood here before."""
    exact = tokens.tokenizer
    monkeypatch.setattr(tokens, "tokenizer", tokens.Tokenizer(tokens.BUNDLED))
    return exact


@pytest.fixture(scope="session", autouse=True)
def machine_may_be_busy() -> Iterator[None]:
    """Wait a minute where users wait two seconds, for git and for the model; tests of the limits set their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recall, "SECONDS_FOR_THE_MODEL", PATIENCE)
        patch.setattr(anchors, "SECONDS_FOR_HISTORY", PATIENCE)
        for asks_git in (identify_project, root_commits, has_commit, SourceTree.__init__):
            patch.setitem(asks_git.__kwdefaults__, "patience", PATIENCE)
        yield


@pytest.fixture
def clock() -> ManualClock:
    """A clock for the test to move."""
    return ManualClock()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder that does not exist yet."""
    return tmp_path / "home"


class FolderCopy:
    """The folders and files of a folder, read once: an empty store has 180, and hundreds of tests want one."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(folder.rglob("*"))
        self._folders = [str(path.relative_to(folder)) for path in paths if path.is_dir()]
        self._files = [(str(path.relative_to(folder)), path.read_bytes()) for path in paths if path.is_file()]

    def write_to(self, folder: Path) -> None:
        """Write them all to another folder, which may be there already."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in self._folders:
            os.mkdir(os.path.join(folder, name))
        for name, content in self._files:
            with open(os.path.join(folder, name), "xb", buffering=0) as file:
                file.write(content)


@pytest.fixture(scope="session", autouse=True)
def empty_stores_are_copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Awaitable[None]]]:
    """Create the tables of an empty store once for each embedder and copy them: it saves each test 0.15 s.

    A store that has tables already, and a test that replaces the migrations, get what users get; so do all tests
    that use `tables_are_created`, and the processes that tests start.
    """
    create, migrations = database._migrate, database.MIGRATIONS
    templates: dict[database.Stamp, tuple[FolderCopy, datetime]] = {}

    async def copy(connection: Any, stamp: database.Stamp, now: datetime) -> None:
        in_a_bucket = "://" in connection.uri
        if in_a_bucket or database.MIGRATIONS is not migrations or await database.table_names(connection):
            await create(connection, stamp, now)
            return
        if stamp not in templates:
            template = tmp_path_factory.mktemp("empty-store") / "tables"
            await create(await database.connect_to(template), stamp, now)
            templates[stamp] = FolderCopy(template), now
        template_copy, created_at = templates[stamp]
        template_copy.write_to(Path(connection.uri))
        if now != created_at:
            meta = database.Table("meta", await connection.open_table("meta"))
            await meta.upsert(database.meta_rows({"created_at": iso(now)}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_migrate", copy)
        yield create


@pytest.fixture
def tables_are_created(
    empty_stores_are_copied: Callable[..., Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Create the tables of every store anew, as users do."""
    monkeypatch.setattr(database, "_migrate", empty_stores_are_copied)


OpenSession = Callable[..., Awaitable[Session]]


@pytest.fixture
async def open_session(home: Path, clock: ManualClock, tmp_path: Path) -> AsyncIterator[OpenSession]:
    """Open sessions on one data folder, each as another process would; they are closed at the end.

    One that is given no folder works in a project that has a name: to recognise a folder and record it takes longer
    than to open the store.
    """
    opened: list[Session] = []

    async def open_one(*, embedder: Embedder | None = None, folder: Path | None = None, **settings: Any) -> Session:
        if folder is None:
            folder, settings = tmp_path, {"project": "tests"} | settings
        session = await Session.open(
            Settings(home=str(home), **settings), embedder=embedder or TinyEmbedder(), clock=clock, folder=folder
        )
        opened.append(session)
        return session

    yield open_one
    for session in opened:
        await session.close()


@pytest.fixture
async def session(open_session: OpenSession) -> Session:
    """One session on an empty store."""
    return await open_session()


class Repository:
    """A folder with files, and with git unless a test does without."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ticks = 0

    def git(self, *arguments: str) -> str:
        """Run git there, with dates that follow each other."""
        self._ticks += 1
        date = f"{1_700_000_000 + self._ticks} +0000"
        done = subprocess.run(
            ["git", "-C", str(self.root), *arguments],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        )
        return done.stdout.strip()

    def write(self, path: str, text: str = "") -> None:
        """Write a file and the folders around it."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text or f"What {path} says.\n", "utf-8")

    def commit(self) -> str:
        """Commit everything there is; return the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "a step")
        return self.git("rev-parse", "HEAD")


MakeRepository = Callable[..., Repository]


@pytest.fixture
def git_without_surprises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git as it is right after installation, with nobody's configuration."""
    config = tmp_path / "gitconfig-of-tests"
    config.write_text(
        "[user]\n\tname = Wile\n\temail = wile@example.org\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture
def make_repository(tmp_path: Path, git_without_surprises: None) -> MakeRepository:
    """Make an empty repository with a name of one's choice."""

    def make(name: str = "anvil", *options: str) -> Repository:
        (tmp_path / name).mkdir(parents=True)
        made = Repository(tmp_path / name)
        made.git("init", "--quiet", *options)
        return made

    return make


@pytest.fixture
def repo(make_repository: MakeRepository) -> Repository:
    """An empty repository."""
    return make_repository()
