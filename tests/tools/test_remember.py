from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from reverie.errors import EmbedderError, InvalidInput, MemoryNotFound
from reverie.tools import remember
from reverie.tools.requests import RememberRequest
from reverie.tools.results import Remembered
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
OpenSession = Callable[..., Awaitable[Session]]


async def test_a_remembered_text_is_in_the_store_with_what_the_caller_said(session: Session, keep: Keep) -> None:
    kept = await keep(
        "Releases go out on Thursdays",
        title="Thursday",
        tags=["release", "release", "rhythm"],
        importance=0.8,
        confidence=0.9,
        source="human",
        project="host/owner/app",
        happened_at="2026-02-01",
        forget_after="30d",
        tier="elephant",
        pin=True,
        valence=0.5,
    )
    memory = await session.store.resolve(kept.id)
    assert (memory.content, memory.title, memory.tags) == (
        "Releases go out on Thursdays",
        "Thursday",
        ("release", "rhythm"),
    )
    assert (memory.importance, memory.confidence, memory.source, memory.trust) == (0.8, 0.9, "human", 1.0)
    assert (memory.project, memory.tier, memory.pinned, memory.valence) == ("host/owner/app", "elephant", True, 0.5)
    assert memory.happened_at == datetime(2026, 2, 1, tzinfo=UTC)
    assert memory.forget_after == session.now + timedelta(days=30)
    assert (memory.created_at, memory.session) == (session.now, session.store.session)
    assert memory.stability == pytest.approx(0.1 + 0.3 * 0.8)


async def test_the_first_memory_of_a_store_is_no_surprise(keep: Keep) -> None:
    first = await keep("Anything at all", importance=0.4)
    assert (first.surprise, first.importance) == (None, 0.4)


@pytest.mark.rule("002-surprise")
async def test_what_is_unlike_all_else_gains_importance(keep: Keep) -> None:
    await keep("ship moon harbour")
    novel = await keep("quarterly invoices overdue", importance=0.5)
    assert novel.surprise == pytest.approx(1.0)
    assert novel.importance == pytest.approx(0.8)


@pytest.mark.rule("002-surprise")
async def test_what_repeats_loses_importance_and_is_flagged(session: Session, keep: Keep) -> None:
    first = await keep("the harbour closes at nine")
    again = await keep("The harbour closes at nine!", importance=0.5)
    assert again.duplicate_of == first.id
    assert again.importance == pytest.approx(0.2)
    assert await session.store.count() == 2


async def test_the_very_same_text_is_not_stored_twice(session: Session, keep: Keep) -> None:
    first = await keep("the harbour closes at nine", tags=["a"])
    again = await keep("the harbour closes at nine", tags=["b"], pin=True)
    assert (again.id, again.duplicate_of) == (first.id, first.id)
    assert await session.store.count() == 1
    memory = await session.store.resolve(first.id)
    assert (memory.tags, memory.pinned) == (("a", "b"), True)


async def test_the_same_text_in_another_project_is_another_memory(session: Session, keep: Keep) -> None:
    first = await keep("the harbour closes at nine", project="one")
    second = await keep("the harbour closes at nine", project="two")
    assert first.id != second.id
    assert await session.store.count() == 2


async def test_confirmations_count_distinct_sources_only(session: Session, keep: Keep) -> None:
    first = await keep("the harbour closes at nine", source="ai")
    assert not (await keep("the harbour closes at nine", source="ai")).confirmed
    assert (await keep("the harbour closes at nine", source="human")).confirmed
    assert not (await keep("the harbour closes at nine", source="human")).confirmed
    assert (await keep("the harbour closes at nine", source="ingest")).confirmed
    memory = await session.store.resolve(first.id)
    assert (memory.confirmations, memory.confirmed_by) == (2, ("human", "ingest"))


async def test_a_number_that_differs_is_a_conflict_and_no_duplicate(session: Session, keep: Keep) -> None:
    first = await keep("The server of the harbour listens on port 8080 in every environment we have")
    other = await keep("The server of the harbour listens on port 8081 in every environment we have", source="human")
    assert other.duplicate_of is None
    assert not other.confirmed
    [conflict] = other.conflicts
    assert conflict.id == first.id
    assert "8080" in conflict.reason
    assert "8081" in conflict.reason


async def test_superseding_keeps_the_old_as_history(session: Session, keep: Keep) -> None:
    old = await keep("The lamp burns oil", pin=True)
    new = await keep("The lamp burns gas", supersedes=old.id[:10])
    before = await session.store.resolve(old.id)
    assert (before.status, before.superseded_by, before.expired_at) == ("superseded", new.id, session.now)
    after = await session.store.resolve(new.id)
    assert (after.derived_from, after.pinned) == ((old.id,), True)


async def test_an_unknown_memory_to_supersede_leaves_nothing_behind(session: Session, keep: Keep) -> None:
    with pytest.raises(MemoryNotFound):
        await keep("The lamp burns gas", supersedes="nothing-like-it")
    assert await session.store.count() == 0


WRONG_ARGUMENTS = [
    ({"content": ""}, "content"),
    ({"content": " \n\t "}, "content"),
    ({"content": "x" * 100_001}, "100,001"),
    ({"content": "a \ud800 half"}, "surrogate"),
    ({"content": "x", "layer": "dreams"}, "working, episodic"),
    ({"content": "x", "kind": "rumour"}, "fact, decision"),
    ({"content": "x", "source": "devil"}, "human, ai"),
    ({"content": "x", "tier": "forever"}, "goldfish"),
    ({"content": "x", "importance": 1.01}, "importance"),
    ({"content": "x", "importance": float("nan")}, "importance"),
    ({"content": "x", "confidence": -0.1}, "confidence"),
    ({"content": "x", "valence": 2}, "valence"),
    ({"content": "x", "happened_at": "soonish"}, "happened_at"),
    ({"content": "x", "forget_after": "32.13."}, "forget_after"),
    ({"content": "x", "tags": ["ok", " "]}, "tags"),
    ({"content": "x", "tags": [str(n) for n in range(51)]}, "tags"),
    ({"content": "x", "title": "t" * 201}, "title"),
    ({"content": "x", "files": ["../outside.py"]}, "files"),
    ({"content": "x", "files": ["/etc/passwd"]}, "files"),
]


async def test_a_wrong_argument_is_named_and_nothing_is_written(session: Session, subtests: pytest.Subtests) -> None:
    for arguments, says in WRONG_ARGUMENTS:
        with subtests.test(ascii(arguments)[:100]):
            with pytest.raises(InvalidInput, match=says):
                await remember.remember(session, RememberRequest(**arguments))  # type: ignore[arg-type]
            assert await session.store.count() == 0
            assert await session.store.database.table("events").count() == 0


async def test_the_longest_text_is_taken(session: Session, keep: Keep) -> None:
    kept = await keep("word " * 20_000)
    assert len((await session.store.resolve(kept.id)).content) == 100_000


class BrokenEmbedder:
    """An embedder whose service is down."""

    stamp = "tiny:64"
    dimensions = 64
    ready = True

    def warm(self) -> None:
        """Nothing to do."""

    def embed(self, texts: object) -> list[object]:
        """Fail."""
        raise EmbedderError("The embedding service does not answer. Try again later.")


async def test_a_text_that_cannot_be_embedded_is_not_half_written(open_session: OpenSession) -> None:
    session = await open_session(embedder=BrokenEmbedder())
    with pytest.raises(EmbedderError, match="Try again"):
        await remember.remember(session, RememberRequest(content="x"))
    assert await session.store.count() == 0


async def test_a_title_is_the_first_line_made_short(session: Session, keep: Keep) -> None:
    kept = await keep("A heading\nand more below")
    assert (await session.store.resolve(kept.id)).title == "A heading"
    long = await keep("word " * 40)
    title = (await session.store.resolve(long.id)).title
    assert title.endswith("word…")
    assert len(title) <= 81


async def test_files_named_by_the_caller_are_kept_as_anchors(session: Session, keep: Keep) -> None:
    files = ["core\\settings.py::parse_config", "README.md"]
    kept = await keep("parse_config reads the file", files=files, project="elsewhere")  # not here to be looked at
    first, second = (await session.store.resolve(kept.id)).anchors
    assert (first.path, first.symbol) == ("core/settings.py", "parse_config")
    assert (second.path, second.symbol) == ("README.md", None)


async def test_long_texts_are_compared_too(keep: Keep) -> None:
    long = " ".join(f"The harbour has a lamp on mast {number}." for number in range(200))
    first = await keep(f"{long} The ferry holds 70 cars.")
    other = await keep(f"{long} The ferry holds 80 cars.")
    assert [conflict.id for conflict in other.conflicts] == [first.id]


@pytest.mark.parametrize("passed", ["2020-01-01", "2026-03-02T09:30:00Z", "0s"])
async def test_a_deadline_that_has_passed_is_refused(session: Session, keep: Keep, passed: str) -> None:
    with pytest.raises(InvalidInput, match=r"forget_after: .* has passed\. Give a moment to come"):
        await keep("The fair is in town.", forget_after=passed)
    assert await session.store.count() == 0


async def test_a_tier_beside_a_deadline_is_told(keep: Keep) -> None:
    answer = await keep("The fair is in town.", tier="elephant", forget_after="3d")
    assert answer.warnings == [
        "tier elephant and forget_after are both kept: the memory expires at whichever comes first"
    ]
