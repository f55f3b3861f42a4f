from collections.abc import Awaitable, Callable
from dataclasses import fields

import pytest

from reverie.errors import InvalidInput, MemoryNotFound
from reverie.memory import Memory
from reverie.tools.forget import forget
from reverie.tools.inspect import inspect
from reverie.tools.requests import ForgetRequest, InspectRequest, RememberRequest, ReviseRequest, StatusRequest
from reverie.tools.results import Remembered
from reverie.tools.revise import revise
from reverie.tools.session import Session
from reverie.tools.status import status

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
OpenSession = Callable[..., Awaitable[Session]]


async def test_inspect_shows_every_field_under_its_name(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns oil", files=["lamp.py"], project="global")
    [shown] = (await inspect(session, InspectRequest(ids=[kept.id]))).memories
    assert {field.name for field in fields(Memory)} <= shown.keys()
    assert shown["anchors"][0]["path"] == "lamp.py"
    assert len(shown["factors"]) == 9
    assert sum(factor["share"] for factor in shown["factors"]) == pytest.approx(shown["composite_importance"])
    assert shown["retention"].keys() == {"now", "30", "90", "365"}
    assert shown["outlook"].endswith(".")
    assert [event["action"] for event in shown["events"]] == ["remembered"]


async def test_inspect_tells_where_a_memory_came_from_and_what_came_of_it(session: Session, keep: Keep) -> None:
    first = await keep("the lamp burns oil")
    second = await revise(session, ReviseRequest(id=first.id, content="the lamp burns gas"))
    third = await revise(session, ReviseRequest(id=second.id, content="the lamp is electric"))
    [shown] = (await inspect(session, InspectRequest(ids=[second.id]))).memories
    assert shown["lineage"] == {
        "derived_from": [first.id],
        "supersedes": [first.id],
        "superseded_by": [third.id],
        "derived": [],
    }
    shown_together = (await inspect(session, InspectRequest(ids=[first.id, second.id, third.id]))).memories
    assert [one["lineage"]["supersedes"] for one in shown_together] == [[], [first.id], [second.id]]
    assert shown_together[1]["lineage"] == shown["lineage"]


async def test_inspect_needs_ids_that_exist(session: Session) -> None:
    with pytest.raises(InvalidInput):
        await inspect(session, InspectRequest(ids=[]))
    with pytest.raises(MemoryNotFound):
        await inspect(session, InspectRequest(ids=["nothing-here"]))


async def test_status_counts_by_layer_and_status(session: Session, keep: Keep) -> None:
    gone = await keep("the lamp burns oil", layer="episodic")
    await keep("the harbour closes at nine", layer="episodic")
    await keep("invoices are due in March", layer="semantic")
    await forget(session, ForgetRequest(ids=[gone.id]))
    answer = await status(session, StatusRequest())
    assert answer.counts["episodic"] == {"active": 1, "expired": 1}
    assert answer.counts["semantic"] == {"active": 1}
    assert (answer.domain, answer.embedder, answer.index_state) == ("default", "tiny:64", "ready")
    assert answer.disk_bytes > 10_000


async def test_status_notices_a_misspelled_setting(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_EMBEDER", "bundled")
    assert any("REVERIE_EMBEDER" in note for note in (await status(session, StatusRequest())).health)


async def test_domains_do_not_see_each_other(open_session: OpenSession) -> None:
    from reverie.tools import remember

    one, two = await open_session(domain="one"), await open_session(domain="two")
    await remember.remember(one, RememberRequest(content="the lamp burns oil"))
    assert (await one.store.count(), await two.store.count()) == (1, 0)
