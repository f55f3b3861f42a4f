"""The alignment of two statements: single features, worked by hand."""

import re

import pytest

from reverie.text import alignment
from reverie.text.alignment import NAMES, _cues, _read_with, _statement, alignment_of
from reverie.text.measures import _measures
from reverie.text.tokenize import kept_if_short
from reverie.text.word_forms import WordForms, is_related, word_form


def feature(name: str, older: str, newer: str) -> float:
    return alignment_of(older, newer)[NAMES.index(name)]


@pytest.mark.parametrize(
    ("name", "older", "newer", "value"),
    [
        ("amounts exchanged", "Tokens live 30 minutes.", "Tokens live 2 hours.", 1.0),
        ("amounts exchanged", "Tokens live 30 minutes.", "Tokens live half an hour.", 0.0),
        ("names exchanged", "Mail is sent by Mandrill.", "Mail is sent by Postmark.", 1.0),
        ("names exchanged", "Ask Karin Holm about seats.", "About seats, ask Karin.", 0.0),
        ("subject repeated", "The seating planner is slow.", "We sped the seating planner up.", 1.0),
        ("subjects exchanged", "Staging runs Linux.", "Production runs Linux.", 1.0),
        ("change in the newer", "Mail is sent by Mandrill.", "Mail is sent by Postmark now.", 1.0),
        ("retired in the newer", "Mail is sent by Mandrill.", "Mandrill has been shut down.", 1.0),
        ("one negates", "Merging needs a review.", "Merging is not possible without a review.", 0.0),
        ("one negates", "Merging needs a review.", "Merging needs no review.", 1.0),
        ("times differ", "The audit of March found two bugs.", "The audit of June found one bug.", 1.0),
        ("places exchanged", "Specs live in tests/unit.", "Specs live in spec/unit.", 1.0),
        ("added", "`api` needs REDIS_URL.", "`api` needs DB_URL too.", 1.0),
    ],
)
def test_a_feature_is_what_its_name_says(name: str, older: str, newer: str, value: float) -> None:
    assert feature(name, older, newer) == value


@pytest.mark.parametrize("text", ["", "?", "```", "1", "a" * 5_000, "{[(" * 200])
def test_any_text_can_be_aligned(text: str) -> None:
    assert len(alignment_of(text, "The API listens on port 80.")) == len(NAMES)
    assert len(alignment_of("The API listens on port 80.", text)) == len(NAMES)


def test_a_word_is_a_name_only_beside_a_text_that_has_it_as_a_name() -> None:
    older, with_name, without = "Walnut builds the images.", "We call it Walnut now.", "The images are built twice."
    alone = alignment_of(older, without)
    beside_a_name = alignment_of(older, with_name)
    assert beside_a_name[NAMES.index("names shared")] == 0.5
    assert alone[NAMES.index("names shared")] == 0.0
    assert alignment_of(older, without) == alone


def test_readings_of_texts_are_kept_in_a_bounded_number() -> None:
    for cached in (_cues, _statement, _read_with, _measures):
        most = cached.cache_info().maxsize
        assert most is not None
        assert most <= 2_048


def test_what_is_said_of_a_text_is_kept_for_short_texts_and_for_the_last_ones_only() -> None:
    read: list[str] = []

    @kept_if_short
    def length(text: str) -> int:
        read.append(text)
        return len(text)

    long, short = "a" * 2_001, "b"
    assert [length(short), length(short), length(long), length(long)] == [1, 1, 2_001, 2_001]
    assert read == [short, long, long]
    for number in range(1_024):
        length(f"{number}")
    length(short)
    assert read[-1] == short


CUES = ("_CHANGE", "_RETIRED", "_ADDED", "_OWNER", "_ONE_CASE", "_REASON")


@pytest.mark.parametrize("name", CUES)
def test_a_cue_has_no_capital_letter_as_the_search_in_small_letters_assumes(name: str) -> None:
    written = re.sub(r"\\.", "", getattr(alignment, name).pattern)
    assert written == written.lower()


@pytest.mark.parametrize(
    "text",
    [
        "It is NOW on port 80.",
        "Formerly: Köln, now Bonn.",
        "`deploy()` was slow.",
        "xnow nowhere",
        "The job -since we moved- runs.",
        "Die Zeiten wurden geändert",
        "",
    ],
)
def test_cues_are_found_where_a_plain_search_finds_them(text: str) -> None:
    patterns = [getattr(alignment, name) for name in CUES[:5]]
    found = _cues(text)
    assert [found.changes, found.retires, found.adds, found.names_owner, found.tells_of_one_case] == [
        bool(pattern.search(text)) for pattern in patterns
    ]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("We use Redis, because it is fast.", "We use Redis"),
        ("We use Redis - since we need queues.", "We use Redis"),
        ("We use Redis –  because", "We use Redis – "),
        ("Because it is fast", "Because it is fast"),
        ("Redis:which one?\nanother line", "Redis"),
        ("Nothing since May.", "Nothing since May."),
    ],
)
def test_a_reason_is_left_out_with_the_sign_before_it(text: str, bare: str) -> None:
    assert (alignment._without_reason(text) or text) == bare


WORDS = (
    "deploy deployment deployed production product product-ion start begin repo repository databas db fn function "
    "retri retry-er index indexes in i time 300 number 5 café cafeteria configur-ation config operat operator"
)


def test_a_related_word_is_found_without_comparing_all() -> None:
    forms = [*WORDS.split(), *map(word_form, WORDS.split()), ""]
    for form in forms:
        for others in (forms, forms[::2], [other for other in forms if other != form], []):
            expected = any(is_related(form, other) for other in others)
            assert WordForms(others).has_related(form) == expected, (form, others)


def test_names_in_code_that_begin_alike_are_exchanged() -> None:
    of = dict(zip(NAMES, alignment_of("The seat job fills seat_rows.", "The seat job reads SEAT_DSN."), strict=True))
    assert of["names exchanged"] == 1.0


def test_a_ban_stands_against_a_permission() -> None:
    of = dict(zip(NAMES, alignment_of("Nobody may push to main.", "Leads are allowed to push to main."), strict=True))
    assert of["a ban against a permission"] == 1.0
