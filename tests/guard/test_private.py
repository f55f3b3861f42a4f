import pytest

from reverie.guard.secrets import without_private


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a<private>b</private>c<private>d</private>e", "ace"),
        ("<PRIVATE>b</Private>c", "c"),
        ("<private >b</ private>c", "c"),
        ('<private reason="x">b</private>c', "c"),
        ("a<private>b<private>c</private>d</private>e", "ae"),
        ("line\n<private>\nmany\nlines\n</private>\nend", "line\n\nend"),
        ("never closed <private>b c d", "never closed "),
        ("closed only</private> here", "closed only</private> here"),
        ("a private matter", "a private matter"),
        ("<privateer>stays</privateer>", "<privateer>stays</privateer>"),
    ],
)
def test_what_is_marked_private_is_dropped(text, left):
    assert without_private(text).text == left
