import time

import pytest

from reverie.text.tokenize import search_text


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("getUserById fails", "User"),
        ("HTTPServer restarts", "Server"),
        ("call parse_config twice", "config"),
        ("see core/settings.py", "settings"),
        ("the my-kebab-name flag", "kebab"),
        ("utf8Decoder", "Decoder"),
        ("reverie::tools::recall", "recall"),
        ("C:\\Users\\me\\notes", "notes"),
    ],
)
def test_the_words_inside_an_identifier_are_added(text: str, word: str) -> None:
    added = search_text(text).splitlines()[-1].split()
    assert word in added


def test_what_was_written_stays_as_it_is() -> None:
    assert search_text("getUserById fails").startswith("getUserById fails\n")


def test_plain_words_add_nothing() -> None:
    assert search_text("plain words here") == "plain words here"


def test_a_run_of_characters_without_spaces_is_found_by_any_two_neighbours() -> None:
    assert search_text("我们使用数据库").splitlines()[-1].split() == ["我们", "们使", "使用", "用数", "数据", "据库"]


def test_several_texts_are_searched_as_one() -> None:
    assert search_text("a title", "", "a body") == "a title\na body"


@pytest.mark.parametrize("piece", ["x", "X", "1", "_", "é", "日", "a.", "aB", "a-", "::", "a1_"])
def test_a_hundred_thousand_characters_without_a_space_take_no_time(piece: str) -> None:
    started = time.perf_counter()
    search_text(piece * (100_000 // len(piece)))
    assert time.perf_counter() - started < 1.0


def test_accents_do_not_make_an_identifier() -> None:
    assert search_text("Café déjà vu") == "Café déjà vu"
