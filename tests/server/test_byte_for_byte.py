"""Whatever a text holds, it comes back byte for byte, and a filter with it matches that text alone."""

import pytest

pytestmark = pytest.mark.slow

TEXTS = [
    pytest.param("naïve café, Straße, Ελληνικά, 日本語テキスト, 한국어, кириллица", id="many scripts"),
    pytest.param("e\u0301 is not \u00e9, ﬁ is not fi, Å is not Å", id="no normalisation"),
    pytest.param("👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽", id="emoji of several code points"),
    pytest.param("שלום עולם، عربى \u200fmixed\u200e", id="right to left, with marks"),
    pytest.param("zero\u200bwidth\ufeff and soft\u00adhyphen", id="invisible characters"),
    pytest.param("it's \"quoted\" `so` ‘and’ “so” ''twice''", id="quotes"),
    pytest.param("'; DROP TABLE semantic; --", id="an injection"),
    pytest.param("' OR '1'='1", id="a tautology"),
    pytest.param("x') OR TRUE --", id="a closing bracket"),
    pytest.param("100% _like_ [a-z] \\ \\' \\\\ \\n \\u0041", id="patterns and backslashes"),
    pytest.param("line one\nline two\r\nline three\rline four\n\n\ttabbed", id="line ends"),
    pytest.param("  spaces around  ", id="spaces around"),
    pytest.param("nul\x00inside and \x01\x1f\x7f control", id="control characters"),
    pytest.param("null", id="null"),
    pytest.param("None", id="None"),
    pytest.param("NULL", id="NULL"),
    pytest.param("NaN", id="NaN"),
    pytest.param("true", id="true"),
    pytest.param("0", id="zero"),
    pytest.param("1e5", id="a number"),
    pytest.param("[]", id="an empty list"),
    pytest.param('["a", "b"]', id="a list"),
    pytest.param("{}", id="an empty object"),
    pytest.param('{"content": "x"}', id="an object"),
    pytest.param('"x"', id="a quoted x"),
    pytest.param("${HOME} $(id) `id` %s {0} {{x}}", id="templates"),
    pytest.param("<script>alert(1)</script>&amp;", id="markup"),
    pytest.param("\U0001f600\U0010fffd\ue000", id="private use"),
    pytest.param("2026-03-01T10:00:00Z", id="a moment"),
    pytest.param("data:text/plain;base64,QUJDREVGRw==", id="a data address"),
]
HELD_BACK = "שלום \u202eevil\u202c عربى"  # it turns the reading direction, so it waits for a person
LONG_WORDS = [
    pytest.param("w" * 180, id="a long word"),
    pytest.param("-".join(["part"] * 36), id="a long chain"),
]


ALL = TEXTS + LONG_WORDS
LAMP = "The project's own lamp is green."


def _together(server, calls):
    """Make calls at once and return what each answered."""
    answers = [task.result(120) for task in [server.begin(tool, **arguments) for tool, arguments in calls]]
    refusals = [answer.content[0].text for answer in answers if answer.is_error]
    assert not refusals
    return [answer.structured_content for answer in answers]


@pytest.fixture(scope="module")
def lives(server):
    """Each text as content, title, tag, project and file; then as revision and its reason; then as reason to forget.

    The calls for all texts go together and everything is read back at the end: one text a test would start from a
    store that grows with every test.
    """
    texts = [*(text.values[0] for text in ALL), HELD_BACK]
    olds = [a["id"] for a in _together(server, [("remember", _fields(text)) for text in texts])]
    revised = [
        ("revise", {"id": old, "content": f"Revised: {text}", "reason": text})
        for old, text in zip(olds, texts, strict=True)
    ]
    news = [answer["id"] for answer in _together(server, revised)]
    _together(server, [("forget", {"ids": [new], "reason": text}) for new, text in zip(news, texts, strict=True)])
    before, after = (server.call("inspect", ids=ids)["memories"] for ids in (olds, news))
    return {text: pair for text, *pair in zip(texts, before, after, strict=True)}


def _fields(text):
    bare = text.replace("\\", "_")
    return {
        "content": text,
        "title": text,
        "tags": [text, f"{text}."],
        "project": text,
        "files": [f"folder/{bare.replace('/', '_')}.py::{bare}"],
        "layer": "semantic",
        "kind": "fact",
    }


@pytest.mark.parametrize("text", ALL)
def test_every_text_field_of_remember_comes_back_byte_for_byte(lives, text):
    memory, _ = lives[text]
    assert (memory["content"], memory["project"]) == (text, text)
    assert "title" not in memory  # it is how the content begins
    assert memory["tags"] == [text, f"{text}."]
    assert memory["anchors"][0]["symbol"] == text.replace("\\", "_")


@pytest.mark.parametrize("text", ALL)
def test_a_revision_and_its_reason_come_back_byte_for_byte(lives, text):
    old, new = lives[text]
    assert new["content"] == f"Revised: {text}"
    assert (old["content"], old["status_reason"]) == (text, text)
    assert [event["reason"] for event in old["events"] if event["action"] == "superseded"] == [text]


@pytest.mark.parametrize("text", ALL)
def test_a_reason_to_forget_comes_back_byte_for_byte(lives, text):
    _, memory = lives[text]
    assert (memory["status"], memory["status_reason"]) == ("expired", text)
    assert memory["content"] == f"Revised: {text}"


def test_a_text_that_is_held_back_is_kept_byte_for_byte_too(lives):
    old, new = lives[HELD_BACK]  # its revision is held back as well, and replaces it there
    assert (old["status"], old["content"], old["tags"][0]) == ("superseded", *[HELD_BACK] * 2)
    assert (new["content"], new["status_reason"]) == (f"Revised: {HELD_BACK}", HELD_BACK)


@pytest.fixture(scope="module")
def scoped(server):
    """For each text a memory in the project of that name; for some another in one that begins so.

    What matches too much by its quotes or wildcards finds the memories of all other texts; what matches by the
    beginning would do so for any text.
    """
    texts = [text.values[0] for text in ALL]
    decoys = [{"content": "Nobody's project.", "project": f"{text}x", "tags": [f"{text}x"]} for text in texts[::6]]
    mine = [{"content": LAMP, "project": text, "tags": [f"tag {text}"]} for text in texts]
    _together(server, [("remember", arguments) for arguments in decoys])
    return dict(zip(texts, [a["id"] for a in _together(server, [("remember", m) for m in mine])], strict=True))


@pytest.mark.parametrize("text", ALL)
def test_a_project_or_tag_of_any_text_is_matched_exactly(server, scoped, text):
    found, planned, none = _together(
        server,
        [
            ("recall", {"query": "own lamp", "project": text, "tags": [f"tag {text}"], "limit": 100}),
            ("forget", {"project": text, "tag": f"tag {text}", "dry_run": True}),
            ("forget", {"project": text, "tag": f"{text}x", "dry_run": True}),
        ],
    )
    assert [row["id"] for row in found["results"]] == planned["forgotten"] == [scoped[text]]
    assert none["forgotten"] == []


@pytest.mark.parametrize("text", ALL)
def test_any_text_may_be_asked_for_by_id_and_by_query(server, text):
    assert "id" in server.refused("inspect", ids=[f"unknown {text}"])
    assert server.call("recall", query=text)["index_state"] == "ready"


def test_a_long_memory_with_every_kind_of_text_comes_back_whole(server):
    content = "\n".join(str(text.values[0]) for text in TEXTS) * 10
    kept = server.call("remember", content=content, layer="episodic")["id"]
    assert server.full(kept)["content"] == content
    resource = server.run(server.client.read_resource, f"memory://item/{kept}").contents[0].text
    assert len(resource) > len(content)


def test_promotion_demotion_and_pinning_leave_every_byte_in_place(server):
    content, tags = "moved 'about' \x00 — 日本語 \n\r\n end ", ["t'ag", "\u202etag"]
    kept = server.call("remember", content=content, tags=tags, layer="episodic")["id"]
    for tool in ("promote", "demote", "pin"):
        server.call(tool, id=kept)
        memory = server.full(kept)
        assert (memory["content"], memory["tags"]) == (content, tags)
