"""A table of cases tells every case that fails, and fails with them."""

import pytest

from tests.tables import for_each


def test_each_case_is_tried_and_all_that_fail_are_told() -> None:
    tried: list[tuple[int, int]] = []

    @for_each("left", [1, 2, 3])
    @for_each("right", [1, 2])
    def test_of_two(left: int, right: int) -> None:
        tried.append((left, right))
        assert left != right, "they are the same"

    with pytest.raises(AssertionError, match=r"(?s)2 of 3 cases fail.*\(1,\).*they are the same.*\(2,\)"):
        test_of_two()
    assert len(tried) == 6


@for_each("one, other", [("a", "A"), ("b", "B")])
def test_a_fixture_stays_a_fixture(one: str, other: str, tmp_path) -> None:
    assert one.upper() == other
    assert tmp_path.is_dir()


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(ValueError, match="proves nothing"):
        for_each("x", [])
