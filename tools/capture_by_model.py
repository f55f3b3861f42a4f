"""Captured statements as a language model words them, from what the person said in a session.

It is asked once for what is worth keeping, within a budget for each session. Its answer is data like any other: a
statement that names a number, a path or a name that nobody said is left out, and the rest is screened, compared and
asked about as if a rule had found it.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from reverie.dream.judge import words_and_facts
from reverie.embeddings.tokens import count_tokens, cut_to_tokens
from reverie.errors import BudgetSpent, ModelError
from reverie.llm.client import model_from
from reverie.memory import Kind
from reverie.text.compare import facts_of
from reverie.tools.requests import CapturedText, SaidText
from reverie.tools.session import Session

CENTS_PER_SESSION = 5.0
"""What the captures of one session of a client may cost, however often it is compacted."""

MOST_STATEMENTS = 6

_MOST_SAID = 6_000  # tokens of the session, its end first
_MOST_ANSWERED = 600  # tokens
_LONGEST = 400  # characters of a statement
_MOST_SESSIONS = 64
_WRITTEN: Final[tuple[Kind, ...]] = ("preference", "decision", "rejected", "fact", "how_to")
_TASK = (
    "These are the messages of a developer to a coding assistant in one session, each with its turn. Which "
    "statements would help an assistant in a later session: a rule or preference, a decision with its reason, a "
    "correction, what was rejected and why, a lasting fact about the project? Leave out requests, questions, "
    "progress and anything that holds for this session alone; most sessions have none to three. Write each as one "
    "self-contained statement about what the user said, in their terms, with nothing added, in the form "
    f'"TURN KIND: TEXT", KIND being one of {", ".join(_WRITTEN)}, for example '
    '"4 preference: The user wants tests run with `just check`, never with pytest directly."'
)
_LINE: Final = re.compile(r"\s*\[?(\d{1,6})\]?[\s:|,-]+(\w+)\s*[:|]\s*(\S.*?)\s*", re.DOTALL)


class ModelCapture:
    """What a model wrote: the statements, what they cost, and why there are none if it could not be asked."""

    def __init__(self, items: Sequence[CapturedText], cents: float, note: str = "") -> None:
        self.items = tuple(items)
        self.cents = cents
        self.note = note

    @property
    def told(self) -> str:
        """Say in a few words what the model cost, and what went wrong."""
        return self.note or f"model: {self.cents:.2g} of {CENTS_PER_SESSION:g} cents"


async def written_by_model(session: Session, said: Sequence[SaidText], client_session: str) -> ModelCapture:
    """Ask the model what is worth keeping of what was said; if it fails, nothing is, and the note says why."""
    spent = session.domain.capture_cents
    model = model_from(session.settings, CENTS_PER_SESSION - spent.get(client_session, 0.0), count_tokens)
    if model is None:
        return ModelCapture((), 0.0, "no model is set")
    data = {"notes": [{"turn": str(one.turn), "text": one.text} for one in _newest(said)]}
    try:
        answer = await asyncio.to_thread(model.ask, "capture", _TASK, data, {"statements": list}, _MOST_ANSWERED)
    except BudgetSpent:
        return ModelCapture((), 0.0, f"model not asked: {CENTS_PER_SESSION:g} cents for this session are spent")
    except ModelError as error:
        return ModelCapture((), model.spent_cents, f"model not used: {error}")
    finally:
        spent[client_session] = spent.pop(client_session, 0.0) + model.spent_cents
        while len(spent) > _MOST_SESSIONS:
            del spent[next(iter(spent))]
        await asyncio.to_thread(model.close)
    return ModelCapture(_grounded(answer["statements"], said), model.spent_cents)


def _newest(said: Sequence[SaidText]) -> list[SaidText]:
    """Return the end of a session, as much as a call may carry, in its order."""
    chosen: list[SaidText] = []
    left = _MOST_SAID
    for one in reversed(said):
        text = cut_to_tokens(one.text, left)
        left -= count_tokens(text)
        if not text.strip() or left < 0:
            break
        chosen.append(SaidText(text=text, turn=one.turn))
    return chosen[::-1]


def _grounded(lines: Sequence[str], said: Sequence[SaidText]) -> list[CapturedText]:
    """Return the statements of an answer that have its form and state no fact that was not said."""
    turns = {one.turn for one in said}
    known = {form for one in said for form in words_and_facts(one.text)}
    found: list[CapturedText] = []
    for line in lines:
        read = _LINE.fullmatch(line)
        if read is None or int(read[1]) not in turns:
            continue
        kind = next((one for one in _WRITTEN if one == read[2].casefold()), None)
        text = read[3]
        if kind is None or len(text) > _LONGEST or {form for _, form in facts_of(text)} - known:
            continue
        found.append(CapturedText(text=text, kind=kind, turn=int(read[1])))
    return found[:MOST_STATEMENTS]
