"""`reverie dream`, `reverie dreams` and `reverie review`.

Running a dream, listing, showing and undoing earlier ones, and answering the questions that dreams left open, key by
key or from a script.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, get_args

from reverie.cli.commands import CommandSession, Options
from reverie.cli.requests import DreamsRequest
from reverie.cli.terminal import (
    DONE,
    FAILED,
    Cell,
    Line,
    Progress,
    Span,
    agreed,
    ask,
    can_ask,
    columns,
    counted,
    edited,
    is_terminal,
    note,
    one_line,
    paragraph,
    say,
    say_json,
)
from reverie.errors import InvalidInput, ReverieError
from reverie.ids import short_ids
from reverie.memory import Verdict
from reverie.tools import catalog
from reverie.tools.requests import MOST_QUESTIONS, ConsolidateRequest, RestoreRequest, ReviewDecision, ReviewRequest
from reverie.tools.results import Consolidated

if TYPE_CHECKING:
    from reverie.tools.session import Session


async def run_dream(session: CommandSession, request: ConsolidateRequest, options: Options) -> int:
    """Run a dream, or show what one would do."""
    await session.warm()
    bar = Progress("dreaming")

    async def show(done: int, total: int, message: str) -> None:
        bar.show(done / total, message)

    try:
        result = await catalog.call(catalog.CONSOLIDATE, session, request, show)
    finally:
        bar.done()
    if options.json:
        say_json(result)
    else:
        say(*result_lines(result))
    return DONE


async def run_dreams(session: "Session", request: DreamsRequest, options: Options) -> int:
    """List the dreams, show one, or undo it."""
    from reverie.tools.dreams import (
        describe_dream,
        dream_lines,
        dreams,
    )  # imports LanceDB, which `review` does not need

    if request.undo:
        return await undo_dream(session, request.id, options)
    if request.id:
        record = await describe_dream(session, request.id)
        if options.json:
            say_json(record)
        else:
            say(*dream_lines(record))
    else:
        dream_log = await dreams(session)
        if options.json:
            say_json([asdict(record) for record in dream_log])
        else:
            rows = [
                (n.id, n.at[:16].replace("T", " "), n.status, counted(n.changes, "change"), n.summary)
                for n in dream_log
            ]
            say(*(columns(rows) or ["No dream yet. `reverie dream` runs one; `--dry-run` shows what it would do."]))
    return DONE


async def undo_dream(session: CommandSession, dream_id: str, options: Options) -> int:
    """Show what a dream did, ask, and undo it.

    Raises:
        InvalidInput: if there is no such dream, or it may not be undone from here.
    """
    if not dream_id:
        raise InvalidInput("ID", "no dream is named", "`reverie dreams` lists them.")
    request = RestoreRequest(dream_id=dream_id)
    if not options.yes:
        plan = await catalog.call(catalog.UNDO_PLAN, session, request)
        if not agreed(*plan.lines, question=f"Undo {dream_id}?", yes=False):
            return FAILED
    undone = await catalog.call(catalog.RESTORE, session, request)
    if options.json:
        say_json(undone)
    else:
        left = [f"left as it is: {one.id} ({one.reason})" for one in undone.skipped]
        say(f"Undone: {counted(len(undone.restored), 'memory')} as before.", *left)
    return DONE


def result_lines(result: Consolidated) -> list[str]:
    """Say what a dream did, step by step, and in a dry run which memories it would touch and why."""
    lines = ["This dream would do the following; nothing is changed."] if result.dry_run else []
    rows = [(step.name, "; ".join(step.notes) or "–") for step in result.steps]
    lines += columns(rows)
    if result.dry_run:
        by_reason: dict[str, list[str]] = {}
        for change in result.changes:
            by_reason.setdefault(f"{change['step']}, {change['action']}", []).append(change["id"])
        for reason, ids in by_reason.items():
            lines += ["", f"{reason} ({len(ids)})", *(f"  {memory_id}" for memory_id in ids)]
    for step in result.steps:
        lines += [f"set aside by {step.name}: {one.id} ({one.reason})" for one in step.skipped[:5]]
    if result.questions:
        lines.append(f"{counted(len(result.questions), 'question')} for review.")
    lines.append("")
    if result.dry_run:
        lines.append("Run `reverie dream` to do it.")
    else:
        cost = f", {result.cost_cents:g} cents" if result.cost_cents else ""
        lines.append(f"Dream {result.dream_id}: {result.duration_ms / 1000:.1f} s{cost}.")
        lines.append(f"`reverie dreams {result.dream_id}` shows it.")
    return lines


Question = Mapping[str, Any]

_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_QUIT = "q"
_NEED_A_TEXT = ("merge", "bridge", "revise")


async def run_review(session: CommandSession, request: ReviewRequest, options: Options) -> int:
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
    """Show one question, its memories, and the evidence."""
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


async def ask_one_by_one(session: CommandSession, questions: Sequence[Question]) -> int:
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
            except ReverieError as error:  # such as a text that leaves a fact out: ask again
                note(str(error))
                continue
            say(*map(_resolved_line, done.resolved))
            answered += 1
            break
    return answered


def keys_of(verdicts: Sequence[str]) -> dict[str, str]:
    """Return a key for each verdict: its first letter that no other has."""
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
        return "" if question.get("proposal") else edited(texts[0])  # an empty answer accepts the proposal
    return edited("\n\n".join(texts))


def _resolved_line(one: Mapping[str, str]) -> Line:
    changed = f" ({one['changed']})" if one["changed"] else ""
    parts: tuple[Cell, ...] = (Span(one["question_id"], "cyan"), f": {one['verdict']}{changed}")
    return parts
