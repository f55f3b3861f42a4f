"""What a session starts with: the right things first, within the budget, on an empty store and on a full one."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from reverie.embeddings.tokens import count_tokens
from reverie.errors import InvalidInput
from reverie.memory import Anchor, Memory
from reverie.recall.results import as_sent, lean
from reverie.storage.rows import Embedded
from reverie.storage.schema import side_schema
from reverie.tools import remember
from reverie.tools.brief import brief
from reverie.tools.requests import BriefRequest, PinRequest, RememberRequest
from reverie.tools.results import Remembered
from reverie.tools.revise import pin
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
OpenSession = Callable[..., Awaitable[Session]]


async def _mark(session: Session, memory_id: str, **values: Any) -> None:
    async with session.store.changing():
        memory = await session.store.resolve(memory_id)
        await session.store.change([memory], values, action="marked", actor="test", at=session.now)


async def _add_many(session: Session, like: Memory, number: int, content: str) -> None:
    [embedding] = await session.embed([content])
    copies = [
        replace(like, id=f"copy-{content[:4]}-{n:04}", content=f"{content} {n}.", content_hash=str(n))
        for n in range(number)
    ]
    await session.store.add([Embedded(m, embedding.vector) for m in copies], actor="test", at=session.now)


async def test_the_sections_come_in_the_order_of_what_they_weigh(session: Session, keep: Keep) -> None:
    told = [
        await keep("Invoices are due in March.", layer="semantic", kind="fact"),
        await keep("The harbour was painted.", layer="episodic", kind="event"),
        await keep("The gate is opened by a lever.", layer="semantic", kind="fact"),
        await keep("The pump still leaks.", layer="working", kind="fact"),
        await keep("We take oak over pine.", layer="semantic", kind="decision"),
        await keep("Lamps are lit by make lamps.", layer="procedural", kind="how_to"),
        await keep("Never fell the old tree.", layer="episodic", importance=0.1),
    ]
    await _mark(session, told[2].id, anchors=(Anchor(path="gate.py", freshness="missing"),))
    await pin(session, PinRequest(id=told[6].id))
    answer = await brief(session, BriefRequest())
    assert answer.memories == [memory.id for memory in reversed(told)]
    headings = [line for line in answer.text.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Pinned and core",
        "## How things are done",
        "## Decided",
        "## Open or in doubt",
        "## No longer as the code says",
        "## In the last day",
        "## Known",
    ]


async def test_what_a_project_holds_comes_before_what_belongs_to_none(open_session: OpenSession, keep: Keep) -> None:
    session = await open_session(project="harbour")
    weighty = await keep(
        "Every project signs its commits.", layer="procedural", kind="how_to", importance=1.0, project="global"
    )
    own = await keep(
        "The harbour signs nothing.", layer="procedural", kind="how_to", importance=0.1, project="harbour"
    )
    await keep("The mill signs twice.", layer="procedural", kind="how_to", project="mill")
    assert (await brief(session, BriefRequest())).memories == [own.id, weighty.id]


async def test_what_is_in_doubt_says_why_and_what_drifted_says_where(session: Session, keep: Keep) -> None:
    doubted = await keep("The lamp burns oil.", layer="semantic", kind="fact")
    moved = await keep("The wick is cut in trim().", layer="semantic", kind="fact")
    anchor = Anchor(path="lamp.py", symbol="trim", freshness="moved", now_at="wick.py")
    await _mark(session, doubted.id, status="challenged", status_reason="lamp.py speaks of gas")
    await _mark(session, moved.id, anchors=(anchor, Anchor(path="oil.py", freshness="verified")))
    text = (await brief(session, BriefRequest())).text
    assert "The lamp burns oil. (challenged: lamp.py speaks of gas)" in text
    assert "The wick is cut in trim(). (lamp.py::trim moved to wick.py)" in text


async def test_quarantined_forgotten_and_superseded_memories_are_never_told(session: Session, keep: Keep) -> None:
    for status in ("quarantined", "expired", "superseded"):
        kept = await keep(f"This one is {status}.", layer="procedural", kind="how_to", pin=True)
        await _mark(session, kept.id, status=status, core=True, anchors=(Anchor(path="a.py", freshness="missing"),))
    assert (await brief(session, BriefRequest())).memories == []


async def test_a_digest_stands_for_the_day_it_tells(session: Session, keep: Keep, clock: Any) -> None:
    await keep("Monday: lamps were sorted.", layer="episodic", kind="digest")
    clock.advance(days=1)
    newer = await keep("Tuesday: lamps were lit.", layer="episodic", kind="digest")
    await keep("A lamp fell over.", layer="episodic", kind="event")
    assert (await brief(session, BriefRequest())).memories == [newer.id]
    clock.advance(days=8)
    latest = await keep("A lamp was bought.", layer="episodic", kind="event")
    assert (await brief(session, BriefRequest())).memories == [latest.id]


async def test_questions_of_dreams_are_mentioned(session: Session, keep: Keep) -> None:
    await keep("The lamp burns oil.")
    assert "review" not in (await brief(session, BriefRequest())).text
    row = {"id": "q", "asked_at": session.now, "kind": "merge", "memory_ids": [], "status": "open", "body": "{}"}
    await session.store.database.table("questions").add(
        pa.Table.from_pylist([row, row | {"id": "r", "status": "answered"}], schema=side_schema("questions", 1))
    )
    assert "Open questions: 1; the tool review" in (await brief(session, BriefRequest())).text


async def test_a_full_store_keeps_room_for_every_section_and_fills_the_page(session: Session, keep: Keep) -> None:
    pinned = await session.store.resolve((await keep("Pinned.", layer="semantic", kind="fact", pin=True)).id)
    await _add_many(session, pinned, 300, "Kept for ever, whatever comes of the harbour and its lamps, number")
    await _add_many(session, replace(pinned, pinned=False), 300, "Also known of the harbour and its many lamps")
    done = await keep("Lamps are lit by make lamps.", layer="procedural", kind="how_to")
    decided = await keep("We take oak over pine.", layer="procedural", kind="decision")
    answer = await brief(session, BriefRequest())
    assert answer.tokens == count_tokens(answer.text) <= 800
    assert 700 < count_tokens(as_sent(lean(answer))) <= 800  # ids are whole there, so the structure is the longer
    assert {done.id, decided.id} < set(answer.memories)
    assert sum("Kept for ever" in line for line in answer.text.splitlines()) >= 7
    assert "## Known" in answer.text
    assert (await brief(session, BriefRequest())) == answer


async def test_every_budget_is_kept_and_the_weightiest_comes_first(session: Session, keep: Keep) -> None:
    for number in range(30):
        await keep(f"fact number {number} about the harbour and its many lamps", layer="semantic", project="oak")
    await keep("run the lamps with make lamps", layer="procedural", project="oak")
    kept = await keep("never touch the old oak", layer="episodic", importance=0.1, pin=True, project="oak")
    for budget in (50, 60, 97, 200, 800, 5_000):
        told = await brief(session, BriefRequest(project="oak", max_tokens=budget))
        assert told.tokens == count_tokens(told.text) <= budget
        assert count_tokens(as_sent(lean(told))) <= budget
        assert told.memories[:1] == [kept.id] or budget < 120  # an id alone takes ten tokens there
    assert len(told.memories) == 32


async def test_a_memory_is_told_once(session: Session, keep: Keep) -> None:
    kept = await keep("We decided to light lamps with make lamps.", layer="procedural", pin=True)
    await _mark(session, kept.id, anchors=(Anchor(path="Makefile", freshness="changed"),))
    answer = await brief(session, BriefRequest())
    assert (answer.memories, answer.text.count("make lamps")) == ([kept.id], 1)
    assert "(Makefile changed)" in answer.text


async def test_an_empty_store_says_how_to_begin(session: Session) -> None:
    answer = await brief(session, BriefRequest())
    assert "remember" in answer.text
    assert answer.memories == []
    assert (await brief(session, BriefRequest(max_tokens=50))).tokens <= 50


async def test_a_budget_that_holds_nothing_is_refused(session: Session) -> None:
    with pytest.raises(InvalidInput, match="max_tokens"):
        await brief(session, BriefRequest(max_tokens=10))


async def test_what_a_person_said_comes_before_what_was_merely_surprising(session: Session, keep: Keep) -> None:
    for number, place in enumerate(["harbour", "orchard", "quarry", "chapel", "bakery", "tannery"]):
        await keep(f"The {place} burned down in 19{number}4 and nobody knew why.", importance=1.0, layer="semantic")
    said = [
        await keep("Please answer in French.", layer="semantic", kind="preference", source="human", importance=0.2),
        await keep("We build with oak.", layer="semantic", kind="decision", source="human", importance=0.2),
        await keep("Lamps: make lamps.", layer="semantic", kind="how_to", source="human", importance=0.2),
        await keep("Ada owns the mill.", layer="semantic", kind="fact", source="human", importance=0.2),
    ]
    told = await brief(session, BriefRequest(max_tokens=210))
    assert {memory.id for memory in said} <= set(told.memories)
    assert len(told.memories) < 10
    assert told.more == 10 - len(told.memories)
    assert told.text.splitlines()[-1] == f"{told.more} more: recall finds them."


async def test_a_page_that_tells_everything_counts_no_more(session: Session, keep: Keep) -> None:
    await keep("The lamp burns oil.")
    told = await brief(session, BriefRequest())
    assert told.more == 0
    assert "more:" not in told.text


async def test_a_page_without_room_for_a_line_says_how_many_there_are(session: Session, keep: Keep) -> None:
    for word in ("oil", "gas", "wax"):
        await keep(f"{'The lamp burns ' * 30}{word}.", layer="semantic")
    told = await brief(session, BriefRequest(max_tokens=50))
    assert (told.memories, told.more) == ([], 3)
    assert told.text.splitlines()[-1] == "3 more: recall finds them."
    assert max(told.tokens, count_tokens(as_sent(lean(told)))) <= 50


async def test_what_changed_since_it_was_remembered_is_marked(repo: Any, open_session: OpenSession) -> None:
    repo.write("src/lamp.py", "def light():\n    return 1\n")
    repo.write("src/oil.py", "def pour():\n    return 1\n")
    repo.commit()
    session = await open_session(folder=repo.root)
    for content, file in (("Lamps are lit by light().", "src/lamp.py"), ("Oil is poured by pour().", "src/oil.py")):
        await remember.remember(session, RememberRequest(content=content, files=[file], layer="semantic"))
    repo.write("src/lamp.py", "def light():\n    return 2\n")
    (repo.root / "src/oil.py").unlink()
    text = (await brief(session, BriefRequest())).text
    assert "src/lamp.py changed" in text or "src/lamp.py::light changed" in text
    assert "src/oil.py missing" in text or "src/oil.py::pour missing" in text
