"""Tool schemas as short as they can be: every client pays for them in each session."""

from typing import Any

_NOISE = frozenset({"title", "additionalProperties"})
_NOISE_IN_ANSWERS = _NOISE | {"required", "description", "enum", "default"}
_SCALARS = ("string", "number", "integer", "boolean")
_WORTH_NAMING = 6  # parts of a row; rows of fewer speak for themselves
_BOUNDS = ("minimum", "maximum")
_NOTHING: tuple[Any, ...] = ("", [], None, False, 0)


def lean_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema without generated titles, defaults that mean nothing, and bounds of whole numbers.

    The bounds are checked all the same, and an error names them; for shares they say what the number means. An object
    takes what it names and nothing else.
    """
    return _closed(_lean(schema, _NOISE))


def lean_output(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an output schema that names the parts of an answer; one without a type is a text, a number or a truth.

    What is empty is left out, so nothing is said to be required.
    """
    defined = schema.get("$defs", {})
    return _told_plainly(
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
        if "default" in slim and slim["default"] in _NOTHING:
            del slim["default"]
        if slim.get("type") == "integer":
            slim = {name: value for name, value in slim.items() if name not in _BOUNDS}
        return _one_list(_without_null(slim))
    return [_lean_part(item, noise) for item in part] if isinstance(part, list) else part


def _inlined(part: Any, defined: dict[str, Any]) -> Any:
    """Write every `$ref` out where it stands; each is used once."""
    if isinstance(part, dict):
        if "$ref" in part:
            return _inlined(defined[part["$ref"].rpartition("/")[2]], defined)
        return {name: _inlined(value, defined) for name, value in part.items()}
    return [_inlined(item, defined) for item in part] if isinstance(part, list) else part


def _told_plainly(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a value shows by itself: that a text is a text, a number a number, what a list holds."""
    plain = {name: _told_plainly(part) if isinstance(part, dict) else part for name, part in schema.items()}
    if plain.get("type") in _SCALARS:
        del plain["type"]
    if "items" in plain and len(plain["items"].get("properties", ())) < _WORTH_NAMING:
        del plain["items"]
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
