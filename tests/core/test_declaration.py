"""Request and result classes compare, print and copy as the dataclasses that they are."""

import dataclasses

import pytest

from reverie.declaration import declaration, short_declaration


@declaration
class Asked:
    words: str
    limit: int = 3


@declaration
class AskedByAPerson(Asked):
    person: str = ""


@short_declaration
class Found:
    words: str
    rows: list[str] = dataclasses.field(default_factory=list)


def test_two_with_the_same_values_are_equal_and_have_one_hash() -> None:
    assert Asked(words="a") == Asked(words="a", limit=3)
    assert len({Asked(words="a"), Asked(words="a"), Asked(words="b")}) == 2


def test_those_of_two_classes_are_never_equal() -> None:
    assert Asked(words="a") != AskedByAPerson(words="a")
    assert Asked(words="a") != ("a", 3)


def test_they_print_their_fields_and_can_be_copied_with_a_change() -> None:
    person = AskedByAPerson(words="a", person="Ann")
    assert repr(person) == "AskedByAPerson(words='a', limit=3, person='Ann')"
    assert dataclasses.replace(person, limit=5).limit == 5
    assert dataclasses.asdict(person) == {"words": "a", "limit": 3, "person": "Ann"}


def test_fields_are_given_by_name_unless_the_class_is_a_short_one() -> None:
    with pytest.raises(TypeError):
        Asked("a")  # type: ignore[misc]
    assert Found("a", ["b"]) == Found(words="a", rows=["b"])
    assert Found("a").rows is not Found("a").rows
