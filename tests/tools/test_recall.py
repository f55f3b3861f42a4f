import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from io import BytesIO

import pytest

from reverie.embeddings.bundled import BundledEmbedder
from reverie.embeddings.tokens import count_tokens
from reverie.errors import EmbedderError, InvalidInput
from reverie.ids import short_id
from reverie.recall.results import Recalled, as_sent, lean
from reverie.tools import forget, recall, remember
from reverie.tools.import_jsonl import import_memories
from reverie.tools.requests import ForgetRequest, RecallRequest, RememberRequest, ReviseRequest
from reverie.tools.results import Remembered
from reverie.tools.revise import revise
from reverie.tools.session import Session
from tests.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.anyio

Keep = Callable[..., Awaitable[Remembered]]
Ask = Callable[..., Awaitable[Recalled]]
OpenSession = Callable[..., Awaitable[Session]]


def _ids(answer: Recalled) -> list[str]:
    return [row.id for row in answer.results]


async def test_the_memory_that_answers_comes_first(keep: Keep, ask: Ask) -> None:
    await keep("the lamp burns gas")
    right = await keep("the harbour closes at nine in winter")
    await keep("invoices are due in March")
    answer = await ask("when does the harbour close in winter")
    assert _ids(answer)[0] == right.id
    assert answer.index_state == "ready"
    assert answer.total_matches >= 1


async def test_a_word_inside_an_identifier_is_enough(keep: Keep, ask: Ask) -> None:
    right = await keep("getUserById returns nothing for the deleted")
    await keep("the lamp burns gas")
    assert _ids(await ask("user"))[0] == right.id


async def test_only_this_project_and_what_belongs_to_none_is_seen(
    open_session: OpenSession,
) -> None:
    here = await open_session(project="here")
    ours = await remember.remember(here, RememberRequest(content="the lamp of ours"))
    shared = await remember.remember(here, RememberRequest(content="the lamp of all", project="global"))
    theirs = await remember.remember(here, RememberRequest(content="the lamp of theirs", project="there"))

    async def asked(**arguments: object) -> set[str]:
        answer = await recall.recall(here, RecallRequest(query="lamp", **arguments))  # type: ignore[arg-type]
        return set(_ids(answer))

    assert await asked() == {ours.id, shared.id}
    assert await asked(project="there") == {theirs.id, shared.id}
    assert await asked(all_projects=True) == {ours.id, shared.id, theirs.id}


async def test_filters_narrow_by_layer_kind_tag_and_time(session: Session, keep: Keep, ask: Ask) -> None:
    fact = await keep("lamp one", layer="semantic", kind="fact", tags=["x"], happened_at="2026-01-10")
    event = await keep("lamp two", layer="episodic", kind="event", tags=["y"], happened_at="2026-02-10")
    assert _ids(await ask("lamp", layers=["episodic"])) == [event.id]
    assert _ids(await ask("lamp", kinds=["fact"])) == [fact.id]
    assert _ids(await ask("lamp", tags=["y", "z"])) == [event.id]
    assert _ids(await ask("lamp", since="2026-02-01")) == [event.id]
    assert _ids(await ask("lamp", before="2026-02-01")) == [fact.id]
    assert _ids(await ask("lamp", since="30d")) == [event.id]  # the clock says 2 March


async def test_what_was_forgotten_is_seen_only_when_asked_for(session: Session, keep: Keep, ask: Ask) -> None:
    gone = await keep("the lamp burns oil")
    await forget.forget(session, ForgetRequest(ids=[gone.id]))
    assert _ids(await ask("lamp")) == []
    [row] = (await ask("lamp", include=["expired"])).results
    assert (row.id, row.status) == (gone.id, "expired")


@pytest.mark.rule("004-point-in-time")
async def test_the_past_is_answered_with_what_was_known_then(
    session: Session, keep: Keep, ask: Ask, clock: Callable[[], object]
) -> None:
    old = await keep("the lamp burns oil")
    clock.advance(days=10)  # type: ignore[attr-defined]
    new = await revise(session, ReviseRequest(id=old.id, content="the lamp burns gas", reason="changed"))
    clock.advance(days=10)  # type: ignore[attr-defined]
    await forget.forget(session, ForgetRequest(ids=[new.id]))
    assert _ids(await ask("lamp")) == []
    assert _ids(await ask("lamp", as_of="2026-03-05")) == [old.id]
    assert _ids(await ask("lamp", as_of="2026-03-15")) == [new.id]
    assert _ids(await ask("lamp", as_of="2026-03-01")) == []


@pytest.mark.rule("004-rank")
async def test_weak_memories_are_left_out_and_counted(keep: Keep, ask: Ask) -> None:
    strong = await keep("the lamp of the harbour", importance=1.0)
    await keep("another lamp entirely", importance=0.05, confidence=0.1)
    answer = await ask("lamp", min_strength=0.5)
    assert _ids(answer) == [strong.id]
    assert answer.filtered["strength"] == 1


async def test_more_matches_than_the_limit_are_counted(keep: Keep, ask: Ask) -> None:
    for number in range(5):
        await keep(f"lamp number {number}")
    answer = await ask("lamp", limit=2)
    assert len(answer.results) == 2
    assert (answer.total_matches, answer.filtered["limit"]) == (5, 3)


@pytest.mark.rule("000-distance")
async def test_strangers_beyond_the_distance_are_hidden_and_counted(open_session: OpenSession) -> None:
    session = await open_session(max_distance=0.5)
    await remember.remember(session, RememberRequest(content="quarterly invoices overdue"))
    answer = await recall.recall(session, RecallRequest(query="lamp"))
    assert answer.results == []
    assert answer.filtered == {"distance": 1}


@pytest.mark.parametrize("budget", [50, 60, 75, 100, 150, 333, 1500])
async def test_the_text_never_passes_its_budget(session: Session, keep: Keep, budget: int) -> None:
    for number in range(12):
        await keep(f"The lamp number {number} stands in street {number}. " + f"It is number {number}. " * 20)
    answer = await recall.recall(session, RecallRequest(query="lamp street", max_tokens=budget, limit=12))
    text = answer.text
    assert answer.tokens == count_tokens(text) <= budget
    for row in answer.results:
        assert row.content in text


async def test_a_memory_too_long_for_the_budget_is_cut_at_a_sentence_with_the_id_to_inspect(
    session: Session, keep: Keep
) -> None:
    long = await keep("The lamp stands by the sea. " * 200)
    answer = await recall.recall(session, RecallRequest(query="lamp", max_tokens=200))
    [row] = answer.results
    assert row.content.endswith(f"by the sea. […cut: inspect {short_id(long.id)}]")
    assert count_tokens(as_sent(lean(answer))) > 150  # what is left belongs to the text


async def test_the_end_of_a_long_memory_is_found(keep: Keep, ask: Ask) -> None:
    filler = " ".join(f"filler{n} about nothing" for n in range(400))
    long = await keep(f"{filler} the treasure lies under the old oak")
    for number in range(30):
        await keep(f"filler{number} about the tree number {number}")
    assert _ids(await ask("treasure under the old oak"))[0] == long.id


async def test_an_explanation_shows_the_parts_of_the_score(keep: Keep, ask: Ask) -> None:
    await keep("the lamp burns gas")
    [row] = (await ask("lamp gas", explain=True)).results
    assert row.why is not None
    assert {"vector", "text", "strength", "freshness", "trust", "diversity"} <= row.why.keys()
    [plain] = (await ask("lamp gas")).results
    assert plain.why is None


async def test_recall_writes_nothing_before_it_answers(session: Session, keep: Keep, ask: Ask) -> None:
    kept = await keep("the lamp burns gas")
    tables = ["semantic", "accesses", "events"]
    before = [await session.store.database.table(name).version() for name in tables]
    await ask("lamp")
    assert [await session.store.database.table(name).version() for name in tables] == before
    await session.accesses.count()
    assert (await session.store.resolve(kept.id)).access_count == 1


@pytest.mark.rule("000-recall-extends")
async def test_only_rows_that_were_shown_count_as_accessed(session: Session, keep: Keep, ask: Ask) -> None:
    for number in range(4):
        await keep(f"lamp number {number}")
    shown = _ids(await ask("lamp", limit=2))
    await session.accesses.count()
    counted = {memory.id for memory in await session.store.find() if memory.access_count}
    assert counted == set(shown)


class WarmingEmbedder(TinyEmbedder):
    """An embedder whose model is still being loaded."""

    @property
    def ready(self) -> bool:
        """Not yet."""
        return False


class FailingEmbedder(TinyEmbedder):
    """An embedder whose service has gone away."""

    def embed(self, texts: object) -> list[object]:  # type: ignore[override]
        """Fail."""
        raise EmbedderError("The embedding service does not answer.")


@pytest.mark.parametrize(("embedder", "state"), [(WarmingEmbedder(), "warming"), (FailingEmbedder(), "lexical_only")])
async def test_without_a_model_recall_answers_by_words_and_says_so(
    session: Session, keep: Keep, open_session: OpenSession, embedder: TinyEmbedder, state: str
) -> None:
    kept = await keep("the lamp burns gas")
    other = await open_session(embedder=embedder)
    answer = await recall.recall(other, RecallRequest(query="lamp"))
    text = answer.text
    assert _ids(answer) == [kept.id]
    assert answer.index_state == state
    assert "Only words were searched" in text
    answer = await recall.recall(other, RecallRequest(query="oysters"))
    text = answer.text
    assert _ids(answer) == []
    assert "Only words were searched" in text


class SlowEmbedder(TinyEmbedder):
    """An embedder that takes its time to load."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.loaded = False

    @property
    def ready(self) -> bool:
        """Once it is loaded."""
        return self.loaded

    def warm(self) -> None:
        """Take so long."""
        time.sleep(self.seconds)
        self.loaded = True


async def test_the_first_question_waits_for_the_model(
    session: Session, keep: Keep, open_session: OpenSession
) -> None:
    await keep("the lamp burns gas")
    other = await open_session(embedder=SlowEmbedder(0.3))
    answer = await recall.recall(other, RecallRequest(query="lamp"))
    text = answer.text
    assert answer.index_state == "ready"
    assert "Only words" not in text


async def test_a_question_waits_no_longer_than_it_may(
    session: Session, keep: Keep, open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "SECONDS_FOR_THE_MODEL", 0.05)
    kept = await keep("the lamp burns gas")
    other = await open_session(embedder=SlowEmbedder(0.6))
    answer = await recall.recall(other, RecallRequest(query="lamp"))
    text = answer.text
    assert (_ids(answer), answer.index_state) == ([kept.id], "warming")
    assert "Only words were searched: the model is still loading" in text
    await other.warm()
    assert (await recall.recall(other, RecallRequest(query="lamp"))).index_state == "ready"


WRONG_ARGUMENTS = [
    ({"query": " "}, "query"),
    ({"query": "x" * 10_001}, "query"),
    ({"query": "x", "limit": 0}, "limit"),
    ({"query": "x", "max_tokens": 10}, "max_tokens"),
    ({"query": "x", "layers": ["attic"]}, "layers"),
    ({"query": "x", "kinds": ["rumour"]}, "kinds"),
    ({"query": "x", "include": ["active"]}, "include"),
    ({"query": "x", "since": "whenever"}, "since"),
    ({"query": "x", "as_of": "9999999999d"}, "as_of"),
    ({"query": "x", "min_strength": -1}, "min_strength"),
]


async def test_a_wrong_argument_is_named(session: Session, subtests: pytest.Subtests) -> None:
    for arguments, says in WRONG_ARGUMENTS:
        with subtests.test(ascii(arguments)[:100]), pytest.raises(InvalidInput, match=says):
            await recall.recall(session, RecallRequest(**arguments))  # type: ignore[arg-type]


async def test_an_empty_store_says_what_to_try(session: Session) -> None:
    answer = await recall.recall(session, RecallRequest(query="anything"))
    text = answer.text
    assert answer.results == []
    assert "all_projects" in text


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("我们使用数据库保存记忆", "数据库"),
        ("Gespräche über die Öfen", "öfen"),
        ("Сервер слушает порт", "сервер"),
        ("le café ferme à neuf heures", "cafe"),
        ("認証サーバーはポートで待ち受ける", "認証"),
        ("배포하기 전에 데이터베이스를 백업해야 한다", "데이터베이스"),
        ("Ο διακομιστής ακούει στη θύρα", "διακομιστης"),
    ],
)
async def test_other_languages_are_found_by_their_own_words(
    keep: Keep, open_session: OpenSession, written: str, asked: str
) -> None:
    kept = await keep(written)
    await keep("something else")
    by_words_only = await open_session(embedder=WarmingEmbedder())
    answer = await recall.recall(by_words_only, RecallRequest(query=asked))
    assert _ids(answer) == [kept.id]


async def test_the_model_does_not_outvote_the_words_of_a_script_it_was_not_taught(
    open_session: OpenSession,
) -> None:
    session = await open_session(embedder=BundledEmbedder())
    texts = {
        "备份": "部署之前必须备份数据库。",
        "認証": "認証サーバーはポート八千で待ち受ける。",
        "バックアップ": "デプロイの前に必ずデータベースのバックアップを取ること。",
        "서버": "인증 서버는 포트 팔천에서 대기한다.",
        "авторизация": "Сервер авторизации слушает порт восемь тысяч.",
    }
    kept = {word: (await remember.remember(session, RememberRequest(content=t))).id for word, t in texts.items()}
    for word, memory_id in kept.items():
        answer = await recall.recall(session, RecallRequest(query=word))
        assert answer.index_state == "ready"
        assert _ids(answer)[0] == memory_id, word


async def test_what_is_passed_over_is_counted_by_reason(session: Session, keep: Keep, ask: Ask) -> None:
    seen = await keep("the lamp of the harbour")
    gone = await keep("the lamp that was sold")
    await keep("the lamp of another project", project="elsewhere")
    await forget.forget(session, ForgetRequest(ids=[gone.id]))
    answer = await ask("lamp", explain=True)
    assert _ids(answer) == [seen.id]
    assert (answer.filtered["status"], answer.filtered["scope"]) == (1, 1)
    everything = await ask("lamp", include=["expired"], all_projects=True)
    assert not {"status", "scope"} & everything.filtered.keys()


async def test_a_turn_is_found_by_the_words_of_the_turn_it_answers(session: Session, ask: Ask) -> None:
    lines = [
        {"id": "q", "content": "Whose is the marmalade recipe?", "session": "s", "happened_at": "2026-01-01"},
        {"id": "a", "content": "Oh, my grandmother!", "session": "s", "happened_at": "2026-01-02"},
        *({"id": f"x{n}", "content": "unrelated talk of others" + "!" * n, "session": f"t{n}"} for n in range(80)),
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    await import_memories(session, BytesIO(text.encode()), lambda _: None)
    assert _ids(await ask("whose marmalade recipe", limit=2)) == ["q", "a"]


async def test_the_newer_of_two_values_stands_above_the_older(session: Session, keep: Keep, ask: Ask) -> None:
    old = await keep("the harbour office closes at 18:00", happened_at="2026-01-01")
    new = await keep("the harbour office closes at 17:00", happened_at="2026-02-01")
    assert _ids(await ask("when does the harbour office close"))[:2] == [new.id, old.id]


async def test_a_challenged_memory_says_so(session: Session, keep: Keep) -> None:
    kept = await keep("the lamp burns gas")
    memory = await session.store.resolve(kept.id)
    async with session.store.changing():
        await session.store.change(
            [memory], {"status": "challenged"}, action="challenged", actor="test", at=session.now
        )
    answer = await recall.recall(session, RecallRequest(query="lamp"))
    text = answer.text
    assert answer.results[0].status == "challenged"
    assert "challenged" in text


async def test_long_memories_leave_room_for_the_others(session: Session, keep: Keep) -> None:
    for number in range(5):
        await keep(f"Lamp number {number}. " + f"It burns in street {number}. " * 200)
    answer = await recall.recall(session, RecallRequest(query="lamp", max_tokens=900))
    assert len(answer.results) == 5
    assert all(row.content.endswith(f"inspect {short_id(row.id)}]") for row in answer.results)
    assert 750 < count_tokens(as_sent(lean(answer))) <= 900


async def test_the_text_costs_less_than_the_rows_it_shows(session: Session, keep: Keep) -> None:
    for number in range(8):
        await keep(f"lamp number {number}")
    answer = await recall.recall(session, RecallRequest(query="lamp"))
    text = answer.text
    assert count_tokens(text) < count_tokens(json.dumps([asdict(row) for row in answer.results]))


async def test_a_memory_moved_to_another_layer_keeps_its_pieces(open_session: OpenSession) -> None:
    session = await open_session(embedder=BundledEmbedder())
    session.embedder.warm()
    kept = await remember.remember(session, RememberRequest(content="the lamp burns gas", layer="episodic"))
    memory = await session.store.resolve(kept.id)
    async with session.store.changing():
        await session.store.move(memory, "semantic", actor="test", at=session.now)
    answer = await recall.recall(session, RecallRequest(query="what does the lamp burn", explain=True))
    assert answer.results[0].why is not None
    assert "pieces" in answer.results[0].why
