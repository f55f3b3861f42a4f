"""How long a client waits for `reverie-hook`, event by event, while the engine is warm.

    python bench/hooks.py                     installs this tree into a bare environment, as `pip install` would
    python bench/hooks.py --here              measures the installation that runs this, slower if editable
    python bench/hooks.py --runs 30 --write   writes the table to docs/benchmarks.md

Each run is a process of its own, as a client starts it, with an event of its own on stdin. Between the events runs
`python -c pass` with the same interpreter: what a hook takes besides is ours. "CPU" is what the process of the hook
computes, which a busy machine changes little; the engine's work is in the waiting time alone. The limit is 150 ms.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figures import machine, markdown_table, write_between
from notes import notes
from session import Session, environment_for, stop_engine

ROOT = Path(__file__).parent.parent
TRANSCRIPT = ROOT / "tests" / "clients" / "fixtures" / "claude_rules.jsonl"
LIMIT_MS = 150
MEMORIES = 300

EVENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SessionStart: the brief", {"hook_event_name": "SessionStart", "source": "startup"}),
    (
        "UserPromptSubmit: what fits",
        {"hook_event_name": "UserPromptSubmit", "prompt": "How do we deploy the invoice exporter to production?"},
    ),
    ("UserPromptSubmit: too short", {"hook_event_name": "UserPromptSubmit", "prompt": "yes"}),
    (
        "PostToolUse: a failing tool",
        {
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "error": "Error: invoice exporter: connection refused on port 5433",
        },
    ),
    (
        "PreCompact: capture",
        {"hook_event_name": "PreCompact", "trigger": "auto", "transcript_path": str(TRANSCRIPT)},
    ),
    ("SessionEnd: capture", {"hook_event_name": "SessionEnd", "reason": "other", "transcript_path": str(TRANSCRIPT)}),
)


def installed(folder: Path) -> Path:
    """Install this tree into a bare environment that borrows our dependencies; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")  # paths alone: no start-up code of theirs runs
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--force-reinstall", str(ROOT)], check=True)
    return python


def one_run(
    command: list[str], given: bytes, environment: dict[str, str], folder: Path
) -> tuple[float, float, bytes]:
    """Run a process to its end; return its milliseconds, those that it computed, and what it said."""
    before = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=folder
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(given)
    process.stdin.close()
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    took = 1_000 * (time.perf_counter() - before)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return took, 1_000 * (used.ru_utime + used.ru_stime), said


def measured(python: Path, home: Path, runs: int) -> list[list[str]]:
    """Fill a store, warm its engine, run every event; return a table."""
    environment = environment_for(home)
    hook = [str(python.parent / "reverie-hook")]
    bare = [str(python), "-c", "pass"]
    project = home.parent / "project"
    numbers = itertools.count()

    def event(given: dict[str, Any]) -> Callable[[], tuple[float, float, bytes]]:
        def run() -> tuple[float, float, bytes]:
            sent = {"session_id": f"bench-{next(numbers)}", "cwd": str(project), **given}
            return one_run(hook, json.dumps(sent).encode(), environment, project)

        return run

    with Session(home, (str(python), "-m", "reverie", "serve")) as session:
        session.shake_hands()
        for text in notes(MEMORIES):
            session.call("remember", content=text, layer="semantic")
        session.until_ready()
        for _, given in EVENTS:  # what a first run compiles and caches is not what is asked about
            event(given)()
        rows = [["event", "waited, median", "nine in ten", "CPU", "CPU, times `python -c pass`", "said"]]
        for name, given in EVENTS:
            ours, theirs = [], []
            for _ in range(runs):
                theirs.append(one_run(bare, b"", environment, project))
                ours.append(event(given)())
            rows.append(_row(name, ours, theirs))
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        nothing = [one_run(bare, b"", environment, project) for _ in range(runs)]
        rows.append(_row("`python -c pass`", nothing, nothing))
    stop_engine(home)
    return rows


Runs = list[tuple[float, float, bytes]]


def _row(name: str, ours: Runs, theirs: Runs) -> list[str]:
    waited = sorted(one for one, _, _ in ours)
    computed = statistics.median(one for _, one, _ in ours)
    bare = statistics.median(one for _, one, _ in theirs)
    slow = waited[min(len(waited) - 1, int(0.9 * len(waited)))]
    said = statistics.median(len(one) for *_, one in ours)
    return [
        name,
        f"{statistics.median(waited):.0f} ms",
        f"{slow:.0f} ms",
        f"{computed:.0f} ms",
        f"{computed / bare:.1f}",
        f"{said:,.0f} bytes",
    ]


def main() -> int:
    """Measure every event and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="how often each event is sent")
    parser.add_argument("--here", action="store_true", help="measure the installation that runs this")
    parser.add_argument("--write", action="store_true", help="write the table to docs/benchmarks.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = Path(sys.executable) if given.here else installed(Path(folder) / "environment")
        rows = measured(python, Path(folder) / "home", given.runs)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    text = (
        f"{given.runs} runs of each; {machine()}; load {load}; the limit is {LIMIT_MS} ms.\n\n{markdown_table(rows)}"
    )
    print(text)
    if given.write:
        write_between("hooks", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
