"""The decorator of request and result classes: a dataclass that is quick to make.

A dataclass writes its methods as source and compiles them, a frozen one six: a millisecond for each class, and every
command makes eighty at its start. Here only `__init__` is written. The others are the same functions for all classes,
and mypy sees to it that nothing is assigned to a field.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

DeclaredT = TypeVar("DeclaredT")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def declaration(cls: type[DeclaredT]) -> type[DeclaredT]:
    """Make a class of fields that are given by name."""
    return _with_methods(dataclass(eq=False, repr=False, kw_only=True)(cls))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def short_declaration(cls: type[DeclaredT]) -> type[DeclaredT]:
    """Make a class of a few fields that may be given in their order."""
    return _with_methods(dataclass(eq=False, repr=False)(cls))


def _with_methods(cls: type[DeclaredT]) -> type[DeclaredT]:
    methods: dict[str, Callable[..., Any]] = {"__eq__": _equals, "__hash__": _hash, "__repr__": _text}
    for name, method in methods.items():
        setattr(cls, name, method)
    return cls


def _values(declared: Any) -> tuple[Any, ...]:
    return tuple(getattr(declared, one.name) for one in fields(declared))


def _equals(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _text(self: Any) -> str:
    inside = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({inside})"
