"""Prints how well kind, layer and passing context are guessed: `training/evaluate.py --data FILE.jsonl`.

A line is {"content", "kind", "kinds"?, "layers"?} or {"content", "passing"}; without `--data`, the held-out files of
tests/tools/held_out are taken. `--fails` lists what was guessed wrong, `--words` leaves the vectors out.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from reverie.embeddings.bundled import BundledEmbedder
from reverie.tools.classify import Guess, classify, reading_of

HELD_OUT = Path(__file__).parent.parent / "tests" / "tools" / "held_out"
LAYERS_OF_A_KIND = {
    "fact": ("semantic", "codebase"),
    "decision": ("semantic", "procedural"),
    "preference": ("semantic", "procedural"),
    "event": ("episodic",),
    "error_fix": ("semantic", "procedural", "episodic"),
    "how_to": ("procedural",),
    "rejected": ("semantic", "procedural", "episodic"),
}
"""The layers that are right for a kind where a line names none."""


def percent(right: int, of: int) -> str:
    """Write a share."""
    return f"{100 * right / of:.1f}% ({right}/{of})" if of else "-"


def report_kinds(rows: list[dict[str, Any]], guesses: list[Guess]) -> tuple[str, list[str]]:
    """Return one line of scores, and the texts that were guessed wrong."""
    right, total, fails = Counter[str](), Counter[str](), []
    layers = hard = hard_right = 0
    for row, guess in zip(rows, guesses, strict=True):
        fits = guess.kind in row.get("kinds", [row["kind"]])
        allowed = row.get("layers", LAYERS_OF_A_KIND[row["kind"]])
        total[row["kind"]] += 1
        right[row["kind"]] += fits
        layers += guess.layer in allowed
        if "semantic" not in allowed:
            hard, hard_right = hard + 1, hard_right + (guess.layer in allowed)
        if not fits or guess.layer not in allowed:
            fails.append(f"{row['kind']} guessed {guess.kind} in {guess.layer}: {row['content']}")
    each = ", ".join(f"{kind} {right[kind]}/{count}" for kind, count in total.items())
    line = (
        f"kinds {percent(right.total(), len(rows))} | layers {percent(layers, len(rows))}, "
        f"where semantic is wrong {percent(hard_right, hard)} | {each}"
    )
    return line, fails


def report_passing(rows: list[dict[str, Any]], guesses: list[Guess]) -> tuple[str, list[str]]:
    """Return one line of scores, and the texts that were guessed wrong; what is taken for passing expires."""
    passing = [guess for row, guess in zip(rows, guesses, strict=True) if row["passing"]]
    lasting = [guess for row, guess in zip(rows, guesses, strict=True) if not row["passing"]]
    high = sum(guess.layer in ("semantic", "procedural") for guess in passing)
    fails = [
        f"{'passing' if row['passing'] else 'lasting'} guessed {guess.kind} in {guess.layer}: {row['content']}"
        for row, guess in zip(rows, guesses, strict=True)
        if row["passing"] != guess.passing
    ]
    line = (
        f"passing found {percent(sum(g.passing for g in passing), len(passing))}, "
        f"passing among what lasts {percent(high, len(passing))} | "
        f"lasting taken for passing {percent(sum(g.passing for g in lasting), len(lasting))}, "
        f"lasting put among episodes {percent(sum(g.layer == 'episodic' for g in lasting), len(lasting))}"
    )
    return line, fails


def main() -> int:
    """Guess every line of each file and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, action="append", help="a JSONL file; may be given more than once")
    parser.add_argument("--fails", action="store_true", help="list what was guessed wrong")
    parser.add_argument("--words", action="store_true", help="leave the vectors out, as with another embedder")
    wanted = parser.parse_args()
    embedder = BundledEmbedder()
    for path in wanted.data or sorted(HELD_OUT.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        texts = [row["content"] for row in rows]
        readings = [None if wanted.words else reading_of(embedder, text, embedder.embed([text])[0]) for text in texts]
        guesses = [classify(text, reading) for text, reading in zip(texts, readings, strict=True)]
        report = report_passing if "passing" in rows[0] else report_kinds
        line, fails = report(rows, guesses)
        sys.stdout.write(f"{path.name}: n={len(rows)} {line}\n")
        if wanted.fails:
            sys.stdout.writelines(f"- {fail}\n" for fail in fails)
    return 0


if __name__ == "__main__":
    sys.exit(main())
