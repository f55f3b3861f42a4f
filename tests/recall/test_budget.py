from collections.abc import Sequence

from reverie.codebase.evidence import EvidenceState
from reverie.embeddings.tokens import count_tokens
from reverie.recall.render import Page, _Writer, fair_shares
from tests.recall.test_rerank import START, _row


def test_a_row_that_is_a_few_tokens_too_long_is_cut_shorter_and_stays() -> None:
    text = "It burns in the street. " * 100
    rows = [_row(f"Lamp {number}. {text}", 0.9, id=f"{number}lampcafe", title="") for number in range(3)]
    evidence = {row.memory.id: EvidenceState("unanchored") for row in rows}

    def written(beyond: int) -> tuple[int, int]:
        """Return how many rows are shown and their size, where joining costs more than was counted row by row."""

        def size(shown: Sequence[object], text: str) -> int:
            return count_tokens(text) + (beyond if shown else 0)

        page = Page(budget=600, index_state="ready", scope={})
        shown, text = _Writer(page, "well", size).write(rows, evidence, START)
        return len(shown), size(shown, text)

    shown, used = written(beyond=0)
    assert shown == 3
    shown, used = written(beyond=600 - used + 10)
    assert shown == 3
    assert used <= 600


def test_short_texts_get_what_they_need_and_long_ones_share_the_rest() -> None:
    assert fair_shares(["one two", "word " * 500, "word " * 500], 102) == [2, 50, 50]


def test_everything_fits_when_there_is_room() -> None:
    assert fair_shares(["one two", "three"], 100) == [2, 1]


def test_there_is_nothing_to_share_without_tokens() -> None:
    assert fair_shares(["one two"], -5) == [0]
    assert fair_shares([], 10) == []
