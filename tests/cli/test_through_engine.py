"""Commands with an engine: it answers them, it leaves the store to those that need it alone, and `reverie engine`.

One engine serves most tests of this file. Commands run in this process where that is enough, with a store that they
must not open themselves.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reverie import __version__
from reverie.cli import run as running
from reverie.cli.commands import COMMANDS
from reverie.cli.main import build_parser
from reverie.errors import StoreBusy
from reverie.server import endpoint, engine_client
from reverie.server.engine_client import EngineSession, store_taken_over
from reverie.tools import catalog
from reverie.tools.requests import IndexRequest, ListRequest, RememberRequest
from tests.server.conftest import PATIENCE, Wire, _wiring
from tests.server.test_engine import Machine

Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs signals")]


@pytest.fixture(scope="module", autouse=True)
def machine_may_be_slow() -> Iterator[None]:
    """Wait for the engine where a user's command would go on without one after three seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_client, "reach", partial(endpoint.reach, within=PATIENCE))
        yield


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with an engine that the tests of this module share, and a session on it."""
    runtime, folder = Path(tempfile.mkdtemp(prefix="rv")), tmp_path_factory.mktemp("machine")
    with _wiring(folder) as wiring:
        machine = Machine(runtime, wiring, folder / "home")
        try:
            yield machine
        finally:
            machine.stop()
            for engine in endpoint._started:
                engine.wait(PATIENCE)
    shutil.rmtree(runtime)


@pytest.fixture(scope="module")
def session(machine: Machine) -> Wire:
    """A client's session on the engine."""
    return machine.relay()


@pytest.fixture
def run(machine: Machine, session: Wire, called: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process that the engine has to answer: it cannot open a store itself."""

    def never(*given: Any, **options: Any) -> Any:
        raise AssertionError("the command opened the store itself")

    monkeypatch.setattr(running, "opened", never)
    return lambda *arguments, **settings: called(machine.home.parent, *arguments, **machine.settings | settings)


@pytest.fixture
def alone(machine: Machine, session: Wire, called: Run) -> Run:
    """Run a command in this process, with an engine on the machine."""
    return lambda *arguments, **settings: called(machine.home.parent, *arguments, **machine.settings | settings)


def process(machine: Machine, *arguments: str, **settings: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "reverie", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=machine.environment(**settings),
        cwd=machine.home.parent,
    )


def answer(result: "subprocess.CompletedProcess[str]") -> Any:
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


# ── answered by the engine ────────────────────────────────────────────────────────────────────────────────


def test_what_one_command_remembers_a_session_and_the_others_find(run: Run, session: Wire) -> None:
    kept = answer(run("remember", "The harbour crane is painted red.", "--layer", "semantic", "--json"))
    piped = answer(run("remember", "-", "--layer", "semantic", "--json", stdin="The ferry smells of tar.\n"))
    assert session.call("recall", query="colour of the crane")["results"][0]["id"] == kept["id"]
    assert answer(run("recall", "what does the ferry smell of", "--json"))["results"][0]["id"] == piped["id"]
    assert {kept["id"], piped["id"]} <= {one["id"] for one in answer(run("list", "--json"))["memories"]}
    assert "painted red" in run("show", kept["id"][:10]).stdout
    assert "smells of tar" in run("brief").stdout


def test_status_names_the_engine_and_waits_for_the_model(run: Run, machine: Machine) -> None:
    status = answer(run("status", "--json"))
    [pid] = machine.processes()
    assert str(pid) in status["engine"]
    assert status["index_state"] == "ready"


def test_a_memory_is_pinned_moved_corrected_forgotten_and_restored(run: Run) -> None:
    kept = answer(run("remember", "The pier lamp burns oil.", "--layer", "episodic", "--json"))["id"]
    assert answer(run("pin", kept, "--json"))["pinned"]
    assert not answer(run("unpin", kept, "--json"))["pinned"]
    assert answer(run("promote", kept, "--json"))["to_layer"] == "semantic"
    assert answer(run("demote", kept, "--json"))["to_layer"] == "episodic"
    revised = answer(run("revise", kept, "The pier lamp burns gas.", "--json"))["id"]
    edited = answer(run("edit", revised, "--json", EDITOR="sed -i s/gas/oil/", VISUAL=""))["id"]
    assert "burns oil" in run("show", edited).stdout
    refused = run("forget", edited)
    assert refused.returncode == 2
    assert edited[:8] in refused.stderr
    assert answer(run("forget", edited, "--yes", "--json"))["forgotten"] == [edited]
    assert answer(run("restore", edited, "--json"))["restored"] == [edited]


def test_a_dream_runs_and_is_undone_through_the_engine(run: Run) -> None:
    dream = answer(run("dream", "--steps", "sweep", "--json"))
    assert dream["steps"][0]["name"] == "sweep"
    asked = run("restore", "--dream-id", dream["dream_id"])
    assert asked.returncode == 2
    assert f"The dream {dream['dream_id']}" in asked.stderr
    assert run("review", "--json").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("show", "nosuchmemory"), id="an unknown id"),
        pytest.param(("show", "x"), id="an id too short"),
        pytest.param(("edit", "nosuchmemory"), id="an unknown id to edit"),
        pytest.param(("restore", "--event-id", "nosuchevent"), id="an unknown event"),
        pytest.param(("recall", "x", "--since", "someday"), id="no moment"),
        pytest.param(("remember", " "), id="nothing"),
        pytest.param(("index", "/no/such/folder"), id="no folder"),
    ],
)
def test_what_goes_wrong_is_said_as_without_an_engine(alone: Run, arguments: tuple[str, ...]) -> None:
    through, here = alone(*arguments), alone(*arguments, "--no-engine")
    assert (through.returncode, through.stdout) == (1, "")
    assert len(through.stderr.splitlines()) == 1
    assert (here.returncode, here.stdout, here.stderr) == (1, "", through.stderr)


def test_a_wrong_setting_is_reported_as_without_an_engine_and_starts_none(alone: Run, machine: Machine) -> None:
    through = alone("status", REVERIE_TIER="cat")
    assert (through.returncode, through.stdout) == (1, "")
    assert through.stderr == alone("status", "--no-engine", REVERIE_TIER="cat").stderr
    assert len(machine.processes()) == 1


def test_progress_is_passed_on_and_a_path_is_that_of_the_command(machine: Machine, session: Wire) -> None:
    folder = machine.home.parent / "crane"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "crane"\n')
    (folder / "lift.py").write_text("def lift():\n    return 'up'\n")
    steps: list[tuple[int, int]] = []

    async def show(done: int, total: int, message: str) -> None:
        steps.append((done, total))

    command = EngineSession(machine.environment(REVERIE_PROJECT=""), str(machine.home.parent))
    command.connect()
    indexed = running._finished(
        catalog.call(catalog.INDEX_CODEBASE, command, IndexRequest(path="crane", project="cranes"), show)
    )
    command.close()
    assert (indexed.project, indexed.files) == ("cranes", 2)
    assert steps[-1] == (4, 4)


def test_both_ways_list_and_show_the_same(alone: Run) -> None:
    kept = answer(alone("remember", "The signal box is empty on Sundays.", "--layer", "semantic", "--json"))["id"]
    for arguments in (("list", "--json"), ("show", kept, "--json"), ("brief", "--json")):
        through, here = (answer(alone(*arguments, *more)) for more in ((), ("--no-engine",)))
        assert _without_ages(through) == _without_ages(here)


def _without_ages(value: Any) -> Any:
    """Leave out what changes from second to second."""
    if isinstance(value, dict):
        # Neither is the fence around the text of a brief the same twice.
        changing = (
            "text",
            "tokens",
            "age_days",
            "strength",
            "retention",
            "factors",
            "composite_importance",
            "outlook",
        )
        return {name: _without_ages(part) for name, part in value.items() if name not in changing}
    return [_without_ages(part) for part in value] if isinstance(value, list) else value


def test_without_an_engine_commands_work_in_their_own_process(run: Run) -> None:
    with pytest.raises(AssertionError, match="opened the store itself"):
        run("status", "--no-engine")
    with pytest.raises(AssertionError, match="opened the store itself"):
        run("status", REVERIE_ENGINE="off")


def test_where_no_engine_can_be_had_commands_work_alone_and_say_nothing(alone: Run) -> None:
    folder = Path(tempfile.mkdtemp(prefix="rv"))
    folder.chmod(0o755)  # others may enter it
    told = answer(alone("status", "--json", REVERIE_RUNTIME=str(folder)))
    assert told["engine"].startswith("none")
    folder.rmdir()


def test_nothing_heavy_is_imported_for_a_command_that_the_engine_answers(machine: Machine, session: Wire) -> None:
    session.call("remember", content="The tide tables are in the blue folder.", layer="semantic")
    script = (
        "import sys; sys.argv = ['reverie', 'recall', 'where are the tide tables', '--json'];"
        "from reverie.__main__ import main; code = main();"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        encoding="utf-8",
        env=machine.environment(),
        cwd=machine.home.parent,
        timeout=PATIENCE,
        check=True,
    )
    assert "blue folder" in json.loads(done.stdout)["results"][0]["content"]
    loaded = set(done.stderr.split())
    outside = {name.partition(".")[0] for name in loaded} - {"reverie"} - set(sys.stdlib_module_names)
    assert not {name for name in outside if not name.startswith("_") and "distutils" not in name}
    assert not loaded & {"asyncio", "subprocess", "tempfile", "tomllib", "logging", "shutil", "urllib.request"}
    assert not loaded & {
        "reverie.settings.tomllib",
        "reverie.tools.session",
        "reverie.server.engine",
        "reverie.storage",
    }


# ── ends ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_that_the_engine_did_not_live_to_answer_is_done_once_by_the_next(machine: Machine) -> None:
    settings = {"REVERIE_DOMAIN": "killed"}
    command = EngineSession(machine.environment(**settings), str(machine.home.parent))
    command.connect()
    pid = machine.ask("about", **settings)["pid"]
    first = running._finished(_remember(command, "The first bell rings at six."))
    os.kill(pid, signal.SIGSTOP)
    results: list[Any] = []
    asking = threading.Thread(
        target=lambda: results.append(running._finished(_remember(command, "The second bell rings at noon.")))
    )
    asking.start()
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    asking.join(PATIENCE)
    [second] = results
    listed = running._finished(catalog.call(catalog.LIST, command, ListRequest()))
    command.close()
    assert {one.id for one in listed.memories} == {first.id, second.id}
    machine.ask("stop", **settings)


async def _remember(command: EngineSession, text: str) -> Any:
    return await catalog.call(catalog.REMEMBER, command, RememberRequest(content=text, layer="semantic"))


def test_ctrl_c_ends_a_command_at_once_and_its_call_too(machine: Machine, session: Wire) -> None:
    with store_taken_over(machine.environment(), store_of(machine)):
        waiting = process(machine, "remember", "Nobody will read this.")
        until(lambda: connected(waiting.pid), "it never connected")
        time.sleep(0.5)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(PATIENCE) == 130
        assert waiting.communicate()[1].strip() == ""
    assert "Nobody" not in json.dumps(session.call("recall", query="nobody will read this"))
    with store_taken_over(machine.environment(), store_of(machine)):
        pass  # no call of it is left that would have to end first


def connected(pid: int) -> bool:
    """Return whether a process has a socket open."""
    links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    return any(link.startswith("socket:") for link in links)


def until(condition: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.02)


# ── the store alone ───────────────────────────────────────────────────────────────────────────────────────


def store_of(machine: Machine) -> str:
    return str(machine.home / "domains" / "default")


def test_a_session_waits_while_a_command_has_the_store_and_goes_on_afterwards(
    machine: Machine, session: Wire
) -> None:
    session.call("remember", content="The winch was oiled in May.", layer="semantic")
    with store_taken_over(machine.environment(), store_of(machine)):
        number = session.ask("tools/call", name="recall", arguments={"query": "when was the winch oiled"})
        with pytest.raises(AssertionError, match="nothing came"):
            session.next_line(patience=0.5)
        with (
            pytest.raises(StoreBusy, match="Another command"),
            store_taken_over(machine.environment(), store_of(machine)),
        ):
            pass
    assert "oiled in May" in json.dumps(session.answer(number))


def test_what_was_purged_or_imported_meanwhile_a_session_sees_at_once(
    alone: Run, session: Wire, tmp_path: Path
) -> None:
    kept = session.call("remember", content="The vault code is four two.", layer="semantic")["id"]
    assert answer(alone("purge", kept, "--yes", "--json"))["forgotten"] == [kept]
    assert kept not in json.dumps(session.call("recall", query="the vault code"))
    assert alone("forget", "--purge", "nosuchid", "--yes").returncode == 1
    lines = {"id": "imported1", "content": "The bell tower leans to the east.", "layer": "semantic"}
    file = tmp_path / "lines.jsonl"
    file.write_text(json.dumps(lines))
    assert answer(alone("import", str(file), "--trust", "--json"))["added"] == 1
    assert session.call("recall", query="where does the bell tower lean")["results"][0]["id"] == "imported1"
    assert alone("doctor", "--fix").returncode == 0
    assert "already embedded" in alone("reembed").stdout
    assert session.call("recall", query="where does the bell tower lean")["results"][0]["id"] == "imported1"


def test_these_commands_take_the_store_over(alone: Run, machine: Machine) -> None:
    with store_taken_over(machine.environment(), store_of(machine)):
        for arguments in (("reembed",), ("import", "-"), ("doctor", "--fix")):
            refused = alone(*arguments)
            assert refused.returncode == 1, arguments
            assert "Another command has the store to itself" in refused.stderr + refused.stdout


def test_a_store_is_taken_from_engines_of_other_settings_too_and_from_no_other_store(machine: Machine) -> None:
    elsewhere = machine.relay(REVERIE_DOMAIN="elsewhere")
    elsewhere.call("remember", content="Elsewhere it rains.")
    same = machine.relay(REVERIE_RETENTION="l2")  # another engine on the same store
    same.call("status")
    with store_taken_over(machine.environment(), store_of(machine)):
        assert elsewhere.call("recall", query="does it rain")["results"]
        number = same.ask("tools/call", name="status", arguments={})
        with pytest.raises(AssertionError, match="nothing came"):
            same.next_line(patience=0.5)
    assert same.answer(number)["result"]["structuredContent"]["engine"]
    machine.ask("stop", REVERIE_DOMAIN="elsewhere")
    machine.ask("stop", REVERIE_RETENTION="l2")
    for wire in (elsewhere, same):
        wire.close()


def test_a_command_that_is_killed_gives_the_store_back(machine: Machine, session: Wire) -> None:
    script = (
        "import os, sys, time; from reverie.server.engine_client import store_taken_over\n"
        "with store_taken_over(os.environ, sys.argv[1]):\n    print('taken', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, store_of(machine)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=machine.environment(),
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "taken\n"
    number = session.ask("tools/call", name="status", arguments={})
    with pytest.raises(AssertionError, match="nothing came"):
        session.next_line(patience=0.3)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert session.answer(number)["result"]["structuredContent"]["engine"]


# ── reverie engine ────────────────────────────────────────────────────────────────────────────────────────


def test_engine_shows_what_runs_for_these_settings_and_others(alone: Run, machine: Machine, session: Wire) -> None:
    session.call("status")
    pid = machine.ask("about")["pid"]
    other = machine.relay(REVERIE_DOMAIN="another")
    shown = answer(alone("engine", "--json"))["engines"]
    [ours] = [engine for engine in shown if engine["is_ours"]]
    assert (ours["pid"], ours["version"], ours["store"]) == (pid, __version__, store_of(machine))
    assert ours["sessions"] >= 1
    assert ours["memory_bytes"] > 10_000_000
    assert ours["seconds"] >= 0
    assert [engine["is_ours"] for engine in shown].count(False) == 1
    told = alone("engine").stdout
    assert f"Engine {pid}, for these settings:" in told
    assert "for other settings" in told
    stopped = alone("engine", "stop", REVERIE_DOMAIN="another")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert "1 session will start another" in stopped.stdout
    assert machine.processes() == [pid]
    other.close()


def test_a_command_starts_the_engine_and_one_that_is_stopped_is_gone(alone: Run) -> None:
    settings = {"REVERIE_DOMAIN": "stopped", "REVERIE_ENGINE": "port"}
    assert "No engine runs" in alone("engine", "stop", **settings).stdout
    assert "shared" in answer(alone("status", "--json", **settings))["engine"]
    assert alone("engine", "stop", **settings).stdout.startswith("Stopped engine")
    assert "No engine runs for these settings" in alone("engine", **settings).stdout


def test_engine_log_shows_the_end_of_the_log(alone: Run, machine: Machine) -> None:
    at = endpoint.Endpoint.of(machine.environment(REVERIE_DOMAIN="logged"))
    assert "Nothing was logged" in alone("engine", "log", REVERIE_DOMAIN="logged").stdout
    Path(at.log).write_text("one\ntwo\x1b[2J\nthree\n")
    assert alone("engine", "log", "--last", "2", REVERIE_DOMAIN="logged").stdout == "two\\x1b[2J\nthree\n"
    told = answer(alone("engine", "log", "--json", REVERIE_DOMAIN="logged"))
    assert told["file"] == at.log
    assert told["lines"][0] == "one"


def test_doctor_knows_about_the_engine(alone: Run, machine: Machine, session: Wire) -> None:
    def line(**settings: str) -> str:
        found = [one for one in answer(alone("doctor", "--json", **settings))["checks"] if one["name"] == "engine"]
        return f"{found[0]['state']}: {found[0]['found']}"

    assert line().startswith(f"ok: runs (process {machine.ask('about')['pid']}, version {__version__}")
    assert line(REVERIE_ENGINE="off") == "ok: off: each session works alone"
    assert line(REVERIE_MAX_DISTANCE="1.3").startswith("ok: none runs")
    folder = Path(tempfile.mkdtemp(prefix="rv"))
    folder.chmod(0o755)
    assert "only you can enter" in line(REVERIE_RUNTIME=str(folder))
    folder.rmdir()


# ── the parser ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", [command.name for command in COMMANDS] + ["serve", "completion"])
def test_a_parser_of_one_command_says_what_the_whole_one_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for parser in (build_parser(), build_parser(name)):
        for arguments in ([name, "--help"], [name, "--no-such-option"], [name, "a", "b", "c", "--json=3"]):
            with pytest.raises(SystemExit) as end:
                parser.parse_args(arguments)
            said.append((end.value.code, *capsys.readouterr()))
    assert said[:3] == said[3:]
