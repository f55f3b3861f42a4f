"""The command line on a data folder of its own: as a real process where that is what matters, else in this one."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reverie import __version__
from reverie.cli.terminal import counted, paragraph
from reverie.guard.hidden_text import spelled_out
from tests.tiny_embedder import IMPORT

Run = Callable[..., "subprocess.CompletedProcess[str]"]

COMMAND = [sys.executable, "-m", "reverie"]


def environment(home: Path, **settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REVERIE_", "OPENAI_"))}
    return kept | {"REVERIE_HOME": str(home), "REVERIE_PROJECT": "tests", "REVERIE_ENGINE": "off"} | settings


def start(folder: Path, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    text = settings.pop("stdin", "")
    return subprocess.run(
        [*COMMAND, *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        env=environment(folder / "home", **settings),
        cwd=folder,
        timeout=120,
        check=False,
    )


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """Run a command as a process, on an empty store of the test's own."""
    return lambda *arguments, **settings: start(tmp_path, *arguments, **settings)


@pytest.fixture
def run(tmp_path: Path, called: Run) -> Run:
    """Run a command on an empty store of the test's own."""
    return lambda *arguments, **settings: called(tmp_path, *arguments, **settings)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, called: Run) -> Run:
    """Run a command on a store that holds three memories and is only read."""
    folder = tmp_path_factory.mktemp("filled")
    lines = [
        {"id": "port", "content": "The API listens on port 8080.", "tags": ["api"], "pinned": True},
        {"id": "sqlite", "content": "We decided on SQLite because one file is easy to back up."},
        {"id": "elsewhere", "content": "Another project prefers tabs.", "project": "other"},
    ]
    result = called(folder, "import", "-", stdin="\n".join(map(json.dumps, lines)))
    assert result.returncode == 0, result.stderr
    return lambda *arguments, **settings: called(folder, *arguments, **settings)


def answer(result: "subprocess.CompletedProcess[str]") -> Any:
    """Return what a command said in JSON; there must be nothing else on stdout."""
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_process_tells_its_version_and_what_is_wrong_by_its_exit_code(process: Run) -> None:
    assert process("--version").stdout == f"reverie {__version__}\n"
    assert process("dance").returncode == 2
    refused = process("status", REVERIE_HOME="relative")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["dance"], id="no such command"),
        pytest.param(["recall"], id="no question"),
        pytest.param(["remember", "x", "--layer", "cellar"], id="no such layer"),
        pytest.param(["remember", "x", "--importance", "much"], id="not a number"),
        pytest.param(["status", "--colour"], id="no such option"),
    ],
)
def test_a_command_that_is_not_understood_exits_with_2_and_says_why(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "usage: reverie" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (["remember", "  "], {}, "content: there is no text to remember"),
        (["remember", "x", "--importance", "7"], {}, "importance: 7 is out of range"),
        (["remember", "x", "--happened-at", "soon"], {}, "'soon' is not a moment"),
        (["remember", "x", "--supersedes", "nothing-like-it"], {}, "No memory has the id"),
        (["remember", "-"], {"stdin": ""}, "there is no text to remember"),
        (["recall", "x", "--layers", "cellar"], {}, "'cellar' is unknown"),
        (["recall", "x", "--limit", "0"], {}, "limit: 0 is out of range"),
        (["import", "nowhere.jsonl"], {}, "nowhere.jsonl cannot be read (No such file"),
        (["import", "."], {}, "nothing in . that is recognised"),
        (["export", "no/such/folder/x"], {}, "cannot be written (No such file"),
        (["status"], {"REVERIE_HOME": "relative"}, "REVERIE_HOME is 'relative'"),
        (["status"], {"REVERIE_EMBEDDER": "magic"}, "REVERIE_EMBEDDER is 'magic'"),
        (["status"], {"REVERIE_HOME": "/proc/reverie"}, "cannot be written"),
        (["recall", "x"], {"REVERIE_CLOCK": "tomorrow"}, "REVERIE_CLOCK is 'tomorrow'"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line_and_exits_with_1(
    run: Run, arguments: list[str], settings: dict[str, str], said: str
) -> None:
    result = run(*arguments, **settings)
    assert (result.returncode, result.stdout) == (1, "")
    assert said in result.stderr
    assert result.stderr.startswith("reverie: ")
    assert result.stderr.count("\n") == 1


def test_without_a_command_and_with_a_client_on_stdin_it_serves(process: Run) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    result = process(stdin=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
    assert answer(result)["result"]["serverInfo"]["name"] == "reverie"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_without_a_command_on_a_terminal_it_shows_its_help(tmp_path: Path) -> None:
    import pty

    master, slave = pty.openpty()
    try:
        result = subprocess.run(
            COMMAND, stdin=slave, capture_output=True, text=True, env=environment(tmp_path), timeout=60, check=False
        )
    finally:
        os.close(master)
        os.close(slave)
    assert (result.returncode, "usage: reverie" in result.stdout) == (0, True)


def test_what_is_remembered_is_recalled_by_another_process_and_is_for_its_owner_alone(
    process: Run, run: Run, tmp_path: Path
) -> None:
    os.umask(old := os.umask(0o022))
    try:
        os.umask(0o022)
        kept = answer(process("remember", "Deploys go out on Tuesdays.", "--tags", "ops, rules", "--pin", "--json"))
    finally:
        os.umask(old)
    loose = [path for path in (tmp_path / "home").rglob("*") if path.stat().st_mode & 0o077]
    assert loose == []
    found = answer(process("recall", "when do we release", "--json"))
    assert [row["id"] for row in found["results"]] == [kept["id"]]
    assert found["index_state"] == "ready"
    [row] = found["results"]
    assert (row["source"], row["pinned"]) == ("human", True)
    human = run("recall", "when do we release", "--tags", "rules").stdout
    assert "Deploys go out on Tuesdays." in human
    assert kept["id"] in human
    assert "pinned" in human


def test_a_conflict_is_told_to_the_person_at_the_terminal(filled: Run, run: Run) -> None:
    run("remember", "The API listens on port 8080.")
    assert "Conflicts with" in run("remember", "The API listens on port 8081.").stdout


def test_a_text_on_stdin_is_kept_byte_for_byte(run: Run) -> None:
    text = "first line\n\n  indented 'quotes' 🦊\u2028end\n"
    kept = answer(run("remember", "-", "--json", stdin=text))
    line = json.loads(run("export", "-").stdout)
    assert (line["id"], line["content"]) == (kept["id"], text)


def test_recall_takes_its_limits(filled: Run) -> None:
    everywhere = answer(filled("recall", "what does a project prefer", "--all-projects", "--json"))
    assert "elsewhere" in [row["id"] for row in everywhere["results"]]
    here = answer(filled("recall", "what does a project prefer", "--json"))
    assert "elsewhere" not in [row["id"] for row in here["results"]]
    explained = answer(filled("recall", "port", "--explain", "--limit", "1", "--layers", "semantic", "--json"))
    [row] = explained["results"]
    assert (row["id"], "vector" in row["why"]) == ("port", True)
    assert "because" in filled("recall", "port", "--explain").stdout
    assert answer(filled("recall", "port", "--as-of", "2020-01-01", "--json"))["results"] == []


def test_nothing_found_says_what_to_try(run: Run) -> None:
    assert "Try other words" in run("recall", "anything").stdout


def test_the_status_is_readable_and_machine_readable(filled: Run) -> None:
    told = answer(filled("status", "--json"))
    assert (told["counts"]["semantic"], told["elsewhere"]) == ({"active": 1}, {"other projects": 1})
    human = filled("status").stdout
    assert "semantic" in human
    assert "bundled:all-MiniLM-L6-v2-int8 (ready)" in human


def test_an_export_goes_into_another_store_and_comes_out_the_same(filled: Run, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    assert answer(filled("export", str(file), "--json")) == {"memories": 3, "file": str(file)}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Exported 3 memories" in filled("export", str(file)).stdout
    assert "Imported 3 memories" in run("import", str(file)).stdout
    assert run("export", "-").stdout == file.read_text("utf-8")


def test_an_export_to_stdout_is_nothing_but_memories(filled: Run) -> None:
    result = filled("export", "-", "--project", "other")
    assert (result.stderr, [json.loads(line)["id"] for line in result.stdout.splitlines()]) == ("", ["elsewhere"])


def test_bad_lines_are_told_and_the_rest_is_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'{"content": "good"}\nbad\n{"content": 7}\n')
    result = run("import", "in.jsonl")
    assert result.returncode == 0
    assert "Imported 1 memory from in.jsonl" in result.stdout
    assert "line 2  not JSON" in result.stdout
    assert "line 3  content: 7 is not a text" in result.stdout
    told = answer(run("import", "in.jsonl", "--json"))
    assert [(bad["line"], told["skipped"]) for bad in told["bad_lines"]] == [(2, 2), (3, 2)]


def test_a_file_of_nothing_but_bad_lines_exits_with_1(run: Run) -> None:
    assert run("import", "-", stdin="bad\nworse\n").returncode == 1


def test_no_progress_is_drawn_where_nobody_looks(run: Run) -> None:
    assert run("import", "-", stdin='{"content": "x"}\n').stderr == ""


def test_the_doctor_passes_a_healthy_store_and_fails_a_damaged_one(run: Run, tmp_path: Path) -> None:
    run("remember", "something")
    healthy = run("doctor")
    assert (healthy.returncode, healthy.stdout.rstrip().endswith("Everything is in order.")) == (0, True)
    for file in (tmp_path / "home/domains/default/tables-1/semantic.lance/_versions").iterdir():
        file.write_bytes(b"damaged")
    assert run("recall", "something").returncode == 1
    damaged = run("doctor")
    assert (damaged.returncode, "FAIL  table semantic" in damaged.stdout) == (1, True)
    told = json.loads(run("doctor", "--json").stdout)
    assert not told["healthy"]


def test_the_doctor_tells_a_wrong_setting_instead_of_failing(run: Run) -> None:
    result = run("doctor", REVERIE_EMBEDDER="magic")
    assert (result.returncode, "FAIL  settings" in result.stdout) == (1, True)


def test_reembedding_what_is_up_to_date_or_not_there_says_so(run: Run) -> None:
    assert "nothing to convert" in run("reembed").stdout
    run("remember", "something")
    assert "already embedded with bundled:" in run("reembed").stdout


def test_a_store_of_another_model_names_the_command_that_converts_it_and_that_works(run: Run, tmp_path: Path) -> None:
    _store_of_another_model(tmp_path / "home")
    refused = run("recall", "apples")
    assert (refused.returncode, "`reverie reembed`" in refused.stderr) == (1, True)
    told = answer(run("reembed", "--json"))
    assert told == {"before": "tiny:64", "embedder": "bundled:all-MiniLM-L6-v2-int8", "converted": 1}
    [row] = answer(run("recall", "fruit", "--json"))["results"]
    assert row["content"] == "apples and pears"


def _store_of_another_model(home: Path) -> None:
    program = (
        "import asyncio, io; from pathlib import Path; from reverie.settings import Settings\n"
        f"{IMPORT}; from reverie.tools.session import Session\n"
        "from reverie.tools.import_jsonl import import_memories\n"
        "async def main():\n"
        f"    settings = Settings(home={str(home)!r}, project='tests')\n"
        "    session = await Session.open(settings, embedder=TinyEmbedder(), folder=Path('/'))\n"
        '    line = io.BytesIO(b\'{"content": "apples and pears"}\')\n'
        "    await import_memories(session, line, lambda _: None)\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def _until_it_reads(process: "subprocess.Popen[str]") -> None:
    """Give a process something to read and wait until it has taken it: then it waits for more."""
    import fcntl  # not on Windows
    import termios

    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4) != b"\0" * 4:
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < deadline, "it never reads"
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
@pytest.mark.parametrize("arguments", [["remember", "-"], ["import", "-"]])
def test_ctrl_c_ends_it_with_130_and_no_traceback(tmp_path: Path, arguments: list[str]) -> None:
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path / "home"),
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where CI runs in the background
    ) as process:
        _until_it_reads(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell with pipes")
def test_a_reader_that_goes_away_is_no_error_worth_telling(run: Run, tmp_path: Path) -> None:
    lines = [json.dumps({"content": f"{number} {'x' * 50_000}"}) for number in range(4)]  # more than a pipe holds
    assert run("import", "-", stdin="\n".join(lines)).returncode == 0
    result = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m reverie export - | head -c 10"],
        capture_output=True,
        env=environment(tmp_path / "home"),
        check=False,
        timeout=60,
    )
    assert (len(result.stdout), result.stderr) == (10, b"")


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_memory_cannot_give_orders_to_the_terminal(run: Run) -> None:
    run("remember", "-", stdin="red \x1b[31m and \x1b]0;title\x07 and \r over")
    shown = run("recall", "red").stdout
    assert "\x1b" not in shown
    assert "red  and  and" in shown


def test_harmless_keeps_line_breaks_and_tabs() -> None:
    assert spelled_out("a\tb\nc\x00\x9b") == "a\tb\nc\\x00\\x9b"


def test_a_paragraph_keeps_its_own_line_breaks() -> None:
    assert paragraph("one\n\ntwo", "  ") == "  one\n\n  two"


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [(1, "memory", "1 memory"), (2_000, "memory", "2,000 memories"), (0, "match", "0 matches"), (2, "day", "2 days")],
)
def test_counted_nouns_agree(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said
