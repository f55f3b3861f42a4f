"""Anchors: resolves the files, symbols, commands and dependencies that a text names, and keeps their digests."""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from reverie.codebase.git import GitUnavailable
from reverie.codebase.manifests import Entry, entries_of, entry_for, normalised
from reverie.codebase.mentions import AbsentFile, Mention, in_history, mentions_in, named_files, path_mention
from reverie.codebase.symbols import Symbol, find_symbol, symbol_digest
from reverie.codebase.tree import SourceTree, is_foreign
from reverie.memory import Anchor

Definition = tuple[str, Symbol]
"""A file, and a symbol that it defines."""

_SECONDARY_FOLDERS = frozenset(
    {
        *("test", "tests", "testing", "spec", "specs", "__tests__", "testdata", "fixtures", "examples", "example"),
        *("docs", "doc", "samples", "sample", "benchmarks", "bench", "demo", "demos", "stubs", "typeshed"),
        *("migrations", "mocks"),
    }
)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.\w+$|[._](?:test|spec)\.\w+$")


def likeliest_definition(
    places: Sequence[Definition], near: Sequence[str] = (), *, name: str = ""
) -> Definition | None:
    """Choose the definition that a name means: the only one in a file nearby, else the only one outside tests.

    Of a function and methods that share its name, the name alone means the function.
    """
    close = [place for place in places if any(_lies_in(place[0], path) for path in near if path)]
    exact = [place for place in places if place[1].qualified == name]
    for group in (close, places, exact):
        if not group:
            continue
        best = [place for place in group if _rank(place) == min(map(_rank, group))]
        # Overloads and conditional definitions are one name in one file.
        if len({(path, symbol.qualified) for path, symbol in best}) == 1:
            return best[0]
    return None


def is_secondary(path: str) -> bool:
    """Return whether a file is a test, an example or documentation rather than the project's main code."""
    return bool(_SECONDARY_FOLDERS.intersection(PurePosixPath(path).parts[:-1]) or _TEST_FILE.search(path))


def _rank(place: Definition) -> int:
    """Rank a definition: sources first, then headers and stubs, then tests, examples and documentation."""
    path = PurePosixPath(place[0])
    # A package that re-exports a function by `name = module.name` does not define it.
    reexported = 1 if place[1].kind in ("constant", "attribute") else 0
    if is_secondary(place[0]):
        return 4 + reexported
    declared_only = path.suffix in (".h", ".hh", ".hpp", ".pyi") or path.name.endswith(".d.ts")
    return (2 if declared_only else 0) + reexported


def _lies_in(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


MOST_ANCHORS = 12

SECONDS_FOR_HISTORY = 1.0
"""The time that git gets to find missing files in the history: whoever remembers the text waits for it."""

_SHORTEST_NAME = 3
_SOURCE_ROOTS = ("", "src/", "lib/", "python/", "app/")
_MODULE_ENDINGS = (".py", "/__init__.py", ".pyi", ".ts", ".js", ".rb", ".php", ".java", ".cs")


@dataclass(frozen=True, slots=True)
class Anchored:
    """The anchors of one text, which of the given files were not found, and which files that the text names."""

    anchors: tuple[Anchor, ...]
    unresolved: tuple[str, ...] = ()
    absent: tuple[AbsentFile, ...] = ()


def anchor(tree: SourceTree, text: str, files: Sequence[str] = ()) -> Anchored:
    """Resolve the files a caller names and everything a text mentions against a project's folder."""
    resolver = _Resolver(tree)
    found: dict[tuple[str, str | None, str], Anchor] = {}
    unresolved: list[str] = []
    for given in files:
        made = resolver.explicit(given)
        if made is None:
            unresolved.append(given)
        else:
            found.setdefault((made.path, made.symbol, made.kind), made)
    mentions = mentions_in(text)
    for made in resolver.mentioned(mentions):
        found.setdefault((made.path, made.symbol, made.kind), made)
    absent = [path for path in resolver.absent(mentions, list(found.values())) if path not in unresolved]
    return Anchored(
        tuple(found.values())[:MOST_ANCHORS],
        tuple(unresolved),
        tuple(in_history(tree, absent, patience=SECONDS_FOR_HISTORY)),
    )


class _Resolver:
    """Resolves the mentions of one text; reads git and the manifests once."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._entries: list[Entry] | None = None

    def explicit(self, given: str) -> Anchor | None:
        whole = self._relative(given)
        if "::" in whole and self._tree.is_file(whole):  # a name that only looks like a file and a symbol
            return self._exact(whole)
        mention = path_mention(whole, quoted=True)
        found = self._paths([mention])
        if not found or not mention.detail:
            return found[0] if found else None
        return self._symbol_in(found[0].path, mention.detail)

    def mentioned(self, mentions: Sequence[Mention]) -> list[Anchor]:
        paths = [
            replace(mention, name=self._relative(mention.name)) for mention in mentions if mention.kind == "path"
        ]
        anchors = self._paths(path for path in paths if "/" in path.name)
        named_files = {
            PurePosixPath(anchor.path).name for anchor in anchors
        }  # a bare name beside its path is the same file
        anchors += self._paths(path for path in paths if "/" not in path.name and path.name not in named_files)
        named = [anchor.path for anchor in anchors if anchor.kind == "file"]
        folders = [anchor.path for anchor in anchors if anchor.kind == "folder"]
        anchors += [anchor for mention in mentions if mention.kind == "command" for anchor in self._command(mention)]
        anchors += [
            anchor for mention in mentions if mention.kind == "dependency" for anchor in self._dependency(mention)
        ]
        plain = [m.name for m in mentions if m.kind == "symbol" and m.quoted and self._is_path(m.name)]
        anchors += [made for name in plain if (made := self._exact(name))]  # `Changelog`, a file without an ending
        taken = {anchor.symbol for anchor in anchors if anchor.kind in ("target", "script")}
        symbols = [m for m in mentions if m.kind == "symbol" and m.name not in taken and not self._is_path(m.name)]
        return anchors + self._symbols(symbols, named, folders)

    def absent(self, mentions: Sequence[Mention], anchors: Sequence[Anchor]) -> list[str]:
        """Return the files that the text names and that are nowhere in the project."""
        relative = [replace(one, name=self._relative(one.name)) for one in mentions if one.kind == "path"]
        inside = [one for one in relative if not one.name.startswith("/")]  # that would be a file of this machine
        paths = [path for path in named_files(inside, anchors) if not self._tree.is_file(path)]
        if not paths:
            return []
        try:
            known = self._tree.paths(paths)
        except GitUnavailable:
            return []
        return [path for path in paths if not any(one == path or one.endswith(f"/{path}") for one in known)]

    # -- paths -----------------------------------------------------------------------------------------

    def _relative(self, written: str) -> str:
        """Return a path relative to the root: absolute ones inside it, and `/src/x` as documents write it."""
        slashed = written.replace("\\", "/")
        root = str(self._tree.root).replace(os.sep, "/")
        for start in (root + "/", str(Path(root)) + "/"):
            if slashed.startswith(start):
                return slashed[len(start) :]
        return slashed

    def _is_path(self, name: str) -> bool:
        return self._tree.is_file(name)

    def _paths(self, mentions: Iterable[Mention]) -> list[Anchor]:
        anchors: list[Anchor] = []
        partial: list[Mention] = []
        for mention in mentions:
            exact = self._exact(mention.name.lstrip("/"))
            if exact is not None:
                anchors += self._with_symbol(exact, mention)
            elif _may_be_partial(mention):
                partial.append(mention)
        return anchors + self._partial(partial)

    def _exact(self, path: str) -> Anchor | None:
        cleaned = str(PurePosixPath(path.rstrip("/") or "."))
        if cleaned in (".", "") or path.startswith(".."):
            return None
        if self._tree.is_file(cleaned):
            return Anchor(path=cleaned, kind="file", digest=self._tree.digest(cleaned), freshness="verified")
        if self._tree.is_folder(cleaned) and ("/" in path or cleaned != path):
            return Anchor(path=cleaned, kind="folder", freshness="verified")
        return None

    def _with_symbol(self, anchor: Anchor, mention: Mention) -> list[Anchor]:
        if not mention.detail or anchor.kind != "file":
            return [anchor]
        inner = self._symbol_in(anchor.path, mention.detail)
        return [inner or anchor]

    def _partial(self, mentions: Sequence[Mention]) -> list[Anchor]:
        """Resolve `retry.py` and `http/retry.py` to the only file that ends so."""
        tails = {mention.name.strip("/"): mention for mention in mentions}
        tails = {tail: mention for tail, mention in tails.items() if tail and ".." not in tail.split("/")}
        if not tails:
            return []
        try:
            paths = self._tree.paths(list(tails))
        except GitUnavailable:
            return []
        anchors: list[Anchor] = []
        for tail, mention in tails.items():
            path = _only_one(tail, paths)
            if path is not None:
                anchor = self._exact(path if self._tree.is_file(path) else f"{path}/")
                anchors += self._with_symbol(anchor, mention) if anchor else []
        return anchors

    # -- symbols ---------------------------------------------------------------------------------------

    def _symbols(self, mentions: Sequence[Mention], named: Sequence[str], folders: Sequence[str]) -> list[Anchor]:
        anchors: list[Anchor] = []
        unresolved_names: dict[str, Mention] = {}
        for mention in mentions:
            beside = self._beside(mention, named)
            if beside is not None:
                anchors.append(beside)
            elif len(mention.name) >= _SHORTEST_NAME and (not named or _is_separate(mention)):
                unresolved_names.setdefault(mention.name, mention)
        modules = {name: self._module(name) for name in unresolved_names if "." in name}
        for name, module in modules.items():
            inside = self._in_module(module)
            if inside is not None:
                anchors.append(inside)
            if inside is not None or (module is None and _is_elsewhere(name)):
                del unresolved_names[name]
        wanted = {name: _searched(name, modules.get(name)) for name in unresolved_names}
        members = {name: name.partition(".")[2] for name in unresolved_names if "." in name and not modules[name]}
        try:  # all in one call: each call checks the whole tree for changes
            places = self._tree.defining([name for name in (*wanted.values(), *members.values()) if name])
        except GitUnavailable:
            return anchors
        for name, mention in unresolved_names.items():
            found = places.get(wanted[name], [])
            if name in members:
                found = [*found, *_by_stem(name, places.get(members[name], []))]
            made = self._settle(mention, modules.get(name), found, named, folders)
            if made is not None:
                anchors.append(made)
        return anchors

    def _beside(self, mention: Mention, named: Sequence[str]) -> Anchor | None:
        """Resolve a symbol in one of the files that the same text names."""
        fitting = [path for path in named if find_symbol(self._tree.symbols(path), mention.name)]
        return self._symbol_in(fitting[0], mention.name) if len(fitting) == 1 else None

    def _settle(
        self,
        mention: Mention,
        module: "_Module | None",
        places: Sequence[tuple[str, Symbol]],
        named: Sequence[str],
        folders: Sequence[str],
    ) -> Anchor | None:
        if module is not None:
            # A package often re-exports what the modules beside and below it define.
            folder = str(PurePosixPath(module.path).parent)
            places = [(path, symbol) for path, symbol in places if folder == "." or path.startswith(f"{folder}/")]
        if not _is_distinctive(mention):
            # A plain word means a definition of the main code, and nothing if it is also a method somewhere.
            places = [place for place in places if not is_secondary(place[0])]
        meant = [(path, symbol) for path, symbol in places if _is_meant(mention, symbol)]
        if not _is_distinctive(mention) and any(symbol.kind == "method" for _, symbol in places):
            return None
        chosen = likeliest_definition(meant, [*named, *folders], name=module.rest if module else mention.name)
        return self._symbol_anchor(*chosen) if chosen else None

    def _in_module(self, module: "_Module | None") -> Anchor | None:
        if module is None:
            return None
        return self._symbol_in(module.path, module.rest) if module.rest else self._exact(module.path)

    def _module(self, name: str) -> "_Module | None":
        """Read `pkg.mod.func` as a file of the project and what it defines; the longest file wins."""
        parts = name.split(".")
        # A package may be installed under a name that no folder has: `name.pkg.mod` for pkg/mod.py.
        for start in (0, 1) if len(parts) > 2 else (0,):
            for length in range(len(parts), start * 2, -1):
                stem = "/".join(parts[start:length])
                for root in _SOURCE_ROOTS:
                    for ending in _MODULE_ENDINGS:
                        if self._tree.is_file(f"{root}{stem}{ending}"):
                            return _Module(f"{root}{stem}{ending}", ".".join(parts[length:]))
        return None

    def _symbol_in(self, path: str, name: str) -> Anchor | None:
        symbol = find_symbol(self._tree.symbols(path), name)
        return self._symbol_anchor(path, symbol) if symbol else None

    def _symbol_anchor(self, path: str, symbol: Symbol) -> Anchor | None:
        source = self._tree.read(path)
        if source is None:
            return None
        return Anchor(
            path=path,
            symbol=symbol.qualified,
            kind="symbol",
            digest=symbol_digest(symbol, source),
            file_digest=self._tree.digest(path),
            span=symbol.span,
            freshness="verified",
        )

    # -- manifests -------------------------------------------------------------------------------------

    @property
    def _manifest_entries(self) -> list[Entry]:
        if self._entries is None:
            self._entries = entries_of(self._tree)
        return self._entries

    def _command(self, mention: Mention) -> list[Anchor]:
        entry = entry_for(self._manifest_entries, mention.name)
        return [entry_anchor(entry)] if entry else []

    def _dependency(self, mention: Mention) -> list[Anchor]:
        wanted = normalised(mention.name)
        fitting = [e for e in self._manifest_entries if e.kind == "dependency" and normalised(e.name) == wanted]
        return [entry_anchor(fitting[0])] if fitting else []


@dataclass(frozen=True, slots=True)
class _Module:
    path: str
    rest: str


def entry_anchor(entry: Entry) -> Anchor:
    """Return the anchor for an entry of a manifest."""
    return Anchor(
        path=entry.path,
        symbol=entry.name,
        kind=entry.kind,
        digest=entry.digest,
        span=(entry.line, entry.line),
        freshness="verified",
    )


def _may_be_partial(mention: Mention) -> bool:
    """Return whether a path may lie deeper than it is written; a folder must be written as one."""
    name = mention.name.rstrip("/")
    last = name.rpartition("/")[2]
    if "." in last.lstrip("."):
        return True
    return "/" in name and (mention.quoted or mention.name.endswith("/"))


def _by_stem(name: str, places: Sequence[tuple[str, Symbol]]) -> list[tuple[str, Symbol]]:
    """Resolve `web.Application` to what a file called web defines, wherever it lies."""
    stem, _, last = name.partition(".")
    return [
        (path, symbol)
        for path, symbol in places
        if symbol.qualified == last and stem in (PurePosixPath(path).stem, PurePosixPath(path).parent.name)
    ]


def _only_one(tail: str, paths: Iterable[str]) -> str | None:
    """Return the only path that is or ends in a tail, or the only folder; the project's own before others'."""
    files = [path for path in paths if path == tail or path.endswith(f"/{tail}")]
    folders = dict.fromkeys(path[: path.index(f"/{tail}/") + len(tail) + 1] for path in paths if f"/{tail}/" in path)
    for candidates in (files, [*folders] if not files else []):
        own = [path for path in candidates if not is_foreign(path)]
        for group in (candidates, own):
            if len(group) == 1:
                return group[0]
    return None


def _searched(name: str, module: _Module | None) -> str:
    """Return what to look for: behind a module its rest, otherwise the name as it stands."""
    return module.rest if module is not None else name


def _is_elsewhere(name: str) -> bool:
    """Return whether a dotted name belongs to Python's own library, and only looks like one of ours."""
    first, dot, _ = name.partition(".")
    return bool(dot) and first in sys.stdlib_module_names


def _is_separate(mention: Mention) -> bool:
    """Return whether a name beside a path is one of its own: other words mostly say what the path is about."""
    return _is_distinctive(mention) and (mention.quoted or mention.called)


def _is_distinctive(mention: Mention) -> bool:
    """Return whether a name cannot be an ordinary word: it has an underscore, a dot, a hump or parentheses."""
    name = mention.name.strip("_")
    return "_" in name or "." in name or mention.called or re.search(r"[a-z][A-Z]", name) is not None


def _is_meant(mention: Mention, symbol: Symbol) -> bool:
    """Return whether a definition may be what a bare word means: a plain word only names what a module offers."""
    if "." in mention.name:
        return True
    telling = _is_distinctive(mention)
    if symbol.kind == "attribute" or (symbol.kind == "constant" and "." in symbol.qualified):
        return False
    if symbol.kind == "method":
        return telling
    if symbol.kind == "constant":
        return telling or mention.name.isupper()
    return mention.quoted or telling
