"""Claims: statements of a memory about a project that its working tree can answer.

A claim says that a file, symbol, command, dependency, version or setting exists, and what it is.
"""

import configparser
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reverie.codebase.git import GitUnavailable
from reverie.codebase.manifests import Entry, allows, entries_of, entry_for, normalised
from reverie.codebase.mentions import mentions_in
from reverie.codebase.symbols import find_symbol
from reverie.codebase.tree import SourceTree
from reverie.memory import Anchor

ClaimKind = Literal["file", "folder", "symbol", "script", "target", "dependency", "version", "setting"]
Verdict = Literal["holds", "fails", "unknown"]

_SETTING = re.compile(r"`+\s*(?P<key>[A-Za-z_][\w.-]*)\s*(?:=|:)\s*(?P<value>[^`\n=]{1,80}?)\s*`+")
_CONFIGURATIONS = (
    *("pyproject.toml", "setup.cfg", "tox.ini", "package.json", "tsconfig.json", "Cargo.toml", "ruff.toml"),
    *(".env", ".env.example", "docker-compose.yml", "compose.yaml", ".editorconfig", "mypy.ini", "pytest.ini"),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about a project that can be checked."""

    kind: ClaimKind
    name: str
    value: str = ""  # the version or the setting's value
    path: str = ""  # where it is said to be; empty: anywhere


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a claim holds, and the file that shows it."""

    verdict: Verdict
    receipt: str = ""  # path, or path:line
    note: str = ""


def check_claim(tree: SourceTree, claim: Claim) -> Finding:
    """Check a claim against the working tree."""
    match claim.kind:
        case "file":
            return _holds(claim.name) if tree.is_file(claim.name) else Finding("fails", note=f"no file {claim.name}")
        case "folder":
            return _holds(claim.name) if tree.is_folder(claim.name) else Finding("fails", note=f"no {claim.name}/")
        case "symbol":
            return _symbol(tree, claim)
        case "script" | "target":
            return _command(entries_of(tree), claim)
        case "dependency" | "version":
            return _dependency(entries_of(tree), claim)
        case "setting":
            return _setting(tree, claim)


def claims_about(text: str, anchors: Iterable[Anchor]) -> list[Claim]:
    """Return what a memory claims: what it was anchored to, the versions it names and the settings it quotes."""
    claims: dict[Claim, None] = {}
    for anchor in anchors:
        if anchor.kind in ("file", "folder"):
            claims.setdefault(Claim("file" if anchor.kind == "file" else "folder", anchor.path))
        elif anchor.kind == "symbol" and anchor.symbol:
            claims.setdefault(Claim("symbol", anchor.symbol, path=anchor.path))
        elif anchor.kind in ("script", "target") and anchor.symbol:
            claims.setdefault(Claim("script" if anchor.kind == "script" else "target", anchor.symbol))
    declared = {normalised(a.symbol or "") for a in anchors if a.kind == "dependency"}
    for mention in mentions_in(text):
        if mention.kind == "dependency" and normalised(mention.name) in declared:
            claims.setdefault(Claim("version", mention.name, mention.detail))
    for found in _SETTING.finditer(text):
        claims.setdefault(Claim("setting", found["key"], found["value"].strip("\"' ,;")))
    return list(claims)


def _holds(receipt: str) -> Finding:
    return Finding("holds", receipt)


def _symbol(tree: SourceTree, claim: Claim) -> Finding:
    if claim.path:
        symbol = find_symbol(tree.symbols(claim.path), claim.name)
        if symbol is not None:
            return _holds(f"{claim.path}:{symbol.span[0]}")
    try:
        places = tree.defining([claim.name])[claim.name]
    except GitUnavailable as error:
        return Finding("unknown", note=str(error))
    if not places:
        return Finding("fails", claim.path, f"nothing here defines {claim.name}")
    receipt = f"{places[0][0]}:{places[0][1].span[0]}"
    if claim.path:
        return Finding("fails", receipt, f"{claim.name} is in {places[0][0]}, not in {claim.path}")
    return _holds(receipt)


def _command(entries: Sequence[Entry], claim: Claim) -> Finding:
    entry = entry_for(entries, claim.name) if " " in claim.name else None
    entry = entry or next((e for e in entries if (e.kind, e.name) == (claim.kind, claim.name)), None)
    if entry is not None:
        return _holds(f"{entry.path}:{entry.line}")
    manifests = sorted({e.path for e in entries if e.kind in ("script", "target")})
    if not manifests:
        return Finding("unknown", note="no manifest here defines commands")
    return Finding("fails", manifests[0], f"{claim.name} is in none of {', '.join(manifests)}")


def _dependency(entries: Sequence[Entry], claim: Claim) -> Finding:
    declared = [e for e in entries if e.kind == "dependency"]
    fitting = [e for e in declared if normalised(e.name) == normalised(claim.name)]
    if not declared:
        return Finding("unknown", note="no manifest here declares dependencies")
    if not fitting:
        return Finding("fails", declared[0].path, f"{claim.name} is not a dependency")
    receipt = f"{fitting[0].path}:{fitting[0].line}"
    if claim.kind == "dependency" or not claim.value:
        return _holds(receipt)
    verdicts = [allows(entry.value, claim.value) for entry in fitting]
    if True in verdicts:
        return _holds(receipt)
    note = f"{claim.name} is {fitting[0].value or 'without a version'}"
    return Finding("fails" if False in verdicts else "unknown", receipt, note)


def _setting(tree: SourceTree, claim: Claim) -> Finding:
    wanted = claim.name.replace("_", "-").lower()
    other: tuple[str, str] | None = None
    for path in [claim.path] if claim.path else _CONFIGURATIONS:
        source = tree.read(path)
        if source is None:
            continue
        for key, value, line in _settings_in(path, source.decode("utf-8", "replace")):
            plain = key.replace("_", "-").lower()
            if plain == wanted or plain.endswith(f".{wanted}"):
                receipt = f"{path}:{line}"
                if not claim.value or _same(value, claim.value):
                    return _holds(receipt)
                other = other or (receipt, value)
    if other is not None:
        return Finding("fails", other[0], f"{claim.name} is {other[1]}")
    return Finding("unknown", note=f"no configuration here sets {claim.name}")


def _settings_in(path: str, text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (dotted key, value, line) of a configuration; one that cannot be parsed is read line by line."""
    try:
        if path.endswith(".toml"):
            yield from _flattened(tomllib.loads(text), "", text)
            return
        if path.endswith(".json"):
            yield from _flattened(json.loads(text), "", text)
            return
        if path.endswith((".cfg", ".ini")):
            config = configparser.RawConfigParser(strict=False)
            config.read_string(text)
            for section in config.sections():
                for key, value in config.items(section):
                    yield f"{section}.{key}", value, _line(text, key)
            return
    except (ValueError, configparser.Error):
        pass  # read line by line below
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*[:=]\s*(.*?)\s*(?:#.*)?$", line)
        if found:
            yield found[1], found[2], number


def _flattened(data: Any, prefix: str, text: str) -> Iterator[tuple[str, str, int]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _flattened(value, f"{prefix}.{key}" if prefix else str(key), text)
    else:
        shown = data if isinstance(data, str) else json.dumps(data, default=str)
        yield prefix, shown, _line(text, prefix.rpartition(".")[2])


def _line(text: str, key: str) -> int:
    found = re.search(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*[:=]", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 + found[0].count("\n") if found else 1


def _same(found: str, claimed: str) -> bool:
    return found.strip().strip("\"'").lower() == claimed.strip().strip("\"'").lower()
