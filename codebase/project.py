"""Which project a folder belongs to, so that worktrees and clones share their memories and others do not.

The first of these that there is:

1. the address of the remote, as `host/owner/name`: `origin`, else the only remote, else the one that main,
   master, trunk or the current branch follows, else the first by name;
2. for a remote on this disk, the identity of the repository it points at, so that a clone of a clone is the
   same project as the first;
3. `git:` and twelve digits of the oldest root commit of the local branches, following first parents only, so
   that merging another project's history or starting an orphan branch does not change who we are;
4. `global`: no repository, or one without a commit. Memories made before the first commit therefore stay
   visible after it, because global ones are seen from every project.

A shallow history ends at a commit that is not its root. Such a clone has a remote, which is asked first; with
the remote gone, the end of its history is as good a name as any and does not move without a remote to fetch
from.
"""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.codebase.git import Answer, Git, GitUnavailable, find_git
from reverie.codebase.remote import hosted_name, path_on_disk, rewritten
from reverie.memory import GLOBAL_PROJECT

PATIENCE = 2.0
"""Seconds that git gets in all: a slow disk must not hold up the server's first answer."""

_HOPS = 5  # clones of clones of clones; beyond that somebody is playing
_MAINLINES = ("main", "master", "trunk")
_WANTED = r"^(remote\..*\.url|url\..*\.insteadof|branch\..*\.remote)$"
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_BRANCHES = "refs/heads/"


@dataclass(frozen=True, slots=True)
class ProjectIdentity:
    """The project a folder belongs to, and where it stands in it."""

    project: str
    root: Path | None = None  # the top of this work tree; None outside one
    branch: str | None = None
    commit: str | None = None
    note: str | None = None  # why there is nothing better, if git would not say


def identify_project(folder: Path, *, patience: float = PATIENCE) -> ProjectIdentity:
    """Find the project of a folder; what a missing, slow or unwilling git cannot say is left open."""
    here = Path(os.path.realpath(folder))
    found = ProjectIdentity(GLOBAL_PROJECT)
    try:
        git = find_git(patience)
        answer = _stand(git, here)
        if answer.refused:
            return _from_refused(git, here)
        if not answer.out:
            return found  # no repository
        found = _standing(git, here, answer)
        name = _name(git, found.root or here, found, ())
    except GitUnavailable as unavailable:
        return replace(found, note=f"{unavailable}; set REVERIE_PROJECT to name the project")
    return replace(found, project=name or GLOBAL_PROJECT)


def _stand(git: Git, here: Path) -> Answer:
    return git.ask(here, "rev-parse", "--is-inside-work-tree", "--show-cdup", "HEAD", "--symbolic-full-name", "HEAD")


def _standing(git: Git, here: Path, answer: Answer) -> ProjectIdentity:
    inside, climb, *head = [*answer.out.split("\n"), "", ""]
    if inside != "true":  # a bare repository, or the inside of .git
        return ProjectIdentity(GLOBAL_PROJECT)
    root = here
    for _ in range(climb.count("/")):  # `../../`, which no odd character in a folder's name can disturb
        root = root.parent
    if _COMMIT.fullmatch(head[0]):
        return ProjectIdentity(GLOBAL_PROJECT, root, _branch(head[1]), head[0])
    unborn = git.ask(here, "symbolic-ref", "--quiet", "HEAD")
    return ProjectIdentity(GLOBAL_PROJECT, root, _branch(unborn.out.strip()))


def _branch(reference: str) -> str | None:
    if not reference.startswith(_BRANCHES):
        return None  # detached
    return _storable(reference.removeprefix(_BRANCHES))


def _name(git: Git, place: Path, here: ProjectIdentity | None, seen: tuple[Path, ...]) -> str | None:
    url = _remote_url(git, place, here)
    if url is not None:
        hosted = hosted_name(url)
        if hosted is not None:
            return _storable(hosted)
        origin = _origin(git, place, url)
        if origin is not None and origin not in (*seen, place) and len(seen) < _HOPS:
            name = _name(git, origin, None, (*seen, place))
            if name is not None:
                return name
    return _root_commit(git, place, here)


def _remote_url(git: Git, place: Path, here: ProjectIdentity | None) -> str | None:
    answer = git.ask(place, "config", "-z", "--get-regexp", _WANTED, only_here=here is None)
    return _chosen_url(answer.out, here.branch if here else None)


def _chosen_url(listing: str, branch: str | None) -> str | None:
    """Pick the remote that names the project from `git config -z` output: the same one on every branch."""
    urls: dict[str, str] = {}
    follows: dict[str, str] = {}
    rules: list[tuple[str, str]] = []
    for entry in listing.split("\0"):
        key, _, value = entry.partition("\n")
        section, _, rest = key.partition(".")
        name = rest.rpartition(".")[0]
        if section == "remote" and value:
            urls.setdefault(name, value)
        elif section == "branch":
            follows[name] = value
        elif section == "url":
            rules.append((value, name))
    followed = [follows.get(name or "") for name in (*_MAINLINES, branch)]
    only = list(urls) if len(urls) == 1 else []
    for remote in ("origin", *only, *followed, *sorted(urls)):
        if remote in urls:
            return rewritten(urls[remote], rules)
    return None


def _origin(git: Git, place: Path, url: str) -> Path | None:
    """Find the repository on disk that a remote points at; git reads relative ones from the work tree."""
    path = path_on_disk(url)
    if path is None:
        return None
    found = _existing(place / path)
    if found is None and not Path(path).is_absolute():
        # A linked worktree stands elsewhere than the repository whose configuration this is.
        common = git.ask(place, "rev-parse", "--git-common-dir").out.removesuffix("\n")
        found = _existing((place / common).parent / path)
    return found


def _existing(path: Path) -> Path | None:
    for candidate in (path, path.with_name(f"{path.name}.git")):
        try:
            if candidate.is_dir():
                # A remote may name the .git folder itself; its work tree is the same repository.
                real = Path(os.path.realpath(candidate))
                return real.parent if real.name == ".git" else real
        except (OSError, ValueError):
            continue
    return None


def _root_commit(git: Git, place: Path, here: ProjectIdentity | None) -> str | None:
    tips = ["--branches", "HEAD"] if here and here.commit else ["--branches"]
    answer = git.ask(
        place, "rev-list", "--first-parent", "--max-parents=0", "--timestamp", *tips, only_here=here is None
    )
    if answer.code != 0 or not answer.out.strip():
        return None
    roots = [line.split() for line in answer.out.splitlines()]
    _, oldest = min((int(made), commit) for made, commit in roots)
    return f"git:{oldest[:12]}"


def _from_refused(git: Git, here: Path) -> ProjectIdentity:
    """Name a repository that git will not open because another user owns it, as is usual in containers.

    Its configuration is read as a mere text file, which runs nothing and needs no trust.
    """
    note = "git refuses this repository because another user owns it; see safe.directory in `git help config`"
    for root in (here, *here.parents):
        config = _config_file(root / ".git")
        if config is not None:
            listing = git.ask(root, "config", "-z", "--file", str(config), "--get-regexp", _WANTED).out
            url = _chosen_url(listing, None)
            name = hosted_name(url) if url else None
            return ProjectIdentity(_storable(name) if name else GLOBAL_PROJECT, root, note=note)
    return ProjectIdentity(GLOBAL_PROJECT, note=note)


def _config_file(dot_git: Path) -> Path | None:
    """Follow .git to the shared configuration; in worktrees and submodules it is a file that points."""
    try:
        if dot_git.is_file():
            pointed = dot_git.parent / dot_git.read_text("utf-8").removeprefix("gitdir:").strip()
            common = pointed / "commondir"
            dot_git = pointed / common.read_text("utf-8").strip() if common.exists() else pointed
        config = dot_git / "config"
        return config if config.is_file() else None
    except (OSError, ValueError):
        return None


def _storable(text: str) -> str:
    # git's names are bytes; what is not UTF-8 could not be written to a table.
    return text.encode("utf-8", "replace").decode("utf-8")
