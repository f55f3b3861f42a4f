"""Who decides what the rules of age and similarity cannot: one interface for rules and a language model.

An answer of None means that the judge does not know; then a question is queued for review and nothing changes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reverie.errors import BudgetSpent, ModelError, ModelNonsense
from reverie.guard.secrets import redact, without_private
from reverie.ids import creation_order
from reverie.memory import Memory
from reverie.text.compare import facts_of, restates
from reverie.text.tokenize import tokens_of

if TYPE_CHECKING:
    from reverie.llm.client import Form, LanguageModel

BeliefVerdict = Literal["outdated", "holds"]


@dataclass(frozen=True, slots=True)
class DayNote:
    """The note of a day, and the ids of the day's memories that will matter for longer."""

    text: str
    durable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CardLine:
    """One line of a card in a model's words, the memories that say it, and the ids of those it says in full."""

    text: str
    sources: tuple[Memory, ...]
    in_full: tuple[str, ...]


class Judge(Protocol):
    """Answers the questions of the steps."""

    def merged(self, members: Sequence[Memory]) -> str | None:
        """Return one text that says everything the members say, or None."""
        ...

    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        """Return what connects two subjects, "" if nothing does, or None if unknown."""
        ...

    def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
        """Return whether a belief still holds in the light of the evidence."""
        ...

    def day_note(self, ledger: Sequence[Memory], most_characters: int) -> DayNote | None:
        """Return the note of the day, or None for the extractive one."""
        ...

    def card_lines(self, name: str, facts: Sequence[Memory], most_lines: int) -> list[CardLine]:
        """Return lines of a card about an entity, each with the memories it rests on; none for quoted ones."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What went wrong while judging, for the report."""
        ...

    @property
    def calls(self) -> tuple[Mapping[str, Any], ...]:
        """Every call that was made and what it cost, for the report."""
        ...


class Rules:
    """Decides only whether several texts say the same thing."""

    notes: tuple[str, ...] = ()
    calls: tuple[Mapping[str, Any], ...] = ()

    def merged(self, members: Sequence[Memory]) -> str | None:
        """Return the newest member's text if every other restates it."""
        newest = max(members, key=lambda memory: (memory.created_at, creation_order(memory.id)))
        if all(restates(newest.content, member.content) for member in members if member is not newest):
            return newest.content
        return None

    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        """Rules cannot say what connects two subjects."""
        return None

    def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
        """Rules gather the evidence and leave the verdict to others."""
        return None

    def day_note(self, ledger: Sequence[Memory], most_characters: int) -> DayNote | None:
        """Without a model the digest is extractive."""
        return None

    def card_lines(self, name: str, facts: Sequence[Memory], most_lines: int) -> list[CardLine]:
        """Without a model a card quotes its sources."""
        return []


def missing_facts(text: str, members: Sequence[Memory]) -> list[str]:
    """Return the numbers, versions, paths and names of the members that a merged text leaves out."""
    kept = {form for _, form in facts_of(text)} | set(text.casefold().split())
    wanted = {form for member in members for _, form in facts_of(member.content)}
    return sorted(wanted - kept)


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
_CARD = (
    "Write a card about `subject` from these notes: at most {most} short lines, the most useful to a developer "
    "first. Join notes that say one thing. End each line with the ids of the notes it comes from in square brackets, "
    "such as [1] or [2, 5]. Keep every number, name, date, version and path as it is written, and add nothing."
)
_REFERENCES = re.compile(r"\s*\[(?P<numbers>\d{1,3}(?:\s*,\s*\d{1,3})*)\]\s*[.;]?\s*$")
_LONGEST_CARD_LINE = 220
_CHARACTERS_PER_TOKEN = 3
_SPARE_TOKENS = 200


class ModelJudge:
    """Asks the rules first, which cost nothing, and then a language model, whose answers are checked.

    After a failure of the server the rest of the dream is judged by rules alone, so a server that hangs costs one
    timeout.
    """

    def __init__(self, model: "LanguageModel") -> None:
        self._model = model
        self._rules = Rules()
        self._notes: list[str] = []
        self._failed = False

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
        answer = self._ask("merge", _MERGE, _as_notes(members), {"same": bool, "text": str}, size)
        if answer is None or not answer["same"]:
            return None
        text = str(answer["text"]).strip()
        lost = missing_facts(text, members)
        added = {form for _, form in facts_of(text)} - {f for m in members for f in words_and_facts(m.content)}
        if not text or lost or added:
            self._notes.append(
                f"a merged text was refused: it {'lost ' + ', '.join(lost[:3]) if lost else 'added what nobody said'}"
            )
            return None
        return text

    def bridged(self, one: str, other: str, ones: Sequence[Memory], others: Sequence[Memory]) -> str | None:
        """Return the connection as the model words it, "" if it sees none, None if it could not be asked."""
        data = {"subjects": [one, other], **_as_notes([*ones, *others])}
        answer = self._ask("bridge", _BRIDGE, data, {"connected": bool, "text": str}, 300)
        if answer is None:
            return None
        return str(answer["text"]).strip() if answer["connected"] else ""

    def still_holds(self, belief: Memory, evidence: Sequence[str]) -> BeliefVerdict | None:
        """Return the model's verdict on the evidence; unsure is None."""
        data = {"note": sendable(belief.content), "evidence": [sendable(line) for line in evidence]}
        answer = self._ask("belief", _BELIEF, data, {"verdict": str}, 50)
        match answer:
            case {"verdict": "outdated"}:
                return "outdated"
            case {"verdict": "holds"}:
                return "holds"
            case _:
                return None

    def day_note(self, ledger: Sequence[Memory], most_characters: int) -> DayNote | None:
        """Return the model's note of the day, if it is short enough and names only what the memories name."""
        task = _DAY.format(most=most_characters)
        form: Form = {"text": str, "durable": list}
        answer = self._ask("digest", task, _as_notes(ledger), form, most_characters // _CHARACTERS_PER_TOKEN + 300)
        if answer is None:
            return None
        text = str(answer["text"]).strip()
        known_forms = {form for memory in ledger for form in words_and_facts(memory.content)}
        if not text or len(text) > most_characters or {form for _, form in facts_of(text)} - known_forms:
            self._notes.append("the model's day note was refused: too long, or it names what nobody said")
            return None
        known = {memory.id for memory in ledger}
        return DayNote(text, tuple(one for one in answer["durable"] if one in known))

    def card_lines(self, name: str, facts: Sequence[Memory], most_lines: int) -> list[CardLine]:
        """Return the lines of the model that name memories it was shown, and say nothing that those do not."""
        numbered = {str(number): memory for number, memory in enumerate(facts, 1)}
        notes = [
            {"id": number, "when": f"{memory.happened_at:%Y-%m-%d}", "text": sendable(memory.content)}
            for number, memory in numbered.items()
        ]
        size = most_lines * _LONGEST_CARD_LINE // _CHARACTERS_PER_TOKEN + _SPARE_TOKENS
        answer = self._ask(
            "card", _CARD.format(most=most_lines), {"subject": name, "notes": notes}, {"lines": list}, size
        )
        if answer is None:
            return []
        lines = [_card_line(str(line), numbered, name) for line in answer["lines"]]
        kept = [line for line in lines if line is not None][:most_lines]
        if len(kept) < len(lines):
            self._notes.append(f"of a card about {name} {len(lines) - len(kept)} of {len(lines)} lines were refused")
        return kept

    def _ask(
        self, purpose: str, task: str, data: dict[str, Any], form: "Form", most_tokens: int
    ) -> dict[str, Any] | None:
        if self._failed:
            return None
        try:
            return self._model.ask(purpose, task, data, form, most_tokens)
        except (BudgetSpent, ModelNonsense) as error:  # the next question may be cheaper, or understood
            self._notes.append(str(error))
        except ModelError as error:
            self._notes.append(str(error))
            self._failed = True
        return None


def _card_line(line: str, numbered: Mapping[str, Memory], name: str) -> CardLine | None:
    """Return a line with its sources; None if it names none or an unknown one, or says what they do not."""
    found = _REFERENCES.search(line)
    if found is None:
        return None
    text = " ".join(line[: found.start()].lstrip(" -*•").split())
    numbers = dict.fromkeys(number.strip() for number in found["numbers"].split(","))
    if not text or len(text) > _LONGEST_CARD_LINE or not numbers.keys() <= numbered.keys():
        return None
    sources = tuple(numbered[number] for number in numbers)
    known = {form for memory in sources for form in words_and_facts(memory.content)} | words_and_facts(name)
    if {form for _, form in facts_of(text)} - known:
        return None
    if _negates(text) != any(_negates(memory.content) for memory in sources):
        return None  # a `not` was lost or added
    # What a line shortens too much is quoted as well.
    return CardLine(text, sources, tuple(memory.id for memory in sources if not missing_facts(text, [memory])))


def _negates(text: str) -> bool:
    return any(token.kind == "negation" for token in tokens_of(text))


def _as_notes(memories: Sequence[Memory]) -> dict[str, Any]:
    return {
        "notes": [
            {"id": memory.id, "when": f"{memory.happened_at:%Y-%m-%d}", "text": sendable(memory.content)}
            for memory in memories
        ]
    }


def words_and_facts(text: str) -> set[str]:
    """Return every word and fact of a text, which a fact of a text made from it may repeat."""
    return {form for _, form in facts_of(text)} | {word.strip(".,;:!?()'\"`") for word in text.casefold().split()}


def sendable(text: str) -> str:
    """Return a text without secrets and private parts, as it may be sent to a language model."""
    return redact(without_private(text).text).text
