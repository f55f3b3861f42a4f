"""Mentions: what a text may name: a path, symbol, command or dependency; and the files that only the history has.

Many words of prose look like code, so every mention is a candidate; anchors.py finds out whether it exists. In
backticks any identifier counts; elsewhere only what can be nothing else: a path with a slash or a suffix,
`snake_case`, a call.

Whether the project ever had a file that is not in the working tree, only git can tell. It is asked for the last
commit that touched the path, and given little time: somebody may wait.
"""

import keyword
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from reverie.codebase.git import GitUnavailable
from reverie.codebase.tree import SourceTree, content_digest, is_foreign, is_parsed
from reverie.memory import Anchor

MentionKind = Literal["path", "symbol", "command", "dependency"]


@dataclass(frozen=True, slots=True)
class Mention:
    """One candidate as the text writes it."""

    kind: MentionKind
    name: str  # a path with slashes, a dotted symbol, a command's words, a package
    detail: str = ""  # of a path: the symbol behind `::`; of a dependency: its version
    quoted: bool = False  # in backticks or a role, so that the writer meant a name
    called: bool = False  # written with parentheses


MOST_MENTIONS = 40
_LONGEST_TEXT = 20_000
_LONGEST_NAME = 200

_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
# Every repetition that can begin at many positions is bounded, or a run of one character takes minutes.
# ``literal``, `literal`, and the roles of reStructuredText: :func:`~pkg.name`, :file:`path`.
_TICKED = re.compile(r"(?::(?P<role>[\w:+-]{1,60}):)?(?P<ticks>`{1,2})(?P<inside>[^`\n]{1,200})(?P=ticks)")
_ROLE_TARGET = re.compile(r".*<(?P<target>[^<>]+)>\s*$")
_LINK = re.compile(r"\]\((?P<target>[^()\s]{1,200})\)")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://\S+|\bwww\.\S+|(?<![^\s@])[^\s@]+@[^\s@]+\.\w+", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s\"'“”‘’«»(),;\[\]|=]+(?:\(\))?")
_PLACE = re.compile(r"(?P<path>.+?)(?:(?::\d+(?:[-:]\d+)?)|#L\d+(?:-L?\d+)?)$")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)~?[A-Za-z_$][\w$]*)*")
_SNAKE = re.compile(r"_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_*")
_ENDING = re.compile(r"[\w-]\.[A-Za-z][A-Za-z0-9]{0,7}$")
_HIDDEN_FILE = re.compile(r"\.[a-z][\w.-]{2,}$")
_BARE_FILES = frozenset(
    {
        *("Makefile", "GNUmakefile", "Dockerfile", "Containerfile", "Justfile", "justfile", "Gemfile", "Rakefile"),
        *("Procfile", "Vagrantfile", "Jenkinsfile", "Brewfile", "Pipfile", "Podfile", "Taskfile", "CODEOWNERS"),
        *("README", "LICENSE", "CHANGES", "CHANGELOG", "AUTHORS", "COPYING"),
    }
)
_NOT_NAMES = frozenset(
    {
        *keyword.kwlist,
        *("self", "cls", "this", "super", "null", "nil", "undefined", "true", "false", "none", "void", "NaN"),
        *("int", "str", "float", "bool", "bytes", "list", "dict", "set", "tuple", "object", "type", "string"),
        *("number", "boolean", "char", "long", "short", "double", "const", "let", "var", "function", "print"),
        *("len", "range", "map", "filter", "open", "repr", "super", "property", "args", "kwargs", "char", "any"),
        *("and", "the", "not", "yes", "etc", "foo", "bar", "baz", "spam", "eggs", "name", "value", "key", "data"),
    }
)
_PLAIN_ROLES = frozenset({"file", "path", "program", "command", "code", "samp", "kbd", "doc", "ref", "term"})
_RUNNERS = r"make|gmake|just|npm|yarn|pnpm|bun|tox|nox|hatch|poetry|pdm|uv|pipenv|invoke|inv|rake|composer|task|cargo"
_COMMAND_START = re.compile(rf"(?:\$ |> )?(?:sudo )?(?P<command>(?:{_RUNNERS}|python3?|\./)[ /].*|[\w.-]+(?: .*)?)")
_SAID_COMMAND = re.compile(
    rf"\b(?:[Rr]un|[Rr]unning|[Rr]uns|[Uu]se|[Uu]sing|[Vv]ia|[Ww]ith|[Ee]xecute|[Ii]nvoke|[Cc]all|[Dd]o|[Bb]y)\s+"
    rf"(?P<command>(?:{_RUNNERS})\s+(?:run\s+|run-script\s+|-[es]\s+)?[A-Za-z][\w:.-]*)"
)
_FOLDER = re.compile(
    r"(?:(?P<before>(?<![\w`])[A-Za-z_][\w-]{0,100})|`{1,2}(?P<ticked>[A-Za-z_][\w-]{0,100})`{1,2})\s+(?:sub)?(?:director(?:y|ies)|folders?)\b"
    r"|(?:director(?:y|ies)|folders?)\s+(?:called\s+|named\s+)?`{1,2}(?P<after>[A-Za-z_][\w-]{0,100})`{1,2}"
)
_VERSIONED = re.compile(
    r"(?<![\w./@-])(?P<name>@?[A-Za-z][\w.-]*(?:/[\w.-]+)?)"
    r"\s{0,2}(?P<operator>===?|~=|>=|<=|!=|>|<|\^|~|@[\^~]?|\bv(?:ersion)?\.? ?(?=\d)|\s(?=v?\d))\s{0,2}"
    r"v?(?P<version>\d+(?:\.(?:\d+|x|\*))*(?:[a-z-]+\.?\d*)?)(?![\w%])"
)


def mentions_in(text: str) -> list[Mention]:
    """Return the mentions of a text in order, each once."""
    text = _FENCE.sub("", text[:_LONGEST_TEXT])
    found: dict[Mention, None] = {}
    for mention in _read(text):
        found.setdefault(mention)
        if len(found) >= MOST_MENTIONS:
            break
    return list(found)


def path_mention(text: str, *, quoted: bool = False) -> Mention:
    """Read a path as people write it: with a line number, a symbol after `::`, or backslashes."""
    name, _, detail = text.strip().partition("::")
    place = _PLACE.fullmatch(name)
    if place:
        name = place["path"]
    name = name.replace("\\", "/")
    while name.startswith(("./", "../")):  # documents link relative to where they lie
        name = name.partition("/")[2]
    return Mention("path", name, detail.strip().removesuffix("()").replace("::", "."), quoted)


def _read(text: str) -> Iterator[Mention]:
    for match in _TICKED.finditer(text):
        yield from _from_quoted(match["inside"].strip(), match["role"] or "")
    for match in _LINK.finditer(text):
        if "://" not in match["target"] and not match["target"].startswith(("#", "mailto:")):
            yield path_mention(match["target"].partition("#")[0], quoted=True)
    for match in _FOLDER.finditer(text):
        yield Mention("path", f"{match['before'] or match['ticked'] or match['after']}/")
    plain = _URL.sub(" ", _LINK.sub(" ", _TICKED.sub(" ", text)))
    for match in _SAID_COMMAND.finditer(plain):
        yield Mention("command", match["command"])
    for match in _TOKEN.finditer(plain):
        yield from _from_word(match[0])
    for match in _VERSIONED.finditer(text.replace("`", "")):
        yield Mention("dependency", match["name"], _operator(match["operator"]) + match["version"])


def _from_quoted(inside: str, role: str) -> Iterator[Mention]:
    target = _ROLE_TARGET.fullmatch(inside)
    if role and target:
        inside = target["target"]
    inside = inside.lstrip("~!.") if role else inside
    if "://" in inside:
        return
    words = inside.split()
    if len(words) == 1:
        yield from _from_quoted_word(inside, role)
        return
    if _looks_like_path(inside, quoted=True) and len(words) < 8:
        yield path_mention(inside, quoted=True)  # with spaces in its name
    command = _COMMAND_START.fullmatch(inside)
    if command:
        yield Mention("command", command["command"].strip(), quoted=True)
    for word in words:
        if "/" in word or "\\" in word or _ENDING.search(word):
            yield from _from_word(word.strip("'\""))
    call = re.match(rf"(?P<name>{_DOTTED.pattern})\s?\(.*\)$", inside) or re.match(
        rf"(?:def|class|func|fn|function|struct|interface|type|import|from)\s+(?P<name>{_DOTTED.pattern})\b", inside
    )
    if call:
        yield Mention("symbol", _dotted(call["name"]), quoted=True, called=True)


def _from_quoted_word(word: str, role: str) -> Iterator[Mention]:
    name = re.sub(r"\(.*\)$", "", word)
    called = name != word
    if _looks_like_path(name, quoted=True) and not called:
        yield path_mention(name, quoted=True)
    if re.match(r"\.\w*[A-Z_.]", name):  # `.Future`, as reStructuredText abbreviates
        name = name[1:]
    bare = role.rpartition(":")[2]
    if bare in _PLAIN_ROLES and bare != "code":
        return
    if _ENDING.search(name.partition("::")[0]) and "::" in name:
        return  # `path::symbol`, which was yielded above
    if _DOTTED.fullmatch(name) and (name not in _NOT_NAMES or called):
        yield Mention("symbol", _dotted(name), quoted=True, called=called or bool(role))
    if _IDENTIFIER.fullmatch(name.replace("-", "_")) and not called and not role:
        yield Mention("command", name, quoted=True)


def _from_word(word: str) -> Iterator[Mention]:
    """Read a word of plain prose; almost all of them name nothing."""
    if len(word) > _LONGEST_NAME:  # each part of a dotted name may be a file to look for
        return
    word = _unmarked(word) if not _SNAKE.fullmatch(word) else word
    if len(word) < 3 or "://" in word:
        return
    name = re.sub(r"\(\)$", "", word)
    called = name != word
    if not called and _looks_like_path(name, quoted=False):
        yield path_mention(name)
    if _SNAKE.fullmatch(name) or (called and _DOTTED.fullmatch(name) and len(name) > 3):
        yield Mention("symbol", _dotted(name), called=called)
    elif "." in name and _DOTTED.fullmatch(name) and not name.isupper():
        yield Mention("symbol", _dotted(name))


def _unmarked(word: str) -> str:
    """Take off punctuation and emphasis; an underscore at the start alone belongs to the name: `_x/y.py`."""
    bare = word.strip("*~!?…").rstrip(".:")
    return bare.strip("_") if bare.startswith("_") and bare.endswith("_") else bare


def _looks_like_path(word: str, *, quoted: bool) -> bool:
    if any(sign in word for sign in "*?<>|${}\"'") or word.startswith(("-", "~", "http:", "https:")):
        return False
    name = word.partition("::")[0]
    place = _PLACE.fullmatch(name)
    name = place["path"] if place else name
    if name in _BARE_FILES:
        return True
    if "/" in name or "\\" in name:
        return any(letter.isalnum() for letter in name)
    return (
        bool(_ENDING.search(name)) or bool(_HIDDEN_FILE.match(name)) or (quoted and name.isupper() and len(name) > 3)
    )


def _dotted(name: str) -> str:
    return re.sub(r"::~?|#|->", ".", name)


def _operator(written: str) -> str:
    written = written.strip().lstrip("@")
    return written if written in ("==", "===", "~=", ">=", "<=", ">", "<", "^", "~", "!=") else ""


MOST_ASKED = 6
"""Paths of one text that git is asked about."""

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|co|de|eu|gov|edu|app|cloud)$", re.IGNORECASE)
_SAYS_IT_IS_GONE = re.compile(
    r"\b(?:remove[ds]?|removing|delete[ds]?|deleting|dropped|retired|gone|no longer|used to|former(?:ly)?|previously|"
    r"replaced|obsolete|legacy|until|moved|renamed|was|were|had|split (?:up|into)|instead of|entfernt|gelöscht)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AbsentFile:
    """A file that a text names and the project does not have, with its last commit if one had it."""

    path: str
    last_commit: str | None = None  # the last commit that had it; None: none has, or git does not say
    is_certain: bool = False  # whether git searched the whole history
    anchor: Anchor | None = None  # the file as that commit had it


def named_files(mentions: Iterable[Mention], anchors: Sequence[Anchor]) -> list[str]:
    """Return the files that a text certainly names and that have no anchor."""
    found: list[str] = []
    for mention in mentions:
        path = mention.name.lstrip("/")
        if mention.kind == "path" and _is_file_name(path, mention) and not _stands_for(path, anchors):
            found.append(path)
    return list(dict.fromkeys(found))[:MOST_ASKED]


def says_it_is_gone(text: str) -> bool:
    """Whether a text speaks of the past: it may say exactly that a file is gone."""
    return bool(_SAYS_IT_IS_GONE.search(text))


def in_history(tree: SourceTree, paths: Sequence[str], *, patience: float) -> list[AbsentFile]:
    """Look up files that are not in the working tree in earlier commits.

    Git gets `patience` seconds for all of them; files that it does not reach in time come back with their name alone.
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
        pass  # it takes too long: nothing is known
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
