"""Every filter string and SQL literal that reaches LanceDB is built here, and nowhere else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from reverie.lifecycle.vitals import MAX_ADJUSTMENT


@dataclass(frozen=True, slots=True)
class Condition:
    """A piece of a WHERE clause whose values are already quoted."""

    sql: str

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql}) AND ({other.sql})")

    def __or__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql}) OR ({other.sql})")


def literal(value: Any) -> str:
    """Write a Python value as a SQL literal.

    Raises:
        TypeError: if the value is of a kind that no column holds.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return repr(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"to_timestamp_micros({_micros(value)})"
        case list() | tuple():
            return f"make_array({', '.join(literal(item) for item in value)})"
        case _:
            raise TypeError(f"no SQL literal for {type(value).__name__}")


def equals(column: str, value: str | bool | int) -> Condition:
    """Match rows whose column is the value."""
    return Condition(f"{column} = {literal(value)}")


def differs(column: str, value: str | int) -> Condition:
    """Match rows whose column is another value."""
    return Condition(f"{column} <> {literal(value)}")


def one_of(column: str, values: Iterable[str]) -> Condition:
    """Match rows whose column is one of the values; with no values, no row."""
    listed = ", ".join(literal(value) for value in dict.fromkeys(values))
    return Condition(f"{column} IN ({listed})") if listed else Condition("FALSE")


def none_of(column: str, values: Iterable[str]) -> Condition:
    """Match rows whose column is none of the values."""
    return Condition(f"NOT ({one_of(column, values).sql})")


def has_any(column: str, values: Iterable[str]) -> Condition:
    """Match rows whose list column holds any of the values."""
    return Condition(f"array_has_any({column}, {literal(list(values))})")


def has_text_of(column: str, texts: Iterable[str]) -> Condition:
    """Match rows whose column holds any of the texts somewhere in it."""
    return reduce(Condition.__or__, (Condition(f"contains({column}, {literal(text)})") for text in texts))


def starts_with(column: str, prefix: str) -> Condition:
    """Match rows whose column begins with the prefix."""
    return Condition(f"starts_with({column}, {literal(prefix)})")


def since(column: str, moment: datetime) -> Condition:
    """Match rows whose moment is at or after this one."""
    return Condition(f"{column} >= {literal(moment)}")


def before(column: str, moment: datetime) -> Condition:
    """Match rows whose moment is earlier than this one."""
    return Condition(f"{column} < {literal(moment)}")


def after(column: str, moment: datetime) -> Condition:
    """Match rows whose moment is later than this one; rows without one do not match."""
    return Condition(f"{column} > {literal(moment)}")


def not_after(column: str, moment: datetime) -> Condition:
    """Match rows whose moment has come; rows without one do not match."""
    return Condition(f"{column} <= {literal(moment)}")


def later_than(column: str, other: str) -> Condition:
    """Match rows in which the moment of one column is after that of another."""
    return Condition(f"{column} > {other}")


def is_set(column: str) -> Condition:
    """Match rows that have a value here."""
    return Condition(f"{column} IS NOT NULL")


def is_empty(column: str) -> Condition:
    """Match rows that have no value here."""
    return Condition(f"{column} IS NULL")


def at_least(column: str, number: float) -> Condition:
    """Match rows whose number is this or more."""
    return Condition(f"{column} >= {literal(number)}")


def at_most(column: str, number: float) -> Condition:
    """Match rows whose number is this or less."""
    return Condition(f"{column} <= {literal(number)}")


def adjusted_importance_at_most(number: float) -> Condition:
    """Match rows whose importance, moved by surprise, is this or less; the bounds it is kept in are left out."""
    moved = f"importance + {2 * MAX_ADJUSTMENT} * least(coalesce(surprise, 0.5), 1.0) - {MAX_ADJUSTMENT}"
    return Condition(f"{moved} <= {literal(number)}")


def everything() -> Condition:
    """Match every row."""
    return Condition("TRUE")


def number_by_id(values: Mapping[str, float]) -> str:
    """Write an expression that gives each row the number under its id; LanceDB knows no CASE."""
    return " + ".join(f"CAST(id = {literal(key)} AS DOUBLE) * {literal(value)}" for key, value in values.items())


def moment_by_id(values: Mapping[str, datetime]) -> str:
    """Write an expression that gives each row the moment under its id."""
    micros = " + ".join(f"CAST(id = {literal(key)} AS BIGINT) * {_micros(value)}" for key, value in values.items())
    return f"to_timestamp_micros({micros})"


def _micros(moment: datetime) -> int:
    elapsed = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds
