"""Attack: an imported file brings anchors with folders, paths, commits and symbols of its author's choice."""

import os

import pytest

from reverie.codebase.tree import content_digest
from reverie.tools import recall, remember
from reverie.tools.brief import brief
from reverie.tools.drift import drift
from reverie.tools.inspect import inspect
from reverie.tools.requests import BriefRequest, InspectRequest, RecallRequest, RememberRequest

from ..conftest import Repository

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SECRET = b"the key of the safe is under the blue lamp\n"


@pytest.fixture
def outside(tmp_path):
    """A folder of the user's that is none of the project's business."""
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "secret.txt").write_bytes(SECRET)
    (folder / "tool.py").write_text("def open_safe(): ...\n")
    return folder


@pytest.fixture
async def here(repo: Repository, open_session, tmp_path, outside):
    """A session in a project with a link that leads out."""
    repo.write("src/lamp.py", "def load_lamp(): ...\n")
    repo.commit()
    (repo.root / "way_out").symlink_to(outside)
    return await open_session(folder=repo.root)


@pytest.fixture
def session(here):
    """The hands of an attacker work on this session."""
    return here


@pytest.fixture
def looked_at(monkeypatch):
    """Every path that is opened, listed or asked for by this process, as far as Python does it."""
    seen: list[str] = []
    for name in ("open", "stat", "lstat", "scandir", "listdir"):
        real = getattr(os, name)

        def note(path=".", *arguments, real=real, **options):
            if isinstance(path, str | bytes | os.PathLike):
                seen.append(os.fsdecode(path))
            return real(path, *arguments, **options)

        monkeypatch.setattr(os, name, note)
    return seen


def _line(number=0, **anchor):
    return {"id": f"0imported{number:03}", "content": f"The keeper's secret {number}.", "anchors": [anchor]}


async def _used(session, memories=1):
    """Use everything that checks anchors; return how the anchor of each memory stands."""
    await recall.recall(session, RecallRequest(query="the keeper's secret", explain=True, limit=50))
    await brief(session, BriefRequest())
    await drift(session, dry_run=True)
    await drift(session)
    found = await inspect(session, InspectRequest(ids=[f"0imported{number:03}" for number in range(memories)]))
    anchors = [memory["anchors"][0] for memory in found.memories]
    return [(anchor["freshness"], anchor.get("now_at")) for anchor in anchors]


async def test_a_root_that_a_memory_names_is_never_looked_at(here, take_in, outside, looked_at):
    digests = (content_digest(SECRET), "0" * 32, None)
    cases = [(project, digest) for project in ("global", here.here.project) for digest in digests]
    lines = [
        _line(number, path="secret.txt", kind="file", digest=digest, root=str(outside)) | {"project": project}
        for number, (project, digest) in enumerate(cases)
    ]
    await take_in(*lines)
    looked_at.clear()
    # An import's anchor is looked up where the session stands: there the file is not.
    expected = ["missing" if project != "global" and digest else "unverifiable" for project, digest in cases]
    assert dict(zip(cases, await _used(here, len(lines)), strict=True)) == {
        case: (freshness, None) for case, freshness in zip(cases, expected, strict=True)
    }
    assert [path for path in looked_at if "private" in path] == []


OUT = (
    "{outside}/secret.txt",
    "../private/secret.txt",
    "src/../../private/secret.txt",
    "way_out/secret.txt",
    "//{outside}",
)


async def test_a_path_that_leads_out_tells_nothing_about_what_is_there(here, take_in, outside):
    kinds = (("file", None), ("folder", None), ("symbol", "open_safe"), ("dependency", "x"))
    cases = [(part, path, kind) for part in ("path", "now_at") for path in OUT for kind in kinds]
    lines = []
    for number, (part, path, (kind, symbol)) in enumerate(cases):
        anchor = {
            "path": "gone.py",
            "kind": kind,
            "digest": content_digest(SECRET),
            part: path.format(outside=outside),
        }
        anchor |= {"symbol": symbol} if symbol else {}
        lines.append(_line(number, **anchor) | {"project": here.here.project})
    await take_in(*lines)
    found = dict(zip(cases, await _used(here, len(lines)), strict=True))
    assert {case: stands for case, stands in found.items() if stands != ("missing", None)} == {}


COMMITS = ("--output={file}", "-O{file}", "HEAD --output={file}", "a" * 40, "HEAD@{{0}}", "a\nb", "\x00", "", ":/x")
BRANCHES = ("--output={file}", "x:y", "..", "^{{/.}}", "@{{-1}}", "\x00", "a\nb")


async def test_a_commit_or_branch_that_is_an_option_is_no_option(here, take_in, tmp_path):
    file = tmp_path / "written"
    pairs = [*((commit, "main") for commit in COMMITS), *(("a" * 40, branch) for branch in BRANCHES)]
    lines = []
    for number, (commit, branch) in enumerate(pairs):
        anchor = {"path": "src/gone.py", "kind": "file", "digest": "0" * 32, "commit": commit.format(file=file)}
        line = _line(number, **anchor) | {"project": here.here.project, "branch": branch.format(file=file)}
        lines.append(line)
    await take_in(*lines)
    assert await _used(here, len(lines)) == [("missing", None)] * len(lines)
    assert not file.exists()


SYMBOLS = ("--help", "-O/bin/sh", "a\nb", "", ".", "x" * 50_000, "\x00", "$(touch x)", "(?:")


async def test_a_symbol_is_only_looked_for(here, take_in):
    kinds = ("target", "script", "dependency", "folder", "nonsense")
    asked = [*(("symbol", symbol) for symbol in SYMBOLS), *((kind, "-x\n") for kind in kinds)]
    lines = []
    for number, (kind, symbol) in enumerate(asked):
        anchor = {"path": "src/lamp.py", "kind": kind, "symbol": symbol, "digest": "0-0", "file_digest": "1"}
        lines.append(_line(number, **anchor) | {"project": here.here.project})
    await take_in(*lines)
    assert {freshness for freshness, _ in await _used(here, len(lines))} <= {"missing", "changed"}


async def test_a_memory_of_a_folder_without_git_is_checked_where_the_session_stands_in_it(open_session, tmp_path):
    """The folder that an anchor names is compared with the session's own; it is not a place to go to."""
    plain = Repository(tmp_path / "plain")
    plain.write("src/lamp.py", "def load_lamp(): ...\n")
    session = await open_session(folder=plain.root)
    request = RememberRequest(content="It is read in `src/lamp.py`.", project="global")
    kept = await remember.remember(session, request)
    again = await open_session(folder=plain.root)
    elsewhere = await open_session(folder=tmp_path)
    stands = [
        (await inspect(one, InspectRequest(ids=[kept.id]))).memories[0]["anchors"][0]["freshness"]
        for one in (again, elsewhere)
    ]
    assert stands == ["verified", "unverifiable"]
