"""The texts and the training of the injection classifier: what is learnt can be learnt again, and was not copied."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTS = (
    "heldout_orders",
    "heldout_orders_second",
    "heldout_orders_third",
    "heldout_orders_fourth",
    "heldout_orders_fifth",
    "heldout_orders_sixth",
)


def _module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def training():
    sys.path.insert(0, str(ROOT / "training"))
    yield _module(ROOT / "training" / "orders.py")
    sys.path.remove(str(ROOT / "training"))


@pytest.mark.parametrize("name", LISTS)
def test_no_text_of_a_held_out_list_is_trained_on(name, training):
    lists = _module(Path(__file__).with_name(f"{name}.py"))
    held_out = {text for part in (lists.HOSTILE, lists.HONEST) for texts in part.values() for text in texts}
    assert {text.text for text in training.read()} & held_out == set()


def test_no_text_is_an_order_in_one_place_and_a_note_in_another(training):
    orders, notes = ({text.text for text in training.read() if text.order is order} for order in (True, False))
    assert orders & notes == set()


def test_texts_put_together_from_parts_are_the_same_at_every_call_and_have_no_hole_left(training):
    texts = list(training.combinations())
    assert texts == list(training.combinations())
    assert [
        text for text, _, _ in texts if "{do" in text.lower() or "{wh" in text.lower() or "{per" in text.lower()
    ] == []
    assert {"Never delete the backups.", "Always run make lint."} & {
        text for text, order, _ in texts if order
    } == set()


def test_two_trainings_on_the_same_texts_give_the_same_file(training):
    texts = [text for text in training.read() if text.author == "combined"][::60]
    plan = training.Plan(epochs=2)
    features = training.Features()
    first, second = (training.train(texts, features, plan).to_json() for _ in range(2))
    assert first == second
    assert set(json.loads(first)) == {"trained_on", "labels", "hidden", "filters"}
