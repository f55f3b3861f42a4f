"""Which promise of a manifest a command relies on: `make lint`, `npm run build`, a console script."""

import re
from collections.abc import Iterator, Sequence

from reverie.codebase.manifests import Entry

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
_TARGETS_OF = {
    "make": _MAKEFILES,
    "gmake": _MAKEFILES,
    "just": ("justfile", "Justfile", ".justfile"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "rake": ("Rakefile",),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
}
_NPM = ("npm", "yarn", "pnpm", "bun")
_NPM_OWN = frozenset({"start", "test", "stop", "restart"})
_PYTHON_RUNNERS = ("poetry", "pdm", "hatch", "uv", "pipenv", "poe")
_NO_MORE = re.compile(r"&&|\|\||[;|]")
_TAKES_VALUE = frozenset({"-C", "-f", "-j", "--directory", "--file", "--prefix", "--workspace", "-w"})


def entry_for(entries: Sequence[Entry], command: str) -> Entry | None:
    """Return the entry that makes a command work, or None if the project does not define it."""
    for part in _NO_MORE.split(command):
        words = [word for word in part.split() if "=" not in word or word.startswith("-")]
        found = _entry(entries, words) if words else None
        if found is not None:
            return found
    return None


def _entry(entries: Sequence[Entry], words: Sequence[str]) -> Entry | None:
    program, rest = words[0], list(words[1:])
    if program in _TARGETS_OF:
        return _target(entries, _TARGETS_OF[program], _target_names(program, rest))
    if program in _NPM:
        return _script(entries, ("package.json",), _npm_script(program, rest))
    if program == "composer":
        return _script(entries, ("composer.json",), next(iter(_plain([w for w in rest if w != "run"])), ""))
    if program in _PYTHON_RUNNERS and rest[:1] in (["run"], ["x"]):
        return _script(entries, (), next(iter(_plain(rest[1:])), "").rpartition(":")[2])
    return _script(entries, ("pyproject.toml", "setup.cfg", "setup.py"), program)


def _target(entries: Sequence[Entry], files: Sequence[str], names: Iterator[str]) -> Entry | None:
    wanted = next(names, "")
    fitting = (entry for entry in entries if entry.kind == "target" and entry.name == wanted)
    return next((entry for entry in fitting if entry.path in files or entry.path.endswith(".mk")), None)


def _script(entries: Sequence[Entry], files: Sequence[str], name: str) -> Entry | None:
    if not name:
        return None
    fitting = (entry for entry in entries if entry.kind == "script" and entry.name == name)
    return next((entry for entry in fitting if not files or entry.path in files), None)


def _target_names(program: str, rest: Sequence[str]) -> Iterator[str]:
    if program in ("tox", "nox"):
        flags = ("-e", "-s", "--env", "--session", "run", "-m", "--sessions")
        after = [rest[number + 1] for number, word in enumerate(rest[:-1]) if word in flags]
        yield from (name for word in after for name in word.split(",") if not name.startswith("-"))
    else:
        yield from _plain(rest)


def _npm_script(program: str, rest: Sequence[str]) -> str:
    words = list(_plain(rest))
    if not words:
        return ""
    if words[0] in ("run", "run-script"):
        return words[1] if len(words) > 1 else ""
    return words[0] if program != "npm" or words[0] in _NPM_OWN else ""


def _plain(words: Sequence[str]) -> Iterator[str]:
    """Leave out options and what belongs to them."""
    skipping = False
    for word in words:
        if not skipping and not word.startswith("-"):
            yield word
        skipping = word in _TAKES_VALUE
