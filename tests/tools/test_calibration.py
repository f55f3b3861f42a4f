"""What a score means: questions with an answer, without one, and off the matter, on notes of an invented project.

The notes and questions were written before anything was fitted, and nothing was fitted on them.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reverie.embeddings.bundled import BundledEmbedder
from reverie.recall.results import Recalled
from reverie.recall.score import FITS_WELL, LEAST_FIT
from reverie.settings import Settings
from reverie.tools import recall, remember
from reverie.tools.requests import RecallRequest, RememberRequest
from reverie.tools.session import Session
from tests.tools.parcel_lockers import ANSWERED, NOTES, OFF_TOPIC, ON_TOPIC

pytestmark = pytest.mark.anyio
HELD_OUT = Path(__file__).parent / "held_out"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One store serves all questions, so its loop lasts as long as the module."""
    return "asyncio"


@dataclass
class Lockers:
    """A session that knows the notes."""

    session: Session
    ids: list[str]

    async def ask(self, query: str, **arguments: object) -> Recalled:
        """Recall by a question."""
        return await recall.recall(self.session, RecallRequest(query=query, **arguments))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
async def lockers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lockers]:
    """The notes in a store, read by the bundled model."""
    folder: Path = tmp_path_factory.mktemp("lockers")
    settings = Settings(home=str(folder / "home"), project="kestrel")
    session = await Session.open(settings, embedder=BundledEmbedder(), folder=folder)
    await session.warm()
    kept = [await remember.remember(session, RememberRequest(content=note, source="human")) for note in NOTES]
    yield Lockers(session, [one.id for one in kept])
    await session.close()


async def test_questions_off_the_matter_are_told_that_nothing_fits(lockers: Lockers) -> None:
    answers = [await lockers.ask(query) for query in OFF_TOPIC]
    assert all(answer.fits in ("none", "weak") for answer in answers)
    assert sum(len(answer.results) for answer in answers) <= len(answers)


async def test_of_all_questions_without_an_answer_seven_in_ten_are_told_so(lockers: Lockers) -> None:
    unfit = [(await lockers.ask(query)).fits != "well" for query in (*OFF_TOPIC, *ON_TOPIC)]
    assert sum(unfit) >= 0.7 * len(unfit)


async def test_questions_with_an_answer_get_it(lockers: Lockers) -> None:
    answers = [(await lockers.ask(query), lockers.ids[note]) for query, note in ANSWERED]
    found = [right in [row.id for row in answer.results] for answer, right in answers]
    assert all(answer.results for answer, _ in answers)
    assert sum(found) >= len(found) - 1
    assert sum(answer.fits == "weak" for answer, _ in answers) <= 0.12 * len(answers)


@pytest.mark.parametrize(
    "query",
    ["BayJammedError", "E4012", "planner/src/fit.rs", "kestrel-config", "RUST_MIN_STACK", "why would E4012 come up?"],
)
async def test_what_is_named_literally_fits(lockers: Lockers, query: str) -> None:
    answer = await lockers.ask(query)
    assert answer.fits == "well"
    assert answer.results[0].score >= FITS_WELL


async def test_rows_come_in_the_order_of_their_scores_and_the_first_has_the_likelihood(lockers: Lockers) -> None:
    for query, _ in ANSWERED:
        answer = await lockers.ask(query, explain=True)
        scores = [row.score for row in answer.results if row.why and row.why["diversity"] == 1.0]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)
        assert (scores[0] >= FITS_WELL) == (answer.fits == "well")


async def test_what_is_left_out_for_its_fit_is_counted(lockers: Lockers) -> None:
    answer = await lockers.ask("how to prune an apple tree", explain=True)
    assert answer.filtered["does not fit"] > 0
    assert all(row.why and row.why["fit"] >= LEAST_FIT for row in answer.results)


async def test_an_answer_without_a_good_fit_says_so_in_its_text(lockers: Lockers) -> None:
    request = RecallRequest(query="which insurance covers lost parcels")
    answer = await recall.recall(lockers.session, request)
    text = answer.text
    assert answer.fits == "weak"
    assert text.startswith("Nothing fits well; the nearest")


async def test_a_caller_who_names_what_to_look_through_sees_all_of_it(lockers: Lockers) -> None:
    plain = await lockers.ask("guitar chords for a slow blues")
    narrowed = await lockers.ask("guitar chords for a slow blues", layers=["semantic", "procedural"])
    assert len(plain.results) < 3 < len(narrowed.results)
    assert narrowed.fits == "weak"


async def test_a_script_that_the_model_cannot_read_is_judged_by_its_words(lockers: Lockers) -> None:
    note = "缓存的过期时间是三十秒，由配置文件决定。"
    kept = await remember.remember(lockers.session, RememberRequest(content=note))
    answer = await lockers.ask("缓存的过期时间")
    assert answer.fits == "well"
    assert answer.results[0].id == kept.id


@pytest.mark.slow
@pytest.mark.parametrize(("world", "told", "left_empty"), [("halyard", 0.8, 1), ("lumen", 0.75, 0)])
async def test_the_held_out_world_is_answered_as_published(
    tmp_path: Path, world: str, told: float, left_empty: int
) -> None:
    def read(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (HELD_OUT / world / f"{name}.jsonl").read_text("utf-8").splitlines()]

    settings = Settings(home=str(tmp_path / "home"), project=world)
    session = await Session.open(settings, embedder=BundledEmbedder(), folder=tmp_path)
    await session.warm()
    for note in read("world"):
        await remember.remember(session, RememberRequest(content=note["content"], source="human"))
    asked = [(q, (await recall.recall(session, RecallRequest(query=q["query"])))) for q in read("questions")]
    await session.close()
    without = [answer.fits != "well" for question, answer in asked if question["group"] == "none"]
    empty = [not answer.results for question, answer in asked if question["group"] != "none"]
    assert sum(without) >= told * len(without)
    assert (
        sum(empty) <= left_empty
    )  # "command to format everything", whose note is not among the first eight at any cut
