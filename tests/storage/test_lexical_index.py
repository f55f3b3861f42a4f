import numpy as np

from reverie.storage.lexical_index import LexicalIndex
from reverie.text.tokenize import function_terms, terms


def _owners(lexical_index: LexicalIndex, word: str) -> list[int]:
    _, owners, _ = lexical_index.entries(terms(word))
    return sorted(owners.tolist())


def test_words_are_found_by_their_stem_and_without_accents() -> None:
    lexical_index = LexicalIndex()
    lexical_index.write(np.array([0, 1, 2]), ["the lamps were burning", "le café ferme", "Сервер слушает порт"])
    assert _owners(lexical_index, "lamp") == [0]
    assert _owners(lexical_index, "burned") == [0]
    assert _owners(lexical_index, "CAFE") == [1]
    assert _owners(lexical_index, "сервер") == [2]


def test_a_text_that_is_replaced_is_found_by_its_new_words_only() -> None:
    lexical_index = LexicalIndex()
    lexical_index.write(np.array([0, 1]), ["lamp oil", "lamp gas"])
    lexical_index.write(np.array([0]), ["candle wax"])
    assert _owners(lexical_index, "lamp") == [1]
    assert _owners(lexical_index, "candle") == [0]
    assert lexical_index.lengths(2).tolist() == [2.0, 2.0]


def test_repetitions_are_counted() -> None:
    lexical_index = LexicalIndex()
    lexical_index.write(np.array([0]), ["lamp lamp lamp oil"])
    numbers, _, counts = lexical_index.entries([*terms("oil"), *terms("lamp")])
    assert dict(zip(numbers.tolist(), counts.tolist(), strict=True)) == {0: 1.0, 1: 3.0}


def test_many_texts_grow_the_arrays() -> None:
    lexical_index = LexicalIndex()
    lexical_index.write(np.arange(2_000), [f"word{n} of many" for n in range(2_000)])
    assert _owners(lexical_index, "word1999") == [1_999]
    assert len(_owners(lexical_index, "many")) == 2_000


def test_texts_that_come_and_change_after_the_words_were_sorted_are_found_like_the_others() -> None:
    lexical_index = LexicalIndex()
    lexical_index.write(np.arange(3_000), [f"lamp word{n} oil" for n in range(3_000)])
    assert len(_owners(lexical_index, "lamp")) == 3_000  # sorted by now
    lexical_index.write(np.array([7, 3_000]), ["candle", "lamp"])
    assert _owners(lexical_index, "lamp") == [n for n in range(3_001) if n != 7]
    assert _owners(lexical_index, "candle") == [7]
    lexical_index.write(np.arange(3_001, 9_000), ["candle wax"] * 5_999)
    assert _owners(lexical_index, "candle") == [7, *range(3_001, 9_000)]
    assert _owners(lexical_index, "word7") == []


def test_function_words_are_known_by_their_stem() -> None:
    assert set(terms("what did they have")) <= function_terms()
    assert not set(terms("harbour lamps")) & function_terms()
