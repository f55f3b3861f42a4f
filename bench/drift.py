"""How well anchors tell what holds from what is gone: sentences of a real project, kept at one commit, checked later.

    python bench/drift.py REPO A B [--show]

Sentences come from the documentation at A and, since few documents name many files, from templates around the
project's own paths. What is true at B is worked out here in another way than in the product: paths by `git diff`
between the two commits, symbols by a plain search for `def` and `class`. The repository is cloned, never touched.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from reverie.codebase.evidence import Evidence
from reverie.codebase.identity import identify_project
from reverie.memory import Anchor

DOCUMENTS = (".md", ".rst", ".txt", ".adoc")
MOST_DOCUMENTED = 600
MADE_OF_EACH = 60
TEMPLATES = (
    "The {stem} logic lives in `{path}`.",
    "{path} is where {stem} is handled.",
    "When you touch {stem}, look at {path}:12 first.",
    "We keep everything about {stem} in `{windows}`, see there.",
    "`{short}` was the cause of the bug in {stem}.",
    "Open ./{path} and read the part on {stem}.",
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`:])|\n\s*\n|\n(?=\s*[-*#=~.])")
_TICKED = re.compile(r"`+([^`\n]+)`+")
_DEFINED = re.compile(r"^(?:(?:async )?def|class)\s+(\w+)", re.MULTILINE)
_ASSIGNED = re.compile(r"^ {0,4}(\w+)\s*=[^=]", re.MULTILINE)
_NO_SYMBOL = re.compile(r":(?:term|ref|doc|pep|rfc|envvar|option):`[^`]*`")
_WORD = re.compile(r"[\w./\\-]+")


@dataclass(frozen=True)
class Case:
    """A sentence, what is true of it at B, and where it should point then."""

    text: str
    kind: str  # documented path, documented symbol, made
    truth: str  # same, changed, moved, deleted
    now_at: frozenset[str] = frozenset()


@dataclass(frozen=True)
class History:
    """What git says about the two commits."""

    before: frozenset[str]
    after: frozenset[str]
    moved: dict[str, str]
    changed: frozenset[str]

    def truth(self, path: str) -> str:
        """Return what became of a file."""
        if path in self.after:
            return "changed" if path in self.changed else "same"
        return "moved" if path in self.moved else "deleted"


def main() -> int:
    """Make the sentences, anchor them at A, check them at B, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo", type=Path)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--show", action="store_true", help="print every sentence that was judged wrongly")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        _git(Path(folder), "clone", "--quiet", "--shared", "--no-checkout", str(given.repo.resolve()), str(clone))
        _git(clone, "checkout", "--quiet", "--detach", given.a)
        history = _history(clone, given.a, given.b)
        cases = list(_cases(clone, history))
        kept = _anchored(clone, cases)
        _git(clone, "checkout", "--quiet", "--detach", given.b)
        later = _definitions(clone, _DEFINED, _ASSIGNED)
        cases = [_settled(case, later) for case in cases]
        return _report(clone, cases, kept, show=given.show)


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _history(clone: Path, a: str, b: str) -> History:
    listing = _git(clone, "diff", "-z", "--name-status", "-M50%", "-l10000", a, b).split("\0")
    moved: dict[str, str] = {}
    changed: set[str] = set()
    parts = iter(listing)
    for status in parts:
        if status.startswith("R"):
            old, new = next(parts), next(parts)
            moved[old] = new
        elif status:
            path = next(parts)
            if status.startswith("M"):
                changed.add(path)
    files = [frozenset(_git(clone, "ls-tree", "-r", "-z", "--name-only", c).split("\0")) - {""} for c in (a, b)]
    return History(files[0], files[1], moved, frozenset(changed))


def _cases(clone: Path, history: History) -> Iterator[Case]:
    dice = random.Random(7)  # noqa: S311 - the same sentences each time
    documented = list(dict.fromkeys(_documented(clone, history)))
    yield from dice.sample(documented, min(len(documented), MOST_DOCUMENTED))
    by_truth: dict[str, list[str]] = {}
    for path in sorted(history.before):
        if not any(sign in path for sign in " '\"()[]{}$*?\\"):
            by_truth.setdefault(history.truth(path), []).append(path)
    names = Counter(PurePosixPath(path).name for path in history.before)
    for truth, paths in by_truth.items():
        for path in dice.sample(paths, min(len(paths), MADE_OF_EACH)):
            name = PurePosixPath(path)
            short = name.name if names[name.name] == 1 and "." in name.name else path
            text = dice.choice(TEMPLATES).format(
                path=path, stem=name.stem, short=short, windows=path.replace("/", "\\")
            )
            yield Case(text, "made", truth, frozenset({history.moved[path]}) if truth == "moved" else frozenset())


def _documented(clone: Path, history: History) -> Iterator[Case]:
    names = Counter(PurePosixPath(path).name for path in history.before)
    full = {path: path for path in history.before if "/" in path or "." in path}
    full |= {PurePosixPath(p).name: p for p in history.before if names[PurePosixPath(p).name] == 1 and "." in p}
    defined = _definitions(clone)
    for path in sorted(history.before):
        if not path.endswith(DOCUMENTS):
            continue
        text = (clone / path).read_text("utf-8", "replace")
        for sentence in _SENTENCE.split(text):
            sentence = " ".join(sentence.split())
            if not 20 < len(sentence) < 400 or "://" in sentence:
                continue
            case = _case(sentence, full, defined, history)
            if case is not None:
                yield case


def _case(sentence: str, full: dict[str, str], defined: dict[str, set[str]], history: History) -> Case | None:
    words = [word.strip("./") for word in _WORD.findall(sentence)]
    paths = {full[word] for word in words if word in full and ("/" in word or "." in word)}
    if paths:
        truths = {path: history.truth(path) for path in paths}
        worst = next(t for t in ("deleted", "moved", "changed", "same") if t in truths.values())
        targets = frozenset(history.moved[path] for path, truth in truths.items() if truth == "moved")
        return Case(sentence, "documented path", worst, targets if worst == "moved" else frozenset())
    ticked = [part.strip().removesuffix("()").lstrip("~.") for part in _TICKED.findall(_NO_SYMBOL.sub("", sentence))]
    ours = {part for path in history.before for part in PurePosixPath(path).with_suffix("").parts[:3]}
    names = {t.rpartition(".")[2] for t in ticked if re.fullmatch(r"[\w.]+", t)}
    if any("." in t and t.partition(".")[0] not in ours | defined.keys() for t in ticked):
        return None  # of another library
    homes = {name: defined[name] for name in names if len(defined.get(name, ())) == 1 and len(name) > 4}
    if len(homes) == 1 and len(names) == 1:
        [(name, [home])] = homes.items()
        return Case(sentence, "documented symbol", f"symbol {name}", frozenset({home}))
    return None


def _settled(case: Case, later: dict[str, set[str]]) -> Case:
    """Say what became of a symbol, which could not be known before B was checked out."""
    if not case.truth.startswith("symbol "):
        return case
    [home] = case.now_at
    homes = later.get(case.truth.removeprefix("symbol "), set())
    if home in homes:
        return replace(case, truth="same", now_at=frozenset())
    return replace(case, truth="moved" if homes else "deleted", now_at=frozenset(homes))


def _definitions(clone: Path, *patterns: re.Pattern[str]) -> dict[str, set[str]]:
    homes: dict[str, set[str]] = {}
    for path in _git(clone, "ls-files", "-z", "*.py").split("\0"):
        if path and not re.search(r"(^|/)(tests?|docs?|examples?|_vendor|vendor|typeshed)/|(^|/)test_", path):
            text = (clone / path).read_text("utf-8", "replace")
            for name in (name for pattern in patterns or (_DEFINED,) for name in pattern.findall(text)):
                homes.setdefault(name, set()).add(path)
    return homes


def _anchored(clone: Path, cases: Iterable[Case]) -> dict[str, tuple[Anchor, ...]]:
    here = identify_project(clone)
    evidence = Evidence(here, clone)
    return {case.text: evidence.anchor(case.text, [], here.project).anchors for case in cases}


def _report(clone: Path, cases: list[Case], kept: dict[str, tuple[Anchor, ...]], *, show: bool) -> int:
    here = identify_project(clone)
    evidence = Evidence(here, clone)
    rows: dict[str, Counter[str]] = {}
    for case in cases:
        checked = evidence.check(here.project, None, kept[case.text], thorough=True)
        alarm, stale = checked.freshness in ("missing", "moved"), case.truth in ("moved", "deleted")
        row = rows.setdefault(case.kind, Counter())
        row["sentences"] += 1
        row["anchored"] += checked.freshness != "unanchored"
        row["tp" if alarm and stale else "fp" if alarm else "fn" if stale else "tn"] += 1
        row["changed"] += case.truth == "changed"
        row["false alarm on changed"] += case.truth == "changed" and alarm
        places = {(anchor.now_at or "").partition("::")[0] for anchor in checked.anchors}
        right = bool(case.now_at & places)
        row["moved"] += case.truth == "moved"
        row["new path right"] += case.truth == "moved" and right
        if show and (alarm != stale or (case.truth == "moved" and not right)):
            print(f"{case.truth:8} {sorted(case.now_at)} but {checked.freshness} ({checked.note}): {case.text}")
    _print(rows)
    total = sum(rows.values(), Counter())
    return 0 if _f1(total) >= 0.95 else 1


def _f1(row: Counter[str]) -> float:
    return 2 * row["tp"] / max(1, 2 * row["tp"] + row["fp"] + row["fn"])


def _print(rows: dict[str, Counter[str]]) -> None:
    print("| sentences | number | anchored | stale | precision | recall | F1 | alarms on changed | new path right |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind, row in {**rows, "all": sum(rows.values(), Counter())}.items():
        stale = row["tp"] + row["fn"]
        precision, recall = row["tp"] / max(1, row["tp"] + row["fp"]), row["tp"] / max(1, stale)
        print(
            f"| {kind} | {row['sentences']} | {row['anchored']} | {stale} | {precision:.3f} | {recall:.3f} | "
            f"{_f1(row):.3f} | {row['false alarm on changed']} of {row['changed']} | "
            f"{row['new path right']} of {row['moved']} |"
        )


if __name__ == "__main__":
    sys.exit(main())
