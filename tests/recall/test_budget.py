from reverie.recall.render import fair_shares


def test_short_texts_get_what_they_need_and_long_ones_share_the_rest() -> None:
    assert fair_shares(["one two", "word " * 500, "word " * 500], 102) == [2, 50, 50]


def test_everything_fits_when_there_is_room() -> None:
    assert fair_shares(["one two", "three"], 100) == [2, 1]


def test_there_is_nothing_to_share_without_tokens() -> None:
    assert fair_shares(["one two"], -5) == [0]
    assert fair_shares([], 10) == []
