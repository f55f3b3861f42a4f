"""Front matter is read safely and survives a round trip; what cannot be read is said in one sentence."""

import pytest

from reverie.clients.front_matter import FrontMatterError, split_document, written_document


def test_dates_unknown_keys_and_their_order_survive_a_round_trip() -> None:
    text = (
        "---\ntype: Playbook\nowner: { team: payments, since: 2026-05-28 }\nat: 2026-05-28T14:30:00Z\n"
        'note: "yes"\non: off\nversion: 1.10\nzip: 010\nshare: 0.5\ncount: 12\nready: true\nnone: null\nhour: 12:30\n'
        'tag: "1.0"\nlines: |\n  one\n  two\n---\n\nBody\n'
    )
    document = split_document(text)
    assert document.values == {
        "type": "Playbook",
        "owner": {"team": "payments", "since": "2026-05-28"},
        "at": "2026-05-28T14:30:00Z",
        "note": "yes",
        "on": "off",
        "version": "1.10",
        "zip": "010",
        "share": 0.5,
        "count": 12,
        "ready": True,
        "none": None,
        "hour": "12:30",
        "tag": "1.0",
        "lines": "one\ntwo\n",
    }
    again = written_document(document.values, document.body)
    assert split_document(again).values == document.values
    assert again.replace("{team: payments, since: 2026-05-28}", "{ team: payments, since: 2026-05-28 }") == text
    assert written_document(split_document(again).values, split_document(again).body) == again


def test_the_body_begins_on_its_line() -> None:
    document = split_document("---\na: 1\n---\n\nfirst\n")
    assert (document.body_line, document.body) == (4, "\nfirst\n")
    assert split_document("no front matter\n---\n") == split_document("no front matter\n---\n")
    assert split_document("no front matter").body_line == 1


BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        pytest.param(BOMB, "alias", id="a bomb of aliases"),
        pytest.param("a: &a [*a]", "alias", id="a list that holds itself"),
        pytest.param("a: !!python/object/apply:os.system [ls]", "no YAML", id="an object of Python"),
        pytest.param("a: [1, 2", "no YAML", id="a bracket without end"),
        pytest.param("a: b: c", "no YAML", id="two colons"),
        pytest.param("\tkey: 1", "no YAML", id="a tab"),
        pytest.param("- one\n- two", "not a list of keys", id="a list"),
        pytest.param("only text", "not a list of keys", id="a text"),
        pytest.param("a: " + "[" * 20_000, "too deep", id="brackets without end"),
        pytest.param("a: " + "x" * 70_000, "longer than 64 KB", id="longer than anybody writes"),
        pytest.param("a: \x07", "no YAML", id="a control character"),
        pytest.param("? [a, b]\n: 1", "no YAML", id="a list as key"),
    ],
)
def test_what_is_no_plain_mapping_is_refused_with_a_reason(front: str, reason: str) -> None:
    with pytest.raises(FrontMatterError, match=reason):
        split_document(f"---\n{front}\n---\nbody")


def test_front_matter_that_is_cut_off_is_refused() -> None:
    with pytest.raises(FrontMatterError, match="no end"):
        split_document("---\ntitle: cut\n")
