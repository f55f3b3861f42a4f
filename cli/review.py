"""`reverie review`: answering what dreams would not decide alone, key by key or from a script."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.cli.asking import ask, edited
from reverie.cli.terminal import Cell, Line, Span, counted, note, one_line, paragraph, say
from reverie.errors import InvalidInput, ReverieError
from reverie.ids import short_ids

if TYPE_CHECKING:
    from reverie.tools.session import Session

Question = Mapping[str, Any]
Answer = dict[str, str]

MOST_ASKED = 50
_QUIT = "q"
_NEED_A_TEXT = ("merge", "bridge", "revise")


def parsed_answers(given: Sequence[str]) -> list[Answer]:
    """Read answers such as `QUESTION=separate`, or `QUESTION=merge:TEXT` where a verdict needs a text.

    Raises:
        InvalidInput: if one is not of that form.
    """
    answers = []
    for one in given:
        question, equals, rest = one.partition("=")
        verdict, _, text = rest.partition(":")
        if not (question.strip() and equals and verdict.strip()):
            raise InvalidInput("--answer", f"{one!r} is no answer", "Give QUESTION=VERDICT or QUESTION=VERDICT:TEXT.")
        answers.append({"question_id": question.strip(), "verdict": verdict.strip(), "text": text.strip()})
    return answers


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
        f"{counted(len(questions), 'question')} open. `reverie review` on a terminal asks them one by one; "
        "`--answer QUESTION=VERDICT` answers one.",
    ]


def question_lines(question: Question, number: str = "") -> list[Line]:
    """Show one question, the memories it is about, and what speaks for and against."""
    names = short_ids(memory["id"] for memory in question["memories"])
    lines: list[Line] = [
        (number, Span(one_line(question["ask"]), "bold")),
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
    from reverie.tools.review import review

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
            answer = {"question_id": question["id"], "verdict": verdict, "text": text}
            try:
                done = await review(session, [answer], 0)
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
