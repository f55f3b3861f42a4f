"""Attack: a repository configures programs, or shows git another repository, and somebody works in it.

Every program leaves a canary when it runs. Git is the one installed. The first test starts a server process and a
command process; the others run the same code in this process.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reverie.codebase.identity import identify_project

from ..conftest import MakeRepository, Repository

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="the canaries are shell scripts")]

LAMP = "".join(f"def lamp_{number}():\n    return {number}\n\n\n" for number in range(12))
OIL = "".join(f"def fill_{number}(tank):\n    return tank + {number}\n\n\n" for number in range(12))
WICK = "".join(f"def trim_{number}(wick):\n    return wick[:{number}]\n\n\n" for number in range(12))

# Every option of git 2.39 whose value is a program (`git help --config`), and some that came later.
PROGRAMS = (
    *("core.alternateRefsCommand", "core.askPass", "core.editor", "core.fsmonitor", "core.gitProxy", "core.pager"),
    *("core.sshCommand", "core.useBuiltinFSMonitor", "sequence.editor", "interactive.diffFilter", "diff.external"),
    *("diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process"),
    *("filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process", "lfs.extension.evil.clean"),
    *("lfs.customtransfer.evil.path", "merge.evil.driver", "mergetool.evil.cmd", "difftool.evil.cmd"),
    *("guitool.evil.cmd", "man.evil.cmd", "browser.evil.cmd", "web.browser", "gpg.program", "gpg.openpgp.program"),
    *("gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand", "credential.helper"),
    *("credential.https://example.org.helper", "remote.origin.uploadpack", "remote.origin.receivepack"),
    *("remote.origin.proxy", "remote.origin.vcs", "uploadpack.packObjectsHook", "gc.recentObjectsHook"),
    *("sendemail.tocmd", "sendemail.ccCmd", "sendemail.smtpServer", "tar.evil.command", "trailer.evil.command"),
    *("trailer.evil.cmd", "hook.evil.command", "submodule.evil.update", "instaweb.httpd"),
)
COMMANDS = (
    *("cat-file", "config", "diff", "diff-files", "diff-index", "diff-tree", "for-each-ref", "grep", "log"),
    *("ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "show", "status", "symbolic-ref"),
)
HOOKS = (
    *("applypatch-msg", "fsmonitor-watchman", "post-checkout", "post-commit", "post-index-change", "pre-auto-gc"),
    *("pre-commit", "reference-transaction", "query-watchman", "post-rewrite", "pre-push", "update"),
)
SWITCHES = {
    "log.showSignature": "true",
    "filter.evil.required": "true",
    "diff.evil.cachetextconv": "true",
    "diff.submodule": "log",
    "status.submoduleSummary": "true",
    "submodule.recurse": "true",
    "core.fsmonitorHookVersion": "1",
    "core.untrackedCache": "true",
    "fsmonitor.allowRemote": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "extensions.partialClone": "origin",
    "core.repositoryFormatVersion": "1",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
    "gc.auto": "1",
    "hook.evil.event": "post-index-change",
    "safe.directory": "*",
    "safe.bareRepository": "all",
}


class Canaries:
    """Programs that leave a file with their name when they run."""

    def __init__(self, folder: Path) -> None:
        self._programs = folder / "programs"
        self._ran = folder / "ran"
        self._programs.mkdir(parents=True)
        self._ran.mkdir()

    def program(self, name: str) -> str:
        plain = name.replace("/", "-")
        script = self._programs / plain
        script.write_text(f"#!/bin/sh\ntouch '{self._ran}/{plain}'\ncat 2>/dev/null\n")
        script.chmod(0o755)
        return str(script)

    def hooks(self) -> str:
        folder = self._programs / "hooks"
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            shutil.copy(self.program(f"hook-{hook}"), folder / hook)
        return str(folder)

    @property
    def ran(self) -> list[str]:
        return sorted(path.name for path in self._ran.iterdir())


def arm(git_dir: Path, canaries: Canaries, attributes: Path) -> None:
    """Set every executable option in a git directory, in itself and in a file that it includes."""

    def configure(file: Path, key: str, value: str) -> None:
        section, _, rest = key.partition(".")
        part, _, name = rest.rpartition(".")
        heading = f'{section} "{part}"' if part else section
        with file.open("a") as config:
            config.write(f'[{heading}]\n\t{name} = "{value}"\n')

    config, included = git_dir / "config", git_dir / "included"
    for key in PROGRAMS:
        value = canaries.program(key)
        configure(config, key, f"!{value}" if key.startswith("submodule.") else value)
    for command in COMMANDS:
        configure(config, f"alias.{command}", f"!{canaries.program(f'alias.{command}')}")
        configure(config, f"pager.{command}", canaries.program(f"pager.{command}"))
    for key, value in SWITCHES.items():
        configure(config, key, value)
    configure(config, "core.hooksPath", canaries.hooks())
    configure(config, "remote.origin.url", f"ext::{canaries.program('transport-ext')} %S")
    for key in ("core.fsmonitor", "filter.more.clean", "diff.external", "gpg.program"):
        configure(included, key, canaries.program(f"included-{key}"))
    configure(config, "include.path", str(included))
    configure(config, "includeIf.gitdir:/**.path", str(included))
    listed = subprocess.run(
        ["git", "config", "--file", str(config), "--list", "--name-only"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert {key.lower() for key in PROGRAMS} <= {key.lower() for key in listed}, "git reads what was written"
    (git_dir / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        shutil.copy(canaries.program(f"own-hook-{hook}"), git_dir / "hooks" / hook)
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text("*.py filter=more diff=evil\n")
    attributes.write_text("* filter=evil diff=evil merge=evil\n*.bin filter=lfs\n")


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    """Return the bytes and times of everything in a folder; a lock that came and went shows in its folder's time."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (hashlib.sha256(content).hexdigest(), path.lstat().st_mtime_ns)
    return found


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    return Canaries(tmp_path / "canaries")


Serve = Callable[[Path], Any]


@pytest.fixture
def serve(start_here: Callable[..., Any]) -> Serve:
    """Start a server, in this process, that works in a folder."""

    def in_folder(folder: Path) -> Any:
        server = start_here(within=folder, REVERIE_PROJECT="")
        server.until_ready()
        return server

    return in_folder


@pytest.fixture
def command(called: Callable[..., Any], tmp_path: Path) -> Callable[..., str]:
    """Run one of our commands in a folder, in this process."""

    def run(folder: Path, *arguments: str) -> str:
        done = called(folder, *arguments, REVERIE_HOME=str(tmp_path / "home"), REVERIE_PROJECT="")
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    return run


@pytest.fixture
def lighthouse(repo: Repository) -> Repository:
    """A repository with a signed commit."""
    repo.write("src/lamp.py", LAMP)
    repo.write("src/oil.py", OIL)
    repo.write("src/wick.py", WICK)
    repo.write("docs/keeper.md", "# The keeper\n\nWho keeps the light burning through the night.\n")
    repo.write("assets/light.bin", "\0\1\2")
    repo.commit()
    return repo


def _sign(repo: Repository, signer: Path) -> None:
    """Commit with a signature that nobody could check, but that git would try to."""
    signer.write_text(
        "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    signer.chmod(0o755)
    repo.git("add", "--all")
    repo.git("-c", f"gpg.program={signer}", "-c", "user.signingKey=x", "commit", "-q", "-S", "-m", "signed")


def _operations(server: Any, kept: str) -> Iterator[str]:
    """Use everything that looks at the code; yield the name of each once it is done."""
    for tool, arguments in (
        ("recall", {"query": "where is the lamp lit and the oil filled"}),
        ("recall", {"query": "who trims the wick", "explain": True}),
        ("inspect", {"ids": [kept]}),
        ("brief", {}),
        ("status", {}),
        ("remember", {"content": "`lamp_3` and `fill_4` and trim_5() belong together, see lamp.py and src/oil.py."}),
        ("index_codebase", {}),
        ("recall", {"query": "trim_7"}),
        ("consolidate", {"dry_run": True}),
        ("consolidate", {}),
        ("review", {}),
    ):
        server.call(tool, **arguments)
        yield tool


def _freshness(server: Any, memory_id: str) -> list[tuple[str, str | None]]:
    return [(anchor["freshness"], anchor.get("now_at")) for anchor in server.full(memory_id)["anchors"]]


def test_nothing_that_a_repository_configures_is_run_and_nothing_is_written_into_it(
    lighthouse: Repository,
    canaries: Canaries,
    start: Callable[..., Any],
    serve: Serve,
    command: Callable[..., str],
    tmp_path: Path,
) -> None:
    git_dir = lighthouse.root / ".git"
    before_arming = serve(lighthouse.root)
    kept = [
        before_arming.call("remember", content=f"It is done in `src/{name}.py`.")["id"]
        for name in ("lamp", "oil", "wick")
    ]
    lighthouse.git("mv", "src/lamp.py", "src/lantern.py")  # renamed in a signed commit, and edited
    lighthouse.write("src/lantern.py", LAMP + "# more\n")
    _sign(lighthouse, tmp_path / "signer")
    (lighthouse.root / "src/oil.py").rename(lighthouse.root / "src/fuel.py")  # moved and edited without telling git
    lighthouse.write("src/fuel.py", OIL + "# more\n")
    (lighthouse.root / "src/wick.py").unlink()
    os.utime(lighthouse.root / "docs/keeper.md", (1_800_000_000, 1_800_000_000))  # the index would be refreshed
    arm(git_dir, canaries, lighthouse.root / ".gitattributes")
    before = fingerprint(git_dir)
    server = start(before=f"cd '{lighthouse.root}'", REVERIE_PROJECT="")
    server.until_ready()
    for done in _operations(server, kept[0]):
        assert canaries.ran == [], done
        assert fingerprint(git_dir) == before, done
    environment = os.environ | {"REVERIE_HOME": str(tmp_path / "home")}
    process = [sys.executable, "-m", "reverie", "drift", "--dry-run"]
    subprocess.run(process, cwd=lighthouse.root, env=environment, check=True, capture_output=True)
    assert canaries.ran == []
    assert fingerprint(git_dir) == before
    for arguments in (["drift"], ["index"], ["status"], ["doctor"], ["recall", "the lamp"]):
        command(lighthouse.root, *arguments)
        assert canaries.ran == [], arguments
        assert fingerprint(git_dir) == before, arguments
    assert [_freshness(server, one) for one in kept] == [
        [("moved", "src/lantern.py")],
        [("moved", "src/fuel.py")],
        [("missing", None)],
    ]


def test_a_missing_object_of_a_partial_clone_is_not_fetched(
    lighthouse: Repository, canaries: Canaries, serve: Serve
) -> None:
    server = serve(lighthouse.root)
    kept = server.call("remember", content="It is done in `src/lamp.py` and `src/oil.py`.")["id"]
    lighthouse.git("mv", "src/lamp.py", "src/lantern.py")
    lighthouse.git("rm", "-q", "src/oil.py")
    lighthouse.write("src/tank.py", "x = 1\n" * 90)
    lighthouse.commit()
    arm(lighthouse.root / ".git", canaries, lighthouse.root / ".gitattributes")
    blob = hashlib.sha1(f"blob {len(OIL)}\0{OIL}".encode()).hexdigest()  # noqa: S324 - git's own
    (lighthouse.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    server = serve(lighthouse.root)
    for done in _operations(server, kept):
        assert canaries.ran == [], done
    assert _freshness(server, kept) == [("moved", "src/lantern.py"), ("missing", None)]


def _embedding(make_repository: MakeRepository, canaries: Canaries, clone: Path, work_tree: str) -> Path:
    """Make a plain clone in which one folder looks like the inside of a .git, and is armed."""
    author = make_repository("author")
    author.write("src/lamp.py", LAMP)
    author.write("src/oil.py", OIL)
    author.commit()
    other = make_repository("other")
    other.write("src/lamp.py", LAMP)
    other.commit()
    inside = author.root / "tools" / "cache"
    shutil.copytree(other.root / ".git", inside)
    shutil.copytree(other.root / "src", inside / "src")
    arm(inside, canaries, author.root / ".gitattributes")
    shutil.copy(author.root / ".gitattributes", inside)
    with (inside / "config").open("a") as config:
        config.write(f'[core]\n\tworktree = "{work_tree}"\n\tbare = false\n')
    for empty in ("refs/tags", "objects/info", "objects/pack"):
        (inside / empty / "keep").write_text("")
    author.git("add", "--all", "--force")
    author.git("commit", "-q", "-m", "a step")
    author.git("clone", "-q", str(author.root), str(clone))
    assert (clone / "tools/cache/HEAD").is_file()
    return clone


@pytest.mark.parametrize(
    ("place", "work_tree"),
    [
        pytest.param("", "../..", id="from the clone, which it names"),
        pytest.param("tools/cache", ".", id="from itself, which it names"),
        pytest.param("", ".", id="from the clone, itself named", marks=pytest.mark.slow),
        pytest.param("tools/cache", "../..", id="from itself, the clone named", marks=pytest.mark.slow),
    ],
)
def test_a_folder_that_looks_like_a_git_directory_is_only_a_folder(
    make_repository: MakeRepository,
    canaries: Canaries,
    serve: Serve,
    command: Callable[..., str],
    tmp_path: Path,
    work_tree: str,
    place: str,
) -> None:
    clone = _embedding(make_repository, canaries, tmp_path / "clone", work_tree)
    server = serve(clone / place)
    assert server.call("status")["project"] == identify_project(clone).project
    kept = server.call("remember", content="It is done in `src/lamp.py`.")["id"]
    for folder in (clone, clone / "tools/cache"):
        (folder / "src/lamp.py").rename(folder / "src/lantern.py")
    (clone / "src/lantern.py").write_text(LAMP + "# more\n")
    subprocess.run(["git", "-C", str(clone), "add", "--all", "src"], check=True)
    before = fingerprint(clone)
    for done in _operations(server, kept):
        assert canaries.ran == [], done
    server.call("index_codebase", path="tools/cache")
    command(clone / place, "drift", "--dry-run")
    command(clone / place, "index")
    assert canaries.ran == []
    assert fingerprint(clone) == before
    assert _freshness(server, kept) == [("moved", "src/lantern.py")]


def test_a_work_tree_that_the_configuration_names_is_not_believed(
    lighthouse: Repository, serve: Serve, tmp_path: Path
) -> None:
    elsewhere = Repository(tmp_path / "elsewhere")
    elsewhere.write("src/private.py", "def private_key(): ...\n")
    project = identify_project(lighthouse.root).project
    lighthouse.git("config", "core.worktree", str(elsewhere.root))
    server = serve(lighthouse.root)
    assert server.call("status")["project"] == project
    found = server.call("index_codebase")
    kept = server.call("remember", content="`private_key` is there.", files=["src/lamp.py"])
    assert [anchor["path"] for anchor in kept["anchors"]] == ["src/lamp.py"]
    assert found["files"] > 0
    assert "private" not in str(server.call("recall", query="private_key", layers=["codebase"])["results"])


def test_a_pointer_to_the_repository_of_another_work_tree_is_not_followed(
    make_repository: MakeRepository, serve: Serve, tmp_path: Path
) -> None:
    victim = make_repository("victim")
    victim.write("plans.py", "def secret_plan(): ...\n")
    victim.commit()
    victim.git("remote", "add", "origin", "https://github.com/acme/victim")
    victim.git("worktree", "add", "-q", str(tmp_path / "beside"))
    project = serve(victim.root).call("status")["project"]
    assert serve(tmp_path / "beside").call("status")["project"] == project
    for pointer in ("file", "link", "worktree", "commondir"):
        trap = Repository(tmp_path / f"trap-{pointer}")
        trap.write("readme.md")
        match pointer:
            case "file":
                trap.write(".git", f"gitdir: {victim.root}/.git\n")
            case "link":
                (trap.root / ".git").symlink_to(victim.root / ".git")
            case "worktree":
                trap.write(".git", f"gitdir: {victim.root}/.git/worktrees/beside\n")
            case "commondir":
                trap.write(".git/HEAD", "ref: refs/heads/main\n")
                trap.write(".git/commondir", f"{victim.root}/.git\n")
        assert serve(trap.root).call("status")["project"] != project, pointer
