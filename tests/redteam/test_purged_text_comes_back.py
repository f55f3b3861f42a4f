"""Attack: what the user had removed for good is found on the disk, or brought back by a copy of it."""

import json

import pytest

from reverie.errors import InvalidInput
from reverie.tools.forget import forget
from reverie.tools.requests import ForgetRequest, RememberRequest, ReviseRequest
from reverie.tools.revise import revise

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TEXT = "The zanzibarword opens the quagmirevault behind the mill."


async def _purged(session, keep):
    for number in range(12):
        await keep(f"An ordinary note, number {number}.")
    kept = await keep(TEXT, title="zanzibartitle", tags=["zanzibartag"])
    await forget(session, ForgetRequest(ids=[kept.id], purge=True, reason="zanzibarreason"))
    return kept.id


async def test_no_byte_of_it_is_left(session, keep, ask, on_disk):
    await _purged(session, keep)
    for word in ("zanzibar", "quagmire"):
        assert on_disk(word) == []
    answer, _ = await ask("zanzibarword quagmirevault", include=["expired", "superseded"], limit=100)
    assert [row.content for row in answer.results if "zanzibar" in row.content] == []


@pytest.mark.parametrize("echo", [TEXT, f"  {TEXT}\n", TEXT.upper(), TEXT.replace(" ", "  ")])
async def test_an_echo_is_refused(session, keep, on_disk, echo):
    await _purged(session, keep)
    with pytest.raises(InvalidInput, match="purged"):
        await keep(echo)
    assert on_disk("zanzibar") == []
    assert on_disk("ZANZIBAR") == []


async def test_a_revision_to_it_is_refused(session, keep, on_disk):
    await _purged(session, keep)
    other = await keep("Something else entirely.")
    with pytest.raises(InvalidInput, match="purged"):
        await revise(session, ReviseRequest(id=other.id, content=TEXT))
    assert on_disk("zanzibar") == []


async def test_an_import_of_an_older_export_is_kept_out(session, keep, take_in, exported, on_disk):
    kept = await keep(TEXT)
    other = await keep("Something else entirely.")
    lines = [json.loads(line) for line in (await exported()).splitlines()]
    await forget(session, ForgetRequest(ids=[kept.id], purge=True))
    tally = await take_in(*lines, {"content": TEXT}, {"id": other.id, "content": TEXT})
    assert (tally.purged, tally.added, tally.unchanged) == (3, 0, 1)
    assert on_disk("zanzibar") == []


async def test_another_session_keeps_it_out_too(session, keep, open_session):
    from reverie.tools import remember

    other = await open_session()
    await remember.remember(other, RememberRequest(content="Other session warms up."))
    await _purged(session, keep)
    with pytest.raises(InvalidInput, match="purged"):
        await remember.remember(other, RememberRequest(content=TEXT))


async def test_questions_and_reports_that_quote_it_go_as_well(session, keep, on_disk):
    import pyarrow as pa

    from reverie.storage.schema import side_schema

    kept = await keep(TEXT)
    database, now = session.store.database, session.now
    question = {"id": "q1", "asked_at": now, "kind": "merge", "memory_ids": [kept.id], "status": "open", "body": TEXT}
    report = json.dumps({"notes": [f"merged: {TEXT}"], "kept": 3})
    dream = {"id": "d1", "started_at": now, "finished_at": now, "status": "done", "report": report}
    for table, row in (("questions", question), ("dreams", dream)):
        await database.table(table).add(pa.Table.from_pylist([row], schema=side_schema(table, 1)))
    await forget(session, ForgetRequest(ids=[kept.id], purge=True))
    assert on_disk("zanzibar") == []
    [row] = (await database.table("dreams").rows(["report"])).to_pylist()
    assert json.loads(row["report"]) == {"notes": ["merged: [purged]"], "kept": 3}


async def test_what_may_repeat_it_is_named(session, keep):
    old = await keep("The zanzibar launch is in April.")
    new = await revise(session, ReviseRequest(id=old.id, content="The zanzibar launch is in May.", reason="moved"))
    done = await forget(session, ForgetRequest(ids=[new.id], purge=True))
    assert [(item.id, item.reason) for item in done.skipped] == [
        (old.id, "an earlier version; purge it too if need be")
    ]


async def test_the_tombstone_says_nothing_but_that_there_is_one(session, keep, home):
    await _purged(session, keep)
    [line] = (home / "domains" / "default" / "purged").read_text().split()
    assert len(line) == 64
    assert int(line, 16)
