"""Shorthand for the two calls that nearly every test of a tool makes."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from reverie.recall.results import Recalled
from reverie.tools import recall, remember
from reverie.tools.requests import RecallRequest, RememberRequest
from reverie.tools.results import Remembered
from reverie.tools.session import Session
from tests.model_server import api, asking

__all__ = ["api", "ask", "asking", "keep"]


@pytest.fixture
def keep(session: Session) -> Callable[..., Awaitable[Remembered]]:
    """Remember a text."""

    async def call(content: str, **arguments: Any) -> Remembered:
        return await remember.remember(session, RememberRequest(content=content, **arguments))

    return call


@pytest.fixture
def ask(session: Session) -> Callable[..., Awaitable[Recalled]]:
    """Recall by a question."""

    async def call(query: str, **arguments: Any) -> Recalled:
        return await recall.recall(session, RecallRequest(query=query, **arguments))

    return call
