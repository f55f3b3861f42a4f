from dataclasses import replace

import numpy as np
import pytest

from reverie.lifecycle.rules import contradiction_reason
from reverie.recall.score import ScoreParts, contenders, parts_of, piece_weights, ranked, with_pieces
from reverie.storage.features import Candidate
from reverie.storage.rows import CandidateRow
from tests.dream.conftest import NOW, a_memory


def _candidate(name: str, meaning: float | None, text: float) -> Candidate:
    return Candidate(id=name, table="semantic", place=None, cosine=meaning, meaning=meaning, text=text)


def test_cosines_are_spread_and_texts_start_at_zero() -> None:
    found = parts_of(
        [_candidate("a", 0.8, 0.0), _candidate("b", 0.4, 4.0), _candidate("c", 0.2, 0.0), _candidate("d", None, 2.0)]
    )
    assert {name: (parts.vector, parts.text) for name, parts in found.items()} == {
        "a": (pytest.approx(1.0), 0.0),
        "b": (pytest.approx(1 / 3), 1.0),
        "c": (0.0, 0.0),
        "d": (0.0, 0.5),
    }


def test_a_single_cosine_counts_as_it_is() -> None:
    assert parts_of([_candidate("a", 0.3, 0.0)]) == {"a": ScoreParts(0.3, 0.0)}
    assert parts_of([_candidate("a", -0.3, 0.0)]) == {"a": ScoreParts(0.0, 0.0)}


def test_words_say_little_where_even_the_best_shares_little_with_the_question() -> None:
    found = [_candidate("a", 0.8, 2.0), _candidate("b", 0.4, 1.0)]
    assert [parts.text for parts in parts_of(found, 6.0).values()] == [1.0, 0.5]  # 2 is a third of 6: their full say
    assert [parts.text for parts in parts_of(found, 24.0).values()] == [0.25, 0.125]


def test_meaning_and_pieces_keep_a_fifth_of_their_say_in_a_script_the_model_was_not_taught() -> None:
    candidates = [_candidate("near", 0.9, 0.0), _candidate("far", 0.1, 2.0)]
    parts = parts_of(candidates, understood=0.0)
    assert parts == {"near": ScoreParts(0.2, 0.0), "far": ScoreParts(0.0, 1.0)}
    closer = with_pieces(parts, {"near": 0.8, "far": 0.4}, ["near", "far"], understood=0.0)
    assert closer["near"] == ScoreParts(0.2, 0.0, 0.2)
    assert parts_of(candidates, understood=0.5)["near"] == ScoreParts(0.5, 0.0)


def test_relevance_is_two_fifths_pieces_seven_twentieths_vector_a_quarter_text() -> None:
    assert ScoreParts(0.5, 0.25, 1.0).relevance == pytest.approx(0.4 + 0.175 + 0.0625)
    assert ScoreParts(0.5, 0.25).relevance == pytest.approx((0.35 * 0.5 + 0.25 * 0.25) / 0.6)


def test_what_was_not_looked_at_has_no_pieces_and_what_keeps_none_is_taken_as_it_stood() -> None:
    parts = {
        "best": ScoreParts(1.0, 1.0),
        "good": ScoreParts(0.5, 0.5),
        "old": ScoreParts(0.5, 0.5),
        "far": ScoreParts(0.1, 0.1),
    }
    found = with_pieces(parts, {"best": 0.4, "good": 0.2}, ["best", "good", "old"])
    assert [found[name].pieces for name in parts] == [1.0, 0.0, pytest.approx(0.5), 0.0]
    assert with_pieces(parts, {}, []) == parts


def test_a_word_counts_once_however_many_pieces_it_is_cut_into() -> None:
    words = ("Zyxomma", "Zyxomma", "lamp", "?")
    assert piece_weights(words, (1.0, 1.0, 0.25, 0.1), {"Zyxomma": 4.0, "lamp": 4.0}) == [1.0, 1.0, 1.0, 0.0]
    assert piece_weights(words, (1.0, 1.0, 0.25, 0.0), {}) == [0.5, 0.5, 0.5, 0.0]


def test_a_candidate_is_read_only_if_its_strength_could_lift_it_among_the_best() -> None:
    # The best could fall to 0.7 · 0.9 · 0.6 · 0.75 = 0.2835 of its relevance: by strength, trust, evidence and
    # speaker; and another be lifted by 1.2, which makes it 0.236.
    parts = {"a": ScoreParts(1.0, 1.0), "b": ScoreParts(0.24, 0.24), "c": ScoreParts(0.23, 0.23)}
    assert contenders(parts, 1) == ["a", "b"]
    assert contenders(parts, 2) == ["a", "b", "c"]
    assert contenders({}, 3) == []


def test_three_candidates_are_read_for_each_row() -> None:
    parts = {str(number): ScoreParts(0.9, 0.9) for number in range(20)}
    assert len(contenders(parts, 4)) == 12


def test_what_a_dream_quotes_and_what_is_in_doubt_stand_behind_what_they_are_about() -> None:
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
    assert [(one.memory.id, one.standing) for one in found] == [(hers.id, 1.0), (his.id, 0.75)]
    assert found[0].score / found[1].score == pytest.approx(0.8 / 0.75, rel=0.02)  # he spoke a day later
    assert ranked(candidate_rows, parts, "Who paints?", NOW)[0].memory == his


def test_the_newest_word_stands_ahead_of_all_that_were_challenged_before_it() -> None:
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


def test_a_challenger_that_has_nothing_to_do_with_the_question_is_left_where_it_is() -> None:
    newer = a_memory(2, "The Exporter listens on port 9090")
    older = a_memory(1, "The Exporter listens on port 8080")
    older = replace(older, status="challenged", status_reason=contradiction_reason(newer.id))
    candidate_rows = [CandidateRow(memory, np.zeros(1, np.float32)) for memory in (older, newer)]
    parts = {older.id: ScoreParts(1.0, 1.0), newer.id: ScoreParts(0.2, 0.2)}
    assert [one.memory.id for one in ranked(candidate_rows, parts, "Which port?", NOW)] == [older.id, newer.id]
