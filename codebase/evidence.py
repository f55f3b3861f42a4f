"""The evidence of one session: anchors made from its project's folder, and checked against it.

A memory is only ever checked against its own project, and only in the folder where the session stands. One of
another project, or seen in another folder, is unverifiable: nothing follows from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.codebase.anchoring import Anchored, anchor
from reverie.codebase.branches import Branches, Standing
from reverie.codebase.freshness import Checker, unverifiable, worst
from reverie.codebase.moves import Moves
from reverie.codebase.project import ProjectIdentity
from reverie.codebase.tree import SourceTree, stored_folder
from reverie.memory import GLOBAL_PROJECT, Anchor, Freshness

PATIENCE_AT_RECALL = 1.0
PATIENCE_AT_DRIFT = 30.0
"""Seconds for one question to git: somebody waits for a recall, nobody for drift."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The anchors of one memory as they stand now, the worst of them, and what to say about it in a few words."""

    freshness: Freshness
    anchors: tuple[Anchor, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Ground:
    """One folder and everything that reads it."""

    tree: SourceTree
    quick: Checker
    thorough: Checker
    branches: Branches


class Evidence:
    """What the session's own project, and folders without git, have to say. Safe to use from several threads."""

    def __init__(self, here: ProjectIdentity, folder: Path) -> None:
        self.names: tuple[str, ...] = (here.project,)  # all that memories of the project may be kept under
        self._root = here.root or _own_folder(folder)
        self._grounds: dict[str, _Ground] = {}

    @property
    def tree(self) -> SourceTree | None:
        """The session's project on disk, if it stands in one."""
        ground = self._ground(self._root)
        return ground.tree if ground else None

    def standing(self) -> Standing:
        """Return the commit and branch that are checked out now."""
        ground = self._ground(self._root)
        return ground.branches.standing() if ground and ground.tree.has_git else Standing()

    def anchor(self, text: str, files: Sequence[str], project: str) -> Anchored:
        """Anchor a text of a project to what it names; one of another project has nothing to be anchored to."""
        ground = self._ground(self._root)
        if ground is None or project not in (*self.names, GLOBAL_PROJECT):
            return Anchored((), tuple(files))
        found = anchor(ground.tree, text, files)
        commit = self.standing().commit if found.anchors else None
        root = stored_folder(ground.tree.root) if project == GLOBAL_PROJECT else None
        return replace(found, anchors=tuple(replace(made, commit=commit, root=root) for made in found.anchors))

    def check(
        self, project: str, branch: str | None, anchors: Sequence[Anchor], *, thorough: bool = False
    ) -> Checked:
        """Check the anchors of a memory against its own project."""
        if not anchors:
            return Checked("unanchored")
        checked = tuple(self._checked(project, branch, anchor, thorough=thorough) for anchor in anchors)
        freshness = worst(checked)
        notes = [anchor.note for anchor in checked if anchor.freshness == freshness and anchor.note]
        learned = self._learned_elsewhere(project, branch, anchors)
        return Checked(freshness, checked, "; ".join(dict.fromkeys([*notes[:3], *([learned] if learned else [])])))

    def _checked(self, project: str, branch: str | None, anchor: Anchor, *, thorough: bool) -> Anchor:
        ground = self._ground_of(project, anchor)
        if ground is None:
            return unverifiable(anchor, "of another project" if project not in self.names else "no project root here")
        checker = ground.thorough if thorough else ground.quick
        return ground.branches.seen_from_here(checker.check(anchor), branch)

    def _learned_elsewhere(self, project: str, branch: str | None, anchors: Sequence[Anchor]) -> str | None:
        ground = self._ground_of(project, anchors[0])
        return ground.branches.unmerged(branch, anchors[0].commit) if ground else None

    def _ground_of(self, project: str, anchor: Anchor) -> _Ground | None:
        if anchor.root is not None:
            # A folder that a memory names is compared, never looked at: imports can name any.
            here = self._root is not None and anchor.root == stored_folder(self._root)
            return self._ground(self._root) if here else None
        return self._ground(self._root) if project in self.names else None

    def _ground(self, root: Path | None) -> _Ground | None:
        if root is None or not root.is_dir():
            return None
        key = str(root)
        if key not in self._grounds:
            tree = SourceTree(root)
            self._grounds[key] = _Ground(
                tree,
                Checker(tree, Moves(tree, patience=PATIENCE_AT_RECALL)),
                Checker(tree, Moves(tree, patience=PATIENCE_AT_DRIFT)),
                Branches(tree, patience=PATIENCE_AT_RECALL),
            )
        return self._grounds[key]


def _own_folder(folder: Path) -> Path | None:
    """Take a folder without git for a project, unless clients are merely started there."""
    folder = folder.resolve()
    return None if folder in (Path(folder.anchor), Path.home()) else folder
