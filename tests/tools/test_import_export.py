"""What is exported comes back exactly, and a file that is partly bad is partly kept."""

import io
import json
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reverie.errors import EmbedderError, InvalidInput
from reverie.ids import short_id
from reverie.memory import Anchor, Memory
from reverie.storage.filters import equals
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools import import_jsonl as importing
from reverie.tools import recall, remember, revise
from reverie.tools.export_jsonl import LONGEST_LINE, Exported, export
from reverie.tools.forget import forget
from reverie.tools.import_jsonl import Imported, import_memories
from reverie.tools.requests import ForgetRequest, PinRequest, RecallRequest, RememberRequest
from reverie.tools.session import Session
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.anyio

STRANGE = (
    "null",
    "None",
    "NaN",
    "'; DROP TABLE semantic; --",
    'quotes " and \\ backslashes',
    "line\nbreaks\r\nand\ttabs",
    "a nul \x00 and a bell \x07",
    "separators \u2028 \u2029 \x85 inside",
    "emoji 🦊, combining é, right to left שלום",
    "\ufeffa byte order mark",
)


def quiet(*_progress: object) -> None:
    """Show no progress."""


async def imported(session: Session, *lines: str | bytes | dict[str, Any]) -> Imported:
    return await import_memories(session, io.BytesIO(b"\n".join(map(_line, lines))), quiet)


def _line(line: str | bytes | dict[str, Any]) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line)).encode()


async def exported(session: Session, file: Path, **narrowed: str) -> Exported:
    return await export(session, str(file), progress=quiet, **narrowed)


def reasons(result: Imported) -> dict[int, str]:
    return {bad.line: bad.reason for bad in result.bad_lines}


async def written(session: Session, memory: Memory) -> Memory:
    [embedding] = await session.embed([memory.content])
    item = Embedded(memory, embedding.vector, embedding.passages)
    await session.store.add([item], actor="test", at=session.now)
    return memory


async def full_memory(session: Session, content: str, number: int = 0) -> Memory:
    """A memory with nothing left at its default."""
    answer = await remember.remember(session, RememberRequest(content=content))
    [plain] = (await session.store.get([answer.id])).values()
    at = datetime(2025, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC) - timedelta(days=number)
    return replace(
        plain,
        id=f"Old.id:{number}_-",
        title=content[:20],
        kind="rejected",
        layer="procedural",
        tags=(content[:9], "null"),
        entities=(content[:30],),
        project=f"p {content[:5]}",
        branch=content[:40],
        session="",
        source="human",
        source_ref="null",
        trust=0.123456789012345,
        confidence=1 / 3,
        derived_from=("a", "b"),
        importance=0.1 + 0.2,
        surprise=0.0,
        valence=-0.7,
        stability=0.99,
        confirmations=2,
        confirmed_by=("ai", "import"),
        created_at=at,
        happened_at=at - timedelta(microseconds=1),
        last_accessed_at=at,
        access_count=3,
        access_times=(at, at + timedelta(microseconds=1)),
        sessions=("s1", ""),
        core=True,
        pinned=True,
        tier="elephant",
        forget_after=datetime(2999, 1, 1, tzinfo=UTC),
        status="superseded",
        expired_at=at,
        status_reason=content,
        superseded_by="a",
        updated_at=at,
        anchors=(
            Anchor(path="src/ä b.py"),
            Anchor(
                path="x",
                symbol="f",
                kind="symbol",
                digest="00",
                span=(1, 9),
                commit="c",
                freshness="moved",
                now_at="y",
                note="'",
            ),
        ),
        precision=8,
    )


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Session]:
    """An empty store elsewhere, in another project."""
    from reverie.settings import Settings

    settings = Settings(home=str(tmp_path / "other"), project="elsewhere")
    session = await Session.open(settings, embedder=TinyEmbedder(), folder=tmp_path)
    yield session
    await session.close()


async def test_every_field_of_a_memory_comes_back_exactly(session: Session, other: Session, tmp_path: Path) -> None:
    for number, content in enumerate(STRANGE):
        await written(session, await full_memory(session, content, number))
    before = await session.store.find()
    both = 2 * len(STRANGE)  # the plain memory, and the one with nothing left at its default
    assert await exported(session, tmp_path / "out.jsonl") == Exported(both, str(tmp_path / "out.jsonl"))
    with (tmp_path / "out.jsonl").open("rb") as file:
        result = await import_memories(other, file, quiet)
    assert (result.lines, result.added, result.bad_lines) == (both, both, [])
    assert await other.store.find() == before


@pytest.mark.slow
async def test_three_hundred_memories_of_every_status_come_back_in_their_order(
    session: Session, other: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "_LINES_AT_ONCE", 70)
    monkeypatch.setattr("reverie.tools.export_jsonl._ROWS_AT_ONCE", 70)
    long = " ".join(f"word{number}" for number in range(130))
    statuses = ["active", "challenged", "superseded", "expired", "quarantined"]
    layers = ["working", "episodic", "semantic", "procedural", "codebase"]
    lines = [
        {
            "id": f"m{number:03}",
            "content": f"{long if number % 50 == 0 else 'short'} {number}",
            "status": statuses[number % 5],
            "layer": layers[number % 5],
            "project": f"p{number % 3}",
            "created_at": f"2026-01-01T00:00:{number % 60:02}.{number:06}Z",
        }
        for number in range(300)
    ]
    assert (await imported(session, *lines)).added == 300
    await exported(session, tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert [row["id"] for row in rows] == [
        line["id"] for line in sorted(lines, key=lambda line: (line["created_at"], line["id"]))
    ]
    with (tmp_path / "out.jsonl").open("rb") as file:
        await import_memories(other, file, quiet)
    assert await other.store.find() == await session.store.find()
    [embedding] = await other.embed(["word128 word129"])
    assert set(await other.store.vectors.nearest_passages(embedding.vector, Scope(), 6)) == {
        f"m{number:03}" for number in range(0, 300, 50)
    }


async def test_an_export_can_be_narrowed_to_a_project(session: Session, tmp_path: Path) -> None:
    await imported(session, {"content": "a", "project": "it's"}, {"content": "b", "project": "other"})
    assert (await exported(session, tmp_path / "out", project="it's")).memories == 1
    assert json.loads((tmp_path / "out").read_text("utf-8"))["content"] == "a"


async def test_an_export_belongs_to_its_owner_and_replaces_the_last_one_whole(
    session: Session, tmp_path: Path
) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text("the last export")
    (tmp_path / "link").symlink_to(file)
    await exported(session, tmp_path / "link")
    assert (file.read_text(), (tmp_path / "link").is_symlink()) == ("", True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_an_export_that_fails_leaves_the_last_one_and_nothing_else(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await imported(session, {"content": "a"})
    (tmp_path / "out").mkdir()
    file = tmp_path / "out" / "memories.jsonl"
    file.write_text("the last export")

    def full(*_: object) -> bytes:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("reverie.tools.export_jsonl.line_of", full)
    with pytest.raises(InvalidInput, match="No space left"):
        await exported(session, file)
    assert [(path.name, path.read_text()) for path in (tmp_path / "out").iterdir()] == [
        ("memories.jsonl", "the last export")
    ]


async def test_an_export_into_a_folder_that_is_not_there_says_so(session: Session, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file or directory"):
        await exported(session, tmp_path / "nowhere" / "out.jsonl")


# ── what a line may leave out ─────────────────────────────────────────────────────────────────────────────


async def test_a_line_needs_only_its_content(session: Session) -> None:
    await imported(session, {"content": "We decided to use SQLite."})
    [memory] = await session.store.find()
    assert (memory.kind, memory.layer, memory.title) == ("decision", "procedural", "We decided to use SQLite.")
    assert (memory.source, memory.trust, memory.surprise) == ("import", 0.5, None)
    assert (memory.importance, memory.stability) == (0.5, pytest.approx(0.25))
    assert (memory.created_at, memory.happened_at, memory.updated_at) == (session.now,) * 3
    assert memory.project == session.here.project
    assert short_id(memory.id) == memory.id[:8]  # it follows from the line, and eight characters name it


@pytest.mark.parametrize(
    ("given", "source", "trust"),
    [
        pytest.param({}, "import", 0.5, id="a file has little trust"),
        pytest.param({"trust": 0.2}, "import", 0.2, id="and may claim less"),
        pytest.param({"trust": 0.9}, "import", 0.5, id="but not more"),
        pytest.param({"source": "human"}, "import", 0.5, id="whatever source it names"),
        pytest.param({"source": "ai", "trust": 0.9}, "import", 0.5, id="and trust"),
        pytest.param({"source": "ai", "trust": 0.1}, "import", 0.1, id="or less"),
    ],
)
async def test_a_file_that_proves_nothing_speaks_for_itself_only(
    session: Session, given: dict[str, Any], source: str, trust: float
) -> None:
    await imported(session, {"content": "x", **given})
    [memory] = await session.store.find()
    assert (memory.source, memory.trust) == (source, trust)


async def test_null_stands_for_what_is_not_given(session: Session) -> None:
    result = await imported(session, {"content": "x", "id": None, "tags": None, "importance": None, "branch": None})
    assert (result.added, result.skipped) == (1, 0)


async def test_vectors_and_fingerprints_in_a_file_are_made_anew(session: Session) -> None:
    await imported(session, {"content": "x", "vector": [1, 2], "content_hash": "no", "embedder": "other:1"})
    [memory] = await session.store.find()
    assert (memory.content_hash[:8], memory.embedder) == ("2d711642", "tiny:64")  # sha256 of "x"


async def test_the_same_text_under_two_ids_is_kept_twice(session: Session) -> None:
    assert (await imported(session, {"content": "x", "id": "a"}, {"content": "x", "id": "b"})).added == 2


async def test_the_same_lines_under_other_ids_add_nothing_later(session: Session) -> None:
    lines = [{"content": f"Pump {number} has {number} valves."} for number in range(3)]
    await imported(session, *lines)
    again = await imported(session, *({**line, "id": f"other-{place}"} for place, line in enumerate(lines)))
    assert (again.added, again.unchanged) == (0, 3)


async def test_the_same_happening_on_another_day_is_another_memory(session: Session) -> None:
    line = {"content": "The nightly backup failed.", "kind": "event"}
    for day in (3, 4):
        assert (await imported(session, {**line, "happened_at": f"2026-01-0{day}T00:00:00Z"})).added == 1


@pytest.mark.parametrize(
    "stripped", [("id",), ("id", "seal"), ("seal",), ("id", "seal", "title", "happened_at", "created_at")]
)
async def test_an_older_export_without_its_ids_revives_nothing(
    session: Session, tmp_path: Path, stripped: tuple[str, ...]
) -> None:
    kept = await remember.remember(session, RememberRequest(content="The broker listens on port 8883."))
    await exported(session, tmp_path / "e.jsonl")
    line = json.loads((tmp_path / "e.jsonl").read_text())
    await forget(session, ForgetRequest(ids=[kept.id]))
    older = {name: value for name, value in line.items() if name not in stripped}
    tally = await imported(session, older)
    assert (tally.added, tally.forgotten) == (0, 1)
    assert [memory.status for memory in await session.store.find()] == ["expired"]
    revived = await import_memories(session, io.BytesIO(_line(older)), quiet, revive=True)
    assert (revived.added, revived.revived) == (0, 1)


async def test_a_file_that_proves_nothing_is_not_from_tomorrow(session: Session) -> None:
    await imported(session, {"content": "x", "created_at": "2999-01-01T00:00:00Z"})
    [memory] = await session.store.find()
    assert memory.created_at <= session.now


# ── ids that are there already ────────────────────────────────────────────────────────────────────────────


async def test_an_id_that_is_there_is_updated_and_found_by_its_new_text(session: Session) -> None:
    await imported(session, {"id": "a", "content": "the old wording", "layer": "working", "tags": ["kept"]})
    await recall.recall(session, RecallRequest(query="old wording"))  # its vector is in memory now
    result = await imported(session, {"id": "a", "content": "something quite new", "layer": "semantic"})
    assert (result.added, result.updated) == (0, 1)
    [memory] = await session.store.find()
    assert (memory.content, memory.layer, memory.tags) == ("something quite new", "semantic", ("kept",))
    assert memory.title == "something quite new"
    answer = await recall.recall(session, RecallRequest(query="quite new"))
    assert [row.content for row in answer.results] == ["something quite new"]
    [embedding] = await session.embed(["something quite new"])
    [hit] = await session.store.nearest(embedding.vector, Scope(), 5)
    assert hit.similarity == pytest.approx(1.0)


async def test_an_edited_export_reaches_sessions_that_have_the_old_vector(
    session: Session, open_session: Callable[..., Awaitable[Session]], tmp_path: Path
) -> None:
    await imported(session, {"id": "a", "content": "apples and pears"})
    session = await open_session()
    [embedding] = await session.embed(["plums and cherries"])
    await session.store.nearest(embedding.vector, Scope(), 5)
    await exported(session, tmp_path / "out")
    edited = (tmp_path / "out").read_bytes().replace(b"apples and pears", b"plums and cherries")
    await import_memories(session, io.BytesIO(edited), quiet)
    [hit] = await session.store.nearest(embedding.vector, Scope(), 5)
    assert hit.similarity == pytest.approx(1.0)


async def test_an_update_keeps_what_the_line_does_not_say(session: Session) -> None:
    answer = await remember.remember(session, RememberRequest(content="the rule", source="human", tags=["t"]))
    await revise.pin(session, PinRequest(id=answer.id))
    await imported(session, {"id": answer.id, "content": "the new rule"})
    [memory] = await session.store.find()
    # The words are another's now: they have neither the source nor the trust of what they replace.
    assert (memory.pinned, memory.source, memory.trust, memory.tags) == (True, "import", 0.5, ("t",))
    events = await session.store.journal.about(answer.id)
    assert events[-1].action == "imported"
    assert events[-1].before["content"] == "the rule"


async def test_of_two_lines_with_one_id_the_last_has_the_say(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [{"id": "a", "content": f"version {number}", "tags": [str(number)]} for number in range(5)]
    await imported(session, *lines)
    monkeypatch.setattr(importing, "_LINES_AT_ONCE", 2)
    await imported(session, *({**line, "id": "b"} for line in lines))
    found = await session.store.find()
    assert [(memory.content, memory.tags) for memory in found] == [("version 4", ("4",))] * 2


async def test_importing_twice_changes_nothing_and_embeds_nothing(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await imported(session, *({"content": f"memory {number}"} for number in range(20)))
    await exported(session, tmp_path / "out")
    before = await session.store.find()

    def refuse(_self: TinyEmbedder, _texts: object) -> None:
        raise EmbedderError("nothing was to be embedded")

    monkeypatch.setattr(TinyEmbedder, "embed", refuse)
    with (tmp_path / "out").open("rb") as file:
        result = await import_memories(session, file, quiet)
    assert (result.added, result.updated, result.unchanged) == (0, 0, 20)
    assert await session.store.find() == before


# ── bad lines ─────────────────────────────────────────────────────────────────────────────────────────────

BAD: list[tuple[str | bytes | dict[str, Any], str]] = [
    ("nonsense", "not JSON"),
    ('{"content": "cut', "not JSON"),
    ("[1, 2]", "not an object but a list"),
    ('"text"', "not an object but a text"),
    ("null", "not an object but null"),
    ("[" * 100_000, "too deep"),
    ('{"content": 1' + "0" * 5_000 + "}", "number too long"),
    (b'{"content": "\xff"}', "not UTF-8 at byte 14"),
    ({}, "content: is missing"),
    ({"content": None}, "content: is missing"),
    ({"content": " \n"}, "there is no text"),
    ({"content": 7}, "content: 7 is not a text"),
    ({"content": "x" * 100_001}, "100,001 characters"),
    ('{"content": "\\ud800"}', "lone surrogate"),
    (b'{"content": "' + b"x" * LONGEST_LINE + b'"}', "longer than 4 MB"),
    ({"content": "x", "colour": "red"}, "colour: is not a field"),
    ({"content": "x", "id": "not an id"}, "'not an id' is not an id"),
    ({"content": "x", "id": ""}, "'' is not an id"),
    ({"content": "x", "layer": "cellar"}, "'cellar' is unknown"),
    ({"content": "x", "importance": "0.5"}, "importance: '0.5' is not a number"),
    ({"content": "x", "importance": 1.5}, "importance: 1.5 is out of range"),
    ('{"content": "x", "importance": NaN}', "importance: nan is not a number"),
    ('{"content": "x", "importance": ' + "9" * 400 + "}", "importance: 99999999999999999999 is out of range"),
    ({"content": "x", "pinned": "yes"}, "'yes' is neither true nor false"),
    ({"content": "x", "tags": "a,b"}, "tags: 'a,b' is not a list"),
    ({"content": "x", "tags": [" "]}, "a tag is empty"),
    ({"content": "x", "created_at": "yesterday"}, "'yesterday' is not a moment"),
    ({"content": "x", "access_count": -1}, "-1 is not a count"),
    ({"content": "x", "anchors": [{"symbol": "f"}]}, "is not an anchor"),
    ({"content": "x", "title": "t" * 201}, "201 characters is too long"),
]


async def test_bad_lines_are_told_by_number_with_the_reason_and_the_rest_is_kept(session: Session) -> None:
    lines: list[str | bytes | dict[str, Any]] = [{"content": "the first"}]
    for number, (bad, _) in enumerate(BAD):
        lines += [bad, {"content": f"good {number}"}]
    result = await imported(session, *lines)
    told = reasons(result)
    assert list(told) == [2 * number + 2 for number in range(len(BAD))]
    assert [(why, told[2 * n + 2]) for n, (_, why) in enumerate(BAD) if why not in told[2 * n + 2]] == []
    assert (result.added, result.skipped) == (len(BAD) + 1, len(BAD))
    assert await session.store.count() == len(BAD) + 1


async def test_what_windows_programs_write_is_no_fault(session: Session) -> None:
    text = b'\xef\xbb\xbf{"content": "first"}\r\n\r\n{"content": "last"}\r\n'
    result = await import_memories(session, io.BytesIO(text), quiet)
    assert (result.added, result.skipped) == (2, 0)


async def test_line_numbers_count_empty_lines_too(session: Session) -> None:
    assert list(reasons(await imported(session, "", "", "bad"))) == [3]


async def test_a_reason_is_one_line_of_reasonable_length(session: Session) -> None:
    [reason] = reasons(await imported(session, {"content": "x", "k\n" * 9_999: 1})).values()
    assert len(reason) <= 301
    assert "\n" not in reason


async def test_after_an_import_every_text_is_indexed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "_LINES_AT_ONCE", 10)
    await imported(session, *({"content": f"memory {number}", "layer": "semantic"} for number in range(50)))
    table = session.store.database.table("semantic")
    for index in await table.lance.list_indices():
        statistics = await table.lance.index_stats(index.name)
        assert statistics is not None
        assert statistics.num_unindexed_rows == 0
    assert await table.fragments() == 1


async def test_an_empty_file_imports_nothing(session: Session) -> None:
    assert await imported(session) == Imported()


async def test_an_import_that_fails_half_way_keeps_whole_parts_and_can_be_repeated(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "_LINES_AT_ONCE", 10)
    lines = [{"id": f"m{number}", "content": f"memory {number}"} for number in range(25)]
    embed = TinyEmbedder.embed

    def failing(self: TinyEmbedder, texts: list[str]) -> Any:
        if "memory 15" in texts:
            raise EmbedderError("the server is gone")
        return embed(self, texts)

    so_far: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(TinyEmbedder, "embed", failing)
        with pytest.raises(EmbedderError):
            await import_memories(
                session,
                io.BytesIO("\n".join(map(json.dumps, lines)).encode()),
                lambda tally: so_far.append(tally.added),
            )
    assert (so_far, await session.store.count()) == ([10], 10)
    result = await imported(session, *lines)
    assert (result.added, result.unchanged) == (15, 10)


async def test_an_update_that_another_session_makes_meanwhile_is_not_lost(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    await imported(session, {"id": "a", "content": "before"})
    embed = Session.embed

    async def slow(self: Session, texts: Any) -> Any:
        await revise.pin(session, PinRequest(id="a"))
        return await embed(self, texts)

    monkeypatch.setattr(Session, "embed", slow)
    await imported(session, {"id": "a", "content": "after"})
    [memory] = await session.store.find(equals("id", "a"))
    assert (memory.content, memory.pinned) == ("after", True)
