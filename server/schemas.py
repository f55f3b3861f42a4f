"""Tool schemas as short as they can be: every client pays for them in each session."""

from typing import Any

_NOISE = frozenset({"title", "additionalProperties"})
_NOISE_IN_ANSWERS = _NOISE | {"required", "description"}


def lean_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema without generated titles, empty defaults and spelled-out nullability."""
    return _lean(schema, _NOISE)


def lean_output(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an output schema that only names parts and their types; the server always sends them all."""
    return _lean(schema, _NOISE_IN_ANSWERS)


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
        if slim.get("default") in ("", [], None) and "default" in slim:
            del slim["default"]
        return _one_list(_without_null(slim))
    return [_lean_part(item, noise) for item in part] if isinstance(part, list) else part


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Write `anyOf: [{type: X}, {type: null}]` as `type: [X, null]`."""
    options = schema.get("anyOf")
    if not isinstance(options, list) or len(options) != 2 or options[1] != {"type": "null"}:
        return schema
    only = options[0]
    if not isinstance(only.get("type"), str):
        return schema
    rest = {name: part for name, part in schema.items() if name != "anyOf"}
    return {**only, "type": [only["type"], "null"], **rest}


def _one_list(schema: dict[str, Any]) -> dict[str, Any]:
    """Write `anyOf` over fixed texts as one `enum`."""
    options = schema.get("anyOf")
    if not isinstance(options, list) or not all("enum" in option or "const" in option for option in options):
        return schema
    values = [value for option in options for value in option.get("enum", [option.get("const")])]
    rest = {name: part for name, part in schema.items() if name != "anyOf"}
    return {"type": "string", "enum": values, **rest}
