"""What a project's manifests declare: commands, dependencies and versions; and which entry a command needs."""

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from reverie.codebase.symbols import text_digest
from reverie.codebase.tree import SourceTree

_CLAUSE = re.compile(r"(?P<operator>===|==|~=|>=|<=|!=|~>|\^|~|>|<|=)?\s*v?(?P<version>\d+(?:\.(?:\d+|\*|x))*)")

Version = tuple[int, ...]


def allows(requirement: str, version: str) -> bool | None:
    """Return whether a requirement allows a version; None if either cannot be read.

    A version is as exact as it is written: 4.2 stands for every 4.2.x.
    """
    wanted = _number(version)
    clauses = [(c["operator"] or "", c["version"]) for c in _CLAUSE.finditer(requirement.replace("||", ","))]
    if not wanted or not clauses or "||" in requirement:
        return None
    return all(_fits(operator, bound, wanted) for operator, bound in clauses)


def _fits(operator: str, written: str, wanted: Version) -> bool:
    bound = _number(written)
    length = min(len(bound), len(wanted))
    here, there = wanted[:length], bound[:length]
    match operator:
        case ">=" | "=>":
            return here >= there
        case ">":
            return here > there or (here == there and len(wanted) < len(bound))
        case "<=":
            return here <= there
        case "<":
            return here < there or (here == there and len(wanted) < len(bound))
        case "!=":
            return here != there
        case "~=" | "~>":
            return (
                here >= there and wanted[: max(1, len(bound) - 1)] == bound[: max(1, len(bound) - 1)][: len(wanted)]
            )
        case "^":
            return here >= there and _significant(wanted) == _significant(bound)[: len(_significant(wanted))]
        case "~":
            return here >= there and wanted[:2] == bound[:2][: len(wanted)]
        case _:  # pinned, or written as if
            return here == there


def _significant(version: Version) -> Version:
    """Return the part that a caret holds: up to the first number that is not zero."""
    for length, number in enumerate(version, 1):
        if number:
            return version[:length]
    return version


def _number(text: str) -> Version:
    found = re.match(r"[^\d]*(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


EntryKind = Literal["target", "script", "dependency"]

_REQUIREMENT = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<version>[^;#]*)")
_RULE = re.compile(r"^(?P<names>[A-Za-z0-9_./-][^:=#\t\n]*?)\s*::?(?![:=])(?P<rest>[^\n]*)")
_JUST_RULE = re.compile(r"^@?(?P<names>[A-Za-z0-9_-]+)(?:\s+[^:\n]*)?:(?!=)")
_RAKE_TASK = re.compile(r"^\s*(?:multi)?task\s*\(?:?[\"']?(?P<names>[\w:]+)")
_GEM = re.compile(r"^\s*gem\s+[\"'](?P<name>[\w-]+)[\"'](?:\s*,\s*[\"'](?P<version>[^\"']+)[\"'])?")
_GO_MODULE = re.compile(r"^\s*(?:require\s+)?(?P<name>[\w.-]+\.[\w.-]+/[\w./-]+)\s+(?P<version>v[\w.+-]+)")
_CONSOLE_SCRIPT = re.compile(r"[\"'](?P<name>[\w.-]+)\s*=\s*[\w.]+:[\w.]+")
_SESSION = re.compile(r"^def\s+(?P<names>\w+)\s*\(\s*session\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a manifest, and its line."""

    path: str
    kind: EntryKind
    name: str
    value: str  # the recipe, the script or the version
    line: int

    @property
    def digest(self) -> str:
        """The fingerprint of the entry."""
        return text_digest(self.value.splitlines())


def entries_of(tree: SourceTree) -> list[Entry]:
    """Return the entries of all manifests at the root."""
    return [entry for path in _manifests(tree) for entry in read_manifest(tree, path)]


def read_manifest(tree: SourceTree, path: str) -> list[Entry]:
    """Return the entries of one manifest; none if it cannot be read."""
    source = tree.read(path)
    return [] if source is None else _entries(path, source)


def _entries(path: str, source: bytes) -> list[Entry]:
    reader = _reader(path)
    if reader is None:
        return []
    text = source.decode("utf-8", "replace")
    try:
        return list(reader(path, text))
    except (ValueError, configparser.Error, TypeError, AttributeError):  # half edited, or of another format
        return []


def dependency_names(tree: SourceTree) -> frozenset[str]:
    """Return the packages that the manifests at the root depend on; a manifest is read again once it changes."""
    sources = ((path, tree.read(path)) for path in _manifests(tree))
    return frozenset(name for path, source in sources if source for name in _dependencies(path, source))


@lru_cache(maxsize=64)
def _dependencies(path: str, source: bytes) -> frozenset[str]:
    return frozenset(entry.name for entry in _entries(path, source) if entry.kind == "dependency")


def normalised(package: str) -> str:
    """Return a package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", package).lower()


def _manifests(tree: SourceTree) -> list[str]:
    names = [name for name in _READERS if tree.is_file(name)]
    try:
        entries = sorted(place.name for place in tree.root.iterdir())
        listed = tree.root / "requirements" if tree.is_folder("requirements") else None
        requirements = sorted(place.name for place in listed.glob("*.txt")) if listed else []
    except OSError:
        return names
    names += [name for name in entries if re.fullmatch(r".*requirements.*\.txt|.*\.mk", name)]
    return [*names, *(f"requirements/{name}" for name in requirements)]


def _reader(path: str) -> "Callable[[str, str], Iterable[Entry]] | None":
    if path.endswith(".txt"):
        return _requirements
    return _rules if path.endswith(".mk") else _READERS.get(path)


def _rules(path: str, text: str) -> Iterator[Entry]:
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        rule = _RULE.match(line)
        if not rule or rule["names"].startswith((".", "-include", "include", "export", "ifeq", "ifneq")):
            continue
        recipe = [rule["rest"].strip()]
        for following in lines[number:]:
            if not following.startswith("\t"):
                break
            recipe.append(following.strip())
        for name in rule["names"].split():
            yield Entry(path, "target", name, "\n".join(recipe), number)


def _by_pattern(pattern: re.Pattern[str]) -> Callable[[str, str], Iterator[Entry]]:
    """Read recipes that begin with a line of this pattern and continue while lines are indented."""

    def read(path: str, text: str) -> Iterator[Entry]:
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            found = pattern.match(line)
            if found:
                body = [line.strip()]
                for following in lines[number:]:
                    if following.strip() and not following[0].isspace():
                        break
                    body.append(following.strip())
                yield Entry(path, "target", found["names"], "\n".join(body), number)

    return read


def _package_json(path: str, text: str) -> Iterator[Entry]:
    data = json.loads(text)
    for name, value in _table(data, "scripts").items():
        yield Entry(path, "script", name, str(value), _line(text, name))
    for table in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "engines"):
        for name, value in _table(data, table).items():
            yield Entry(path, "dependency", name, str(value), _line(text, name))


def _composer_json(path: str, text: str) -> Iterator[Entry]:
    data = json.loads(text)
    for name, value in _table(data, "scripts").items():
        yield Entry(path, "script", name, str(value), _line(text, name))
    for table in ("require", "require-dev"):
        for name, value in _table(data, table).items():
            yield Entry(path, "dependency", name, str(value), _line(text, name))


def _pyproject(path: str, text: str) -> Iterator[Entry]:
    data = tomllib.loads(text)
    project, tool = _table(data, "project"), _table(data, "tool")
    poetry = _table(tool, "poetry")
    tables = [_table(project, "scripts"), _table(project, "gui-scripts"), _table(poetry, "scripts")]
    tables += [_table(_table(tool, "pdm"), "scripts"), _table(_table(tool, "poe"), "tasks")]
    tables += [_table(env, "scripts") for env in _table(_table(tool, "hatch"), "envs").values()]
    for table in tables:
        for name, value in table.items():
            yield Entry(path, "script", name, json.dumps(value, default=str), _line(text, name))
    required = [*project.get("dependencies", [])]
    for extra in (*_table(project, "optional-dependencies").values(), *_table(data, "dependency-groups").values()):
        required += [line for line in extra if isinstance(line, str)]
    yield from _required(path, text, required)
    if "requires-python" in project:
        yield Entry(path, "dependency", "python", project["requires-python"], _line(text, "requires-python"))
    groups = [_table(group, "dependencies") for group in _table(poetry, "group").values()]
    for table in (_table(poetry, "dependencies"), _table(poetry, "dev-dependencies"), *groups):
        for name, value in table.items():
            yield Entry(path, "dependency", name, _version(value), _line(text, name))


def _cargo(path: str, text: str) -> Iterator[Entry]:
    data = tomllib.loads(text)
    session = _table(_table(data, "workspace"), "dependencies")
    for table in (*(_table(data, f"{part}dependencies") for part in ("", "dev-", "build-")), session):
        for name, value in table.items():
            yield Entry(path, "dependency", name, _version(value), _line(text, name))


def _setup_cfg(path: str, text: str) -> Iterator[Entry]:
    config = configparser.RawConfigParser(strict=False)
    config.read_string(text)
    for section, option in (("options", "install_requires"), ("options", "python_requires")):
        value = config.get(section, option, fallback="")
        if option == "python_requires" and value:
            yield Entry(path, "dependency", "python", value, _line(text, option))
        else:
            yield from _required(path, text, value.splitlines())
    for line in config.get("options.entry_points", "console_scripts", fallback="").splitlines():
        name, equals, value = line.partition("=")
        if equals:
            yield Entry(path, "script", name.strip(), value.strip(), _line(text, name.strip()))


def _setup_py(path: str, text: str) -> Iterator[Entry]:
    """Read the console scripts and quoted requirements of a setup.py, without running it."""
    for block in re.finditer(r"console_scripts[\"']?\s*[:=]\s*[\[(](?P<list>.*?)[\])]", text, re.DOTALL):
        for found in _CONSOLE_SCRIPT.finditer(block["list"]):
            line = text.count("\n", 0, block.start("list") + found.start("name")) + 1
            yield Entry(path, "script", found["name"], found[0].strip(), line)
    for block in re.finditer(r"(?:install_requires|extras_require)\s*=\s*[\[{](?P<list>.*?)[\]}]", text, re.DOTALL):
        yield from _required(path, text, re.findall(r"[\"']([^\"'\n]+)[\"']", block["list"]))


def _tox(path: str, text: str) -> Iterator[Entry]:
    config = configparser.RawConfigParser(strict=False)
    config.read_string(text)
    listed = re.split(r"[\s,]+", config.get("tox", "envlist", fallback=config.get("tox", "env_list", fallback="")))
    sections = {name.partition(":")[2]: name for name in config.sections() if name.startswith("testenv:")}
    for name in dict.fromkeys((*sections, *(name for name in listed if re.fullmatch(r"[\w.-]+", name)))):
        body = dict(config.items(sections[name])) if name in sections else {}
        yield Entry(path, "target", name, json.dumps(body, sort_keys=True), _line(text, name))


def _requirements(path: str, text: str) -> Iterator[Entry]:
    yield from _required(path, text, [line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))])


def _required(path: str, text: str, lines: Iterable[str]) -> Iterator[Entry]:
    for line in lines:
        found = _REQUIREMENT.match(line)
        if found:
            yield Entry(path, "dependency", found["name"], found["version"].strip(), _line(text, found["name"]))


def _lines(pattern: re.Pattern[str]) -> Callable[[str, str], Iterator[Entry]]:
    def read(path: str, text: str) -> Iterator[Entry]:
        for number, line in enumerate(text.splitlines(), 1):
            found = pattern.match(line)
            if found:
                yield Entry(path, "dependency", found["name"], found["version"] or "", number)

    return read


def _taskfile(path: str, text: str) -> Iterator[Entry]:
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line[0].isspace():
            inside = line.startswith("tasks:")
        found = re.match(r"^ {2}([\w:.-]+):(?:\s|$)", line) if inside else None
        if found:
            yield Entry(path, "target", found[1], line.strip(), number)


def _table(data: Any, name: str) -> Mapping[str, Any]:
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def _version(value: Any) -> str:
    return str(value.get("version", "")) if isinstance(value, dict) else str(value)


def _line(text: str, name: str) -> int:
    """Return the line that sets a name, or the first that holds it as a word of its own."""
    word = rf"[\"']?(?<![\w-]){re.escape(name)}(?![\w-])"
    found = re.search(rf"^\s*{word}[\"']?\s*[:=\[<>~!]", text, re.MULTILINE) or re.search(word, text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


_READERS: Mapping[str, Callable[[str, str], Iterable[Entry]]] = {
    "Makefile": _rules,
    "makefile": _rules,
    "GNUmakefile": _rules,
    "justfile": _by_pattern(_JUST_RULE),
    "Justfile": _by_pattern(_JUST_RULE),
    ".justfile": _by_pattern(_JUST_RULE),
    "package.json": _package_json,
    "composer.json": _composer_json,
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
    "tox.ini": _tox,
    "noxfile.py": _by_pattern(_SESSION),
    "Rakefile": _by_pattern(_RAKE_TASK),
    "Taskfile.yml": _taskfile,
    "Taskfile.yaml": _taskfile,
    "Cargo.toml": _cargo,
    "go.mod": _lines(_GO_MODULE),
    "Gemfile": _lines(_GEM),
}


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
    """Leave out options and their values."""
    skipping = False
    for word in words:
        if not skipping and not word.startswith("-"):
            yield word
        skipping = word in _TAKES_VALUE
