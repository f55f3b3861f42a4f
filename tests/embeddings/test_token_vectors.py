import numpy as np
import pytest

from reverie.embeddings.bundled import BundledEmbedder
from reverie.embeddings.token_vectors import LENGTH_COST, NEIGHBOUR_SHARE, agreements, packed

DIMENSIONS = 384


def _noise(count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def test_a_piece_takes_two_bits_a_dimension() -> None:
    assert len(packed(_noise(10, 1), 10)) == 4 + 10 * DIMENSIONS // 4
    assert packed(np.empty((0, DIMENSIONS), np.float32), 0) == b""


def test_packing_keeps_the_direction_of_each_piece() -> None:
    vectors = _noise(20, 1)
    for vector in vectors:
        [agreed] = agreements(vector[None], [1.0], {"a": packed(vectors, 20)}, {}).values()
        assert agreed == pytest.approx(0.94**2, abs=0.03)  # the square of the best cosine, which is its own


def test_every_piece_of_the_question_counts_by_its_weight() -> None:
    vectors = _noise(2, 1)
    texts = {"has the first": packed(vectors[:1], 1), "has the second": packed(vectors[1:], 1)}
    found = agreements(vectors, [3.0, 1.0], texts, {})
    assert found["has the first"] == pytest.approx(3 * found["has the second"], rel=0.15)


def test_a_neighbour_lends_half_of_what_it_has() -> None:
    asked = _noise(1, 1)
    texts = {"answer": packed(_noise(1, 9), 1), "question": packed(asked, 1)}
    found = agreements(asked, [1.0], texts, {"answer": ("question", "one that was not read")})
    assert found["answer"] == pytest.approx(NEIGHBOUR_SHARE * found["question"])


def test_a_long_text_pays_for_having_so_much_to_be_near_with() -> None:
    asked = _noise(1, 1)
    short, long = packed(asked, 64), packed(asked, 128)
    found = agreements(asked, [1.0], {"short": short, "long": long}, {})
    assert found["short"] - found["long"] == pytest.approx(LENGTH_COST * np.log(2), abs=1e-6)


def test_a_question_is_answered_in_one_place_and_not_all_over_a_text() -> None:
    asked = _noise(2, 1)
    filler = _noise(100, 5)
    together = np.concatenate([asked, filler])
    apart = np.concatenate([asked[:1], filler, asked[1:]])
    found = agreements(asked, [1.0, 1.0], {"together": packed(together, 64), "apart": packed(apart, 64)}, {})
    assert found["together"] > 1.5 * found["apart"]


def test_texts_without_pieces_are_left_out() -> None:
    assert agreements(_noise(1, 1), [1.0], {"old": b""}, {}) == {}


def test_the_bundled_model_finds_who_did_what_by_pieces() -> None:
    embedder = BundledEmbedder()
    texts = ["Melanie painted a sunrise last spring.", "Caroline painted the fence.", "Melanie likes to swim."]
    made = {text: embedding.pieces for text, embedding in zip(texts, embedder.embed(texts), strict=True)}
    reading = embedder.read("When did Melanie paint a sunrise?")
    assert reading.pieces is not None
    found = agreements(reading.pieces, reading.rarity, made, {})
    assert max(found, key=lambda text: found[text]) == texts[0]


def test_a_question_is_read_word_by_word_with_rare_words_told_from_common_ones() -> None:
    reading = BundledEmbedder().read("where is getUserById, the parser?")
    rarity = dict(zip(reading.words, reading.rarity, strict=True))
    assert {"where", "is", "getUserById", "the", "parser", ",", "?"} == set(reading.words)
    assert rarity["the"] < rarity["where"] < rarity["parser"] <= 1.0
    assert rarity["?"] < rarity["where"]


def test_signs_and_function_words_are_not_kept() -> None:
    [bare], [dressed] = (BundledEmbedder().embed([text]) for text in ("lamp oil", "the lamp, and the oil!"))
    assert len(bare.pieces) == len(dressed.pieces)
