"""A listing that is partly remembered must be the listing that is there."""

import os
from pathlib import Path

import pytest

from reverie.codebase import tree as walk
from reverie.codebase.tree import FolderListing


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder."""
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def age(root: Path, seconds: int) -> None:
    """Let every folder look changed long ago, at a moment of its own, whatever the clock's tick is."""
    for folder, _, _ in os.walk(root):
        os.utime(folder, (seconds, seconds))


def test_files_that_come_and_go_deep_down_are_seen(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "a.py", "src/b.py", "src/deep/c.py")
    monkeypatch.setattr(walk, "_SECONDS_OF_DOUBT", 0.0)
    listed = FolderListing(root)
    age(root, 1_600_000_000)
    assert listed.files() == ["a.py", "src/b.py", "src/deep/c.py"]
    write(root, "src/deep/d.py", "new/e.py")
    (root / "src" / "b.py").unlink()
    age(root, 1_600_000_001)
    assert listed.files() == ["a.py", "new/e.py", "src/deep/c.py", "src/deep/d.py"]
    (root / "src" / "deep").rename(root / "elsewhere")
    assert listed.files() == ["a.py", "elsewhere/c.py", "elsewhere/d.py", "new/e.py"]


def test_a_folder_that_did_not_change_is_not_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "a.py", "src/b.py", "docs/c.md")
    monkeypatch.setattr(walk, "_SECONDS_OF_DOUBT", 0.0)
    listed = FolderListing(root)
    age(root, 1_600_000_000)
    listed.files()
    read: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(walk.os, "scandir", lambda path: read.append(str(path)) or scandir(path))
    write(root, "src/d.py")
    assert listed.files() == ["a.py", "docs/c.md", "src/b.py", "src/d.py"]
    assert [Path(path).name for path in read] == ["src"]


def test_two_changes_within_one_tick_of_the_clock_are_both_seen(root: Path) -> None:
    write(root, "src/a.py")
    listed = FolderListing(root)
    before = (root / "src").stat()
    assert listed.files() == ["src/a.py"]
    write(root, "src/b.py")
    os.utime(root / "src", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert listed.files() == ["src/a.py", "src/b.py"]


def test_links_to_folders_hidden_and_foreign_folders_are_not_entered(tmp_path: Path, root: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, "secret.py")
    write(root, "a.py", ".git/config", "node_modules/x/index.js")
    (root / "link").symlink_to(outside, target_is_directory=True)
    assert FolderListing(root).files() == ["a.py"]


def test_a_folder_with_too_many_files_is_no_project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MOST_FILES", 2)
    write(root, "a.py", "src/b.py")
    listed = FolderListing(root)
    assert listed.files() == ["a.py", "src/b.py"]
    write(root, "src/c.py")
    assert listed.files() == []
