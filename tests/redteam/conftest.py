"""An attacker's hands on a real store: whatever a test can do here, a session could."""

import importlib.util
import io
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from reverie.recall.results import Recalled
from reverie.tools import recall, remember
from reverie.tools.export_jsonl import export
from reverie.tools.import_jsonl import Imported, import_memories
from reverie.tools.requests import RecallRequest, RememberRequest
from reverie.tools.results import Remembered
from reverie.tools.session import Session


@pytest.fixture
def keep(session: Session) -> Callable[..., Awaitable[Remembered]]:
    """Remember a text, as an assistant does."""

    async def call(content: str, **arguments: Any) -> Remembered:
        return await remember.remember(session, RememberRequest(content=content, **arguments))

    return call


@pytest.fixture
def ask(session: Session) -> Callable[..., Awaitable[tuple[Recalled, str]]]:
    """Recall by a question; the rows and the text that the model reads."""

    async def call(query: str, **arguments: Any) -> tuple[Recalled, str]:
        answer = await recall.recall(session, RecallRequest(query=query, **arguments))
        return answer, answer.text

    return call


@pytest.fixture
def take_in(session: Session) -> Callable[..., Awaitable[Imported]]:
    """Import lines, as from a file that somebody sent."""

    async def call(*lines: dict[str, Any]) -> Imported:
        file = io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode())
        return await import_memories(session, file, lambda tally: None)

    return call


@pytest.fixture
def exported(session: Session, tmp_path: Path) -> Callable[[], Awaitable[str]]:
    """Export the whole store and return the text of the file."""

    async def call() -> str:
        file = tmp_path / "export.jsonl"
        await export(session, str(file), progress=lambda done, total: None)
        return file.read_text("utf-8")

    return call


@pytest.fixture
def on_disk(home: Path) -> Callable[[str], list[str]]:
    """Name the files of the data folder that hold a text."""

    def search(text: str) -> list[str]:
        holding = []
        for path in home.rglob("*"):
            with suppress(FileNotFoundError, IsADirectoryError):  # upkeep goes on meanwhile
                if text.encode() in path.read_bytes():
                    holding.append(str(path.relative_to(home)))
        return holding

    return search


def corpus(name: str) -> ModuleType:
    """Load one of the lists of made-up attacks beside the guard's own tests."""
    path = Path(__file__).parents[1] / "guard" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tokens() -> dict[str, str]:
    """Made-up tokens in the shapes of real ones."""
    shaped: dict[str, str] = corpus("tokens").shaped()
    return shaped


@pytest.fixture(scope="session")
def hostile() -> dict[str, str]:
    """Texts that give orders to an assistant."""
    texts: dict[str, str] = corpus("hostile").HOSTILE
    return texts
