"""Real stores in temporary folders, a clock that tests move, and a tiny deterministic embedder."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reverie.storage.lance import import_lancedb

import_lancedb()  # the quick way in, before any module of ours imports it plainly

from reverie.embeddings.embedder import Embedder  # noqa: E402 - after the import above
from reverie.embeddings.tiny import TinyEmbedder  # noqa: E402
from reverie.settings import Settings  # noqa: E402
from reverie.tools.workspace import Workspace  # noqa: E402

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


class HandClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, **span: float) -> None:
        """Move on by days, hours, minutes or seconds."""
        self.moment += timedelta(**span)


@pytest.fixture
def anyio_backend() -> str:
    """LanceDB's asynchronous interface runs on asyncio."""
    return "asyncio"


@pytest.fixture
def clock() -> HandClock:
    """A clock for the test to move."""
    return HandClock()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder that does not exist yet."""
    return tmp_path / "home"


OpenWorkspace = Callable[..., Awaitable[Workspace]]


@pytest.fixture
async def open_workspace(home: Path, clock: HandClock, tmp_path: Path) -> AsyncIterator[OpenWorkspace]:
    """Open sessions on one data folder, each as another process would; they are closed at the end."""
    opened: list[Workspace] = []

    async def open_one(*, embedder: Embedder | None = None, **settings: Any) -> Workspace:
        workspace = await Workspace.open(
            Settings(home=str(home), **settings), embedder=embedder or TinyEmbedder(), clock=clock, folder=tmp_path
        )
        opened.append(workspace)
        return workspace

    yield open_one
    for workspace in opened:
        await workspace.close()


@pytest.fixture
async def workspace(open_workspace: OpenWorkspace) -> Workspace:
    """One session on an empty store."""
    return await open_workspace()
