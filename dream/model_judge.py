"""The language model as a judge. What it says is checked; whatever fails leaves everything as it is.

Rules go first: what they can decide costs nothing. After a failure of the server the rest of the night is judged by
rules alone, so that a server that hangs is waited for once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from reverie.dream.cluster import missing_facts
from reverie.dream.derived_memories import shown
from reverie.dream.judge import BeliefVerdict, DayNote, Rules
from reverie.errors import BudgetSpent, ModelError, ModelNonsense
from reverie.llm.client import Form, LanguageModel
from reverie.memory import Memory
from reverie.text.compare import facts_of

_MERGE = (
    "Several notes may say one thing. If they do, write one note that keeps every number, name, date, version and "
    "path of all of them and adds nothing. If they are about different things or disagree, set `same` to false."
)
_BRIDGE = (
    "Two subjects come from different places. If the notes show a real connection that would help a developer, state "
    "it in one or two sentences, using only what the notes say. Otherwise set `connected` to false."
)
_BELIEF = (
    "A note is held against newer evidence. Set `verdict` to `outdated` if the evidence shows that the note no "
    "longer holds, `holds` if both can be true, `unsure` if the evidence does not settle it."
)
_DAY = (
    "Write the day's note from these memories: at most {most} characters, short lines beginning with `- `, the most "
    "consequential first, adding nothing. List in `durable` the ids of those that will matter in a month."
)
_CHARACTERS_PER_TOKEN = 3
_SPARE_TOKENS = 200


class ModelJudge:
    """Asks rules first, then the model."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._rules = Rules()
        self._notes: list[str] = []
        self._silent = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What went wrong while judging."""
        return tuple(dict.fromkeys(self._notes))

    @property
    def calls(self) -> tuple[Mapping[str, Any], ...]:
        """Every call that was made and what it cost."""
        return tuple(asdict(call) for call in self._model.calls)

    def merged(self, members: Sequence[Memory]) -> str | None:
        """Return one text that keeps every fact of the members and adds none, or None."""
        known = self._rules.merged(members)
        if known is not None:
            return known
        size = sum(len(member.content) for member in members) // _CHARACTERS_PER_TOKEN + _SPARE_TOKENS
        answer = self._ask("merge", _MERGE, _shown(members), {"same": bool, "text": str}, size)
        if answer is None or not answer["same"]:
            return None
        text = str(answer["text"]).strip()
        lost = missing_facts(text, members)
        added = {form for _, form in facts_of(text)} - {f for m in members for f in _sayings(m.content)}
        if not text or lost or added:
            self._notes.append(
                f"a merged text was refused: it {'lost ' + ', '.join(lost[:3]) if lost else 'added what nobody said'}"
            )
            return None
        return text

    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        """Return the connection in the model's words, "" if it sees none, None if it could not be asked."""
        data = {"subjects": [one, other], **_shown([*ones, *others])}
        answer = self._ask("bridge", _BRIDGE, data, {"connected": bool, "text": str}, 300)
        if answer is None:
            return None
        return str(answer["text"]).strip() if answer["connected"] else ""

    def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
        """Return the model's verdict on the evidence; unsure is None."""
        data = {"note": shown(belief.content), "evidence": [shown(line) for line in evidence]}
        answer = self._ask("belief", _BELIEF, data, {"verdict": str}, 50)
        match answer:
            case {"verdict": "outdated"}:
                return "outdated"
            case {"verdict": "holds"}:
                return "holds"
            case _:
                return None

    def day_note(self, ledger: Sequence[Memory], most_characters: int) -> DayNote | None:
        """Return the day in the model's words, if it keeps to the length and names only what was said."""
        task = _DAY.format(most=most_characters)
        form: Form = {"text": str, "durable": list}
        answer = self._ask("digest", task, _shown(ledger), form, most_characters // _CHARACTERS_PER_TOKEN + 300)
        if answer is None:
            return None
        text = str(answer["text"]).strip()
        said = {form for memory in ledger for form in _sayings(memory.content)}
        if not text or len(text) > most_characters or {form for _, form in facts_of(text)} - said:
            self._notes.append("the model's day note was refused: too long, or it names what nobody said")
            return None
        known = {memory.id for memory in ledger}
        return DayNote(text, tuple(one for one in answer["durable"] if one in known))

    def _ask(
        self, purpose: str, task: str, data: dict[str, Any], form: Form, most_tokens: int
    ) -> dict[str, Any] | None:
        if self._silent:
            return None
        try:
            return self._model.ask(purpose, task, data, form, most_tokens)
        except (BudgetSpent, ModelNonsense) as error:  # the next question may be cheaper, or understood
            self._notes.append(str(error))
        except ModelError as error:
            self._notes.append(str(error))
            self._silent = True
        return None


def _shown(memories: Sequence[Memory]) -> dict[str, Any]:
    return {
        "notes": [
            {"id": memory.id, "when": f"{memory.happened_at:%Y-%m-%d}", "text": shown(memory.content)}
            for memory in memories
        ]
    }


def _sayings(text: str) -> set[str]:
    """Return everything in a text that a fact of another text may go back to."""
    return {form for _, form in facts_of(text)} | {word.strip(".,;:!?()'\"`") for word in text.casefold().split()}
