"""Files that a text names and that are not in the working tree: whether the project ever had them, and until when.

Only git can tell. It is asked for the last commit that touched a path, and given little time: somebody may wait.
"""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from reverie.codebase.claims import Mention
from reverie.codebase.git import GitUnavailable
from reverie.codebase.tree import SourceTree, content_digest, is_foreign, is_parsed
from reverie.memory import Anchor

MOST_ASKED = 6
"""Paths of one text that git is asked about."""

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_ENDING = re.compile(r"[\w-]\.[A-Za-z][A-Za-z0-9]{0,7}$")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|co|de|eu|gov|edu|app|cloud)$", re.IGNORECASE)
_SAYS_IT_IS_GONE = re.compile(
    r"\b(?:remove[ds]?|removing|delete[ds]?|deleting|dropped|retired|gone|no longer|used to|former(?:ly)?|previously|"
    r"replaced|obsolete|legacy|until|moved|renamed|was|were|had|split (?:up|into)|instead of|entfernt|gelöscht)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AbsentFile:
    """A file that a text names and the project does not have, and what its history says."""

    path: str
    last_commit: str | None = None  # the last commit that had it; None: none has, or git does not say
    is_certain: bool = False  # whether git searched the whole history
    anchor: Anchor | None = None  # the file as that commit had it


def named_files(mentions: Iterable[Mention], anchors: Sequence[Anchor]) -> list[str]:
    """Return the files that a text names beyond doubt and that no anchor stands for."""
    found: list[str] = []
    for mention in mentions:
        path = mention.name.lstrip("/")
        if mention.kind == "path" and _is_file_name(path, mention) and not _stands_for(path, anchors):
            found.append(path)
    return list(dict.fromkeys(found))[:MOST_ASKED]


def says_it_is_gone(text: str) -> bool:
    """Whether a text speaks of the past: that a file is not there may be just what it says."""
    return bool(_SAYS_IT_IS_GONE.search(text))


def in_history(tree: SourceTree, paths: Sequence[str], *, patience: float) -> list[AbsentFile]:
    """Say of files that are not in the working tree whether a commit before the present one had them.

    Git gets `patience` seconds for all of them; of the rest only the names are told.
    """
    until = time.monotonic() + patience
    found: list[AbsentFile] = []
    for path in paths:
        left = until - time.monotonic()
        found.append(_in_history(tree, path, left) if left > 0 else AbsentFile(path))
    return found


def _in_history(tree: SourceTree, path: str, patience: float) -> AbsentFile:
    if not tree.has_git or "/" not in path:  # a bare name may have been in any folder
        return AbsentFile(path)
    literal = f":(literal){path}"
    try:
        git = tree.git(patience)
        if git.ask(tree.root, "rev-parse", "--is-shallow-repository").out.strip() != "false":
            return AbsentFile(path)
        answer = git.ask(tree.root, "rev-list", "--max-count=1", "HEAD", "--", literal)
        removed = answer.out.strip()
        if answer.code != 0:
            return AbsentFile(path)
        if not _COMMIT.fullmatch(removed):
            return AbsentFile(path, is_certain=True)
        for commit in (f"{removed}^", removed):
            known = git.ask(tree.root, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").out.strip()
            blob = git.ask(tree.root, "cat-file", "blob", f"{known}:{path}") if _COMMIT.fullmatch(known) else None
            if blob is not None and blob.code == 0:
                digest = content_digest(blob.data)
                past = Anchor(path=path, kind="file", digest=digest, commit=known, freshness="missing")
                return AbsentFile(path, known, is_certain=True, anchor=past)
    except GitUnavailable:
        pass  # it would take too long: nothing is known
    return AbsentFile(path)


def _is_file_name(path: str, mention: Mention) -> bool:
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or path.endswith("/") or not _ENDING.search(path) or is_foreign(path):
        return False
    if len(parts) > 1:
        return not _HOST.match(parts[0]) and not parts[0].startswith(("~", "$", "@"))
    return mention.quoted and is_parsed(path) and not path.endswith(".js")  # `Node.js` is no file


def _stands_for(path: str, anchors: Sequence[Anchor]) -> bool:
    return any(anchor.path == path or anchor.path.endswith(f"/{path}") for anchor in anchors)
