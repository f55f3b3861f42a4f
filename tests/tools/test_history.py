"""A random life of a store: whatever moment is asked about, `as_of` tells it as it was, before and after folding."""

import os
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from reverie.dream.steps import STEPS
from reverie.ids import content_hash
from reverie.memory import STATUSES, Memory
from reverie.storage.audit import audit
from reverie.storage.journal import FOLDED
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.time import iso
from reverie.tools.consolidate import consolidate
from reverie.tools.forget import forget
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import (
    ConsolidateRequest,
    ForgetRequest,
    MoveRequest,
    PinRequest,
    RecallRequest,
    RememberRequest,
    RestoreRequest,
    ReviewRequest,
    ReviseRequest,
)
from reverie.tools.restore import restore
from reverie.tools.review import review
from reverie.tools.revise import demote, pin, promote, revise
from reverie.tools.session import Session
from reverie.tools.sweep import sweep

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LONG = pytest.mark.skipif("LONG_HISTORY" not in os.environ, reason="takes a quarter of an hour: set LONG_HISTORY=1")

SHOWN = (
    "content", "title", "kind", "layer", "tags", "project", "source", "trust", "confidence", "importance",
    "confirmations", "core", "pinned", "tier", "forget_after", "status", "expired_at", "status_reason",
    "superseded_by", "created_at", "happened_at", "anchors", "entities", "derived_from", "confirmed_by", "valence",
    "surprise", "source_ref", "branch",
)  # fmt: skip
WORDS = ("lamp", "rope", "quay", "crane", "gull", "sail", "anchor", "buoy", "harbour", "keel", "mast", "tide")

State = dict[str, dict[str, Any]]


def _shown(memory: Memory) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in SHOWN}


class Life:
    """Does one thing after another to a store, and notes beside it how everything stood each time."""

    def __init__(self, session: Session, clock: Any, seed: int) -> None:
        self.session = session
        self.clock = clock
        self.dice = random.Random(seed)  # noqa: S311 - no secrets here
        self.model: list[tuple[datetime, State]] = []
        self.known: State = {}
        self.dreams: list[str] = []  # those that are not undone
        self.wrote_and_took_back = False  # whether an undo left something without a row
        self._told = 0
        self._deeds: list[Callable[[], Awaitable[None]]] = [
            self._tell, self._tell, self._tell, self._repeat, self._expire, self._expire, self._bring_back,
            self._move, self._move, self._pin, self._revise, self._set, self._set, self._import, self._undo,
            self._supersede, self._expire_many, self._sweep, self._answer,
        ]  # fmt: skip

    async def go_on(self) -> None:
        """Do one thing and let some hours pass; the moment noted lies between this and the next."""
        await self.dice.choice(self._deeds)()
        await self._note()

    async def _note(self) -> None:
        found = {memory.id: _shown(memory) for memory in await self.session.store.find()}
        # What did not change is kept once for all moments: two thousand states of a thousand memories are many.
        self.known = {i: self.known[i] if self.known.get(i) == state else state for i, state in found.items()}
        self.clock.advance(minutes=self.dice.randint(1, 600))
        self.model.append((self.clock(), self.known))
        self.clock.advance(minutes=self.dice.randint(1, 600))

    async def purge_one(self) -> None:
        """Purge a memory: then it was never there."""
        one = self._any()
        await pin(self.session, PinRequest(id=one.id, pinned=False))
        done = await forget(self.session, ForgetRequest(ids=[one.id], purge=True))
        assert one.id in done.forgotten
        gone = {event.memory_id for event in await self.session.store.journal.with_action("purged")}
        # What else goes quotes it: a dream wrote it, and may have been undone since.
        others = {i: s for _, state in self.model for i, s in state.items() if i in gone and i not in done.forgotten}
        assert all(s["source"] == "dream" for s in others.values())
        gone |= set(done.forgotten)
        self.model = [(at, {i: s for i, s in state.items() if i not in gone}) for at, state in self.model]
        await self._note()

    async def dream(self) -> None:
        """Let a night pass: every step but the one that folds."""
        await self._tell_alike()
        done = await consolidate(self.session, ConsolidateRequest(steps=[n for n in STEPS if n != "prune"]))
        self.dreams += [done.dream_id] if done.changes else []
        await self._note()

    async def undo_a_dream(self) -> None:
        """Take one of the nights back, the last or an older one: what it wrote has no row then."""
        if self.dreams:
            dream_id = self.dreams.pop(self.dice.choice((-1, -1, self.dice.randrange(len(self.dreams)))))
            before = self.known
            await restore(self.session, RestoreRequest(dream_id=dream_id))
            await self._note()
            self.wrote_and_took_back |= bool(before.keys() - self.known.keys())

    async def _tell_alike(self) -> None:
        """Say one thing in many ways, and name one thing often, so that a night has something to write."""
        self._told += 1
        name = f"Ship{self._told}"
        for word in self.dice.sample(WORDS, 6):
            text = f"The {name} carries the {word} of Ben to the quay of the harbour every morning"
            await remember(self.session, RememberRequest(content=text, layer="episodic", importance=0.8))

    def _any(self, *, anywhere: bool = False, **wanted: Any) -> Any:
        """Choose among what the session may name: a night may write for a project that it never saw."""
        if not anywhere:
            wanted["project"] = self.session.visible_from(self.session.here.project)
        fitting = [
            i
            for i, s in sorted(
                self.known.items(), key=lambda item: (item[1]["content"], item[0])
            )  # ids are by chance
            if all(s[name] in values for name, values in wanted.items())
        ]
        if not fitting:
            return None
        chosen = self.dice.choice(fitting)
        return type("Chosen", (), {"id": chosen, **self.known[chosen]})

    async def _tell(self) -> None:
        self._told += 1
        text = f"{' '.join(self.dice.sample(WORDS, 4))} number{self._told}x{self.dice.randint(0, 10**6)}"
        layer = self.dice.choice(("episodic", "semantic", "procedural"))
        await remember(self.session, RememberRequest(content=text, layer=layer, importance=self.dice.random()))

    async def _repeat(self) -> None:
        one = self._any(status=("active",))
        if one is not None:
            await remember(
                self.session,
                RememberRequest(
                    content=one.content, tags=[self.dice.choice(WORDS)], source=self.dice.choice(("ai", "human"))
                ),
            )

    async def _expire(self) -> None:
        one = self._any(status=("active",), pinned=(False,))
        if one is not None:
            await forget(self.session, ForgetRequest(ids=[one.id], reason=self.dice.choice(WORDS)))

    async def _bring_back(self) -> None:
        one = self._any(status=("expired",))
        if one is not None:
            await restore(self.session, RestoreRequest(ids=[one.id]))

    async def _move(self) -> None:
        one = self._any(layer=("semantic",))
        if one is not None:
            await self.dice.choice((promote, demote))(self.session, MoveRequest(id=one.id))

    async def _pin(self) -> None:
        one = self._any()
        if one is not None:
            await pin(self.session, PinRequest(id=one.id, pinned=self.dice.random() < 0.5))

    async def _revise(self) -> None:
        one = self._any(status=("active",))
        if one is not None:
            self._told += 1
            await revise(
                self.session, ReviseRequest(id=one.id, content=f"{one.content} again{self._told}", reason="better")
            )

    async def _supersede(self) -> None:
        one = self._any(status=("active",), pinned=(False,))
        if one is not None:
            self._told += 1
            text = f"{' '.join(self.dice.sample(WORDS, 4))} instead{self._told}"
            await remember(self.session, RememberRequest(content=text, supersedes=one.id))

    async def _expire_many(self) -> None:
        await forget(self.session, ForgetRequest(older_than="300d", layer=self.dice.choice(("episodic", "semantic"))))

    async def _sweep(self) -> None:
        await sweep(self.session)

    async def _answer(self) -> None:
        asked = (await review(self.session, ReviewRequest())).questions
        if asked:
            question = self.dice.choice(sorted(asked, key=lambda one: (one["kind"], one["memories"][0]["content"])))
            verdict = self.dice.choice([one for one in question["verdicts"] if one not in ("merge", "bridge")])
            self._told += 1
            text = f"{question['memories'][0]['content']} reviewed{self._told}" if verdict == "revise" else ""
            if any(self.known[one["id"]]["pinned"] for one in question["memories"]):
                return
            given = [{"question_id": question["id"], "verdict": verdict, "text": text}]
            await review(self.session, ReviewRequest(decisions=given))

    async def _set(self) -> None:
        """Change a field as drift, sweeps and the renaming of projects do."""
        one = self._any(anywhere=True)
        if one is None:
            return
        values = self.dice.choice(
            (
                {"importance": self.dice.random()},
                {"project": self.dice.choice(("global", "north", "south"))},
                {"tags": (self.dice.choice(WORDS),)},
                {"tier": self.dice.choice((None, "goldfish", "elephant"))},
                {"forget_after": self.clock() + timedelta(days=self.dice.randint(1, 900))},
                {"status": "challenged", "status_reason": self.dice.choice(WORDS)},
                {"core": self.dice.random() < 0.5, "confidence": self.dice.random()},
            )
        )
        store = self.session.store
        async with store.changing():
            memory = await store.resolve(one.id)
            await store.change([memory], values, action="set", actor="test", at=self.clock(), batch=self._batch())

    def _batch(self) -> str | None:
        return f"batch{self._told}" if self.dice.random() < 0.3 else None

    async def _import(self) -> None:
        one = self._any(anywhere=True, status=("active",))
        if one is None:
            return
        store = self.session.store
        async with store.changing():
            memory = await store.resolve(one.id)
            self._told += 1
            text = f"{' '.join(self.dice.sample(WORDS, 4))} import{self._told}"
            [embedding] = await self.session.embed([text])
            layer = self.dice.choice((memory.layer, "episodic", "semantic"))
            told = replace(
                memory, content=text, content_hash=content_hash(text), layer=layer, updated_at=self.clock(),
                kind=self.dice.choice(("fact", "decision")),
            )  # fmt: skip
            await store.replace([Embedded(told, embedding.vector)], actor="import", at=self.clock())

    async def _undo(self) -> None:
        one = self._any(status=("active",))
        if one is not None:
            events = [e for e in await self.session.store.journal.about(one.id) if e.action in ("set", "pinned")]
            if events:
                await restore(self.session, RestoreRequest(event_id=self.dice.choice(events).id))


async def _as_of(session: Session, moment: datetime) -> State:
    """Return everything that was known at a moment, by the same scope that recall uses."""
    scope = await session.store.as_of_scope(Scope(projects=None, statuses=STATUSES, as_of=moment))
    found = await session.store.find(scope.condition(), scope.tables)
    return {memory.id: _shown(scope.as_asked(memory)) for memory in [*found, *scope.no_longer_stored]}


async def _asserted(life: Life, looks: int) -> None:
    for moment, state in life.dice.sample(life.model, min(looks, len(life.model))):
        assert await _as_of(life.session, moment) == state, moment
    moment, state = life.dice.choice(life.model)
    wanted = {i for i, s in state.items() if s["status"] in ("active", "challenged") and "lamp" in s["content"]}
    asked = RecallRequest(query="lamp", as_of=iso(moment), all_projects=True, limit=100, max_tokens=20_000)
    answer = await recall(life.session, asked)
    shown = {row.id: (row.content, row.layer, row.status, row.pinned) for row in answer.results}
    fields = ("content", "layer", "status", "pinned")
    assert all(shown[i] == tuple(state[i][name] for name in fields) for i in shown)
    assert wanted & shown.keys() or not wanted


@pytest.mark.parametrize(
    ("changes", "looks", "seed"),
    [
        pytest.param(30, 10, 3, id="30"),
        pytest.param(400, 60, 20261117, id="400", marks=pytest.mark.slow),
        pytest.param(2_000, 120, 20261118, id="2000", marks=[pytest.mark.slow, LONG]),
    ],
)
async def test_as_of_is_right_for_the_whole_life_of_a_store(
    changes: int, looks: int, seed: int, session: Session, clock: Any
) -> None:
    life = Life(session, clock, seed)
    for number in range(changes):
        await life.go_on()
        if number % 50 == 15:
            await life.dream()
        if number % 50 == 25:
            await life.undo_a_dream()
        if number % (changes // 3) == changes // 4:
            await consolidate(session, ConsolidateRequest(steps=["prune"]))
        if number == changes - 3:  # late: what quotes it goes with it
            await life.purge_one()
    assert life.wrote_and_took_back
    await _asserted(life, looks)
    clock.advance(days=200)
    before = len(await session.store.journal.rows())
    await consolidate(session, ConsolidateRequest(steps=["prune"]))
    assert len(await session.store.journal.rows()) < before
    assert await session.store.journal.with_action(FOLDED)
    await _asserted(life, looks)
    found = await audit(session.store)
    assert (found.faults, found.unchecked) == ([], [])
    assert found.folded > changes / 20


async def test_a_store_that_an_older_version_cut_says_from_when_on_it_can_answer(
    session: Session, clock: Any
) -> None:
    kept = await remember(session, RememberRequest(content="the lamp burns oil"))
    clock.advance(days=200)
    memory = await session.store.resolve(kept.id)
    event = session.store.event(FOLDED, memory, actor="dream", at=session.now, reason='{"through": 0, "hash": ""}')
    await session.store.journal.write([event])
    early = await recall(session, RecallRequest(query="lamp", as_of=iso(session.now - timedelta(days=100))))
    assert early.scope["as_of_known_from"] == iso(session.now - timedelta(days=90))
    late = await recall(session, RecallRequest(query="lamp", as_of=iso(session.now - timedelta(days=80))))
    assert "as_of_known_from" not in late.scope
