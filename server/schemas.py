"""Tool schemas, short because every client pays for their tokens, and reading arguments by them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from types import GenericAlias
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, WithJsonSchema, create_model

from reverie.recall.results import text_only_fields
from reverie.tools.catalog import AnyTool
from reverie.tools.requests import Argument, Request, arguments_of

_NOISE = frozenset({"title", "additionalProperties"})
_NOISE_IN_ANSWERS = _NOISE | {"required", "description", "enum", "default"}
_SCALARS = ("string", "number", "integer", "boolean")
_BOUNDS = ("minimum", "maximum")
_EMPTY_DEFAULTS: tuple[Any, ...] = ("", [], None, False, 0)


class UnreadableArguments(ValueError):
    """Arguments that a tool does not have, or that have the wrong form; the message names them."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """The schemas of a tool's arguments and result as a client gets them, and the reader of arguments."""

    tool: AnyTool
    arguments: type[BaseModel]
    input: dict[str, Any]
    output: dict[str, Any]

    def read(self, given: Mapping[str, Any]) -> Request:
        """Return the request for a client's arguments.

        Raises:
            UnreadableArguments: if the tool has no such argument, or one has the wrong form.
            InvalidInput: if a text or a list is too long, or an argument is otherwise not what the tool takes.
        """
        name = self.tool.name
        known = self.arguments.model_fields
        unknown = sorted(given.keys() - known.keys())
        if unknown:
            takes = ", ".join(known) or "none"
            raise UnreadableArguments(f"{name} has no argument {unknown[0]!r}. It takes: {takes}.")
        # Many clients send null for what they leave out.
        values = {argument: value for argument, value in given.items() if value is not None}
        try:
            read = self.arguments.model_validate(_unpacked(values, self.tool.request))
        except ValidationError as error:
            raise UnreadableArguments(_problems(name, error)) from error
        return self.tool.request(**{argument: getattr(read, argument) for argument in known})


def schema_of(tool: AnyTool) -> ToolSchema:
    """Derive the schemas of a tool from its request and its result."""
    fields: Any = {argument.name: _field(argument) for argument in arguments_of(tool.request)}
    arguments = create_model(f"{tool.name}Arguments", **fields)
    output = TypeAdapter(tool.result).json_schema()
    for name in text_only_fields(tool.result):
        del output["properties"][name]
    return ToolSchema(tool, arguments, lean_input(arguments.model_json_schema()), lean_output(output))


def _field(argument: Argument) -> tuple[Any, Any]:
    """Return a field of a request as pydantic takes it: its type and its default."""
    item: Any = argument.item
    if is_dataclass(item):  # the request reads it, and says what is wrong in it
        schema = {name: part for name, part in TypeAdapter(item).json_schema().items() if name != "description"}
        item = Annotated[dict[str, Any], WithJsonSchema(schema)]
    limits, help_ = argument.range, argument.help
    default: Any = ... if argument.is_required else [] if argument.is_list else argument.default
    return GenericAlias(list, item) if argument.is_list else item, Field(
        default,
        description=help_.text if help_.in_schema else None,
        ge=limits.lowest if limits else None,
        le=limits.highest if limits else None,
    )


def _unpacked(values: Mapping[str, Any], request: type[Request]) -> dict[str, Any]:
    """Return arguments in which lists and objects that a client sent as JSON text are read, as some clients do."""
    texts = {argument.name for argument in arguments_of(request) if argument.annotation is str}
    unpacked = dict(values)
    for name, value in values.items():
        if not isinstance(value, str) or name in texts:
            continue
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            continue
        if not isinstance(found, str | int | float):
            unpacked[name] = found
    return unpacked


def _problems(tool: str, error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)[:5]
    problems = [f"{_path(problem['loc'])}: {problem['msg']}" for problem in found]
    return f"{tool} could not read its arguments. {'; '.join(problems)}."


def _path(location: tuple[int | str, ...]) -> str:
    """Name the argument, and the item in it, but not which reading of its type was tried."""
    return ".".join(str(part) for part in location if not str(part).startswith("literal[")) or "arguments"


def lean_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema without generated titles, defaults that mean nothing, and bounds other than a share's.

    The bounds are checked all the same, and an error names them; for shares they say what the number means. An object
    takes what it names and nothing else.
    """
    return _closed(_lean(schema, _NOISE))


def lean_output(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an output schema that names the parts of an answer; one without a type is a text, a number or a boolean.

    What is empty is left out, so nothing is said to be required.
    """
    defined = schema.get("$defs", {})
    return _without_obvious_types(
        _lean(_inlined({k: v for k, v in schema.items() if k != "$defs"}, defined), _NOISE_IN_ANSWERS)
    )


def _lean(schema: dict[str, Any], noise: frozenset[str]) -> dict[str, Any]:
    return {
        name: _lean_properties(part, noise) if name in ("properties", "$defs") else _lean_part(part, noise)
        for name, part in schema.items()
        if name not in noise
    }


def _lean_properties(properties: dict[str, Any], noise: frozenset[str]) -> dict[str, Any]:
    # The names in here are the author's own, `title` among them.
    return {name: _lean_part(part, noise) for name, part in properties.items()}


def _lean_part(part: Any, noise: frozenset[str]) -> Any:
    if isinstance(part, dict):
        slim = _lean(part, noise)
        if "default" in slim and slim["default"] in _EMPTY_DEFAULTS:
            del slim["default"]
        if slim.get("type") == "integer" or slim.get("maximum", 1) > 1:
            slim = {name: value for name, value in slim.items() if name not in _BOUNDS}
        return _one_list(_without_null(slim))
    return [_lean_part(item, noise) for item in part] if isinstance(part, list) else part


def _inlined(part: Any, defined: dict[str, Any]) -> Any:
    """Replace every `$ref` by its definition; each is used once."""
    if isinstance(part, dict):
        if "$ref" in part:
            return _inlined(defined[part["$ref"].rpartition("/")[2]], defined)
        return {name: _inlined(value, defined) for name, value in part.items()}
    return [_inlined(item, defined) for item in part] if isinstance(part, list) else part


def _without_obvious_types(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a value shows by itself: the type of a text or a number, and the items of a list."""
    plain = {name: _without_obvious_types(part) if isinstance(part, dict) else part for name, part in schema.items()}
    if plain.get("type") in _SCALARS:
        del plain["type"]
    plain.pop("items", None)
    return plain


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Say of every object that it has no other properties than it names."""
    closed = {name: _closed(part) if isinstance(part, dict) else part for name, part in schema.items()}
    return closed | {"additionalProperties": False} if isinstance(closed.get("properties"), dict) else closed


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Write `anyOf: [{type: X}, {type: null}]` as `type: X`: what is null is left out, by clients and by us."""
    options = schema.get("anyOf")
    if not isinstance(options, list) or len(options) != 2 or options[1] != {"type": "null"}:
        return schema
    only = options[0]
    if not isinstance(only.get("type"), str):
        return schema
    rest = {name: part for name, part in schema.items() if name != "anyOf"}
    return {**only, **rest}


def _one_list(schema: dict[str, Any]) -> dict[str, Any]:
    """Write `anyOf` over fixed texts as one `enum`."""
    options = schema.get("anyOf")
    if not isinstance(options, list) or not all("enum" in option or "const" in option for option in options):
        return schema
    values = [value for option in options for value in option.get("enum", [option.get("const")])]
    rest = {name: part for name, part in schema.items() if name != "anyOf"}
    return {"type": "string", "enum": [value for value in values if value != ""], **rest}
