"""What is worth keeping of a transcript: the fixtures' figures, and the sentences that decide."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from reverie.tools.session_statements import MOST_ITEMS, CapturedItem, captured
from reverie.tools.transcripts import Step, StepKind, Transcript, read_transcript, summary_steps

FIXTURES = Path(__file__).parents[1] / "clients" / "fixtures"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text("utf-8"))


def items_of(name: str) -> list[CapturedItem]:
    summary = FIXTURES / f"{name}.txt"
    if summary.exists():
        return captured(Transcript(summary_steps(summary.read_text("utf-8"))), "/home/dev/shop")
    [file] = FIXTURES.glob(f"{name}.json*")
    return captured(read_transcript(str(file)), "/home/dev/shop")


def said(*texts: str) -> list[tuple[str, str]]:
    steps = tuple(Step(kind="said", text=text, turn=turn) for turn, text in enumerate(texts, 1))
    return [(item.kind, item.text) for item in captured(Transcript(steps))]


def steps(*given: tuple[StepKind, str, bool, str]) -> Transcript:
    return Transcript(
        tuple(
            Step(kind=kind, text=text, turn=1, failed=failed, output=output) for kind, text, failed, output in given
        )
    )


def fits(item: CapturedItem, words: list[str]) -> bool:
    return all(word.casefold() in item.text.casefold() for word in words)


def missed_and_beside(name: str) -> tuple[list[Any], list[CapturedItem]]:
    """Return what is worth keeping and was not kept, and what was kept and is not worth it."""
    items = items_of(name)
    wanted, fine = EXPECTED[name]["keep"], EXPECTED[name]["fine"]
    missed = [one for one in wanted if not any(fits(item, one["words"]) for item in items)]
    beside = [item for item in items if not any(fits(item, one["words"]) for one in (*wanted, *fine))]
    return missed, beside


@pytest.mark.parametrize("name", [name for name in EXPECTED if not name.startswith(("third", "fourth", "fifth"))])
def test_what_is_worth_keeping_is_kept_and_nothing_else(name: str) -> None:
    assert missed_and_beside(name) == ([], [])
    assert len(items_of(name)) <= MOST_ITEMS


def test_of_transcripts_that_came_before_their_patterns_nothing_is_kept_that_is_not_worth_it() -> None:
    names = [name for name in EXPECTED if name.startswith("fourth")]
    missed, beside = zip(*(map(len, missed_and_beside(name)) for name in names), strict=True)
    assert sum(missed) <= 6  # of 34; four of them because a session has six statements at most
    assert not sum(beside)


def test_of_transcripts_that_no_pattern_was_made_for_most_is_kept_and_most_of_that_is_worth_it() -> None:
    unseen = [name for name in EXPECTED if name.startswith("third")]
    wanted = sum(len(EXPECTED[name]["keep"]) for name in unseen)
    kept = sum(len(items_of(name)) for name in unseen)
    missed, beside = zip(*(map(len, missed_and_beside(name)) for name in unseen), strict=True)
    assert sum(missed) / wanted <= 0.3
    assert sum(beside) / kept <= 0.3


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("From now on always run `just check` before you commit.", "preference"),
        ("Please don't use mocks in the storage tests.", "preference"),
        ("I'd rather have two small functions than one with a flag.", "preference"),
        ("We use pnpm in web/, never npm.", "preference"),
        ("Let's go with Procrastinate, because we already run Postgres.", "decision"),
        ("We decided to keep the old route until January.", "decision"),
        ("We tried Redis last year and nobody maintained it.", "rejected"),
        ("Please remember that Lena approves changes to staging.", "fact"),
        ("No, the config is in deploy/staging/values.yaml.", "fact"),
        ("Kommentare bitte immer auf Englisch schreiben.", "preference"),
        ("À partir de maintenant, utilise toujours des noms anglais.", "preference"),
    ],
)
def test_a_rule_preference_decision_or_correction_is_kept_in_the_persons_words(text: str, kind: str) -> None:
    assert said(text) == [(kind, f"The user said: “{text}”")]


@pytest.mark.parametrize(
    "text",
    [
        "Add a test for the parser.",
        "Write a poem that always rhymes and never mentions the sea.",
        "Do we always deploy on Fridays?",
        "let's do the second option",
        "Let's go with option 2.",
        "no",
        "never mind",
        "> We always deploy on Fridays.",
        "```\n# always use tabs, never spaces\n```",
        "2026-11-16 ERROR never retry: upstream must always answer here",
        "    always_run = config['never']",
        "x " * 2_000 + "We always use uv here.",
    ],
)
def test_tasks_questions_quotes_and_pasted_text_are_not_kept(text: str) -> None:
    assert said(text) == []


def test_a_reason_stays_with_what_it_is_a_reason_for() -> None:
    [(_, text)] = said("No Redis here. It needs an operator and we have none. Add a test, please.")
    assert text == "The user said: “No Redis here. It needs an operator and we have none.”"


def test_the_same_statement_twice_is_one_item() -> None:
    assert len(said("Always use uv in this repo.", "always use uv in this repo")) == 1


def test_a_different_command_that_worked_is_told_with_the_error() -> None:
    [item] = captured(
        steps(
            ("ran", "git tag v1 && git push --tags", True, "Exit code 1\nerror: gpg failed to sign the data"),
            ("ran", "export GPG_TTY=$(tty) && git tag v1 && git push --tags", False, ""),
        )
    )
    assert item.kind == "error_fix"
    assert item.text == (
        "`git tag v1 && git push --tags` failed with “error: gpg failed to sign the data”; "
        "`export GPG_TTY=$(tty) && git tag v1 && git push --tags` worked."
    )


def test_what_made_the_same_command_work_is_told_with_the_error() -> None:
    [item] = captured(
        steps(
            ("ran", "npm run build", True, "sh: 1: vite: not found"),
            ("ran", "ls", False, ""),
            ("ran", "pnpm install", False, ""),
            ("ran", "npm run build", False, "built"),
        )
    )
    assert item.text == "`npm run build` failed with “sh: 1: vite: not found”; after `pnpm install` it worked."


@pytest.mark.parametrize(
    "given",
    [
        [
            ("ran", "pytest", True, "E   KeyError: no such key"),
            ("edited", "a.py", False, ""),
            ("ran", "pytest", False, ""),
        ],
        [("ran", "pytest", True, "error: it failed"), ("ran", "pytest", False, "flaky")],
        [("ran", "pytest", True, "error: it failed"), ("ran", "git push", False, "")],
        [("ran", "pytest", True, ""), ("ran", "pytest -x", False, "")],
        [("ran", "pytest", True, "error: it failed")],
    ],
    ids=["an edit fixed it", "flaky", "something else", "no error told", "never fixed"],
)
def test_what_is_no_fix_by_a_command_is_not_told(given: list[tuple[StepKind, str, bool, str]]) -> None:
    assert [item for item in captured(steps(*given)) if item.kind == "error_fix"] == []


def test_edited_files_are_named_as_the_project_does_and_others_not() -> None:
    edits: list[tuple[StepKind, str, bool, str]] = [
        ("said", "Move the billing code", False, ""),
        ("edited", "/home/dev/shop/billing.py", False, ""),
        ("edited", "/home/dev/shop/billing.py", False, ""),
        ("edited", "/tmp/scratch.py", False, ""),  # noqa: S108 - no such file
    ]
    [item] = captured(steps(*edits), "/home/dev/shop")
    assert (item.kind, item.text) == ("event", "A session on “Move the billing code” edited billing.py.")


def test_a_handful_is_kept_of_a_session_full_of_rules() -> None:
    names = [f"Always use tool number {number} for the job of kind {number}." for number in range(30)]
    kept = said(*names)
    assert len(kept) == MOST_ITEMS
    assert "number 29" in kept[0][1]  # what was said last holds


def test_any_text_at_all_can_be_read() -> None:
    dice = random.Random(7)  # noqa: S311 - no secrets here
    for _ in range(200):
        text = "".join(dice.choice("ab .!?\n\t`“”#-*>\u2028\U0001f600\ud800 always never use ") for _ in range(300))
        said(text)
        captured(Transcript(summary_steps(text)))
