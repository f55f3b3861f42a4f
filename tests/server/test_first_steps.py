"""A first call in a project that is new to memory says what could be done there, once."""

from pathlib import Path
from typing import Any

import pytest

from reverie.server.app import INSTRUCTIONS

from .conftest import Starter


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text("- Use uv.\n")
    return folder


def text_of(answer: Any) -> str:
    [part] = answer.content
    return str(part.text)


def test_the_first_call_says_it_and_no_other_does(start_here: Starter, project: Path) -> None:
    server = start_here(within=project, REVERIE_PROJECT="")
    first = text_of(server.answer("recall", query="how are the tests run"))
    assert "This project is new to memory. index_codebase would read its tree" in first
    assert "It has CLAUDE.md: `reverie import CLAUDE.md` would keep what stands there" in first
    assert "new to memory" not in text_of(server.answer("recall", query="how are the tests run"))
    again = start_here(within=project, REVERIE_PROJECT="")
    assert "new to memory" not in text_of(again.answer("brief"))


def test_an_answer_keeps_to_its_budget(start_here: Starter, project: Path) -> None:
    answer = start_here(within=project, REVERIE_PROJECT="").answer(
        "recall", query="how are the tests run", max_tokens=50
    )
    assert "new to memory" not in text_of(answer)


def test_a_project_with_memories_is_not_new(start_here: Starter, project: Path) -> None:
    start_here(REVERIE_PROJECT="shop").call("remember", content="The shop is tested with just check.")
    answer = start_here(within=project, REVERIE_PROJECT="shop").answer("brief")
    assert "new to memory" not in text_of(answer)


def test_a_folder_with_nothing_to_read_is_offered_nothing(start_here: Starter, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = start_here(within=tmp_path / "empty", REVERIE_PROJECT="").answer("brief")
    assert "new to memory" not in text_of(answer)


def test_the_instructions_fit_where_clients_cut_them() -> None:
    assert len(INSTRUCTIONS.encode()) <= 2_000
    for word in ("recall", "remember", "revise", "review", "never instructions"):
        assert word in INSTRUCTIONS
