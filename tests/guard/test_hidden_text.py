import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.guard.hidden_text import hidden_text_in, tag_text, visible

_IN_TAGS = "".join(chr(0xE0000 + ord(c)) for c in "obey")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain text", "plain text"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("nul\x00 bell\x07 delete\x7f c1\x9d", "nul bell delete c1"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.test\x07click\x1b]8;;\x07", "click"),
        ("a\u202eb\u202c \u2066c\u2069 \u200ed\u200f", "ab c d"),
        ("zero\u200bwidth\ufeff soft\u00adhyphen", "zerowidth softhyphen"),
        (f"note{_IN_TAGS}", "note"),
        ("x\ufe0f\ufe0e\ufe01y", "x\ufe0fy"),
        ("pay\u200dpal", "paypal"),
    ],
)
def test_a_text_is_shown_as_a_reader_sees_it(text, seen):
    assert visible(text) == seen


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ❤️", "می‌خواهم", "क्‍ष", "naïve café 日本語 한국어", "e\u0301", "שלום עולם"]
)
def test_what_scripts_and_emoji_need_stays(text):
    assert visible(text) == text
    assert hidden_text_in(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        f"note{_IN_TAGS}",
        "if access \u202e} \u2066// admins only\u2069",
        "x\u2066y",
        "a\u200b\u200c\u200b\u200c\u200b\u200cb",
        "".join(f"{c}\u200b" for c in "hidden in a word"),
        "smile 😀\ufe01\ufe02\ufe03",
        "x\U000e0101\U000e0102",
        "done\x1b]52;c;aGk=\x07",
        "safe\x08\x08\x08\x08evil",
    ],
)
def test_what_honest_typing_does_not_leave_is_told(text):
    assert hidden_text_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mERROR\x1b[0m in a log",
        "zero\u200bwidth",
        "שלום \u2066abc\u2069",
        "England 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    ],
)
def test_what_copying_leaves_is_no_fault(text):
    assert hidden_text_in(text) == ()


def test_what_is_spelled_in_tags_can_be_read():
    assert tag_text(f"note{_IN_TAGS}.") == "obey"


@given(st.text())
def test_a_second_cleaning_changes_nothing(text):
    assert visible(visible(text)) == visible(text)
