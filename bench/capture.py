"""How much of what is worth keeping in a transcript is kept, and how much of what is kept is worth it.

    python bench/capture.py [--show]

Reads tests/clients/fixtures: transcripts written by hand in several styles, with what is worth keeping of each. Those
of the first two sets are from before there were any patterns, and `held` ones were not looked at while patterns
changed. The `second` set came after the first patterns, on purpose with wordings that they did not have, and the
patterns were changed for it. The `third` came after that, and no pattern was changed for it. The `fourth` was
written before its author had read any pattern, and scored 13 of 34 before patterns changed for it; the `fifth` came
after that, and none was changed for it.
"""

import json
import sys
from pathlib import Path

from reverie.tools.session_statements import CapturedItem, captured
from reverie.tools.transcripts import Transcript, read_transcript, summary_steps

FIXTURES = Path(__file__).parents[1] / "tests" / "clients" / "fixtures"


def items_of(name: str) -> list[CapturedItem]:
    """Return what is captured of a fixture."""
    summary = FIXTURES / f"{name}.txt"
    if summary.exists():
        return captured(Transcript(summary_steps(summary.read_text("utf-8"))), "/home/dev/shop")
    [file] = FIXTURES.glob(f"{name}.json*")
    return captured(read_transcript(str(file)), "/home/dev/shop")


def fits(item: CapturedItem, words: list[str]) -> bool:
    """Return whether an item says what is wanted: by all of these words."""
    return all(word.casefold() in item.text.casefold() for word in words)


SETS = {
    "": "development",
    "held": "held out",
    "second": "second set",
    "third": "third set, unseen",
    "fourth": "fourth set",
    "fifth": "fifth set, unseen",
}
"""By the beginning of a fixture's name."""


def main() -> None:
    """Print one line for each transcript, and the sums of each set."""
    expected = json.loads((FIXTURES / "expected.json").read_text("utf-8"))
    for beginning, label in SETS.items():
        wanted = found = kept = worth = kinds = 0
        for name, each in expected.items():
            if next((one for one in SETS if one and name.startswith(one)), "") != beginning:
                continue
            items = items_of(name)
            hits = [
                (one, item)
                for one in each["keep"]
                for item in items
                if fits(item, one["words"])
                and (item.kind == "event") == (one["kind"] == "event")  # it quotes the task
            ]
            reached = [one for one in each["keep"] if any(one is hit for hit, _ in hits)]
            fine = [item for item in items if any(fits(item, one["words"]) for one in (*each["keep"], *each["fine"]))]
            wanted, found = wanted + len(each["keep"]), found + len(reached)
            kept, worth = kept + len(items), worth + len(fine)
            kinds += sum(any(one is hit and item.kind == one["kind"] for hit, item in hits) for one in reached)
            print(f"{name:24} {len(reached)} of {len(each['keep'])} kept, {len(fine)} of {len(items)} worth it")
            if "--show" in sys.argv:
                for one in each["keep"]:
                    if one not in reached:
                        print(f"    missed {one['kind']}: {one['words']}")
                for item in items:
                    print(f"    {'   ' if item in fine else 'not'} {item.kind}: {item.text}")
        print(
            f"{label}: kept {found} of {wanted} ({found / wanted:.0%}), worth it {worth} of {kept} "
            f"({worth / kept:.0%}), kind right {kinds} of {found}\n"
        )


if __name__ == "__main__":
    main()
