"""The word-hash embedder that the other tests stand on."""

import numpy as np

from tests.tiny_embedder import TinyEmbedder


def test_shared_words_make_texts_near_whatever_their_case_and_order():
    one, same, other = TinyEmbedder().embed(["Deploy with just ship", "just SHIP: with deploy", "cats sleep"])
    assert one.vector @ same.vector > 0.999
    assert one.vector @ other.vector < 0.5


def test_its_vectors_are_the_same_in_every_process():
    [embedding] = TinyEmbedder().embed(["memory"])
    assert np.flatnonzero(embedding.vector).tolist() == [25]


def test_a_text_of_51_words_has_two_passages_and_one_of_50_has_none():
    short, long = TinyEmbedder().embed(["word " * 50, "word " * 51])
    assert (len(short.passages), len(long.passages)) == (0, 2)


def test_an_empty_text_has_a_unit_vector():
    [embedding] = TinyEmbedder().embed([""])
    assert np.linalg.norm(embedding.vector) == 1.0
