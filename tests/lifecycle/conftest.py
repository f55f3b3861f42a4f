"""A memory to start from, and the mark that ties a test to a rule of the checklist."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from reverie.memory import Memory

START = datetime(2026, 1, 1, 9, tzinfo=UTC)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rule(id): the rule of the lifecycle checklist that this test proves")


@pytest.fixture(scope="session")
def start() -> datetime:
    """The moment at which every memory of these tests was written."""
    return START


@pytest.fixture(scope="session")
def a_memory() -> Callable[..., Memory]:
    """Build an episodic event of medium importance from a human that nobody recalled yet."""

    def build(**changes: object) -> Memory:
        fields: dict[str, object] = {
            "id": "m1",
            "content": "the deploy of march went wrong",
            "content_hash": "0",
            "title": "deploy",
            "kind": "event",
            "layer": "episodic",
            "source": "human",
            "trust": 1.0,
            "importance": 0.5,
            "stability": 0.25,
            "created_at": START,
            "happened_at": START,
            "updated_at": START,
            "embedder": "tiny",
        }
        return Memory(**(fields | changes))  # type: ignore[arg-type]

    return build
