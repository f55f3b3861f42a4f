"""Schemas cut short still say what a caller needs."""

from reverie.server.schemas import lean_input, lean_output


def test_an_input_keeps_what_guides_and_loses_what_is_generated() -> None:
    schema = {
        "title": "rememberArguments",
        "type": "object",
        "properties": {
            "title": {"title": "Title", "type": "string", "default": ""},
            "share": {"title": "Share", "type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
            "limit": {"title": "Limit", "type": "integer", "minimum": 1, "maximum": 100, "default": 8},
            "pin": {"title": "Pin", "type": "boolean", "default": False},
            "pinned": {"title": "Pinned", "type": "boolean", "default": True},
            "least": {"title": "Least", "anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "layer": {
                "anyOf": [{"enum": ["a", "b"], "type": "string"}, {"const": "", "type": "string"}],
                "default": "",
            },
        },
        "required": ["share"],
    }
    assert lean_input(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
            "limit": {"type": "integer", "default": 8},
            "pin": {"type": "boolean"},
            "pinned": {"type": "boolean", "default": True},
            "least": {"type": "number"},
            "layer": {"type": "string", "enum": ["a", "b"]},
        },
        "required": ["share"],
        "additionalProperties": False,
    }


def test_an_output_names_its_parts() -> None:
    names = ("id", "content", "layer", "kind", "score", "pinned")
    schema = {
        "$defs": {
            "Row": {"type": "object", "properties": {name: {"type": "string"} for name in names}},
            "Pair": {"type": "object", "properties": {"id": {"type": "string"}, "reason": {"type": "string"}}},
        },
        "title": "Answer",
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
            "pairs": {"type": "array", "items": {"$ref": "#/$defs/Pair"}},
            "names": {"type": "array", "items": {"type": "string"}},
            "surprise": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            "title": {"type": "string"},
            "state": {"type": "string", "enum": ["ready", "warming"]},
        },
        "required": ["rows", "names", "title", "state"],
    }
    assert lean_output(schema) == {
        "type": "object",
        "properties": {
            "rows": {"type": "array"},
            "pairs": {"type": "array"},
            "names": {"type": "array"},
            "surprise": {},
            "title": {},
            "state": {},
        },
    }
