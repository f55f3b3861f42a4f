import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reverie.storage.filters import after, equals, has_any, literal, none_of, one_of

NASTY = ["it's", "''", "'; DROP TABLE semantic; --", "\\'", 'say "hi"', "a\x00b", "null", "🙂", "%_", "x' OR '1'='1"]


@pytest.mark.parametrize("text", NASTY)
def test_a_quote_cannot_end_a_literal(text: str) -> None:
    quoted = literal(text)
    assert quoted[0] == quoted[-1] == "'"
    assert quoted[1:-1].replace("''", "") == text.replace("'", "")


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (3, "3"),
        (0.25, "0.25"),
        (["a", "b"], "make_array('a', 'b')"),
        (datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), "to_timestamp_micros(1000005)"),
        (datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), "to_timestamp_micros(-1000000)"),
    ],
)
def test_values_become_literals_of_their_kind(value: object, sql: str) -> None:
    assert literal(value) == sql


def test_a_kind_that_no_column_holds_is_refused() -> None:
    with pytest.raises(TypeError, match="dict"):
        literal({})


def test_no_values_match_no_row() -> None:
    assert one_of("id", []).sql == "FALSE"


def test_conditions_keep_their_meaning_when_joined() -> None:
    either = equals("a", "1") | equals("b", "2")
    assert (either & has_any("tags", ["x"])).sql == (
        "((a = '1') OR (b = '2')) AND (array_has_any(tags, make_array('x')))"
    )


def test_after_a_moment_is_later_and_not_at_it() -> None:
    at = datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert after("at", at).sql == "at > to_timestamp_micros(2000000)"


def test_none_of_nothing_is_everything() -> None:
    assert none_of("id", ["a", "b"]).sql == "NOT (id IN ('a', 'b'))"
    assert none_of("id", []).sql == "NOT (FALSE)"


def test_no_condition_is_written_anywhere_else() -> None:
    root = Path(__file__).parents[2]
    folders = ("core", "codebase", "dream", "embeddings", "lifecycle", "reasoning", "server", "storage", "tools")
    writers = {
        str(path.relative_to(root))
        for folder in folders
        for path in (root / folder).rglob("*.py")
        if re.search(r"\bCondition\(", path.read_text("utf-8"))
    }
    assert writers == {"storage/filters.py"}
