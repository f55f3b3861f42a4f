"""What an anchor was seen in beside what is there now: the lines that differ, from git's blobs."""

import pytest

from reverie.codebase.evidence import Evidence
from reverie.codebase.identity import identify_project
from reverie.codebase.seen_text import MOST_LINES, SeenText, seen_text
from reverie.memory import Anchor

from ..conftest import Repository

BEFORE = "import os\n\n\ndef area(width, height):\n    return width * height\n\n\ndef other():\n    return 1\n"
AFTER = BEFORE.replace("width * height", "abs(width * height)")


class Seen:
    """An anchor made in a repository, and what becomes of it."""

    def __init__(self, repo: Repository) -> None:
        self.repo = repo
        self._here = identify_project(repo.root)

    def learn(self, *files: str) -> tuple[Anchor, ...]:
        return Evidence(self._here, self.repo.root).anchor("", files, self._here.project).anchors

    def now(self, anchor: Anchor) -> SeenText:
        evidence = Evidence(self._here, self.repo.root)
        [checked] = evidence.check(self._here.project, None, [anchor]).anchors
        return seen_text(evidence, self._here.project, checked)


@pytest.fixture
def seen(repo: Repository) -> Seen:
    repo.write("src/shapes.py", BEFORE)
    repo.commit()
    return Seen(repo)


def marked(found: SeenText) -> list[tuple[str, int | None, int | None, str]]:
    return [(line.kind, line.before, line.after, line.text) for line in found.lines]


def test_what_is_unchanged_is_shown_as_it_is(seen: Seen) -> None:
    [anchor] = seen.learn("src/shapes.py::area")
    found = seen.now(anchor)
    assert (found.anchor.freshness, found.kept) == ("verified", "not needed")
    assert marked(found) == [
        ("same", 4, 4, "def area(width, height):"),
        ("same", 5, 5, "    return width * height"),
    ]


def test_a_changed_definition_shows_its_lines_before_and_after(seen: Seen) -> None:
    [anchor] = seen.learn("src/shapes.py::area")
    seen.repo.write("src/shapes.py", "# a new first line\n" + AFTER)
    found = seen.now(anchor)
    assert (found.anchor.freshness, found.kept) == ("changed", "kept")
    assert marked(found) == [
        ("same", 4, 5, "def area(width, height):"),
        ("gone", 5, None, "    return width * height"),
        ("new", None, 6, "    return abs(width * height)"),
    ]


def test_what_was_seen_before_it_was_committed_is_found_in_the_commit_that_followed(seen: Seen) -> None:
    seen.repo.write("src/shapes.py", AFTER)
    [anchor] = seen.learn("src/shapes.py::area")
    seen.repo.commit()
    seen.repo.write("src/shapes.py", AFTER.replace("abs", "float"))
    found = seen.now(anchor)
    assert found.kept == "kept"
    assert [line.text for line in found.lines if line.kind == "gone"] == ["    return abs(width * height)"]


def test_what_was_never_committed_is_not_kept(seen: Seen) -> None:
    seen.repo.write("src/shapes.py", AFTER)
    [anchor] = seen.learn("src/shapes.py::area")
    seen.repo.write("src/shapes.py", AFTER.replace("abs", "float"))
    found = seen.now(anchor)
    assert (found.anchor.freshness, found.kept) == ("changed", "not kept")
    assert {line.kind for line in found.lines} == {"new"}


def test_a_moved_definition_is_shown_where_it_is_now(seen: Seen) -> None:
    [anchor] = seen.learn("src/shapes.py::area")
    seen.repo.git("mv", "src/shapes.py", "src/figures.py")
    seen.repo.write("src/figures.py", AFTER)
    found = seen.now(anchor)
    assert (found.anchor.freshness, found.anchor.now_at) == ("moved", "src/figures.py")
    assert [line.text for line in found.lines if line.kind == "new"] == ["    return abs(width * height)"]


def test_what_is_missing_is_shown_as_it_was(seen: Seen) -> None:
    [anchor] = seen.learn("src/shapes.py")
    seen.repo.git("rm", "-q", "src/shapes.py")
    seen.repo.commit()
    found = seen.now(anchor)
    assert (found.anchor.freshness, found.kept) == ("missing", "kept")
    assert [line.text for line in found.lines] == BEFORE.splitlines()
    assert {line.kind for line in found.lines} == {"gone"}


def test_of_a_long_difference_a_part_is_shown_and_the_rest_is_counted(seen: Seen) -> None:
    seen.repo.write("src/long.py", "".join(f"a{number} = {number}\n" for number in range(500)))
    seen.repo.commit()
    [anchor] = seen.learn("src/long.py")
    seen.repo.write("src/long.py", "".join(f"b{number} = {number}\n" for number in range(500)))
    found = seen.now(anchor)
    assert len(found.lines) == MOST_LINES + 1
    assert (found.lines[-1].kind, found.lines[-1].text) == ("skipped", str(1_000 - MOST_LINES))


@pytest.mark.parametrize("commit", ["--help", "HEAD", "main", "0" * 40, ""])
def test_a_commit_that_is_none_finds_nothing(seen: Seen, commit: str) -> None:
    [anchor] = seen.learn("src/shapes.py::area")
    seen.repo.write("src/shapes.py", AFTER)
    hostile = Anchor(
        path=anchor.path, symbol=anchor.symbol, kind="symbol", digest=anchor.digest, span=anchor.span, commit=commit
    )
    assert seen.now(hostile).kept == "not kept"


def test_a_path_outside_the_project_is_not_read(seen: Seen) -> None:
    (seen.repo.root.parent / "secret.txt").write_text("sesame")
    found = seen.now(Anchor(path="../secret.txt", digest="0" * 32, commit="0" * 40))
    assert found.lines == ()


def test_a_file_that_is_no_text_is_not_shown(seen: Seen) -> None:
    (seen.repo.root / "image.bin").write_bytes(b"\x00\x01\x02")
    seen.repo.commit()
    [anchor] = seen.learn("image.bin")
    found = seen.now(anchor)
    assert (found.lines, found.why) == ((), "it cannot be shown as text")
