"""Windows over long texts, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.embeddings.base import pooled, unit, windows
from reverie.errors import EmbedderError


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        pytest.param(0, [(0, 0)], id="an empty text is one window"),
        pytest.param(10, [(0, 10)], id="just full"),
        pytest.param(11, [(0, 10), (7, 11)], id="one more: the second window starts 3 back"),
        pytest.param(17, [(0, 10), (7, 17)], id="two windows, both full: 10 + 10 - 3"),
        pytest.param(18, [(0, 10), (7, 17), (14, 18)], id="three"),
    ],
)
def test_windows_of_ten_with_three_shared(length, expected):
    assert [(cut.start, cut.stop) for cut in windows(length, size=10, overlap=3)] == expected


@given(length=st.integers(0, 5000), size=st.integers(2, 300), data=st.data())
def test_windows_cover_everything_and_none_is_a_scrap(length, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    cuts = windows(length, size, overlap)
    covered = set().union(*(range(cut.start, cut.stop) for cut in cuts))
    assert covered == set(range(length))
    assert all(cut.stop - cut.start <= size for cut in cuts)
    assert len(cuts) == 1 or all(cut.stop - cut.start > overlap for cut in cuts)


def test_pooling_two_right_angles_points_between_them():
    embedding = pooled([np.array([1, 0], np.float32), np.array([0, 1], np.float32)])
    np.testing.assert_allclose(embedding.vector, [0.7071068, 0.7071068], rtol=1e-6)
    assert len(embedding.passages) == 2


@pytest.mark.parametrize("values", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_without_direction_is_an_error(values):
    with pytest.raises(EmbedderError, match="Try another model"):
        unit(np.array(values, np.float32))
