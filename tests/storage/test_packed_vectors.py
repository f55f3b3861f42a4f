"""Vectors of few bits: what they take, how near they stay, and that every reader reads them alike."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from reverie.storage.packed_vectors import (
    FAR,
    PACKED_BITS,
    WHOLE,
    VectorMatrix,
    coarser,
    known_precision,
    matrix_of,
    pack,
    unpack,
    vector_columns,
    width_of,
)

DIMENSIONS = 384


def some_vectors(count: int, dimensions: int = DIMENSIONS, seed: int = 7) -> np.ndarray:
    """Unit vectors in random directions."""
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def rows_of(vectors: np.ndarray, precisions: list[int]) -> pa.Table:
    """The columns of rows that hold these vectors."""
    whole, packed = vector_columns(list(vectors), precisions, vectors.shape[1])
    return pa.table({"vector": whole, "packed": packed})


@pytest.mark.rule("002-compression")
@pytest.mark.parametrize(("bits", "ratio", "fidelity"), [(8, 3.9, 0.9999), (4, 7.6, 0.993), (2, 14.6, 0.90)])
def test_a_packed_vector_is_as_small_and_as_near_as_the_source_says(bits: int, ratio: float, fidelity: float) -> None:
    vectors = some_vectors(200)
    records = pack(vectors, bits)
    assert records.shape == (200, width_of(bits, DIMENSIONS))
    assert DIMENSIONS * 4 / records.shape[1] >= ratio
    read = unpack(records, DIMENSIONS)
    lengths = np.linalg.norm(read, axis=1)
    cosines = np.einsum("ij,ij->i", read, vectors) / lengths
    assert cosines.mean() >= fidelity
    assert cosines.mean() == pytest.approx((1 / lengths).mean(), abs=0.002)  # what Δ²/12 a dimension lets expect


def test_a_code_stands_for_the_middle_of_its_step() -> None:
    # the scale is 1; a quarter of the range from -1 to 1 is 0.5 wide, and its middles are at ±0.25 and ±0.75
    vector = np.array([[1.0, -1.0, 0.3, -0.3, 0.6, 0.0, -0.6, 0.01]], np.float32)
    [read] = unpack(pack(vector, 2), 8)
    assert (read / read[2]).round(4).tolist() == [3.0, -3.0, 1.0, -1.0, 3.0, 1.0, -3.0, 1.0]


def test_the_noise_of_rounding_is_taken_out_of_a_cosine() -> None:
    vectors = some_vectors(400)
    queries = vectors * 0.8 + 0.6 * some_vectors(400, seed=8)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    true = np.einsum("ij,ij->i", queries, vectors)
    read = unpack(pack(vectors, 2), DIMENSIONS)
    seen = np.einsum("ij,ij->i", queries, read)
    plain = seen / np.linalg.norm(read, axis=1)
    assert abs((seen - true).mean()) < 0.005
    assert (plain - true).mean() < -0.05


@pytest.mark.parametrize("dimensions", [384, 64, 5])
def test_fading_step_by_step_ends_where_fading_at_once_does(dimensions: int) -> None:
    vectors = some_vectors(50, dimensions)
    records = pack(vectors, 8)
    for finer, fewer in pairwise(PACKED_BITS):
        records = coarser(records, fewer, dimensions)
        assert np.array_equal(records, pack(vectors, fewer)), (finer, fewer)
    with pytest.raises(ValueError, match="has no 4 bits"):
        coarser(records, 4, dimensions)


def test_a_vector_of_nothing_stays_one() -> None:
    assert not unpack(pack(np.zeros((1, 8), np.float32), 2), 8).any()


def test_a_precision_that_nobody_knows_is_a_whole_vector() -> None:
    assert [known_precision(bits) for bits in (32, 8, 4, 2, 16, 0, -1)] == [32, 8, 4, 2, 32, 32, 32]


def test_rows_are_read_at_every_precision_in_their_order() -> None:
    vectors = some_vectors(8)
    precisions = [32, 2, 8, 4, 32, 2, 4, 8]
    rows = rows_of(vectors, precisions)
    assert rows.column("vector").null_count == 6
    read = matrix_of(rows, DIMENSIONS)
    assert np.array_equal(read[[0, 4]], vectors[[0, 4]])
    assert np.array_equal(read[[1]], unpack(pack(vectors[[1]], 2), DIMENSIONS))
    chunked = pa.concat_tables([rows.slice(0, 3), rows.slice(3)])
    assert np.array_equal(matrix_of(chunked, DIMENSIONS), read)


def test_damage_is_left_out_and_harms_nothing_else() -> None:
    good = pack(some_vectors(1), 8)[0].tobytes()
    wrong_bits = bytes([4]) + good[1:]
    rows = pa.table(
        {
            "vector": pa.nulls(4, rows_of(some_vectors(1), [32]).schema.field("vector").type),
            "packed": pa.array([good, good[:-1], wrong_bits, None], pa.binary()),
        }
    )
    read = matrix_of(rows, DIMENSIONS)
    assert [bool(vector.any()) for vector in read] == [True, False, False, False]


def test_the_matrix_in_memory_compares_as_the_rows_do() -> None:
    vectors = some_vectors(2_500)
    precisions = np.random.default_rng(1).choice([32, 8, 4, 2], len(vectors)).tolist()
    rows = rows_of(vectors, precisions)
    matrix = VectorMatrix(DIMENSIONS, keeps_whole=True)
    matrix.reserve_whole(len(rows))
    matrix.write(np.arange(len(vectors)), rows)
    query = some_vectors(1, seed=9)[0]
    expected = matrix_of(rows, DIMENSIONS) @ query
    assert np.abs(matrix.similarities(query, len(vectors)) - expected).max() < 1e-6
    found = matrix.at(3)
    assert found is not None
    assert np.abs(found - matrix_of(rows, DIMENSIONS)[3]).max() < 1e-6
    assert matrix.counts() == {bits: precisions.count(bits) for bits in (32, 8, 4, 2)}


def test_vectors_that_fade_give_their_memory_back() -> None:
    vectors = some_vectors(1_000)
    matrix = VectorMatrix(DIMENSIONS, keeps_whole=True)
    every = np.arange(len(vectors))
    sizes = {}
    for bits in (WHOLE, *PACKED_BITS):
        matrix.write(every, rows_of(vectors, [bits] * len(vectors)))
        sizes[bits] = matrix.nbytes
        assert matrix.counts()[bits] == len(vectors)
    assert sizes == {32: 1_536_000, 8: 388_000, 4: 196_000, 2: 100_000}
    assert sizes[WHOLE] / sizes[2] > 15


def test_a_matrix_without_room_for_whole_vectors_has_the_packed_ones() -> None:
    vectors = some_vectors(4)
    matrix = VectorMatrix(DIMENSIONS, keeps_whole=False)
    matrix.write(np.arange(4), rows_of(vectors, [32, 2, 8, 32]))
    similarities = matrix.similarities(vectors[1], 4)
    assert [bool(one == FAR) for one in similarities] == [True, False, False, True]
    assert matrix.is_packed(4).tolist() == [False, True, True, False]
    matrix.write(np.array([1]), rows_of(vectors[[1]], [32]))  # recalled, and whole again: now it is on disk
    assert matrix.is_packed(4).tolist() == [False, False, True, False]
    assert matrix.at(1) is None


def test_a_matrix_that_drops_whole_vectors_keeps_the_packed_ones() -> None:
    vectors = some_vectors(3)
    matrix = VectorMatrix(DIMENSIONS, keeps_whole=True)
    matrix.write(np.arange(3), rows_of(vectors, [32, 4, 32]))
    matrix.drop_whole()
    assert (matrix.counts()[32], matrix.counts()[4], matrix.columns) == (0, 1, ("packed",))
    assert matrix.at(0) is None
    assert matrix.similarities(vectors[1], 3)[1] > 0.98
