"""Whatever a text holds, it comes back byte for byte, and a filter with it matches that text alone."""

import pytest

TEXTS = [
    pytest.param("naïve café, Straße, Ελληνικά, 日本語テキスト, 한국어, кириллица", id="many scripts"),
    pytest.param("e\u0301 is not \u00e9, ﬁ is not fi, Å is not Å", id="no normalisation"),
    pytest.param("👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽", id="emoji of several code points"),
    pytest.param("שלום \u202eevil\u202c عربى \u200fmixed\u200e", id="right to left, with marks"),
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
LONG_WORDS = [
    pytest.param("w" * 180, id="a long word"),
    pytest.param("-".join(["part"] * 36), id="a long chain"),
]


@pytest.mark.parametrize("text", TEXTS + LONG_WORDS)
def test_every_text_field_of_remember_comes_back_byte_for_byte(server, text):
    kept = server.call(
        "remember",
        content=text,
        title=text,
        tags=[text, f"{text}."],
        project=text,
        files=[f"folder/{text.replace('/', '_').replace(chr(92), '_')}.py::{text.replace(chr(92), '_')}"],
        layer="semantic",
        kind="fact",
    )
    memory = server.full(kept["id"])
    assert memory["content"] == text
    assert memory["title"] == text
    assert memory["tags"] == [text, f"{text}."]
    assert memory["project"] == text
    assert memory["anchors"][0]["symbol"] == text.replace("\\", "_")


@pytest.mark.parametrize("text", TEXTS + LONG_WORDS)
def test_a_revision_and_its_reason_come_back_byte_for_byte(server, text):
    old = server.call("remember", content=f"To be revised: {text}", layer="semantic")["id"]
    new = server.call("revise", id=old, content=f"Revised: {text}", reason=text)["id"]
    assert server.full(new)["content"] == f"Revised: {text}"
    before = server.full(old)
    assert before["content"] == f"To be revised: {text}"
    assert before["status_reason"] == text
    assert [event["reason"] for event in before["events"] if event["action"] == "superseded"] == [text]


@pytest.mark.parametrize("text", TEXTS + LONG_WORDS)
def test_a_reason_to_forget_comes_back_byte_for_byte(server, text):
    kept = server.call("remember", content=f"To be forgotten: {text}", layer="semantic")["id"]
    server.call("forget", ids=[kept], reason=text)
    memory = server.full(kept)
    assert memory["status"] == "expired"
    assert memory["status_reason"] == text
    assert memory["content"] == f"To be forgotten: {text}"


@pytest.mark.parametrize("text", TEXTS + LONG_WORDS)
def test_a_project_or_tag_of_any_text_is_matched_exactly(server, text):
    decoy = server.call("remember", content="Nobody's project.", project=f"{text}x", tags=[f"{text}x"])["id"]
    mine = server.call("remember", content="The project's own lamp is green.", project=text, tags=[f"tag {text}"])[
        "id"
    ]
    found = server.call("recall", query="own lamp", project=text, tags=[f"tag {text}"], limit=100)["results"]
    assert [row["id"] for row in found] == [mine]
    planned = server.call("forget", project=text, tag=f"tag {text}", dry_run=True)
    assert planned["forgotten"] == [mine]
    assert server.call("forget", project=text, tag=f"{text}x", dry_run=True)["forgotten"] == []
    assert server.full(decoy)["status"] == "active"


@pytest.mark.parametrize("text", TEXTS + LONG_WORDS)
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
