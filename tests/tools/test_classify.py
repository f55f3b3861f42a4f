"""Kind, layer and passing context, guessed on texts that were written before the models."""

import importlib.util
import json
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from reverie.embeddings.bundled import BundledEmbedder
from reverie.embeddings.classifier import from_json
from reverie.tools import classify as classify_module
from reverie.tools import remember
from reverie.tools.classify import (
    _MOMENT_CUES,
    LONGEST_PASSING,
    Guess,
    classify,
    passing_features,
    reading_of,
    readings_for,
)
from reverie.tools.consolidate import consolidate
from reverie.tools.requests import ConsolidateRequest, RememberRequest
from reverie.tools.results import Remembered
from reverie.tools.session import Session
from tests.tiny_embedder import TinyEmbedder

HELD_OUT = Path(__file__).parent / "held_out"
TRAINING = Path(__file__).parent.parent.parent / "training"

Keep = Callable[..., Awaitable[Remembered]]
OpenSession = Callable[..., Awaitable[Session]]


@cache
def guessed(name: str) -> list[tuple[dict[str, Any], Guess]]:
    """Return the lines of a held-out file, each with what is guessed of it."""
    rows = [json.loads(line) for line in (HELD_OUT / f"{name}.jsonl").read_text("utf-8").splitlines()]
    embedder = BundledEmbedder()
    embeddings = embedder.embed([row["content"] for row in rows])
    return [
        (row, classify(row["content"], reading_of(embedder, row["content"], made)))
        for row, made in zip(rows, embeddings, strict=True)
    ]


def share(answers: list[bool]) -> float:
    return sum(answers) / len(answers)


@pytest.mark.parametrize(
    ("text", "kind", "layer"),
    [
        ("The API uses JWT tokens", "fact", "semantic"),
        ("We decided to use LanceDB because it needs no server", "decision", "procedural"),
        ("Maria prefers small commits", "preference", "semantic"),
        ("Tried Redis for the queue but it lost jobs", "rejected", "procedural"),
        ("Fixed the login crash: token refresh raced with logout", "error_fix", "procedural"),
        ("To run the tests use make check", "how_to", "procedural"),
        ("Deployed v2.1 to staging on 2026-03-28", "event", "episodic"),
        ("Currently porting the parser module", "fact", "working"),
    ],
)
def test_words_alone_tell_kind_and_layer(text: str, kind: str, layer: str) -> None:
    guess = classify(text)
    assert (guess.kind, guess.layer) == (kind, layer)


@pytest.mark.slow
def test_three_of_four_kinds_are_right_on_texts_that_nobody_trained_on() -> None:
    assert share([guess.kind in row.get("kinds", [row["kind"]]) for row, guess in guessed("kinds")]) >= 0.85


def test_no_kind_is_left_to_the_others() -> None:
    for kind in {row["kind"] for row, _ in guessed("kinds")}:
        own = [guess.kind in row.get("kinds", [kind]) for row, guess in guessed("kinds") if row["kind"] == kind]
        assert share(own) >= 0.7, kind


def test_events_become_episodes_and_procedures_procedural() -> None:
    wanted = {"event": "episodic", "how_to": "procedural"}
    hard = [guess.layer == wanted[row["kind"]] for row, guess in guessed("kinds") if row["kind"] in wanted]
    assert share(hard) >= 0.8


def test_what_is_passing_is_seen_and_what_lasts_is_kept() -> None:
    passing = [guess for row, guess in guessed("passing") if row["passing"]]
    lasting = [guess for row, guess in guessed("passing") if not row["passing"]]
    assert share([guess.passing for guess in passing]) >= 0.8
    assert share([guess.layer in ("semantic", "procedural") for guess in passing]) <= 0.05
    assert share([guess.passing for guess in lasting]) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "found", "among_what_lasts", "lost"),
    [
        ("passing_2", 0.85, 0.05, 0.08),
        ("passing_3", 0.75, 0.08, 0.02),
        ("passing_4", 0.7, 0.07, 0.03),
        ("passing_5", 0.8, 0.05, 0.02),
    ],
)
def test_later_held_out_texts_fade_and_stay_as_published(
    name: str, found: float, among_what_lasts: float, lost: float
) -> None:
    passing = [guess for row, guess in guessed(name) if row["passing"]]
    lasting = [guess for row, guess in guessed(name) if not row["passing"]]
    assert share([guess.passing for guess in passing]) >= found
    assert share([guess.layer in ("semantic", "procedural") for guess in passing]) <= among_what_lasts
    assert share([guess.passing for guess in lasting]) <= lost


@pytest.mark.slow
def test_the_second_held_out_kinds_and_layers_are_guessed_as_published() -> None:
    rows = guessed("kinds_2")
    assert share([guess.kind in row.get("kinds", [row["kind"]]) for row, guess in rows]) >= 0.88
    hard = [guess.layer in row["layers"] for row, guess in rows if "semantic" not in row["layers"]]
    assert share(hard) >= 0.88


@pytest.mark.slow
def test_the_third_held_out_kinds_and_layers_are_guessed_as_published() -> None:
    rows = guessed("kinds_3")
    assert share([guess.kind in row.get("kinds", [row["kind"]]) for row, guess in rows]) >= 0.83
    hard = [guess.layer in row["layers"] for row, guess in rows if "semantic" not in row["layers"]]
    assert share(hard) >= 0.9


@pytest.mark.parametrize(
    "text",
    [
        "An order is stuck when its saga has not moved for 15 minutes.",
        "A runner is offline once it missed three heartbeats.",
        "Eine Bestellung ist blockiert, wenn die Zahlung fehlt.",
        "Un ticket est bloqué si personne ne l'a pris.",
    ],
)
def test_a_condition_for_any_one_of_a_sort_lasts(text: str) -> None:
    embedder = BundledEmbedder()
    [made] = embedder.embed([text])
    assert not classify(text, reading_of(embedder, text, made)).passing


def test_what_a_relative_clause_says_of_the_moment_is_not_asserted() -> None:
    moment = len(_MOMENT_CUES)
    assert not any(passing_features("The page shows which services are down right now.")[-moment:])
    assert any(passing_features("Two services are down right now.")[-moment:])


def test_no_held_out_text_was_trained_on() -> None:
    def texts(folder: Path) -> set[str]:
        files = [*folder.glob("kinds*.jsonl"), *folder.glob("passing*.jsonl")]
        lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
        return {" ".join(json.loads(line)["content"].casefold().split()) for line in lines}

    assert not texts(HELD_OUT) & texts(TRAINING)


@pytest.mark.parametrize("kind", ["decision", "preference", "how_to", "error_fix", "rejected"])
def test_a_kind_that_was_named_is_never_taken_for_passing(kind: Any) -> None:
    assert not classify("Right now we ship from main, at the moment", kind=kind).passing


def test_another_embedders_texts_are_read_by_the_bundled_model_and_a_tests_by_words() -> None:
    text = "The staging server is down right now"
    [tiny] = TinyEmbedder().embed([text])

    class Hosted(TinyEmbedder):
        stamp = "openai:some-model"  # type: ignore[assignment]

    [reading] = readings_for(Hosted(), [text], [tiny])
    assert reading is not None
    assert len(reading.vector) == BundledEmbedder().dimensions
    assert classify(text, reading).passing
    assert readings_for(TinyEmbedder(), [text], [tiny]) == [None]


@pytest.mark.slow
def test_training_gives_models_that_guess_as_the_bundled_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte on the processor they were trained on; another one computes the vectors a little differently."""
    monkeypatch.syspath_prepend(str(TRAINING))
    trainer = _script("classify")
    files = ("kinds", "kinds_2", "passing", "passing_2", "passing_3", "passing_4")
    by_bundled = [guess for name in files for _, guess in guessed(name)]
    trained = {name: from_json(fitted().to_json()) for name, fitted in trainer.MODELS.items()}
    monkeypatch.setattr(classify_module, "bundled_model", trained.__getitem__)
    by_trained = [guess for name in files for _, guess in guessed.__wrapped__(name)]
    assert share([one == other for one, other in zip(by_bundled, by_trained, strict=True)]) >= 0.98


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"training_{name}", TRAINING / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.anyio
@pytest.mark.rule("000-passing")
async def test_what_is_said_in_passing_fades_and_what_looks_like_it_stays(
    open_session: OpenSession, clock: Any
) -> None:
    session = await open_session(embedder=BundledEmbedder())
    passing = [
        "Currently on branch fix/timezone, based on an outdated develop.",
        "The staging server is down right now.",
        "Waiting for the review of PR #934.",
        "TODO: find out who owns the Grafana folder.",
    ]
    lasting = [
        "We currently use Postgres 15 on all environments.",
        "The staging database is reset every night at 1 am.",
    ]
    kept = {text: await remember.remember(session, RememberRequest(content=text)) for text in passing + lasting}
    assert {kept[text].layer for text in passing} == {"working"}
    clock.advance(days=2)
    await consolidate(session, ConsolidateRequest())
    layers = {text: (await session.store.resolve(kept[text].id)).layer for text in passing}
    assert set(layers.values()) == {"episodic"}
    clock.advance(days=400)
    await consolidate(session, ConsolidateRequest())
    ends = {text: await session.store.resolve(kept[text].id) for text in passing + lasting}
    assert {(ends[text].status, ends[text].status_reason) for text in passing} == {("expired", "tier-expired")}
    assert {ends[text].status for text in lasting} == {"active"}


@pytest.mark.anyio
@pytest.mark.rule("000-passing")
async def test_what_people_tell_of_themselves_is_still_there_after_a_year(
    open_session: OpenSession, clock: Any
) -> None:
    session = await open_session(embedder=BundledEmbedder())
    told = [
        "I currently live in Antwerp and teach at a music school.",
        "My nephew Paul is crazy about volcanoes right now.",
        "Wanda: I've just started at the fire brigade! Still a bit nervous, but the crew is lovely.",
        "I'm training for a triathlon in August.",
        "I'm thinking of buying a cargo bike. By the way, we are expecting twins in May.",
        "I adopted a dog named Max.",
    ]
    kept = [await remember.remember(session, RememberRequest(content=text)) for text in told]
    clock.advance(days=2)
    await consolidate(session, ConsolidateRequest())
    clock.advance(days=400)
    await consolidate(session, ConsolidateRequest())
    ends = {one.content: one.status for one in [await session.store.resolve(made.id) for made in kept]}
    assert ends == dict.fromkeys(told, "active")


@pytest.mark.anyio
@pytest.mark.rule("000-passing")
async def test_a_text_of_several_statements_is_given_no_short_life(open_session: OpenSession) -> None:
    session = await open_session(embedder=BundledEmbedder())
    short = "Staging is down right now, ops is looking at it."
    long = f"{short} {'It ran out of disk again, because the nightly dump is kept on the same volume. ' * 4}".strip()
    assert len(long) > LONGEST_PASSING
    kept = [await remember.remember(session, RememberRequest(content=text)) for text in (short, long)]
    assert [(await session.store.resolve(one.id)).tier for one in kept] == ["elephant", None]


@pytest.mark.anyio
@pytest.mark.rule("000-passing")
async def test_what_starts_in_working_memory_has_a_lifespan_unless_the_caller_named_one(
    session: Session, keep: Keep
) -> None:
    guessed = await keep("TODO: ask for the key of the sandbox")
    assert [warning for warning in guessed.warnings if "give a layer" in warning]
    kept = await keep("Blocked by the missing key of the sandbox", layer="working")
    for one in (guessed, kept):
        assert (await session.store.resolve(one.id)).tier == "elephant"
    assert kept.warnings == []
    assert (await keep("Blocked by the firewall", layer="working", tier="goldfish")).layer == "working"
    other = await keep("Blocked by the proxy", layer="working", forget_after="3d")
    assert (await session.store.resolve(other.id)).tier is None


@pytest.mark.anyio
async def test_a_domain_with_a_lifespan_for_everything_keeps_it(open_session: OpenSession) -> None:
    session = await open_session(tier="standard")
    kept = await remember.remember(session, RememberRequest(content="TODO: ask Ana about the port"))
    assert (kept.layer, (await session.store.resolve(kept.id)).tier) == ("working", None)


@pytest.mark.anyio
async def test_kind_and_layer_that_the_caller_names_are_kept(session: Session, keep: Keep) -> None:
    kept = await keep("Right now staging is down", layer="semantic", kind="decision")
    assert (kept.kind, kept.layer) == ("decision", "semantic")
    assert (await keep("TODO: ask Ben", layer="procedural")).layer == "procedural"
    assert (await keep("We decided to use tabs", kind="fact")).kind == "fact"


@pytest.mark.anyio
@pytest.mark.rule("000-passing")
async def test_a_fact_is_not_promoted_for_being_a_fact(session: Session, keep: Keep, clock: Any) -> None:
    kept = [await keep(f"Fact {n} about the {n}th gadget", kind="fact", layer="episodic") for n in range(4)]
    chosen = await keep("We decided on tabs", kind="decision", layer="episodic")
    clock.advance(hours=2)
    await consolidate(session, ConsolidateRequest())
    assert {(await session.store.resolve(one.id)).layer for one in kept} == {"episodic"}
    assert (await session.store.resolve(chosen.id)).layer == "semantic"
