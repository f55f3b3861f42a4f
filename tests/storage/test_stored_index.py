"""An index that is opened from its stored form says what one that is built from the tables says, come what may."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reverie.memory import LAYERS, Memory
from reverie.storage import archive, stored_index, vector_search
from reverie.storage.access_log import AccessRecorder
from reverie.storage.filters import one_of
from reverie.storage.memory_index import MemoryIndex
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.text.tokenize import terms
from reverie.tools.forget import forget
from reverie.tools.recall import recall
from reverie.tools.requests import ForgetRequest, RecallRequest
from reverie.tools.session import Session
from reverie.tools.sweep import sweep
from tests.conftest import ManualClock
from tests.tiny_embedder import IMPORT

pytestmark = pytest.mark.anyio

Make = Callable[..., Embedded]
OpenSession = Callable[..., Awaitable[Session]]

WORDS = [f"{a}{b}" for a in ("har", "lan", "moor", "pil", "ree", "tim") for b in ("bour", "tern", "ing", "ot", "f")]
EVERYTHING = Scope(statuses=("active", "challenged", "expired", "superseded", "quarantined"))


@pytest.fixture(autouse=True)
def stores_every_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store small indexes too, after each change."""
    for name in ("_FEWEST_TO_STORE", "_FEWEST_CHANGES", "_SHARE_CHANGED"):
        monkeypatch.setattr(vector_search, name, 1)
    monkeypatch.setattr(archive, "GRACE", timedelta(days=-1))


class NothingRecorded(AccessRecorder):
    """Counts no recall, which would make the memories of the first answer stronger for the second."""

    def note(self, memories: Iterable[Memory], at: datetime, session: str | None = None) -> None:
        """Do nothing."""


def stored_files(session: Session) -> dict[str, Path]:
    return {path.stem: path for path in session.store.folder.glob("tables-*/indexes/*.index")}


async def indexes_of(session: Session) -> dict[str, MemoryIndex]:
    tables, passages = await session.store.vectors.indexes(EVERYTHING)
    return {**tables, **passages}


async def store_all(session: Session) -> list[str]:
    """What maintenance does when the store is idle."""
    await indexes_of(session)
    async with session.store.database.maintenance_lock.held():
        return await session.store.vectors.store_indexes()


def picture(index: MemoryIndex) -> dict[str, Any]:
    """Everything an index says of each memory that has a row, by id."""
    numbers = np.flatnonzero(index.with_labels([]))
    words: dict[int, Counter[int]] = {}
    if index.lexical_index is not None:
        asked = list(dict.fromkeys(term for word in WORDS for term in terms(word)))
        entries = (part.tolist() for part in index.lexical_index.entries(asked))
        for term, owner, count in zip(*entries, strict=True):
            words.setdefault(owner, Counter())[asked[term]] += int(count)
    lengths = index.lexical_index.lengths(len(index)) if index.lexical_index is not None else np.zeros(len(index))
    values = [(list(labels._code_of), labels._codes) for labels in index._labels]
    found = {}
    for number in numbers.tolist():
        vector = index._vectors.at(number)
        found[index.id_at(number)] = (
            [known[codes[number]] for known, codes in values],
            (int(index.sessions[number]), int(index.moments[number]), float(lengths[number])),
            sorted(words.get(number, Counter()).items()),
            index.row_id(number),
            None if vector is None else vector.tobytes(),
        )
        assert index.index_of(index.id_at(number)) == number
    return found


async def answers(session: Session) -> list[object]:
    """Return whole answers, rows of equal score by id."""
    session.domain.accesses = NothingRecorded(session.store)
    requests = [
        RecallRequest(query="x"),
        RecallRequest(query="x", all_projects=True),
        RecallRequest(query="x", include=("expired", "superseded")),
        RecallRequest(query="x", layers=("episodic",)),
        RecallRequest(query="x", tags=("night",)),
    ]
    found: list[object] = []
    for number, request in enumerate(requests):
        query = " ".join(WORDS[number::7])
        answer = await recall(session, replace(request, query=query, limit=50, max_tokens=20_000))
        rows = sorted((-round(row.score, 6), row.id) for row in answer.results)
        found.append((rows, answer.total_matches, answer.filtered, answer.fits))
    return found


async def check_equal(
    open_session: OpenSession, monkeypatch: pytest.MonkeyPatch, *, uses: bool | None = True
) -> bool:
    """Open the store with its stored indexes and without them, in memory and on disk, and compare all.

    Return whether any stored index was used; `uses` says whether one has to be.
    """
    used = False
    for memory in (10, 0):
        opened = await open_session(search_memory=memory)
        taken = await indexes_of(opened)
        used = any(index.changes < len(index) for index in taken.values())
        assert uses in (None, used)
        with monkeypatch.context() as patch:
            patch.setattr(stored_index.StoredIndexes, "read", lambda *_: None)
            built = await open_session(search_memory=memory)
            others = await indexes_of(built)
        for table, index in taken.items():
            assert picture(index) == picture(others[table]), table
        assert await answers(opened) == await answers(built)
    return used


def some(make: Make, dice: np.random.Generator, count: int, session: Session, **fields: Any) -> list[Embedded]:
    def one(number: int) -> Embedded:
        length = int(dice.choice([5, 9, 70], p=[0.5, 0.4, 0.1]))  # the last has passages
        return make(
            f"the {' '.join(dice.choice(WORDS, length))} is {number}",
            layer=str(dice.choice(LAYERS)),
            project=str(dice.choice(["tests", "tests", "global", "elsewhere"])),
            session=None if number % 9 == 0 else f"session-{int(dice.integers(8))}",
            status=str(dice.choice(["active", "active", "active", "expired", "superseded", "quarantined"])),
            tags=("night",) if number % 4 == 0 else (),
            happened_at=session.now - timedelta(seconds=int(dice.integers(10**6))),  # no two at one moment
            precision=(32, 32, 8, 4, 2)[number % 5],
            **fields,
        )

    return [one(number) for number in range(count)]


@pytest.mark.slow
async def test_after_random_days_both_say_the_same(
    open_session: OpenSession,
    session: Session,
    make: Make,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dice = np.random.default_rng(47)
    other = await open_session()
    living: list[Embedded] = some(make, dice, 120, session)
    await session.store.add(living, actor="test", at=session.now)
    assert {*LAYERS, "passages"} <= set(await store_all(session))
    used = 0
    for day in range(6):
        clock.advance(days=1)
        by = (session, other)[day % 2]
        fresh = some(make, dice, 12, by)
        await by.store.add(fresh, actor="test", at=by.now)
        chosen = [living[int(n)].memory.id for n in dice.choice(len(living), 9, replace=False)]
        memories = list((await by.store.get(chosen)).values())
        async with by.store.changing():
            await by.store.change(memories[:3], {"status": "expired"}, action="x", actor="t", at=by.now)
            await by.store.change(memories[3:5], {"project": "elsewhere"}, action="x", actor="t", at=by.now)
            if memories[5].status == "active":
                await by.store.move(memories[5], "episodic", actor="t", at=by.now)
        living += fresh
        if day in (1, 4):
            await sweep(by)  # archives
        if day in (2, 5):
            await forget(by, ForgetRequest(ids=(memories[6].id,), purge=True))
            gone = {item.memory.id for item in living} - (await by.store.get([i.memory.id for i in living])).keys()
            living = [item for item in living if item.memory.id not in gone]
        if day in (0, 2, 3):
            await store_all((session, other)[dice.integers(2)])
        if day == 3:
            await by.store.database.table("semantic").tidy(timedelta(0))  # every row moves
        used += await check_equal(open_session, monkeypatch, uses=None)  # a purge removes them
    assert used >= 4


async def test_what_the_storing_process_has_just_added_is_stored_with_its_row(
    open_session: OpenSession, session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = np.random.default_rng(6)
    await session.store.add(some(make, dice, 30, session), actor="test", at=session.now)
    await indexes_of(session)
    await session.store.add(some(make, dice, 10, session), actor="test", at=session.now)
    await store_all(session)
    await check_equal(open_session, monkeypatch)


async def test_an_index_without_what_is_gone_has_what_was_just_added(
    open_session: OpenSession, session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_search, "_FEWEST_GONE", 1)
    dice = np.random.default_rng(8)
    items = some(make, dice, 60, session)
    await session.store.add(items, actor="test", at=session.now)
    await indexes_of(session)
    async with session.store.changing():
        gone = [item.memory.id for item in items[:40]]
        for layer in LAYERS:
            await session.store.database.table(layer).delete(one_of("id", gone))
    before = await indexes_of(session)
    await session.store.add(some(make, dice, 10, session), actor="test", at=session.now)
    await session.store.database.write_ahead_log.flush()
    await session.store.vectors.shrink()
    after = await indexes_of(session)
    assert any(before[layer] is not after[layer] for layer in LAYERS)
    fresh = await indexes_of(await open_session())
    for layer in LAYERS:
        assert {one: seen[:3] for one, seen in picture(after[layer]).items()} == {
            one: seen[:3] for one, seen in picture(fresh[layer]).items()
        }
        assert all(vector is not None for *_, vector in picture(after[layer]).values())


async def test_a_file_that_is_damaged_cut_short_or_of_something_else_is_not_used(
    open_session: OpenSession, session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    await session.store.add(some(make, np.random.default_rng(1), 60, session), actor="test", at=session.now)
    await store_all(session)
    files = stored_files(session)
    whole = {table: path.read_bytes() for table, path in files.items()}

    def flipped(content: bytes, at: int) -> bytes:
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    offset = whole["semantic"].index(b"\0" * 100)  # behind the header
    last = len(whole["semantic"].rstrip(b"\0")) - 1
    assert last > 4096 > offset > 100
    for damage in (
        lambda content: flipped(content, 40),  # in the header
        lambda content: flipped(content, 4096),  # in the first array
        lambda content: flipped(content, len(content.rstrip(b"\0")) - 1),  # in the last
        lambda content: content[: len(content) // 2],
        lambda content: content[:30],
        lambda _: b"",
        lambda content: b"an older layout\n" + content[16:],
    ):
        for table, path in files.items():
            path.write_bytes(damage(whole[table]))
        await check_equal(open_session, monkeypatch, uses=False)
    for path in files.values():
        path.write_bytes(whole["semantic"])  # of another table
    await check_equal(open_session, monkeypatch)
    for table, path in files.items():
        path.write_bytes(whole[table])
    with monkeypatch.context() as patch:  # texts are split otherwise
        patch.setattr("reverie.storage.memory_index.splitting_of_texts", lambda: "other")
        await check_equal(open_session, monkeypatch, uses=False)
    await check_equal(open_session, monkeypatch)


async def test_a_table_that_was_put_back_and_written_to_again_is_not_taken_for_the_one_that_was_stored(
    open_session: OpenSession, session: Session, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = np.random.default_rng(2)
    await session.store.add(some(make, dice, 40, session), actor="test", at=session.now)
    await indexes_of(session)
    table = session.store.database.raw_table("semantic")
    version = await table.version()
    await session.store.add(some(make, dice, 30, session), actor="test", at=session.now)
    await store_all(session)
    await table.lance.checkout(version)
    await table.lance.restore()
    await table.lance.checkout_latest()
    await session.store.add(some(make, dice, 30, session), actor="test", at=session.now)
    await check_equal(open_session, monkeypatch)


async def test_what_a_purge_removes_is_in_no_stored_index(
    open_session: OpenSession, session: Session, make: Make
) -> None:
    items = some(make, np.random.default_rng(3), 40, session)
    secret = make("the xylograph is under the quagmire", project="unheard-of", session="telltale")
    await session.store.add([*items, secret], actor="test", at=session.now)
    other = await open_session()
    await store_all(other)  # another process has it in memory
    [term] = terms("xylograph")

    def traces() -> list[str]:
        sought = (secret.memory.id.encode(), b"unheard-of", np.uint32(term).tobytes())
        return [
            path.name for path in stored_files(session).values() if any(one in path.read_bytes() for one in sought)
        ]

    assert traces() == ["semantic.index"]
    left = stored_files(session)["semantic"].with_name("semantic.index.0123abcd")
    left.write_bytes(secret.memory.id.encode())  # of a process that was killed
    session.all_projects = True
    await forget(session, ForgetRequest(ids=(secret.memory.id,), purge=True))
    assert not stored_files(session)
    assert not left.exists()
    assert "semantic" in await store_all(other)
    assert traces() == []


async def test_it_is_for_its_owner_only_and_has_no_text(session: Session, make: Make) -> None:
    await session.store.add([make("the lamp burns bluish", visibility="personal")], actor="t", at=session.now)
    await store_all(session)
    path = stored_files(session)["semantic"]
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert b"bluish" not in path.read_bytes()


KILLED = """
import asyncio, sys
IMPORT
from reverie.settings import Settings
from reverie.storage import vector_search
from reverie.storage.scope import Scope
from reverie.tools.session import Session
from pathlib import Path

vector_search._FEWEST_TO_STORE = vector_search._FEWEST_CHANGES = vector_search._SHARE_CHANGED = 1

async def main():
    settings = Settings(home=sys.argv[1], project="tests")
    session = await Session.open(settings, embedder=TinyEmbedder(), folder=Path(sys.argv[2]))
    said = False
    while True:
        await session.store.vectors.indexes(Scope())
        async with session.store.database.maintenance_lock.held():
            for index in session.store.vectors._indexes.values():
                index.changes = 10**6
            await session.store.vectors.store_indexes()
        if not said:
            said = not print("stored", flush=True)

asyncio.run(main())
""".replace("IMPORT", IMPORT)


@pytest.mark.slow
async def test_a_kill_while_it_is_written_leaves_one_that_is_whole(
    open_session: OpenSession,
    session: Session,
    make: Make,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dice = np.random.default_rng(4)
    await session.store.add(some(make, dice, 300, session), actor="test", at=session.now)
    for number in range(6):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, home, tmp_path, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"stored\n"
        await asyncio.sleep(0.011 * number)  # it writes all the time
        process.kill()
        await process.wait()
        assert set(stored_files(session)) >= set(LAYERS)
        await check_equal(open_session, monkeypatch)
        await session.store.add(some(make, dice, 3, session), actor="test", at=session.now)
    await store_all(session)
    names = {path.name for path in next(iter(stored_files(session).values())).parent.iterdir()}
    assert names <= {f"{table}.index" for table in vector_search.LAYERS} | {
        *(f"{table}.index" for table in ("passages", "archive", "archived_passages")),
    }


async def test_an_engine_that_ends_leaves_its_indexes_to_the_next_one(
    open_session: OpenSession, session: Session, make: Make
) -> None:
    ending = await open_session()
    await session.store.add(some(make, np.random.default_rng(5), 30, session), actor="test", at=session.now)
    await recall(ending, RecallRequest(query="the harbour"))
    assert not stored_files(session)
    await ending.close()
    assert set(LAYERS) <= set(stored_files(session))


@pytest.mark.skipif(os.access("/", os.W_OK), reason="root may write anywhere")
async def test_a_folder_that_cannot_be_written_costs_time_and_nothing_else(session: Session, make: Make) -> None:
    await session.store.add([make("the lamp burns")], actor="test", at=session.now)
    folder = next(session.store.folder.glob("tables-*")) / "indexes"
    folder.mkdir(mode=0o500)
    assert await store_all(session) == []
    assert (await recall(session, RecallRequest(query="lamp"))).results
    folder.chmod(0o700)
