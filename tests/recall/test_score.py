from dataclasses import replace

import numpy as np
import pytest

from reverie.lifecycle.rules import contradiction_reason
from reverie.recall.score import (
    CandidateFeatures,
    ScoreParts,
    may_reach_top,
    ranked,
    score_parts,
    token_weights,
    with_tokens,
)
from reverie.storage.rows import CandidateRow
from tests.dream.conftest import NOW, a_memory


def _candidate(name: str, cosine: float | None, word_score: float) -> CandidateFeatures:
    return CandidateFeatures(id=name, location=None, cosine=cosine, vector_score=cosine, word_score=word_score)


def test_cosines_are_spread_and_texts_start_at_zero() -> None:
    found = score_parts(
        [_candidate("a", 0.8, 0.0), _candidate("b", 0.4, 4.0), _candidate("c", 0.2, 0.0), _candidate("d", None, 2.0)]
    )
    assert {name: (parts.vector, parts.text) for name, parts in found.items()} == {
        "a": (pytest.approx(1.0), 0.0),
        "b": (pytest.approx(1 / 3), 1.0),
        "c": (0.0, 0.0),
        "d": (0.0, 0.5),
    }


def test_a_single_cosine_counts_as_it_is() -> None:
    assert score_parts([_candidate("a", 0.3, 0.0)]) == {"a": ScoreParts(0.3, 0.0)}
    assert score_parts([_candidate("a", -0.3, 0.0)]) == {"a": ScoreParts(0.0, 0.0)}


def test_words_count_little_where_even_the_best_shares_little_with_the_query() -> None:
    found = [_candidate("a", 0.8, 2.0), _candidate("b", 0.4, 1.0)]
    assert [parts.text for parts in score_parts(found, 6.0).values()] == [
        1.0,
        0.5,
    ]  # 2 is a third of 6: their full weight
    assert [parts.text for parts in score_parts(found, 24.0).values()] == [0.25, 0.125]


def test_vectors_and_tokens_keep_a_fifth_of_their_weight_in_a_script_the_model_was_not_taught() -> None:
    candidates = [_candidate("near", 0.9, 0.0), _candidate("far", 0.1, 2.0)]
    parts = score_parts(candidates, understood=0.0)
    assert parts == {"near": ScoreParts(0.2, 0.0), "far": ScoreParts(0.0, 1.0)}
    closer = with_tokens(parts, {"near": 0.8, "far": 0.4}, ["near", "far"], understood=0.0)
    assert closer["near"] == ScoreParts(0.2, 0.0, 0.2)
    assert score_parts(candidates, understood=0.5)["near"] == ScoreParts(0.5, 0.0)


def test_relevance_is_two_fifths_tokens_seven_twentieths_vector_a_quarter_text() -> None:
    assert ScoreParts(0.5, 0.25, 1.0).relevance == pytest.approx(0.4 + 0.175 + 0.0625)
    assert ScoreParts(0.5, 0.25).relevance == pytest.approx((0.35 * 0.5 + 0.25 * 0.25) / 0.6)


def test_what_was_not_compared_gets_nothing_and_what_has_no_token_vectors_keeps_its_relevance() -> None:
    parts = {
        "best": ScoreParts(1.0, 1.0),
        "good": ScoreParts(0.5, 0.5),
        "old": ScoreParts(0.5, 0.5),
        "far": ScoreParts(0.1, 0.1),
    }
    found = with_tokens(parts, {"best": 0.4, "good": 0.2}, ["best", "good", "old"])
    assert [found[name].tokens for name in parts] == [1.0, 0.0, pytest.approx(0.5), 0.0]
    assert with_tokens(parts, {}, []) == parts


def test_a_word_counts_once_however_many_tokens_it_has() -> None:
    words = ("Zyxomma", "Zyxomma", "lamp", "?")
    assert token_weights(words, (1.0, 1.0, 0.25, 0.1), {"Zyxomma": 4.0, "lamp": 4.0}) == [1.0, 1.0, 1.0, 0.0]
    assert token_weights(words, (1.0, 1.0, 0.25, 0.0), {}) == [0.5, 0.5, 0.5, 0.0]


def test_a_candidate_is_read_only_if_its_factors_could_bring_it_among_the_best() -> None:
    # The best could fall to 0.7 · 0.9 · 0.6 · 0.75 = 0.2835 of its relevance: by strength, trust, evidence and
    # speaker; and another be lifted by 1.2, which makes it 0.236.
    parts = {"a": ScoreParts(1.0, 1.0), "b": ScoreParts(0.24, 0.24), "c": ScoreParts(0.23, 0.23)}
    assert may_reach_top(parts, 1) == ["a", "b"]
    assert may_reach_top(parts, 2) == ["a", "b", "c"]
    assert may_reach_top({}, 3) == []


def test_three_candidates_are_read_for_each_row() -> None:
    parts = {str(number): ScoreParts(0.9, 0.9) for number in range(20)}
    assert len(may_reach_top(parts, 4)) == 12


def test_what_a_dream_quotes_and_what_is_challenged_rank_behind_what_they_are_about() -> None:
    newer = a_memory(2, "The Exporter listens on port 9090")
    told = a_memory(1, "The Exporter listens on port 8080")
    card = replace(told, id="card", kind="peer_card", source="dream")
    doubted = replace(told, id="doubted", status="challenged", status_reason=contradiction_reason(newer.id))
    alone = replace(doubted, id="alone", status_reason=contradiction_reason("not-found"))
    merged = replace(told, id="merged", source="dream")
    memories = (told, card, doubted, alone, merged, newer)
    parts = {memory.id: ScoreParts(1.0, 1.0) for memory in memories} | {newer.id: ScoreParts(0.9, 0.9)}
    candidate_rows = [CandidateRow(memory, np.zeros(1, np.float32)) for memory in memories]
    found = {one.memory.id: one.score for one in ranked(candidate_rows, parts, "Where does it listen?", NOW)}
    assert found["card"] / found["m0001"] == pytest.approx(0.6)
    assert found["m0002"] == pytest.approx(found["doubted"] * 1.001)
    assert found["doubted"] == found["m0001"]
    assert found["alone"] == found["m0001"]
    assert found["merged"] == found["m0001"]


def test_what_somebody_else_says_than_is_asked_about_counts_three_quarters() -> None:
    hers, his = a_memory(1, "Caroline: I paint."), a_memory(2, "Tom: Caroline, do you paint?")
    candidate_rows = [CandidateRow(memory, np.zeros(1, np.float32)) for memory in (hers, his)]
    parts = {hers.id: ScoreParts(0.8, 0.8), his.id: ScoreParts(1.0, 1.0)}
    found = ranked(candidate_rows, parts, "Does Caroline paint?", NOW)
    assert [(one.memory.id, one.kind_factor) for one in found] == [(hers.id, 1.0), (his.id, 0.75)]
    assert found[0].score / found[1].score == pytest.approx(0.8 / 0.75, rel=0.02)  # he spoke a day later
    assert ranked(candidate_rows, parts, "Who paints?", NOW)[0].memory == his


def test_the_newest_statement_ranks_ahead_of_all_that_were_challenged_before_it() -> None:
    newest = a_memory(3, "The Exporter listens on port 9999")
    newer = a_memory(2, "The Exporter listens on port 9090")
    oldest = a_memory(1, "The Exporter listens on port 8080")
    newer = replace(newer, status="challenged", status_reason=contradiction_reason(newest.id))
    oldest = replace(oldest, status="challenged", status_reason=contradiction_reason(newer.id))
    candidate_rows = [CandidateRow(memory, np.zeros(1, np.float32)) for memory in (oldest, newest, newer)]
    parts = {oldest.id: ScoreParts(1.0, 1.0), newer.id: ScoreParts(0.9, 0.9), newest.id: ScoreParts(0.5, 0.5)}
    assert [one.memory.id for one in ranked(candidate_rows, parts, "Which port?", NOW)] == [
        newest.id,
        newer.id,
        oldest.id,
    ]


def test_a_challenger_that_has_nothing_to_do_with_the_query_is_left_where_it_is() -> None:
    newer = a_memory(2, "The Exporter listens on port 9090")
    older = a_memory(1, "The Exporter listens on port 8080")
    older = replace(older, status="challenged", status_reason=contradiction_reason(newer.id))
    candidate_rows = [CandidateRow(memory, np.zeros(1, np.float32)) for memory in (older, newer)]
    parts = {older.id: ScoreParts(1.0, 1.0), newer.id: ScoreParts(0.2, 0.2)}
    assert [one.memory.id for one in ranked(candidate_rows, parts, "Which port?", NOW)] == [older.id, newer.id]
