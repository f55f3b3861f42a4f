"""A store can change its embedding model, and no failure on the way costs a memory."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from reverie.errors import EmbedderError, ReverieError, StoreBusy, WrongEmbedder
from reverie.ids import IdMaker, content_hash
from reverie.memory import Memory
from reverie.storage.database import Stamp
from reverie.storage.filters import equals
from reverie.storage.migrations import NEWEST
from reverie.storage.reembed import Embed, Made, reembed, stamp_of
from reverie.storage.rows import Embedded, Vector
from reverie.storage.scope import Scope
from reverie.storage.store import MemoryStore
from tests.tiny_embedder import IMPORT, TinyEmbedder

pytestmark = pytest.mark.slow

Result = TypeVar("Result")

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
TINY = TinyEmbedder()
OLD = Stamp(TINY.stamp, TINY.dimensions)
NEW = Stamp("doubled:128", 128)
LONG = " ".join(f"word{number}" for number in range(120))


def doubled(texts: Sequence[str]) -> list[Made]:
    """Another model: twice the dimensions, the words in the second half."""
    return [
        (_moved(embedding.vector), tuple(_moved(passage) for passage in embedding.passages), embedding.pieces)
        for embedding in TINY.embed(texts)
    ]


def _moved(vector: Vector) -> Vector:
    return np.concatenate([np.zeros(64, np.float32), vector])


class Counted:
    """An embedder that counts its texts and fails after so many calls."""

    def __init__(self, calls: int | None = None) -> None:
        self.texts: list[str] = []
        self._left = calls

    def __call__(self, texts: Sequence[str]) -> list[Made]:
        if self._left == 0:
            raise EmbedderError("the server is gone")
        if self._left is not None:
            self._left -= 1
        self.texts.extend(texts)
        return doubled(texts)


def run(story: Callable[[], Awaitable[Result]]) -> Result:
    async def told() -> Result:
        return await story()

    return asyncio.run(told())


async def opened(folder: Path, stamp: Stamp = OLD) -> MemoryStore:
    return await MemoryStore.open(folder, stamp, session="test", new_id=IdMaker(lambda: NOW), now=NOW)


def item(store: MemoryStore, content: str) -> Embedded:
    [(vector, passages, _)] = (
        doubled([content])
        if store.database.stamp == NEW
        else [(e.vector, e.passages, e.pieces) for e in TINY.embed([content])]
    )
    memory = Memory(
        id=store.new_id(),
        content=content,
        content_hash=content_hash(content),
        title=content[:40],
        kind="fact",
        layer="semantic" if len(content) % 2 else "episodic",
        project="p",
        trust=0.7,
        stability=0.25,
        created_at=NOW,
        happened_at=NOW,
        updated_at=NOW,
        embedder=store.database.stamp.embedder,
        surprise=0.3,
        access_times=(NOW - timedelta(days=1), NOW),
    )
    return Embedded(memory, vector, passages)


async def filled(folder: Path, count: int = 12) -> list[Memory]:
    store = await opened(folder)
    items = [item(store, f"note {number} about topic{number}") for number in range(count)] + [item(store, LONG)]
    await store.add(items, actor="test", at=NOW)
    return await store.find()


async def convert(folder: Path, embed: Embed = doubled) -> int | None:
    return await reembed(folder, NEW, embed, now=NOW, progress=lambda _done, _total: None)


def stamped(memories: Sequence[Memory]) -> list[Memory]:
    return [replace(memory, embedder=NEW.embedder) for memory in memories]


def test_every_memory_comes_through_with_a_new_vector_and_nothing_else_changed(tmp_path: Path) -> None:
    async def story() -> None:
        before = await filled(tmp_path / "d")
        with pytest.raises(WrongEmbedder, match="reverie reembed"):
            await opened(tmp_path / "d", NEW)
        assert await convert(tmp_path / "d") == 13
        store = await opened(tmp_path / "d", NEW)
        assert await store.find() == stamped(before)
        with pytest.raises(WrongEmbedder):
            await opened(tmp_path / "d", OLD)

    run(story)


def test_search_works_afterwards_by_vector_by_word_and_inside_long_texts(tmp_path: Path) -> None:
    async def story() -> None:
        await filled(tmp_path / "d")
        await convert(tmp_path / "d")
        store = await opened(tmp_path / "d", NEW)
        [(vector, *_)] = doubled(["note 7 about topic7"])
        [nearest, *_] = await store.nearest(vector, Scope(), 5)
        assert nearest.similarity == pytest.approx(1.0)
        assert (await store.get([nearest.id]))[nearest.id].content == "note 7 about topic7"
        [match, *_] = await store.matching("topic7", Scope(), 5)
        assert match.id == nearest.id
        [(end, *_)] = doubled(["word118 word119"])
        passages = await store.vectors.nearest_passages(end, Scope(), 5)
        assert [(await store.get([i]))[i].content for i in passages] == [LONG]

    run(story)


def test_the_journal_and_the_notes_of_the_store_come_along(tmp_path: Path) -> None:
    async def story() -> None:
        before = await filled(tmp_path / "d")
        old = await opened(tmp_path / "d")
        await old.database.write_meta({"counter": "41"})
        events = await old.journal.about(before[0].id)
        await convert(tmp_path / "d")
        store = await opened(tmp_path / "d", NEW)
        assert await store.journal.about(before[0].id) == events
        meta = await store.database.read_meta()
        assert meta["counter"] == "41"
        assert (meta["embedder"], meta["dimensions"], meta["schema"]) == ("doubled:128", "128", str(NEWEST))

    run(story)


def test_a_store_that_is_embedded_so_already_is_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        await filled(tmp_path / "d")
        await convert(tmp_path / "d")
        again = Counted()
        assert await convert(tmp_path / "d", again) is None
        assert again.texts == []

    run(story)


def test_no_store_has_no_stamp_and_asking_makes_none(tmp_path: Path) -> None:
    assert run(lambda: stamp_of(tmp_path / "d")) is None
    assert not (tmp_path / "d").exists()


def test_nothing_is_left_lying_about(tmp_path: Path) -> None:
    async def story() -> None:
        await filled(tmp_path / "d")
        await convert(tmp_path / "d")

    run(story)
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["current", "journal", "locks", "tables-2"]


def test_an_embedder_that_fails_leaves_the_old_store_and_the_next_try_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reverie.storage.reembed._TEXTS_AT_ONCE", 5)

    async def story() -> None:
        before = await filled(tmp_path / "d")
        with pytest.raises(EmbedderError):
            await convert(tmp_path / "d", Counted(calls=2))
        assert await (await opened(tmp_path / "d")).find() == before
        second = Counted()
        assert await convert(tmp_path / "d", second) == 13
        assert len(second.texts) == 3  # ten of thirteen were staged
        assert await (await opened(tmp_path / "d", NEW)).find() == stamped(before)

    run(story)


def test_what_was_staged_for_another_model_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.storage.reembed._TEXTS_AT_ONCE", 5)

    async def story() -> None:
        await filled(tmp_path / "d")
        with pytest.raises(EmbedderError):
            await convert(tmp_path / "d", Counted(calls=2))
        other, third = Counted(), Stamp("third:128", 128)
        await reembed(tmp_path / "d", third, other, now=NOW, progress=lambda _done, _total: None)
        assert len(other.texts) == 13
        assert await stamp_of(tmp_path / "d") == third

    run(story)


def test_memories_that_another_session_adds_meanwhile_are_carried_over(tmp_path: Path) -> None:
    async def story() -> None:
        await filled(tmp_path / "d")
        other = await opened(tmp_path / "d")
        loop = asyncio.get_running_loop()

        def embed(texts: Sequence[str]) -> list[Made]:
            late = item(other, f"came in while {len(texts)} were embedded")
            try:
                asyncio.run_coroutine_threadsafe(other.add([late], actor="test", at=NOW), loop).result()
                acknowledged.append(late.memory.id)
            except StoreBusy:
                refused.append(late.memory.id)
            return doubled(texts)

        # One comes in during each round of embedding: the long one, the one under the lock, and the one after
        # the switch, which is too late.
        acknowledged: list[str] = []
        refused: list[str] = []
        assert await convert(tmp_path / "d", embed) == 15
        assert (len(acknowledged), len(refused)) == (2, 1)
        store = await opened(tmp_path / "d", NEW)
        found = {memory.id for memory in await store.find()}
        assert found >= set(acknowledged)
        assert not found & set(refused)
        for memory_id in found:
            assert [event.action for event in await store.journal.about(memory_id)] == ["remembered"]

    run(story)


def test_a_store_opened_before_the_switch_is_told_so_on_its_next_write(tmp_path: Path) -> None:
    async def story() -> None:
        [first, *_] = await filled(tmp_path / "d")
        stale = await opened(tmp_path / "d")
        await convert(tmp_path / "d")
        started = time.monotonic()
        with pytest.raises(StoreBusy, match="re-embedded"):
            await stale.add([item(stale, "too late")], actor="test", at=NOW)
        with pytest.raises(StoreBusy, match="re-embedded"):
            async with stale.changing():
                await stale.change([first], {"pinned": True}, action="pinned", actor="test", at=NOW)
        assert time.monotonic() - started < 2
        store = await opened(tmp_path / "d", NEW)
        assert "too late" not in {memory.content for memory in await store.find()}

    run(story)


def test_a_conversion_killed_right_after_the_switch_is_finished_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        before = await filled(tmp_path / "d")
        old = await opened(tmp_path / "d")
        late = item(old, "written just before the switch")
        with monkeypatch.context() as patch:
            patch.setattr("reverie.storage.reembed._Conversion._carry_over", _killed)
            with pytest.raises(KeyboardInterrupt):
                await convert(tmp_path / "d")
        await old.database.table(late.memory.layer).add(_rows(late))
        fresh = await opened(tmp_path / "d", NEW)
        async with fresh.changing():
            await fresh.journal.write([fresh.event("purged", before[0], actor="test", at=NOW)])
            await fresh.database.table(before[0].layer).delete(equals("id", before[0].id))
        assert await convert(tmp_path / "d") is None
        found = await (await opened(tmp_path / "d", NEW)).find()
        # What came late is there, what was purged since stays purged.
        assert sorted(found, key=_id) == sorted(stamped([*before[1:], late.memory]), key=_id)

    run(story)
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["current", "journal", "locks", "tables-2"]


async def _killed(*_arguments: object) -> None:
    raise KeyboardInterrupt


def _rows(late: Embedded) -> object:
    from reverie.storage.rows import to_table

    return to_table([late], OLD.dimensions)


def _id(memory: Memory) -> str:
    return memory.id


CHILD = """
    import asyncio, sys, time
    from datetime import UTC, datetime
    from pathlib import Path
    import reverie.storage.reembed as module
    TINY_EMBEDDER
    from reverie.storage.database import Stamp

    module._TEXTS_AT_ONCE = 2

    def embed(texts):
        time.sleep(0.05)
        return [(e.vector, e.passages, e.pieces) for e in TinyEmbedder().embed(texts)]

    def progress(done, total):
        print(done, flush=True)

    stamp = Stamp("slow:64", 64)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    asyncio.run(module.reembed(Path(sys.argv[1]), stamp, embed, now=now, progress=progress))
""".replace("TINY_EMBEDDER", IMPORT)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("delay", [0.05, 0.35, *(pytest.param(d, marks=pytest.mark.slow) for d in (0.0, 0.2, 0.5))])
def test_killed_at_any_moment_one_whole_store_is_there_and_a_second_run_succeeds(
    tmp_path: Path, delay: float
) -> None:
    folder = tmp_path / "d"
    before = run(lambda: filled(folder))
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(folder)], stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "0"
        time.sleep(delay)
        os.kill(child.pid, signal.SIGKILL)

    async def story() -> None:
        stamp = await stamp_of(folder)
        assert stamp is not None
        survivors = await (await opened(folder, stamp)).find()
        assert [replace(memory, embedder=OLD.embedder) for memory in survivors] == before
        slow = Stamp("slow:64", 64)
        embed: Embed = lambda texts: [(e.vector, e.passages, e.pieces) for e in TINY.embed(texts)]  # noqa: E731
        await reembed(folder, slow, embed, now=NOW, progress=lambda _done, _total: None)
        converted = await (await opened(folder, slow)).find()
        assert converted == [replace(memory, embedder="slow:64") for memory in before]

    run(story)


def test_two_conversions_at_once_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        await filled(tmp_path / "d")
        inner: list[ReverieError] = []
        loop = asyncio.get_running_loop()

        def embed(texts: Sequence[str]) -> list[Made]:
            second = asyncio.run_coroutine_threadsafe(convert(tmp_path / "d"), loop)
            try:
                second.result()
            except ReverieError as error:
                inner.append(error)
            return doubled(texts)

        await convert(tmp_path / "d", embed)
        assert isinstance(inner[0], StoreBusy)

    run(story)
