"""File names, branches, authors and addresses that are no text: every command and tool works on with the rest."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..conftest import MakeRepository

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere such names cannot be written"),
    pytest.mark.slow,
]

SOURCE = b'"""Turns the lamp on."""\n\n\ndef lamp_on():\n    return 1\n'
UNSTORABLE = (
    b"caf\xe9.py",
    b"\xff\xfe.py",
    b"d\xe9r/inner.py",
    b"line\nbreak.py",
    b"esc\x1b[31m.py",
    b"c1\xc2\x9b.py",
)
STORABLE = (
    *(b"a::b.py", b"-rf.py", b'quote".py', b" blank .py", b"star*[x].py", b"back\\slash.py", b"$(touch ran).py"),
    *(b"n" * 251 + b".py", b"/".join([b"deep" * 20] * 8) + b"/end.py", "\u202ebidi.py".encode(), "лампа.py".encode()),
)


@pytest.fixture(params=["git", "no git"])
def odd(request: pytest.FixtureRequest, make_repository: MakeRepository, tmp_path: Path) -> Path:
    """A folder full of odd names, in a repository whose branch, author and remote are odd too."""
    root = tmp_path / "anvil"
    if request.param == "git":
        repo = make_repository("anvil")
        (repo.root / "README.md").write_text("# The anvil\n\nWhat everything is hammered on.\n")
        repo.commit()
        run = ["git", "-C", str(repo.root)]
        subprocess.run([*run, "checkout", "-q", "-b", b"br\xe4nch"], check=True)
        subprocess.run([*run, "config", "user.name", b"W\xefle"], check=True)
        subprocess.run([*run, "remote", "add", "origin", b"https://example.org/acme/anv\xefl"], check=True)
    root.mkdir(exist_ok=True)
    for name in (*UNSTORABLE, *STORABLE):
        place = os.path.join(os.fsencode(root), name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(SOURCE + b"# " + name.replace(b"\n", b" ")[:40] + b"\n")
    (root / "latin1.py").write_bytes('"""Grüße aus Zürich."""\n\n\ndef grüße(): ...\n'.encode("latin-1"))
    (root / "plain.py").write_text('"""Strikes the iron."""\n\n\ndef strike(hammer):\n    hammer.fall()\n')
    if request.param == "git":
        repo.commit()
    return root


@pytest.fixture
def command(called: Callable[..., Any], tmp_path: Path) -> Callable[..., str]:
    """Run one of our commands in a folder; whatever it says is UTF-8."""

    def run(folder: Path, *arguments: str) -> str:
        done = called(folder, *arguments, REVERIE_HOME=str(tmp_path / "home"), REVERIE_PROJECT="")
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    return run


def test_what_cannot_be_stored_is_counted_and_the_rest_is_indexed(
    odd: Path, command: Callable[..., str], start_here: Callable[..., Any]
) -> None:
    command(odd, "index")
    server = start_here(within=odd, REVERIE_PROJECT="")
    server.until_ready()
    found = server.call("index_codebase")
    assert found["skipped"]["name not printable"] == len(UNSTORABLE)
    assert found["files"] == len(STORABLE) + 2 + (odd / "README.md").is_file()
    assert (found["memories"], found["updated"], found["removed"]) == (0, 0, 0)  # the command did it all
    kept = server.call("remember", content="The iron is struck in `plain.py`.", files=["a::b.py", "-rf.py"])
    assert [anchor["path"] for anchor in kept["anchors"]] == ["a::b.py", "-rf.py", "plain.py"]
    (odd / "plain.py").rename(os.fsdecode(os.path.join(os.fsencode(odd), b"pl\xe4in.py")))
    (odd / "a::b.py").rename(odd / "c::d.py")
    server.call("recall", query="strike the iron", explain=True)
    server.call("brief")
    standing = {anchor["path"]: anchor for anchor in server.full(kept["id"])["anchors"]}
    assert {path: anchor["freshness"] for path, anchor in standing.items()} == {
        "a::b.py": "moved",
        "-rf.py": "verified",
        "plain.py": "missing",  # it moved to where nothing can name it
    }
    assert standing["a::b.py"]["now_at"] == "c::d.py"
    command(odd, "drift")
    server.call("consolidate")
    exported = [json.loads(line) for line in command(odd, "export", "-").splitlines()]
    assert kept["id"] in [line.get("id") for line in exported]


def test_a_session_in_a_folder_whose_name_is_no_text(
    command: Callable[..., str], tmp_path: Path, git_without_surprises: None
) -> None:
    folder = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), b"caf\xe9")))
    folder.mkdir()
    (folder / "lamp.py").write_bytes(SOURCE)
    environment = os.environ | {"REVERIE_HOME": str(tmp_path / "home")}
    process = [sys.executable, "-m", "reverie", "remember", "The lamp is in `lamp.py`."]
    subprocess.run(process, cwd=folder, env=environment, check=True, capture_output=True)
    command(folder, "index")
    assert "lamp" in command(folder, "recall", "the lamp")
    command(folder, "status")
    command(folder, "drift")
