"""Writes the training pairs: `python training/pair_texts.py` makes `pairs.jsonl`.

A pair is an older and a newer statement with a label: `update` (the newer one replaces the older one), `compatible`
(both can be true) or `same` (both say one thing). Most come from the frames of `pair_frames_1.txt` and
`pair_frames_2.txt`, the others are written by hand (`pair_handwritten.txt`). Every second frame and every second
handwritten pair is held out: `half` is `train` or `test`. Frames, handwritten pairs and halves were written before
the classifier. Nothing is drawn from the sets that the project is measured on.
"""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PAIRS = HERE / "pairs.jsonl"
FRAMES = ("pair_frames_1.txt", "pair_frames_2.txt")
HANDWRITTEN = HERE / "pair_handwritten.txt"
LABELS = {"u": "update", "c": "compatible", "s": "same"}
OF_EACH_SORT = 6
TAILS = (
    *(", because the customers asked for it", ", as agreed with the team", " (see the runbook)", ", says Robin"),
    *(" - ask in the channel if unsure", ", which surprised a few people", "; the details are in the handbook"),
    *(" because the old setup kept failing", ", at the request of the auditors", " so that nobody is paged for it"),
)
SHARE_WITH_TAIL = 0.15
SHARE_SHORTENED = 0.3
_LONGEST_SHORTENED = 2


@dataclass
class Frame:
    """One attribute of several things, and the ways to state it."""

    things: list[str] = field(default_factory=list)
    values: list[list[str]] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Pair:
    """An older and a newer text, what they are to each other, and where the pair comes from."""

    old: str
    new: str
    label: str
    source: str
    half: str


def frames() -> Iterator[Frame]:
    """Yield the frames of both files."""
    for name in FRAMES:
        for block in (HERE / name).read_text("utf-8").split("\n\n"):
            lines = [line for line in block.splitlines() if line and not line.startswith("#")]
            if lines:
                yield _frame(lines)


def _frame(lines: list[str]) -> Frame:
    frame = Frame()
    for line in lines:
        mark, text = line[:2].strip(), line[2:].strip()
        match mark:
            case "S:":
                frame.things = [one.strip() for one in text.split(";")]
            case "V:":
                frame.values = [[spelling.strip() for spelling in one.split("|")] for one in text.split(";")]
            case "=":
                frame.states.append(text)
            case ">":
                frame.changes.append(text)
            case "+":
                frame.others.append(text)
            case "!":
                frame.events.append(text)
            case _:
                raise ValueError(f"no such line in a frame: {line!r}")
    return frame


class Writer:
    """Fills the sentences of a frame, with chances that depend only on the seed."""

    def __init__(self, frame: Frame, seed: int) -> None:
        self._frame = frame
        self._random = random.Random(seed)  # noqa: S311 - chances for training texts, nothing secret

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Yield older text, newer text and label."""
        frame, chance = self._frame, self._random
        if frame.events:
            yield from self._event_pairs()
            return
        for _ in range(OF_EACH_SORT):
            thing, other = chance.sample(frame.things, 2)
            value, another = chance.sample(frame.values, 2)
            one, two = chance.sample(frame.states, 2)
            change, told = chance.choice(frame.changes), self._fill
            yield told(one, thing, value), told(two, thing, value), "same"
            yield told(one, thing, value), told(two, thing, value, tail=False), "same"
            yield told(change, thing, another, value), told(two, thing, another), "same"
            for _ in range(2):
                change = chance.choice(frame.changes)
                yield told(one, thing, value), told(change, thing, another, value, shorten=True), "update"
            yield told(one, thing, value), told(two, thing, another), "update"
            yield told(one, thing, value), told(one, other, another), "compatible"
            yield told(one, thing, value), told(two, other, another), "compatible"
            yield told(one, thing, value), told(two, other, value), "compatible"
            before = chance.choice([one for one in frame.values if one != another])
            yield told(one, thing, value), told(change, other, another, before), "compatible"
            if frame.others:
                yield told(one, thing, value), told(chance.choice(frame.others), thing, value), "compatible"
                yield (
                    told(change, thing, value, another),
                    told(chance.choice(frame.others), thing, value),
                    "compatible",
                )
        if frame.others:
            yield from self._changes_beside_the_rest()

    def _changes_beside_the_rest(self) -> Iterator[tuple[str, str, str]]:
        """Yield what is known of a thing and a change of something else in it, which leaves it true."""
        frame, chance = self._frame, self._random
        for _ in range(OF_EACH_SORT // 2):
            thing, [value, another] = chance.choice(frame.things), chance.sample(frame.values, 2)
            change, rest = chance.choice(frame.changes), chance.choice(frame.others)
            newer = self._fill(change, thing, another, value, shorten=True)
            yield self._fill(rest, thing, value), newer, "compatible"

    def _event_pairs(self) -> Iterator[tuple[str, str, str]]:
        """Yield pairs of things that happened at different moments; the later one replaces nothing."""
        frame, chance = self._frame, self._random
        for _ in range(4 * OF_EACH_SORT):
            [thing, other], [moment, later] = chance.sample(frame.things, 2), chance.sample(frame.values, 2)
            one, two = chance.choice(frame.events), chance.choice(frame.events)
            yield self._fill(one, thing, moment), self._fill(two, thing, later), "compatible"
            yield self._fill(one, thing, moment), self._fill(one, other, later), "compatible"

    def _fill(
        self,
        sentence: str,
        thing: str,
        value: list[str],
        before: list[str] | None = None,
        *,
        shorten: bool = False,
        tail: bool = True,
    ) -> str:
        chance = self._random
        if shorten and chance.random() < SHARE_SHORTENED:
            thing = _shortened(thing)
        text = sentence.format(s=thing, v=chance.choice(value), o=chance.choice(before or value))
        text = re.sub(r"\b[Tt]he the\b", "the", text)
        if tail and chance.random() < SHARE_WITH_TAIL:
            text = text.rstrip(".") + chance.choice(TAILS) + "."
        return text if text.startswith("`") else text[0].upper() + text[1:]


def _shortened(thing: str) -> str:
    """Leave out the first word after the article: `the nightly import` becomes `the import`."""
    words = thing.split()
    article = words[:1] if words[0] in ("the", "a", "our") else []
    rest = words[len(article) :]
    return " ".join([*article, *rest[1:]]) if 1 < len(rest) <= _LONGEST_SHORTENED else thing


def handwritten() -> Iterator[tuple[str, str, str]]:
    """Yield the pairs that are written by hand."""
    for line in HANDWRITTEN.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            old, _, new = line[2:].partition(" => ")
            yield old, new, LABELS[line[0]]


def pairs() -> list[Pair]:
    """Return all pairs, each once."""
    found: dict[tuple[str, str], Pair] = {}
    for number, frame in enumerate(frames()):
        for old, new, label in Writer(frame, number).pairs():
            if old != new:
                found.setdefault((old, new), Pair(old, new, label, f"frame {number}", ("train", "test")[number % 2]))
    for number, (old, new, label) in enumerate(handwritten()):
        found.setdefault((old, new), Pair(old, new, label, "by hand", ("train", "test")[number % 2]))
    return list(found.values())


if __name__ == "__main__":
    lines = [json.dumps(vars(pair), ensure_ascii=False) for pair in pairs()]
    PAIRS.write_text("\n".join(lines) + "\n", "utf-8")
