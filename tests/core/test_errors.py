import inspect

import pytest

from reverie import errors


def _tree() -> list[type[errors.ReverieError]]:
    return [
        found for _, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, errors.ReverieError)
    ]


def test_every_error_is_drawn_in_the_tree_and_nothing_else_is() -> None:
    drawn = {line.strip("│├└─ ").split()[0] for line in (errors.__doc__ or "").splitlines() if "─" in line}
    assert drawn | {"ReverieError"} == {error.__name__ for error in _tree()}


def test_every_error_descends_as_it_is_drawn() -> None:
    doc = errors.__doc__ or ""
    for line in doc.splitlines():
        name = line.strip("│├└─ ").partition(" ")[0]
        if line.startswith("    "):
            assert getattr(errors, name).__mro__[1] is errors.StoreError
        elif line[:1] in ("├", "└"):
            assert getattr(errors, name).__mro__[1] is errors.ReverieError


@pytest.mark.parametrize(
    ("error", "says", "facts"),
    [
        (
            errors.InvalidInput("layer", "'attic' is not a layer", "Use one of: working."),
            "layer: 'attic' is not a layer. Use one of: working.",
            {"argument": "layer"},
        ),
        (
            errors.SettingError("REVERIE_CLOCK", "soon", "a shift"),
            "The setting REVERIE_CLOCK is 'soon'. It takes a shift.",
            {"name": "REVERIE_CLOCK", "value": "soon"},
        ),
        (
            errors.MemoryNotFound("abc"),
            "No memory has the id 'abc'. Use recall to find the right one; with all_projects it looks in "
            "other projects too.",
            {"memory_id": "abc"},
        ),
        (
            errors.AmbiguousId("abcdefgh", [f"abcdefgh{n}" for n in range(7)]),
            "The id prefix 'abcdefgh' fits several memories (abcdefgh0, abcdefgh1, abcdefgh2, abcdefgh3, "
            "abcdefgh4). Give more of the id.",
            {"prefix": "abcdefgh", "candidates": tuple(f"abcdefgh{n}" for n in range(7))},
        ),
        (
            errors.StoreDamaged("semantic", "no manifest"),
            "The table 'semantic' cannot be read (no manifest). Run `reverie doctor` to see what is damaged; "
            "restore the data folder from a backup or import your last export.",
            {"table": "semantic"},
        ),
        (
            errors.StoreTooNew(9, 1),
            "This store has schema 9; this Reverie knows schemas up to 1. Upgrade with `pip install -U reverie-mcp`.",
            {"found": 9, "known": 1},
        ),
        (
            errors.WrongEmbedder("bundled", "openai:x"),
            "The memories of this store were embedded with 'bundled', but this session is set to 'openai:x'. "
            "Run `reverie reembed` to convert the store, or set REVERIE_EMBEDDER back.",
            {"stored": "bundled", "configured": "openai:x"},
        ),
    ],
)
def test_a_message_says_what_happened_and_what_to_try_and_keeps_the_facts(
    error: errors.ReverieError, says: str, facts: dict[str, object]
) -> None:
    assert str(error) == says
    assert {name: getattr(error, name) for name in facts} == facts
