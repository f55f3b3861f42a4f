"""Which project a folder belongs to, so that worktrees and clones share their memories and others do not.

A folder without git is identified by its marker file, else by its manifest's name and its path, else by its path.
"""

import hashlib
import json
import os
import re
import secrets
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from reverie.codebase.git import Answer, Git, GitUnavailable, find_git
from reverie.errors import InvalidInput
from reverie.folders import CLIENT_FOLDERS

MARKER = ".reverie"
"""The file that gives a folder without git a name that survives a move. Only `reverie projects mark` makes one."""

NO_PROJECT = "no-project"
"""The project of sessions that stand in no project: in `/`, a home folder, or where temporary files are kept."""

_FOLDER, _MARKED = "folder:", "marker:"
_LONGEST_FILE = 1_000_000
_LONGEST_NAME = 40
_ODD = re.compile(r"[^\w.@/-]+")
_MARK = re.compile(r"(?:(?P<name>[^\n]{0,200})-)?(?P<id>[0-9a-f]{16})\s*")
_MODULE = re.compile(r"^module\s+\"?(?P<name>[^\s\"]+)", re.MULTILINE)
_SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr", "System", "Library")


def named_folder(here: Path) -> tuple[str, Path | None]:
    """Return the name of the project that a folder without git belongs to, and that project's root."""
    if is_no_project(here):
        return NO_PROJECT, None
    around = [folder for folder in (here, *here.parents) if not is_no_project(folder)]
    for folder in around:
        marked = _marked(folder / MARKER)
        if marked is not None:
            return marked, folder
    # A manifest further up is this project's only if it is not the stray one of a folder full of projects.
    for folder in around:
        if os.path.lexists(folder / ".git"):  # there is a repository, but no git that would read it
            return path_name(folder), folder
        if _manifest_name(folder):
            return path_name(folder), folder
    return path_name(here), here if here.is_dir() else None


def path_name(folder: Path) -> str:
    """Return the name of a folder by its path, made readable by its manifest's name or its own."""
    readable = _readable(_manifest_name(folder) or folder.name) or "folder"
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]
    return f"{_FOLDER}{readable}-{digest}"


def readable_part(name: str) -> str | None:
    """Return what of a folder's project name its manifest or folder gave, or None for another sort of project."""
    return name.removeprefix(_FOLDER).rpartition("-")[0] if name.startswith(_FOLDER) else None


def is_no_project(folder: Path) -> bool:
    """Whether clients are merely started there: the root of a disk, a home, folders of the system, of settings."""
    folder = Path(os.path.realpath(folder))
    if folder == Path(folder.anchor) or (folder.parent == Path(folder.anchor) and folder.name in ("home", "Users")):
        return True
    home = _home()
    if home is not None and len(home.parts) > 1 and folder.is_relative_to(home) and folder != home:
        return folder.relative_to(home).parts[0].startswith(".")  # settings and keys
    named = [os.environ.get(variable) for variable in ("TMPDIR", "TEMP", "TMP")]
    temporary = {Path(os.path.realpath(place)) for place in (*named, "/tmp", "/var/tmp") if place}  # noqa: S108
    return folder in temporary or folder == home or (len(folder.parts) > 1 and folder.parts[1] in _SYSTEM)


def client_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder that the client says it works in, if it says so and there is one."""
    for variable in CLIENT_FOLDERS:
        whole = environment.get(variable, "").strip()
        for given in dict.fromkeys((whole, *re.split(rf"[,{os.pathsep}]", whole))):
            folder = Path(given.strip())
            if given.strip() and folder.is_absolute() and folder.is_dir():
                return folder
    return None


def mark_folder(folder: Path, name: str) -> str:
    """Write a marker file into a folder; return the name of the project.

    Raises:
        InvalidInput: if there is one already, or it cannot be written.
    """
    marked = f"{_readable(name or folder.name) or 'folder'}-{secrets.token_hex(8)}"
    try:
        with (folder / MARKER).open("x", encoding="utf-8") as file:
            file.write(f"{marked}\n")
    except FileExistsError:
        raise InvalidInput("mark", f"{folder / MARKER} is there already", "It names the project; keep it.") from None
    except OSError as error:
        raise InvalidInput("mark", f"{folder / MARKER}: {error.strerror}", "Check who owns the folder.") from error
    return f"{_MARKED}{marked}"


def _home() -> Path | None:
    try:
        return Path(os.path.realpath(Path.home()))
    except RuntimeError:
        return None  # a user without a home


def _marked(file: Path) -> str | None:
    text = _read(file)
    found = _MARK.fullmatch(text) if text else None
    if found is None or not _is_ours(file):
        return None
    return f"{_MARKED}{_readable(found['name'] or '') or 'folder'}-{found['id']}"


def _is_ours(file: Path) -> bool:
    """Return whether the file is this user's: in a shared folder others may put one above ours."""
    try:
        return not hasattr(os, "getuid") or file.stat().st_uid == os.getuid()
    except OSError:
        return False


def _manifest_name(folder: Path) -> str | None:
    for file, reader in _MANIFESTS.items():
        text = _read(folder / file)
        if text is None:
            continue
        try:
            name = reader(text)
        except (ValueError, TypeError, AttributeError, RecursionError):  # half edited, or not what its name says
            name = None
        return name if isinstance(name, str) and name.strip() else folder.name
    return None


def _read(file: Path) -> str | None:
    try:
        if not file.is_file() or file.stat().st_size > _LONGEST_FILE:
            return None
        return file.read_text("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _readable(name: str) -> str:
    return _ODD.sub("-", name).strip("-./")[:_LONGEST_NAME]


def _in_json(text: str) -> Any:
    return json.loads(text).get("name")


def _in_pyproject(text: str) -> Any:
    data = tomllib.loads(text)
    return data.get("project", {}).get("name") or data.get("tool", {}).get("poetry", {}).get("name")


def _in_cargo(text: str) -> Any:
    return tomllib.loads(text).get("package", {}).get("name")


def _in_go_module(text: str) -> Any:
    found = _MODULE.search(text)
    return found and found["name"]


_MANIFESTS: Mapping[str, Callable[[str], Any]] = {
    "package.json": _in_json,
    "pyproject.toml": _in_pyproject,
    "Cargo.toml": _in_cargo,
    "go.mod": _in_go_module,
    "composer.json": _in_json,
}


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HELPER = re.compile(r"[A-Za-z0-9]+::")
_DRIVE = re.compile(r"[A-Za-z]:")
_CREDENTIALS = re.compile(r".*(?<!/)@", re.DOTALL)  # an `@` that opens a path segment is a name, as in /@team/
_SCP_LIKE = re.compile(r"(\[[^\]]*\]|[^/:]+):(.*)", re.DOTALL)
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f]")

# Doors that the forges document for networks where the usual ssh port is closed.
_OTHER_DOORS = {
    "altssh.bitbucket.org": "bitbucket.org",
    "altssh.gitlab.com": "gitlab.com",
    "ssh.dev.azure.com": "dev.azure.com",
    "ssh.github.com": "github.com",
}


def rewritten(url: str, rules: Iterable[tuple[str, str]]) -> str:
    """Apply git's `url.BASE.insteadOf PREFIX` rules, given as (prefix, base): the longest prefix wins."""
    fitting = [rule for rule in rules if rule[0] and url.startswith(rule[0])]
    if not fitting:
        return url
    prefix, base = max(fitting, key=lambda rule: len(rule[0]))
    return base + url[len(prefix) :]


def path_on_disk(url: str) -> str | None:
    """Return the path that a remote on this machine points at, or None for one elsewhere."""
    if url[:7].lower() == "file://":
        path = unquote("/" + url[7:].partition("/")[2])
        return path[1:] if sys.platform == "win32" and _DRIVE.match(path[1:]) else path
    if _SCHEME.match(url) or _HELPER.match(url):
        return None
    if sys.platform == "win32" and _DRIVE.match(url):
        return url
    return None if ":" in url.partition("/")[0] else url


def hosted_name(url: str) -> str | None:
    """Return `host/owner/name` of a remote on some server, or None if the address has no such parts."""
    if path_on_disk(url) is not None or _HELPER.match(url):
        return None
    scheme = _SCHEME.match(url)
    bare = _CREDENTIALS.sub("", url[scheme.end() :] if scheme else url, count=1)
    if scheme:
        authority, _, path = re.split(r"[?#]", bare, maxsplit=1)[0].partition("/")
        path = unquote(path, errors="replace")
    else:
        scp_like = _SCP_LIKE.fullmatch(bare)
        if scp_like is None:
            return None
        authority, path = scp_like.groups()
        if authority.count(":") == 1:  # [host:port]:path
            authority = authority.strip("[]")
    host = _host(authority)
    segments = _segments(host, path)
    return "/".join([host, *segments]) if host and segments else None


def _host(authority: str) -> str:
    bracketed = re.match(r"\[([^\]]*)\]", authority)
    host = bracketed[1] if bracketed else authority.partition(":")[0]
    host = _UNPRINTABLE.sub("", host).rstrip(".").lower()
    return _OTHER_DOORS.get(host, host)


def _segments(host: str, path: str) -> list[str]:
    segments = [part for part in _UNPRINTABLE.sub("", path).split("/") if part not in ("", ".")]
    if host == "dev.azure.com":
        # Its ssh form is v3/org/project/repo, its https form org/project/_git/repo.
        segments = [part for part in segments[segments[:1] == ["v3"] :] if part != "_git"]
    if segments:
        segments[-1] = segments[-1].removesuffix(".git")
    return [part for part in segments if part]


PATIENCE = 2.0
"""Seconds that git gets in all: a slow disk must not hold up the server's first answer."""

_HOPS = 5  # clones of clones of clones; beyond that somebody is playing
_MAINLINES = ("main", "master", "trunk")
_WANTED = r"^(remote\..*\.url|url\..*\.insteadof|branch\..*\.remote)$"
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_BRANCHES = "refs/heads/"


@dataclass(frozen=True, slots=True)
class ProjectIdentity:
    """The project of a folder, its root, and the other names that the project may be known by."""

    project: str
    root: Path | None = None  # the top of this work tree or folder; None where there is no project
    branch: str | None = None
    commit: str | None = None
    note: str | None = None  # why there is nothing better, if git would not say
    remotes: tuple[str, ...] = ()  # every remote as `host/owner/name`, the one that names the project first
    place: str | None = None  # the folder of the repository on this machine, which its worktrees share

    @property
    def is_hosted(self) -> bool:
        """Return whether a remote named the project."""
        return self.project in self.remotes


def identify_session(folder: Path, environment: Mapping[str, str]) -> tuple[ProjectIdentity, Path]:
    """Find the project of a session: of the folder that the client names, else of the one it was started in.

    A session that was started in another worktree of the client's repository works in that worktree.
    """
    named = client_folder(environment)
    if named is None or Path(os.path.realpath(named)) == Path(os.path.realpath(folder)):
        return identify_project(folder), folder
    theirs, here = identify_project(named), identify_project(folder)
    return (here, folder) if here.place is not None and here.place == theirs.place else (theirs, named)


def identify_project(folder: Path, *, patience: float = PATIENCE) -> ProjectIdentity:
    """Find the project of a folder; what git does not answer in time is left out."""
    here = Path(os.path.realpath(folder))
    found = None
    try:
        git = find_git(patience)
        answer = _rev_parse(git, here)
        if answer.refused:
            return _from_refused(git, here)
        if not answer.out:
            return _from_folder(here)  # no repository
        found = _identity_from(git, here, answer)
        found = replace(found, place=_repository_folder(found.root) if found.root else None)
        remotes, name = _names(git, found.root or here, found, ())
    except GitUnavailable as unavailable:
        note = f"{unavailable}; set REVERIE_PROJECT to name the project"
        fallback = _from_folder(found.root if found and found.root else here, note)
        return replace(found, project=fallback.project, note=note) if found else fallback
    if name is None:  # no remote and no commit yet
        name = _from_folder(found.root or here).project
    return replace(found, project=name, remotes=remotes)


def root_commits(root: Path, *, patience: float = PATIENCE) -> tuple[str, ...]:
    """Return the first commits of a repository's branches; none of a shallow one, or if git cannot say in time."""
    try:
        git = find_git(patience)
        if git.ask(root, "rev-parse", "--is-shallow-repository").out.strip() != "false":
            return ()
        return tuple(commit for _, commit in sorted(_roots(git, root, ["--branches", "HEAD"], only_here=False)))
    except GitUnavailable:
        return ()


def has_commit(root: Path, commit: str, *, patience: float = PATIENCE) -> bool:
    """Return whether a repository has a commit; after a rewrite of its history it keeps old ones for a while."""
    try:
        return find_git(patience).ask(root, "cat-file", "-e", f"{commit}^{{commit}}").code == 0
    except GitUnavailable:
        return False


def _from_folder(here: Path, note: str | None = None) -> ProjectIdentity:
    name, root = named_folder(here)
    if name == NO_PROJECT and note is None:
        note = (
            f"{here} is no project: what is remembered here goes to `{NO_PROJECT}`, and only sessions without a "
            "project see it; start the client in a project's folder, or set REVERIE_PROJECT"
        )
    return ProjectIdentity(_storable(name), root, note=note, place=_storable(str(root)) if root else None)


def _rev_parse(git: Git, here: Path) -> Answer:
    return git.ask(here, "rev-parse", "--is-inside-work-tree", "--show-cdup", "HEAD", "--symbolic-full-name", "HEAD")


def _identity_from(git: Git, here: Path, answer: Answer) -> ProjectIdentity:
    inside, climb, *head = [*answer.out.split("\n"), "", ""]
    if inside != "true":  # a bare repository, or the inside of .git
        return ProjectIdentity("")
    root = here
    for _ in range(climb.count("/")):  # `../../`, which no odd character in a folder's name can disturb
        root = root.parent
    if _COMMIT.fullmatch(head[0]):
        return ProjectIdentity("", root, _branch(head[1]), head[0])
    unborn = git.ask(here, "symbolic-ref", "--quiet", "HEAD")
    return ProjectIdentity("", root, _branch(unborn.out.strip()))


def _repository_folder(root: Path) -> str | None:
    """Return the folder of the repository itself: of a worktree the main one's, of a submodule its git folder."""
    common = _common_folder(root / ".git")
    if common is None:
        return None
    folder = Path(os.path.realpath(common))
    return _storable(str(folder.parent if folder.name == ".git" else folder))


def _branch(reference: str) -> str | None:
    if not reference.startswith(_BRANCHES):
        return None  # detached
    return _storable(reference.removeprefix(_BRANCHES))


def _names(
    git: Git, place: Path, here: ProjectIdentity | None, seen: tuple[Path, ...]
) -> tuple[tuple[str, ...], str | None]:
    """Return the names of all remotes on servers, and the project's own."""
    urls = _remote_urls(git, place, here)
    remotes = tuple(dict.fromkeys(_storable(name) for name in map(hosted_name, urls) if name))
    if urls:
        first = hosted_name(urls[0])
        if first is not None:
            return remotes, _storable(first)
        origin = _origin(git, place, urls[0])
        if origin is not None and origin not in (*seen, place) and len(seen) < _HOPS:
            theirs, name = _names(git, origin, None, (*seen, place))
            if name is not None:
                return tuple(dict.fromkeys((*theirs, *remotes))), name
    return remotes, _root_commit(git, place, here)


def _remote_urls(git: Git, place: Path, here: ProjectIdentity | None) -> list[str]:
    answer = git.ask(place, "config", "-z", "--get-regexp", _WANTED, only_here=here is None)
    return _ordered_urls(answer.out, here.branch if here else None)


def _ordered_urls(listing: str, branch: str | None) -> list[str]:
    """Read the remotes from `git config -z` output; the first names the project, the same one on every branch."""
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
    followed = [follows.get(name or "") or "" for name in (*_MAINLINES, branch)]
    only = list(urls) if len(urls) == 1 else []
    ordered = dict.fromkeys(("origin", *only, *followed, *sorted(urls)))
    return [rewritten(urls[remote], rules) for remote in ordered if remote in urls]


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
    roots = _roots(git, place, tips, only_here=here is None)
    return f"git:{min(roots)[1][:12]}" if roots else None


def _roots(git: Git, place: Path, tips: list[str], *, only_here: bool) -> list[tuple[int, str]]:
    """Return the commits in which first parents end, each with its moment."""
    arguments = ("rev-list", "--first-parent", "--max-parents=0", "--timestamp", *tips)
    answer = git.ask(place, *arguments, only_here=only_here)
    if answer.code != 0:
        return []
    return [(int(made), commit) for made, commit in (line.split() for line in answer.out.splitlines())]


def _from_refused(git: Git, here: Path) -> ProjectIdentity:
    """Name a repository that git will not open because another user owns it, as is usual in containers.

    Its configuration is read as a mere text file, which runs nothing and needs no trust.
    """
    note = "git refuses this repository because another user owns it; see safe.directory in `git help config`"
    for root in (here, *here.parents):
        config = _config_file(root / ".git")
        if config is not None:
            listing = git.ask(root, "config", "-z", "--file", str(config), "--get-regexp", _WANTED).out
            names = [_storable(name) for name in map(hosted_name, _ordered_urls(listing, None)) if name]
            found = _from_folder(root, note)
            return replace(found, root=root, remotes=tuple(names), project=names[0] if names else found.project)
    return _from_folder(here, note)


def _config_file(dot_git: Path) -> Path | None:
    common = _common_folder(dot_git)
    return common / "config" if common is not None and (common / "config").is_file() else None


def _common_folder(dot_git: Path) -> Path | None:
    """Follow .git to the folder that worktrees share; in worktrees and submodules it is a file that points."""
    try:
        if dot_git.is_file():
            pointed = dot_git.parent / dot_git.read_text("utf-8").removeprefix("gitdir:").strip()
            common = pointed / "commondir"
            dot_git = pointed / common.read_text("utf-8").strip() if common.exists() else pointed
        return dot_git if dot_git.is_dir() else None
    except (OSError, ValueError):
        return None


def _storable(text: str) -> str:
    # git's names are bytes; what is not UTF-8 could not be written to a table.
    return text.encode("utf-8", "replace").decode("utf-8")
