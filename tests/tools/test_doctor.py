"""The doctor finds what is wrong, says what to do, and never falls ill itself."""

import io
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from reverie.errors import EmbedderError
from reverie.settings import Settings
from reverie.storage.filters import one_of
from reverie.storage.rows import Embedded, to_table
from reverie.tools import remember
from reverie.tools.doctor import Check, Doctor
from reverie.tools.import_jsonl import import_memories
from reverie.tools.requests import RememberRequest
from reverie.tools.session import Session
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.anyio

LONG = " ".join(f"word{number}" for number in range(120))


class OtherEmbedder(TinyEmbedder):
    """Another model of the same size."""

    @property
    def stamp(self) -> str:
        return "other:64"


class BrokenEmbedder(TinyEmbedder):
    """A model whose server is gone."""

    def embed(self, _texts: object) -> NoReturn:
        raise EmbedderError("The server at example.invalid does not answer.")


async def examined(home: Path, *, embedder: TinyEmbedder | None = None, fix: bool = False) -> dict[str, Check]:
    doctor = Doctor(Settings(home=str(home)), embedder=embedder or TinyEmbedder(), fix=fix)
    return {check.name: check for check in await doctor.examine()}


def states(checks: dict[str, Check], state: str) -> list[str]:
    return [name for name, check in checks.items() if check.state == state]


async def keep(session: Session, content: str) -> str:
    kept = await remember.remember(session, RememberRequest(content=content))
    await session.store.database.write_ahead_log.flush()
    await session.store.journal.flush()
    return kept.id


async def test_what_is_on_its_way_to_the_tables_is_counted(session: Session, home: Path) -> None:
    await keep(session, "one")
    await remember.remember(session, RememberRequest(content="another that waits"))
    found = (await examined(home))["tables"].found
    assert "semantic 1" in found
    assert "1 more on their way" in found


def tables(home: Path) -> Path:
    return home / "domains" / "default" / "tables-1"


async def test_a_store_in_order_passes_every_check(session: Session, home: Path) -> None:
    await keep(session, "one")
    await keep(session, LONG)
    checks = await examined(home)
    assert states(checks, "ok") == list(checks)
    expected = {"versions", "data folder", "permissions", "disk", "lock", "tables", "schema", "indexes", "embedder"}
    assert expected | {"doubled ids", "orphans", "vectors"} == set(checks)
    assert "semantic 2" in checks["tables"].found


async def test_where_there_is_no_store_it_says_so_and_makes_none(home: Path) -> None:
    checks = await examined(home)
    assert states(checks, "fail") == []
    assert "no store is there yet" in checks["data folder"].found
    assert not exists(home)


async def test_another_embedder_than_the_stores_is_told_with_the_command_that_converts(
    session: Session, home: Path
) -> None:
    await remember.remember(session, RememberRequest(content="the lamp burns oil"))
    checks = await examined(home, embedder=OtherEmbedder())
    assert states(checks, "fail") == ["store's embedder"]
    assert "tiny:64" in checks["store's embedder"].found
    assert "reverie reembed" in checks["store's embedder"].advice


async def test_an_embedder_that_does_not_work_is_told_in_its_own_words(session: Session, home: Path) -> None:
    checks = await examined(home, embedder=BrokenEmbedder())
    assert states(checks, "fail") == ["embedder"]
    assert "example.invalid" in checks["embedder"].found


@pytest.mark.parametrize("damage", ["removed", "emptied", "scrambled", "manifest"])
async def test_a_damaged_table_is_named_and_the_others_are_still_checked(
    session: Session, home: Path, damage: str
) -> None:
    await keep(session, "one")
    await keep(session, LONG)
    table = tables(home) / "semantic.lance"
    if damage == "removed":
        shutil.rmtree(table)
    elif damage == "manifest":
        for file in (table / "_versions").iterdir():
            file.write_bytes(b"not a manifest")
    else:
        for file in (table / "data").iterdir():
            size = file.stat().st_size
            file.write_bytes(b"" if damage == "emptied" else os.urandom(size))
    checks = await examined(home)
    assert states(checks, "fail") == ["table semantic"]
    assert "export" in checks["table semantic"].advice
    assert checks["embedder"].state == "ok"
    assert checks["schema"].state == "ok"


async def test_a_pointer_that_cannot_be_read_is_a_finding(session: Session, home: Path) -> None:
    pointer = home / "domains" / "default" / "current"
    pointer.write_text("seven")
    assert states(await examined(home), "fail") == ["tables"]
    pointer.unlink()


async def test_a_store_of_a_newer_reverie_is_told(session: Session, home: Path) -> None:
    await session.store.database.write_meta({"schema": "99"})
    checks = await examined(home)
    assert states(checks, "fail") == ["schema"]
    assert "Upgrade" in checks["schema"].advice


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that not even root can write")
async def test_a_folder_that_cannot_be_written_is_told() -> None:
    checks = await examined(Path("/proc/reverie"))
    assert "data folder" in states(checks, "fail")
    assert "REVERIE_HOME" in checks["data folder"].advice


async def test_a_home_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "data folder" in states(await examined(tmp_path / "file"), "fail")


@pytest.mark.skipif(os.name == "nt", reason="needs Unix permissions")
async def test_a_folder_that_others_can_look_into_is_told_and_closed(session: Session, home: Path) -> None:
    open_to_all(home)
    checks = await examined(home)
    assert states(checks, "warn") == ["permissions"]
    assert f"chmod 700 {home}" in checks["permissions"].advice
    assert states(await examined(home, fix=True), "warn") == []
    assert mode_of(home) == 0o700


async def test_a_lock_that_is_held_is_told_and_one_that_was_left_behind_is_free(session: Session, home: Path) -> None:
    lock = home / "domains" / "default" / "locks" / "write.lock"
    with hold(lock) as holder:
        try:
            checks = await examined(home)
        finally:
            holder.kill()
    assert states(checks, "warn") == ["lock"]
    if sys.platform == "linux":
        assert f"process {holder.pid}" in checks["lock"].found
    assert (await examined(home))["lock"] == Check("lock", "ok", "free")


async def test_an_interrupted_move_is_told_and_mended_by_keeping_the_newer(session: Session, home: Path) -> None:
    memory_id = await keep(session, "moved half way")
    [memory] = (await session.store.get([memory_id])).values()
    newer = replace(memory, layer="procedural", updated_at=memory.updated_at + timedelta(seconds=1))
    [embedding] = await session.embed([memory.content])
    await session.store.database.table("procedural").add(to_table([Embedded(newer, embedding.vector)], 64))
    checks = await examined(home)
    assert states(checks, "warn") == ["doubled ids"]
    assert memory_id in checks["doubled ids"].found
    assert "--fix" in checks["doubled ids"].advice
    assert memory_id in (await examined(home, fix=True))["doubled ids"].found
    assert states(await examined(home), "warn") == []
    assert await session.store.find() == [newer]


async def test_passages_without_their_memory_are_told_and_removed(session: Session, home: Path) -> None:
    from reverie.storage.filters import equals

    memory_id = await keep(session, LONG)
    kept = await keep(session, f"{LONG} and more")
    await session.store.database.table("semantic").delete(equals("id", memory_id))
    assert states(await examined(home), "warn") == ["orphans"]
    await examined(home, fix=True)
    assert states(await examined(home), "warn") == []
    owners = (await session.store.database.table("passages").rows(["memory_id"])).column("memory_id").to_pylist()
    assert set(owners) == {kept}


async def test_a_missing_index_is_told_and_built(session: Session, home: Path) -> None:
    table = session.store.database.table("semantic")
    [name] = [index.name for index in await table.lance.list_indices() if index.columns == ["search_text"]]
    await table.lance.drop_index(name)
    checks = await examined(home)
    assert (states(checks, "warn"), "semantic.search_text" in checks["indexes"].found) == (["indexes"], True)
    await examined(home, fix=True)
    assert states(await examined(home), "warn") == []


async def test_the_remains_of_an_interrupted_conversion_are_told(
    session: Session, home: Path, open_session: Callable[..., Awaitable[Session]]
) -> None:
    (home / "domains" / "default" / "staging").mkdir()
    checks = await examined(home)
    assert states(checks, "warn") == ["re-embedding"]
    assert "reverie reembed" in checks["re-embedding"].advice


async def test_looking_changes_nothing(session: Session, home: Path) -> None:
    await keep(session, "one")
    before = files_in(home)
    await examined(home)
    assert files_in(home) == before


def files_in(home: Path) -> dict[Path, int]:
    files = [path for path in home.rglob("*") if path.is_file() and "locks" not in path.parts]
    return {path: path.stat().st_mtime_ns for path in files}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def exists(path: Path) -> bool:
    return path.exists()


def open_to_all(path: Path) -> None:
    path.chmod(0o755)


def hold(lock: Path) -> "subprocess.Popen[bytes]":
    """Start a process that holds a lock until it is killed."""
    program = f"import filelock, time; lock = filelock.FileLock({str(lock)!r}); lock.acquire(); print(flush=True)"
    holder = subprocess.Popen([sys.executable, "-c", f"{program}; time.sleep(60)"], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    return holder


async def packed_rows_of(session: Session) -> list[str]:
    """Memories of every precision, the last of which are long enough for passages."""
    lines = [
        {"id": f"{name}-{bits}", "content": f"{text} number {bits}", "layer": "episodic", "precision": bits}
        for name, text in (("short", "The lamp of the tower"), ("long", LONG))
        for bits in (32, 8, 4, 2)
    ]
    text = "\n".join(map(json.dumps, lines))
    await import_memories(session, io.BytesIO(text.encode()), lambda _: None)
    await session.store.database.write_ahead_log.flush()
    return [str(line["id"]) for line in lines]


async def test_vectors_of_every_precision_are_read_and_compared_with_their_texts(
    session: Session, home: Path
) -> None:
    ids = await packed_rows_of(session)
    vectors = (await examined(home))["vectors"]
    passages = await session.store.database.table("passages").count() // 4
    assert passages
    each = 2 + passages
    assert (vectors.state, vectors.found) == (
        "ok",
        f"all can be read: {each} of 32 bits, {each} of 8 bits, {each} of 4 bits, {each} of 2 bits",
    )
    table = session.store.database.table("episodic")
    other = (await table.rows(["packed"], one_of("id", ids[5:6]))).column("packed")[0].as_py()
    await table.update_by({"packed": f"arrow_cast(decode('{other.hex()}', 'hex'), 'Binary')"}, one_of("id", ids[1:2]))
    vectors = (await examined(home))["vectors"]
    assert (vectors.state, vectors.found.partition("; ")[2]) == ("warn", f"far from the text: {ids[1]}")


async def test_a_vector_that_nothing_can_read_is_found_and_made_anew(session: Session, home: Path) -> None:
    ids = await packed_rows_of(session)
    database = session.store.database
    nothing = {"packed": "arrow_cast(NULL, 'Binary')"}
    await database.table("episodic").update_by(nothing, one_of("id", ids[2:3]))
    await database.table("episodic").update_by({"precision": "32"}, one_of("id", ids[3:4]))
    await database.table("passages").update_by(nothing, one_of("memory_id", ids[5:6]))
    checks = await examined(home)
    assert "vectors" in states(checks, "fail")
    assert all(memory_id in checks["vectors"].found for memory_id in (ids[2], ids[3], ids[5]))
    fixed = (await examined(home, fix=True))["vectors"]
    assert fixed.state == "ok"
    assert all(memory_id in fixed.found for memory_id in (ids[2], ids[3], ids[5]))
    assert (await examined(home))["vectors"].state == "ok"
    found = await session.store.get(ids)
    assert [found[one].precision for one in ids] == [32, 8, 32, 32, 32, 32, 4, 2]
