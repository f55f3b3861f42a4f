"""`reverie review`: answering what dreams would not decide alone, key by key or from a script."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from reverie.cli.asking import ask, can_ask, edited
from reverie.cli.commands import Options
from reverie.cli.terminal import (
    DONE,
    Cell,
    Line,
    Span,
    counted,
    is_terminal,
    note,
    one_line,
    paragraph,
    say,
    say_json,
)
from reverie.errors import ReverieError
from reverie.ids import short_ids
from reverie.tools import catalog
from reverie.tools.requests import MOST_QUESTIONS, ReviewDecision, ReviewRequest, Verdict

if TYPE_CHECKING:
    from reverie.tools.session import Session

Question = Mapping[str, Any]

_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_QUIT = "q"
_NEED_A_TEXT = ("merge", "bridge", "revise")


async def run_review(session: "Session", request: ReviewRequest, options: Options) -> int:
    """Apply the answers given; without any, ask on a terminal, and list the questions in a pipe."""
    asks = not request.decisions and not options.json and can_ask() and is_terminal(sys.stdout)
    found = await catalog.call(catalog.REVIEW, session, replace(request, limit=MOST_QUESTIONS) if asks else request)
    if asks and found.questions:
        answered = await ask_one_by_one(session, found.questions)
        say("", f"{answered:,} of {counted(len(found.questions), 'question')} answered.")
    elif options.json:
        say_json(found)
    else:
        say(*review_lines(found.questions, found.resolved))
    return DONE


def review_lines(questions: Sequence[Question], resolved: Sequence[Mapping[str, str]]) -> list[Line]:
    """Show what was decided and what is still open."""
    lines: list[Line] = [_resolved_line(one) for one in resolved]
    for number, question in enumerate(questions, 1):
        lines += [*([""] if lines else []), *question_lines(question, f"{number}. ")]
    if not questions:
        return [*lines, "No question is open."]
    return [
        *lines,
        "",
        f"{counted(len(questions), 'question')} open. `reverie review` on a terminal asks them one by one;",
        "`--answer QUESTION=VERDICT` answers one.",
    ]


def question_lines(question: Question, number: str = "") -> list[Line]:
    """Show one question, the memories it is about, and what speaks for and against."""
    names = short_ids(memory["id"] for memory in question["memories"])
    lines: list[Line] = [
        (Span(paragraph(number + one_line(question["ask"]), "", hanging="   "), "bold"),),
        (Span(f"   {question['id']}", "cyan"), f"  {' | '.join(question['verdicts'])}"),
    ]
    for memory in question["memories"]:
        notes = [memory["happened_at"][:10], memory["source"]]
        notes += [memory["status"]] if memory["status"] != "active" else []
        lines += [
            ("   ", Span(names[memory["id"]], "cyan"), f"  {', '.join(notes)}"),
            paragraph(memory["content"], "     "),
        ]
    lines += [paragraph(f"evidence: {one_line(line)}") for line in question["evidence"]]
    return lines


async def ask_one_by_one(session: "Session", questions: Sequence[Question]) -> int:
    """Ask each question on the terminal, and apply each answer as it is given; return how many were."""
    answered = 0
    for number, question in enumerate(questions, 1):
        say(*([""] if number > 1 else []), *question_lines(question, f"{number} of {len(questions)}. "))
        while True:
            verdict = _asked_verdict(question["verdicts"])
            if verdict is None:
                break
            if verdict == _QUIT:
                return answered
            text = _text_for(verdict, question)
            if text is None:
                note("No text was written: the question stays open.")
                continue
            [chosen] = [word for word in _VERDICTS if word == verdict]
            decision = ReviewDecision(question_id=question["id"], verdict=chosen, text=text)
            try:
                done = await catalog.call(catalog.REVIEW, session, ReviewRequest(decisions=(decision,), limit=0))
            except ReverieError as error:  # such as a text that leaves a fact out: there is another try
                note(str(error))
                continue
            say(*map(_resolved_line, done.resolved))
            answered += 1
            break
    return answered


def keys_of(verdicts: Sequence[str]) -> dict[str, str]:
    """Return a key for each verdict: its first letter that is still free."""
    keys: dict[str, str] = {}
    for verdict in verdicts:
        letter = next(
            letter
            for letter in (*verdict, *"123456789")
            if letter not in keys and letter.isalnum() and letter != _QUIT
        )
        keys[letter] = verdict
    return keys


def _asked_verdict(verdicts: Sequence[str]) -> str | None:
    """Return what the person chose: a verdict, `q` to stop, or None to leave the question open."""
    keys = keys_of(verdicts)
    choices = ", ".join(f"[{key}] {verdict}" for key, verdict in keys.items())
    while True:
        typed = ask(f"{choices}, [Enter] later, [{_QUIT}] quit: ").casefold()
        if not typed:
            return None
        if typed == _QUIT or typed in verdicts:
            return typed
        if typed in keys:
            return keys[typed]


def _text_for(verdict: str, question: Question) -> str | None:
    """Return the text that a verdict needs, from the editor; None if none was written."""
    if verdict not in _NEED_A_TEXT:
        return ""
    texts = [memory["content"] for memory in question["memories"]]
    if verdict == "revise":
        return edited(texts[0])
    return edited("\n\n".join(texts))


def _resolved_line(one: Mapping[str, str]) -> Line:
    changed = f" ({one['changed']})" if one["changed"] else ""
    parts: tuple[Cell, ...] = (Span(one["question_id"], "cyan"), f": {one['verdict']}{changed}")
    return parts
