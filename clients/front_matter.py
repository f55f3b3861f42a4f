"""YAML front matter: read safely, written so that a diff is short.

No aliases and no tags of its own: a few lines of either can take all of a machine's memory, or make objects. What is
read and written again says the same: dates stay the texts they are, quotes stay quotes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

LARGEST_FRONT_MATTER = 64 * 1024
"""Characters; those of a memory need less than one thousand."""

_FENCE = "---"
_DEEPEST = 40


class FrontMatterError(ValueError):
    """The front matter of a file cannot be read; `line` is where, from 1, or 0."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


_RESOLVERS: dict[str, list[tuple[str, "re.Pattern[str]"]]] = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", "n~"),
    ("int", r"0|-?[1-9][0-9]{0,17}", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]{0,15})\.(?:0|[0-9]{0,15}[1-9])", "-0123456789"),
):
    for _letter in _first:
        _RESOLVERS.setdefault(_letter, []).append((f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$")))
_RESOLVERS[""] = [("tag:yaml.org,2002:null", re.compile(r"^$"))]


class _Text(str):
    """A text that was quoted, or written in a block; it is written that way again."""

    __slots__ = ("style",)
    style: str


class _Loader(yaml.SafeLoader):
    """Reads plain values without aliases. Numbers are what is written again just so; dates, `on`, 1.10 are texts."""

    yaml_implicit_resolvers = _RESOLVERS
    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise FrontMatterError("the front matter uses an alias (*name), which is not allowed", mark.line + 2)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise FrontMatterError("the front matter is too deep", 1)
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def styled_text(self, node: yaml.ScalarNode) -> str:
        """Return a text with the way it was written."""
        text = str(self.construct_scalar(node))
        if not node.style:
            return text
        styled = _Text(text)
        styled.style = node.style
        return styled


_Loader.add_constructor("tag:yaml.org,2002:str", _Loader.styled_text)


class _Dumper(yaml.SafeDumper):
    """Writes texts as they are read: a date without quotes, a list indented below its key."""

    yaml_implicit_resolvers = _RESOLVERS

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def styled_text(self, data: _Text) -> yaml.ScalarNode:
        """Write a text the way it was written."""
        return self.represent_scalar("tag:yaml.org,2002:str", str(data), style=data.style)


class _Block(dict[str, Any]):
    """A mapping that is written with a line for each key."""


def _block(dumper: _Dumper, data: _Block) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", dict(data), flow_style=False)


_Dumper.add_representer(_Text, _Dumper.styled_text)
_Dumper.add_representer(_Block, _block)


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown file: the values of its front matter, its body, and the line that the body begins on."""

    values: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    has_front_matter: bool = False


def split_document(text: str) -> Document:
    """Return front matter and body; a file that does not begin with `---` has no front matter.

    Raises:
        FrontMatterError: if the front matter does not end, is no YAML, or is not a mapping.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return Document({}, text, 1)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise FrontMatterError("the front matter has no end: a line with only --- is missing", 1)
    values = _read("".join(f"{line}\n" for line in lines[1:end]))
    return Document(values, "\n".join(lines[end + 1 :]), end + 2, has_front_matter=True)


def _read(text: str) -> dict[str, Any]:
    if len(text) > LARGEST_FRONT_MATTER:
        raise FrontMatterError(f"the front matter is longer than {LARGEST_FRONT_MATTER // 1024} KB", 1)
    try:
        values = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader without aliases
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise FrontMatterError(f"the front matter is no YAML: {_one_line(error.problem or error)}", line) from None
    except yaml.YAMLError as error:
        raise FrontMatterError(f"the front matter is no YAML: {_one_line(error)}", 1) from None
    except FrontMatterError:
        raise
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets without end
        raise FrontMatterError("the front matter is too deep, or has a number that is too long", 1) from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise FrontMatterError("the front matter is not a list of keys and values", 1)
    return {str(key): value for key, value in values.items()}


def _one_line(error: object) -> str:
    return re.sub(r"\s+", " ", str(error))[:200]


def written_document(values: dict[str, Any], body: str, blocks: Sequence[str] = ()) -> str:
    """Return a file with front matter; the same values always give the same text.

    `blocks` are the keys whose values are written on a line each, so that a diff is short.
    """
    ordered = {
        key: _Block(value) if key in blocks and isinstance(value, dict) else value for key, value in values.items()
    }
    front = yaml.dump(
        ordered, Dumper=_Dumper, allow_unicode=True, sort_keys=False, default_flow_style=None, width=100
    )
    return f"{_FENCE}\n{front}{_FENCE}\n\n{body.strip()}\n"
