import numpy as np
import pytest

from reverie.embeddings.classifier import Filters, LinearModel, from_json


def _model(*rows: list[float], bias: list[float]) -> LinearModel:
    names = tuple("abc"[: len(rows)])
    return LinearModel(names, np.array(rows, dtype=np.float32), np.array(bias, dtype=np.float32))


def test_one_label_is_a_yes_or_no_by_the_sigmoid() -> None:
    model = _model([2.0, 0.0], bias=[-1.0])
    assert model.probabilities(np.array([1.0, 0.0], dtype=np.float32)) == {"a": pytest.approx(0.731059)}


def test_several_labels_share_one_hundred_percent() -> None:
    model = _model([1.0, 0.0], [0.0, 1.0], bias=[0.0, 0.0])
    shares = model.probabilities(np.array([1.0, 0.0], dtype=np.float32))
    assert shares == {"a": pytest.approx(0.731059, abs=1e-5), "b": pytest.approx(0.268941, abs=1e-5)}


def test_cues_stand_behind_the_vector() -> None:
    model = _model([0.0, 0.0, 3.0], bias=[0.0])
    vector = np.array([1.0, 0.0], dtype=np.float32)
    assert model.probabilities(vector, [1.0])["a"] == pytest.approx(0.952574)
    assert model.probabilities(vector, [0.0])["a"] == pytest.approx(0.5)


def test_a_model_reads_back_to_within_half_a_step_of_its_weights() -> None:
    model = _model([1.27, -0.5, 0.004], [0.3, 0.2, 0.1], bias=[0.25, -1.5])
    back = from_json(model.to_json())
    assert back.labels == ("a", "b")
    assert back.trained_on == model.trained_on
    assert back.bias.tolist() == [0.25, -1.5]
    assert np.abs(back.weights - model.weights).max(axis=1).tolist() <= [0.00501, 0.00119]
    assert back.to_json() == model.to_json()


def test_a_filter_gives_its_best_fit_over_three_neighbours_or_zero() -> None:
    filters = Filters(np.array([[1, 0, 0, 2, 0, 0], [0, 0, -1, 0, 0, 0]], np.float32), np.array([0.5, 0], np.float32))
    pieces = np.array([[3, 0], [1, 1], [1, 0]], np.float32)
    # the second piece: 1 x the 3 before it + 2 x its own second number + 0.5; the other filter fits nowhere
    assert filters.strongest(pieces).tolist() == [5.5, 0.0]


def test_a_model_with_filters_sees_pieces_and_reads_back() -> None:
    filters = Filters(np.array([[0, 0, 1.27, 0, 0, 0]], np.float32), np.array([0], np.float32))
    model = LinearModel(("a",), np.array([[1, 1]], np.float32), np.zeros(1, np.float32), filters=filters)
    back = from_json(model.to_json())
    shares = back.probabilities_of_pieces(np.array([[1, 0]], np.float32), [0.5])
    assert shares == {"a": pytest.approx(1 / (1 + np.exp(-1.77)), abs=1e-5)}
    assert back.to_json() == model.to_json()


def test_a_model_without_filters_is_given_no_pieces() -> None:
    with pytest.raises(ValueError, match="no filters"):
        _model([1.0], bias=[0.0]).probabilities_of_pieces(np.ones((1, 2), np.float32))
