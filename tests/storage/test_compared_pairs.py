"""What the pair classifier found to be no update is known in the next dream, and nothing hangs on it."""

from pathlib import Path

import pytest

from reverie.storage import dream_cache
from reverie.storage.dream_cache import FILE, ComparedPairs, pair_key

KEYS = [pair_key("a", "b", 0.5), pair_key("b", "a", 0.5), pair_key("a", "b", 0.501)]


def saved(folder: Path, keys: list[int], version: str = "1") -> ComparedPairs:
    pairs = ComparedPairs(folder, version)
    for key in keys:
        pairs.add(key)
    pairs.save()
    return pairs


def test_a_pair_is_known_again_by_its_texts_their_order_and_their_cosine(tmp_path: Path) -> None:
    assert len(set(KEYS)) == 3
    assert pair_key("a", "b", 0.5001) == KEYS[0]
    saved(tmp_path, KEYS[:1])
    assert [key in ComparedPairs(tmp_path, "1") for key in KEYS] == [True, False, False]
    assert not list(tmp_path.glob("*.new"))


def test_another_version_knows_nothing_and_starts_anew(tmp_path: Path) -> None:
    saved(tmp_path, KEYS)
    assert KEYS[0] not in ComparedPairs(tmp_path, "2")
    saved(tmp_path, KEYS[1:2], "2")
    assert [key in ComparedPairs(tmp_path, "2") for key in KEYS] == [False, True, False]


@pytest.mark.parametrize("rest", [0, 1, 40, -1])
def test_a_file_that_was_cut_short_is_as_good_as_none(tmp_path: Path, rest: int) -> None:
    saved(tmp_path, KEYS)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:rest])
    assert KEYS[0] not in ComparedPairs(tmp_path, "1")


def test_when_there_are_too_many_only_those_of_the_last_dream_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dream_cache, "MOST_KEPT", 3)
    saved(tmp_path, KEYS)
    later = ComparedPairs(tmp_path, "1")
    assert KEYS[1] in later
    later.add(7)
    later.save()
    assert [key in ComparedPairs(tmp_path, "1") for key in (*KEYS, 7)] == [False, True, False, True]


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    saved(tmp_path / "gone", KEYS)
    assert KEYS[0] not in ComparedPairs(tmp_path / "gone", "1")
