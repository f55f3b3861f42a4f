"""The pair classifier on pairs that it was not trained on."""

import json
from collections import Counter
from pathlib import Path

import pytest

from reverie.embeddings.bundled import BUNDLE, BundledEmbedder
from reverie.embeddings.classifier import FEATURES, LEAST_COSINE, judged_pair, pair_model

HELD_OUT = Path(__file__).parents[1] / "tools" / "held_out" / "halyard" / "pairs.jsonl"
MOST_KILOBYTES = 12


def test_the_weights_are_small_and_fit_the_features() -> None:
    assert (BUNDLE / "pairs.json").stat().st_size < MOST_KILOBYTES * 1024
    assert pair_model().linear.shape == (len(FEATURES), 3)


def test_texts_that_are_far_apart_are_not_judged() -> None:
    assert judged_pair("The API listens on 80.", "The API listens on 81 now.", LEAST_COSINE - 0.01) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Uploads are limited to 10 MB.", "Uploads are limited to 25 MB."),
        ("The specs live in tests/unit.", "The specs live in spec/unit."),
    ],
)
def test_another_amount_or_path_is_never_a_restatement(older: str, newer: str) -> None:
    verdict = judged_pair(older, newer, 0.99)
    assert verdict is not None
    assert verdict.same == 0.0


def test_the_held_out_pairs_are_judged_as_published() -> None:
    pairs = [json.loads(line) for line in HELD_OUT.read_text("utf-8").splitlines()]
    vectors = {
        text: embedding.vector
        for texts in [[pair[side] for pair in pairs for side in ("old", "new")]]
        for text, embedding in zip(texts, BundledEmbedder().embed(texts), strict=True)
    }
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        verdict = judged_pair(pair["old"], pair["new"], float(vectors[pair["old"]] @ vectors[pair["new"]]))
        counts[pair["label"], "compatible" if verdict is None else verdict.label] += 1
    of = Counter(pair["label"] for pair in pairs)
    assert counts["update", "update"] >= 0.75 * of["update"]
    assert counts["compatible", "update"] <= 0.08 * of["compatible"]
    assert counts["compatible", "same"] == 0
    assert counts["same", "same"] >= 0.5 * of["same"]
    assert counts["same", "update"] <= 0.02 * of["same"]
