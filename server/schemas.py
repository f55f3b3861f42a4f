"""Tool schemas as short as they can be: every client pays for them in each session."""

from typing import Any

_NOISE = ("title", "additionalProperties")


def lean(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON schema without generated titles, empty defaults and spelled-out nullability."""
    return {
        name: _lean_properties(part) if name in ("properties", "$defs") else _lean_part(part)
        for name, part in schema.items()
        if name not in _NOISE
    }


def _lean_properties(properties: dict[str, Any]) -> dict[str, Any]:
    # The names in here are the author's own, `title` among them.
    return {name: _lean_part(part) for name, part in properties.items()}


def _lean_part(part: Any) -> Any:
    if isinstance(part, dict):
        slim = lean(part)
        if slim.get("default") in ("", [], None) and "default" in slim:
            del slim["default"]
        return _without_null(slim)
    return [_lean_part(item) for item in part] if isinstance(part, list) else part


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
