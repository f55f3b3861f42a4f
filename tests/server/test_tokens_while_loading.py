"""Budgets while the tokenizer has not loaded: kept all the same, by an upper bound, and the answer says so."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from reverie.embeddings import tokens
from reverie.recall.results import as_sent, lean
from reverie.server import engine
from reverie.tools import recall, remember
from reverie.tools.brief import brief
from reverie.tools.requests import BriefRequest, RecallRequest, RememberRequest, StatusRequest
from reverie.tools.session import Session
from reverie.tools.status import status
from tests.cli.test_main import environment

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NOTE = "Tokens are estimated from above: the tokenizer has not loaded."
FACTS = [f"Lamp number {number} burns gas in street {number}. " * 12 for number in range(8)]


@pytest.fixture
async def lamps(session: Session) -> Session:
    for text in FACTS:
        await remember.remember(session, RememberRequest(content=text, layer="semantic"))
    return session


@pytest.mark.parametrize("budget", [100, 300, 1000])
async def test_a_recall_keeps_to_its_tokens_and_says_that_they_are_estimated(
    lamps: Session, tokenizer_not_loaded: tokens.Tokenizer, budget: int
) -> None:
    answer = await recall.recall(lamps, RecallRequest(query="lamp", max_tokens=budget))
    exact = tokenizer_not_loaded.counter.count
    assert exact(answer.text) <= answer.tokens <= budget
    assert exact(as_sent(lean(answer))) <= budget
    assert answer.text.startswith(NOTE)
    assert bool(answer.results) == (budget > 100)


async def test_once_it_has_loaded_a_recall_shows_more_and_says_nothing(
    lamps: Session, tokenizer_not_loaded: tokens.Tokenizer
) -> None:
    request = RecallRequest(query="lamp", max_tokens=600)
    first = await recall.recall(lamps, request)
    await lamps.warm()
    second = await recall.recall(lamps, request)
    assert NOTE not in second.text
    assert sum(len(row.content) for row in second.results) > sum(len(row.content) for row in first.results)
    assert second.tokens == tokenizer_not_loaded.counter.count(second.text)


@pytest.mark.parametrize("budget", [250, 800])
async def test_a_briefing_keeps_to_its_tokens_and_says_that_they_are_estimated(
    lamps: Session, tokenizer_not_loaded: tokens.Tokenizer, budget: int
) -> None:
    briefing = await brief(lamps, BriefRequest(max_tokens=budget))
    exact = tokenizer_not_loaded.counter.count
    assert NOTE in briefing.text.splitlines()
    assert briefing.memories
    assert exact(briefing.text) <= briefing.tokens <= budget
    assert exact(as_sent(lean(briefing))) <= budget
    await lamps.warm()
    assert NOTE not in (await brief(lamps, BriefRequest(max_tokens=budget))).text


async def test_a_briefing_of_nothing_says_it_too(session: Session, tokenizer_not_loaded: tokens.Tokenizer) -> None:
    assert NOTE in (await brief(session, BriefRequest())).text


@pytest.mark.usefixtures("tokenizer_not_loaded")
async def test_loading_the_model_alone_leaves_the_tokenizer(session: Session) -> None:
    await session.warm_model()
    assert tokens.tokens_are_estimated()
    await session.warm()
    assert not tokens.tokens_are_estimated()


@pytest.mark.usefixtures("tokenizer_not_loaded")
async def test_the_server_loads_the_tokenizer_behind_the_first_answers(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SECONDS_FOR_THE_FIRST_ANSWERS", 0.2)
    behind = asyncio.create_task(engine.Engine(lambda: session.settings)._work_behind_the_answers(session.domain))
    await asyncio.sleep(0.05)
    assert tokens.tokens_are_estimated()
    for _ in range(1200):
        if not tokens.tokens_are_estimated():
            break
        await asyncio.sleep(0.05)
    behind.cancel()
    assert not tokens.tokens_are_estimated()


@pytest.mark.usefixtures("tokenizer_not_loaded")
async def test_the_tokenizer_is_not_loaded_while_a_call_is_under_way_but_not_put_off_for_ever(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SECONDS_FOR_THE_FIRST_ANSWERS", 0.0)
    monkeypatch.setattr(engine, "MOST_SECONDS_UNTIL_QUIET", 3.0)
    served = engine.Engine(lambda: session.settings)
    await session.warm_model()
    async with served.calling():
        behind = asyncio.create_task(served._work_behind_the_answers(session.domain))
        await asyncio.sleep(1.0)
        assert tokens.tokens_are_estimated()
        for _ in range(1200):
            if not tokens.tokens_are_estimated():
                break
            await asyncio.sleep(0.05)
        assert not tokens.tokens_are_estimated()
    behind.cancel()


async def test_status_says_why_counts_stay_estimates(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any("tokens" in note for note in (await status(session, StatusRequest())).health)
    gone = tmp_path / "gone"
    monkeypatch.setattr(tokens, "tokenizer", tokens.Tokenizer(gone))
    [note] = [note for note in (await status(session, StatusRequest())).health if "tokens" in note]
    assert note.startswith("tokens are estimated: ")
    assert str(gone) in note


def test_commands_that_print_once_do_not_load_the_tokenizer(tmp_path: Path) -> None:
    program = (
        "import sys; from reverie.cli.main import main\n"
        "for command in (['recall', 'lamp'], ['brief'], ['status']):\n"
        "    assert main(command) == 0\n"
        "    assert 'tiktoken' not in sys.modules, command\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(tmp_path / "home"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
