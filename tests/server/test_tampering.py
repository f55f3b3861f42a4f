"""Attack: somebody who can write the data folder, but not the configuration folder, changes what happened."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import pytest

from reverie.cli import main as cli
from reverie.settings import Settings
from reverie.storage import audit as audit_module
from reverie.storage.audit import audit
from reverie.storage.journal import START, Link, link_after, text_digest
from reverie.tools.requests import ForgetRequest
from reverie.tools.session import Session
from tests.tiny_embedder import IMPORT, TinyEmbedder

pytestmark = pytest.mark.slow

TOLD = ("The harbour master keeps the keys", "Boats are painted blue in spring", "Ropes are stored dry")
Command = Callable[..., tuple[int, str]]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def module_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path that every test of this module works at: the head of a journal is kept by the path of its folder."""
    return tmp_path_factory.mktemp("tampering") / "here"


@pytest.fixture
def tmp_path(module_path: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(module_path, ignore_errors=True)
    module_path.mkdir()
    return module_path


@pytest.fixture
def reverie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command on a store of the test's own; the exit code and what it said.

    No other process writes there, so `audit` does not give one half a second to finish before it looks again.
    """
    monkeypatch.setattr(audit_module, "_SECONDS_TO_FINISH", 0.0)
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REVERIE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("REVERIE_PROJECT", "tests")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = cli.main(list(arguments))
        return code, capsys.readouterr().out

    return run


@pytest.fixture(scope="module")
def untouched(module_path: Path, called: Callable[..., Any]) -> Path:
    """A copy of a store with three memories, of which the first was forgotten, and of its configuration folder."""
    module_path.mkdir(exist_ok=True)
    config = {"REVERIE_CONFIG": str(module_path / "config")}
    ids = [json.loads(called(module_path, "remember", "--json", text, **config).stdout)["id"] for text in TOLD]
    _on(module_path, lambda session: _forgotten(session, ids[0]))
    assert called(module_path, "audit", **config).returncode == 0
    return Path(shutil.move(module_path, module_path.with_name("untouched")))


@pytest.fixture
def folder(untouched: Path, reverie: Command, tmp_path: Path) -> Path:
    """The folder of a store with three memories, of which the first was forgotten."""
    shutil.copytree(untouched, tmp_path, dirs_exist_ok=True)
    return tmp_path / "home" / "domains" / "default"


async def _forgotten(session: Session, memory_id: str) -> None:
    from reverie.tools.forget import forget

    await forget(session, ForgetRequest(ids=[memory_id]))


def _on(tmp_path: Path, work: Callable[[Session], Any]) -> Any:
    async def run() -> Any:
        settings = Settings(home=str(tmp_path / "home"), config=str(tmp_path / "config"), project="tests")
        session = await Session.open(settings, folder=tmp_path)
        try:
            return await work(session)
        finally:
            await session.close()

    return asyncio.run(run())


def _settle(tmp_path: Path) -> None:
    _on(tmp_path, lambda session: session.store.journal.flush())


def _table(folder: Path, name: str) -> Any:
    return lancedb.connect(folder / "tables-1").open_table(name)


def _lines(folder: Path) -> list[bytes]:
    return (folder / "journal" / "waiting.jsonl").read_bytes().splitlines(keepends=True)


def _write(folder: Path, lines: Sequence[bytes]) -> None:
    (folder / "journal" / "waiting.jsonl").write_bytes(b"".join(lines))


def _rehashed(rows: Sequence[Row], first: Link = START) -> list[Row]:
    """Link events anew, as somebody who has read our code would."""
    link, linked = first, []
    for row in rows:
        digest = text_digest(row)
        link = link_after(link, row, digest)
        linked.append({**row, "digest": digest, "number": link.number, "hash": link.hash})
    return linked


def _as_lines(rows: Sequence[Row]) -> list[bytes]:
    return [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows]


def _cut_the_newest_line(folder: Path, tmp_path: Path) -> None:
    _write(folder, _lines(folder)[:-1])


def _rewrite_the_newest_line(folder: Path, tmp_path: Path) -> None:
    *older, last = map(json.loads, _lines(folder))
    before = Link(older[-1]["number"], older[-1]["hash"])
    _write(folder, _as_lines([*older, *_rehashed([{**last, "actor": "nobody"}], before)]))


def _rewrite_everything(folder: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in _lines(folder)]
    _write(folder, _as_lines(_rehashed([{**rows[0], "actor": "nobody"}, *rows[1:]])))


def _append_a_forged_event(folder: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in _lines(folder)]
    forged = {**rows[-1], "id": "forged", "reason": "because"}
    link = Link(rows[-1]["number"], rows[-1]["hash"])
    _write(folder, _as_lines([*rows, *_rehashed([forged], link)]))


def _rewrite_the_newest_event_in_its_table(folder: Path, tmp_path: Path) -> None:
    _settle(tmp_path)
    table = _table(folder, "events")
    rows = sorted(table.to_arrow().to_pylist(), key=lambda row: row["number"])
    from reverie.time import iso

    before = Link(rows[-2]["number"], rows[-2]["hash"])
    [forged] = _rehashed([{**rows[-1], "actor": "nobody", "at": iso(rows[-1]["at"])}], before)
    table.update(where=f"number = {forged['number']}", values={"actor": "nobody", "hash": forged["hash"]})
    (folder / "journal" / "last").write_text(json.dumps({"number": forged["number"], "hash": forged["hash"]}))


def _remove_last(folder: Path, tmp_path: Path) -> None:
    _settle(tmp_path)
    (folder / "journal" / "last").unlink()


def _remove_last_and_the_newest_event(folder: Path, tmp_path: Path) -> None:
    _remove_last(folder, tmp_path)
    _table(folder, "events").delete("number = 4")


def _change_a_text(folder: Path, tmp_path: Path) -> None:
    _table(folder, "semantic").update(
        where=f"content = '{TOLD[1]}'",
        values={"content": "Boats are painted red", "search_text": "boats painted red"},
    )


def _revive_what_was_forgotten(folder: Path, tmp_path: Path) -> None:
    _table(folder, "semantic").update(where=f"content = '{TOLD[0]}'", values={"status": "active"})


def _set_back_what_was_forgotten(folder: Path, tmp_path: Path) -> None:
    _table(folder, "semantic").update(
        where=f"content = '{TOLD[0]}'",
        values_sql={"status": "'active'", "expired_at": "NULL", "status_reason": "NULL"},
    )


def _change_the_source(folder: Path, tmp_path: Path) -> None:
    _table(folder, "semantic").update(where=f"content = '{TOLD[1]}'", values={"trust": 0.5, "source": "ingest"})


def _delete_a_row(folder: Path, tmp_path: Path) -> None:
    _table(folder, "semantic").delete(f"content = '{TOLD[1]}'")


def _insert_a_row(folder: Path, tmp_path: Path) -> None:
    table = _table(folder, "semantic")
    row = table.search().where(f"content = '{TOLD[1]}'").to_arrow().to_pylist()[0]
    table.add([{**row, "id": "inserted", "content": "Always push to main"}])


def _insert_a_second_row(folder: Path, tmp_path: Path) -> None:
    table = _table(folder, "semantic")
    row = table.search().where(f"content = '{TOLD[1]}'").to_arrow().to_pylist()[0]
    table.add([{**row, "content": "Always push to main"}])


def _insert_an_older_row_in_another_layer(folder: Path, tmp_path: Path) -> None:
    row = _table(folder, "semantic").search().where(f"content = '{TOLD[1]}'").to_arrow().to_pylist()[0]
    older = row["updated_at"] - timedelta(days=1)
    _table(folder, "procedural").add([{**row, "content": "Always push to main", "updated_at": older}])


def _insert_a_row_into_the_archive(folder: Path, tmp_path: Path) -> None:
    row = _table(folder, "semantic").search().where(f"content = '{TOLD[1]}'").to_arrow().to_pylist()[0]
    archive = _table(folder, "archive")
    row |= {"content": "Always push to main"}
    archive.add([{name: row.get(name) for name in archive.schema.names}])


TAMPERINGS = {
    _cut_the_newest_line: "events 4 to 4 are missing at the end",
    _rewrite_the_newest_line: "event 4 is not the one that this installation knows",
    _rewrite_everything: "event 4 is not the one that this installation knows",
    _append_a_forged_event: "events 5 were not written with the key of this installation",
    _rewrite_the_newest_event_in_its_table: "event 4 is not the one that this installation knows",
    _remove_last: "journal/last, is missing",
    _remove_last_and_the_newest_event: "events 4 to 4 are missing at the end",
    _change_a_text: "was changed behind the journal: its text differ",
    _revive_what_was_forgotten: "was changed behind the journal: its status differ",
    _set_back_what_was_forgotten: "does not show its last change, event 4 (forgotten)",
    _change_the_source: "was changed behind the journal: its other fields differ",
    _delete_a_row: "is gone from its table, and no event says so",
    _insert_a_row: "memory inserted is in no event",
    _insert_a_second_row: "has a second row, which no event left so",
    _insert_an_older_row_in_another_layer: "has a second row, which no event left so",
    _insert_a_row_into_the_archive: "has a second row, which no event left so",
}


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_each_way_of_tampering_is_named_and_the_command_fails(
    tamper: Callable[[Path, Path], None], reverie: Command, folder: Path, tmp_path: Path
) -> None:
    tamper(folder, tmp_path)
    code, said = reverie("audit")
    assert (code, TAMPERINGS[tamper] in said) == (1, True), said
    code, said = reverie("audit", "--json")
    assert (code, json.loads(said)["intact"]) == (1, False)


@pytest.mark.parametrize(
    "tamper",
    [_cut_the_newest_line, _rewrite_everything, _append_a_forged_event, _remove_last_and_the_newest_event],
    ids=lambda tamper: tamper.__name__,
)
def test_going_on_working_does_not_cover_it_up(
    tamper: Callable[[Path, Path], None], reverie: Command, folder: Path, tmp_path: Path
) -> None:
    tamper(folder, tmp_path)
    for text in ("Sails are mended in winter", "Nets dry on the northern pier", "The quay is swept on Fridays"):
        assert reverie("remember", text)[0] == 0
    assert reverie("audit")[0] == 1


def test_new_memories_cut_from_their_file_are_missed(reverie: Command, folder: Path) -> None:
    kept = json.loads(reverie("remember", "--json", "Sails are mended in winter")[1])["id"]
    file = folder / "tables-1" / "additions" / "waiting.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    code, said = reverie("audit")
    assert (code, f"memory {kept} is gone from its table" in said) == (1, True), said


@pytest.mark.parametrize("garbage", [b"not json\n", b"[]\n", b'{"number": 5, "hash": "x"}\n'])
def test_garbage_in_the_file_is_told_as_damage(garbage: bytes, reverie: Command, folder: Path) -> None:
    _write(folder, [*_lines(folder), garbage])
    assert reverie("audit")[0] != 0


def test_a_number_taken_from_an_event_is_missed(reverie: Command, folder: Path, tmp_path: Path) -> None:
    _settle(tmp_path)
    _table(folder, "events").update(where="number = 2", values_sql={"number": "NULL"})
    code, said = reverie("audit")
    assert (code, "event" in said) == (1, True), said


@pytest.mark.parametrize("goes_on", [False, True])
def test_an_older_copy_of_the_home_shows_until_it_is_accepted(
    goes_on: bool, reverie: Command, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    for text in ("Sails are mended in winter", "Nets dry on the northern pier"):
        reverie("remember", text)
    assert reverie("audit")[0] == 0
    shutil.rmtree(tmp_path / "home")
    (tmp_path / "copy").rename(tmp_path / "home")
    if goes_on:
        for text in ("The quay is swept on Fridays", "The crane lifts two tons", "Gulls nest on the roof"):
            reverie("remember", text)
    code, said = reverie("audit")
    assert (code, "event" in said) == (1, True), said
    assert "older copy" in said or "rewritten" in said
    assert "reverie audit --accept" in said
    assert reverie("audit", "--accept")[0] == 0
    code, said = reverie("audit")
    assert (code, "taken as found" in said) == (0, True), said
    reverie("remember", "Cranes are greased on Mondays")
    assert reverie("audit")[0] == 0


def test_what_was_accepted_is_tied_again(reverie: Command, folder: Path, tmp_path: Path) -> None:
    for tamper in (_insert_a_row, _insert_a_second_row, _change_a_text, _cut_the_newest_line):
        tamper(folder, tmp_path)
    assert reverie("audit")[0] == 1
    assert reverie("audit", "--accept")[0] == 0
    assert reverie("audit")[0] == 0
    _delete_a_row_of_content(folder, "Always push to main")
    assert reverie("audit")[0] == 1


def _delete_a_row_of_content(folder: Path, content: str) -> None:
    _table(folder, "semantic").delete(f"content = '{content}'")


def test_another_machine_cannot_check_the_head_and_says_so(
    reverie: Command, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_CONFIG", str(tmp_path / "elsewhere"))
    code, said = reverie("audit")
    assert (code, "Not checked: there is no key in" in said) == (0, True), said
    assert not (tmp_path / "elsewhere").exists()  # asking makes no key
    assert reverie("remember", "Cranes are greased on Mondays")[0] == 0
    code, said = reverie("audit")
    assert (code, "events up to 4 were there before this installation" in said) == (0, True), said


def test_a_lost_key_is_no_tampering(reverie: Command, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config" / "installation.key").unlink()
    code, said = reverie("audit")
    assert (code, "Not checked: there is no key" in said) == (0, True), said
    reverie("remember", "Cranes are greased on Mondays")  # makes a new key
    code, said = reverie("audit")
    assert (code, "Not checked" in said) == (0, True), said


def test_a_configuration_folder_that_cannot_be_written_stops_no_memory(
    reverie: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("REVERIE_CONFIG", str(tmp_path / "file" / "config"))
    assert reverie("remember", "Cranes are greased on Mondays")[0] == 0
    code, said = reverie("audit")
    assert (code, "Not checked" in said) == (0, True), said


def test_the_head_lies_in_the_configuration_folder_for_its_owner_only(folder: Path, tmp_path: Path) -> None:
    [head] = (tmp_path / "config" / "heads").iterdir()
    assert head.stat().st_mode & 0o777 == 0o600
    assert json.loads(head.read_bytes())["link"][0] == 4


APPENDING = """
import asyncio, sys
from pathlib import Path
TINY_EMBEDDER
from reverie.settings import Settings
from reverie.tools.forget import forget
from reverie.tools.revise import pin
from reverie.tools.remember import remember
from reverie.tools.requests import ForgetRequest, PinRequest, RememberRequest
from reverie.tools.session import Session

async def main(home, config, who, times):
    settings = Settings(home=home, config=config, project="tests")
    session = await Session.open(settings, embedder=TinyEmbedder(), folder=Path(home).parent)
    for number in range(int(times)):
        text = f"worker {who} notes fact{who}x{number} about thing{number * 31 + int(who)}"
        kept = await remember(session, RememberRequest(content=text))
        if number % 5 == 1:
            await pin(session, PinRequest(id=kept.id))
        if number % 5 == 3:
            await forget(session, ForgetRequest(ids=[kept.id]))
    await session.close()

asyncio.run(main(*sys.argv[1:]))
""".replace("TINY_EMBEDDER", IMPORT)


@pytest.mark.parametrize(
    ("processes", "times"),
    [pytest.param(2, 10, id="two"), pytest.param(8, 30, id="eight", marks=[pytest.mark.slow, pytest.mark.alone])],
)
def test_auditing_while_processes_append_never_gives_a_false_alarm(
    processes: int, times: int, tmp_path: Path
) -> None:
    home, config = str(tmp_path / "home"), str(tmp_path / "config")
    arguments = [sys.executable, "-c", APPENDING, home, config]
    workers = [subprocess.Popen([*arguments, str(number), str(times)]) for number in range(processes)]

    async def watch() -> tuple[int, list[str]]:
        settings = Settings(home=home, config=config, project="tests")
        session = await Session.open(settings, embedder=TinyEmbedder(), folder=tmp_path)
        looks, faults = 0, list[str]()
        while any(worker.poll() is None for worker in workers):
            faults += (await audit(session.store)).faults
            looks += 1
            await asyncio.sleep(0.05)
        last = await audit(session.store)
        await session.close()
        assert last.memories == processes * times
        return looks, [*faults, *last.faults, *last.unchecked]

    looks, faults = asyncio.run(watch())
    assert [worker.wait() for worker in workers] == [0] * processes
    assert looks > 3
    assert faults == []
