"""Editing JSON: what is added can be cut again, and every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.clients import json_edit
from reverie.clients.json_edit import NotEditable

ENTRY: Any = {"command": "/opt/bin/reverie", "args": ["serve"]}
PATH = ("mcpServers", "reverie")

STYLES = {
    "two spaces": '{\n  "mcpServers": {\n    "a": {"command": "x"}\n  }\n}\n',
    "tabs": '{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}\n',
    "CRLF": '{\r\n    "mcpServers": {\r\n        "a": {}\r\n    }\r\n}\r\n',
    "no final newline": '{\n  "mcpServers": {\n    "a": 1\n  }\n}',
    "one line": '{"mcpServers": {"a": {"command": "x"}}, "b": [1, 2]}',
    "byte order mark": '\ufeff{\n  "mcpServers": {\n    "a": 1\n  }\n}\n',
    "comments": '// top\n{\n  /* one */ "mcpServers": { // two\n    "a": 1 // three\n //\n } // five\n}\n// six\n',
    "trailing commas": '{\n  "mcpServers": {\n    "a": 1,\n  },\n}\n',
    "trailing comma and comment": '{\n  "mcpServers": {\n    "a": 1, // it, was\n  },\n}\n',
    "a comment before the comma": '{"mcpServers": {"a": 1 /* , } */ , "b": 2 // end\n}}\n',
    "escapes": '{"mcpServers": {"\\u0061\\"}": "// no comment", "b": "/* none */"}}',
    "members after": '{\n  "mcpServers": {\n    "a": 1\n  },\n  "z": {\n    "y": [\n    ]\n  }\n}\n',
    "no key yet": '{\n  "theme": "dark"\n}\n',
    "no key yet, one line": '{"theme":"dark"}',
}


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_what_is_put_in_is_there_and_can_be_cut_again(text: str) -> None:
    had_key = json_edit.has(text, PATH[:1])
    added = json_edit.put(text, PATH, ENTRY)
    assert json_edit.value_at(added, PATH) == ENTRY
    left = json_edit.remove(added, PATH)
    assert (left if had_key else json_edit.remove(left, PATH[:1])) == text


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_every_line_that_was_there_is_still_there(text: str) -> None:
    added = json_edit.append(text, ("hooks", "Start"), {"hooks": [ENTRY]})
    added = json_edit.append(added, ("hooks", "Start"), {"second": 1})
    assert json_edit.value_at(added, ("hooks", "Start")) == [{"hooks": [ENTRY]}, {"second": 1}]
    remaining = iter(added)
    assert all(letter in remaining for letter in text)  # only insertions


def test_an_entry_is_written_in_the_style_of_the_file() -> None:
    assert json_edit.put(STYLES["tabs"], PATH, ENTRY) == (
        '{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": "x"\n\t\t},\n\t\t"reverie": {\n'
        '\t\t\t"command": "/opt/bin/reverie",\n\t\t\t"args": ["serve"]\n\t\t}\n\t}\n}\n'
    )
    assert "\n" not in json_edit.put(STYLES["one line"], PATH, ENTRY)
    crlf = json_edit.put(STYLES["CRLF"], PATH, ENTRY)
    assert crlf.count("\n") == crlf.count("\r\n")


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "  \r\n", "// only this\n", "// only this"])
def test_an_empty_text_becomes_an_object_after_what_it_says(text: str) -> None:
    added = json_edit.put(text, PATH, ENTRY)
    assert added.startswith(text)
    assert json_edit.value_at(added, ()) == {"mcpServers": {"reverie": ENTRY}}


@pytest.mark.parametrize("text", ["{}", "{ }", "{\n}", '{"mcpServers": {}}', '{"mcpServers": {\n  // none yet\n}}\n'])
def test_an_empty_object_takes_its_first_member(text: str) -> None:
    added = json_edit.put(text, PATH, ENTRY)
    assert json_edit.value_at(added, PATH) == ENTRY
    assert ("// none yet" in added) == ("// none yet" in text)


def test_comments_beside_a_member_stay_when_it_is_cut() -> None:
    text = '{\n  // mine\n  "a": 1, // one\n  // about the next\n  "b": 2, // two\n  "c": 3\n}\n'
    assert json_edit.remove(text, ("b",)) == (
        '{\n  // mine\n  "a": 1, // one\n  // about the next\n   // two\n  "c": 3\n}\n'
    )
    assert json_edit.remove(text, ("c",)) == (
        '{\n  // mine\n  "a": 1, // one\n  // about the next\n  "b": 2 // two\n}\n'
    )


def test_a_cut_never_draws_what_follows_into_a_comment() -> None:
    text = '{ // mine\n  "a": 1, "b": 2, // yours\n  "c": [ // one\n 1, 2]}'
    assert json_edit.value_at(json_edit.remove(text, ("a",)), ()) == {"b": 2, "c": [1, 2]}
    assert json_edit.value_at(json_edit.remove(text, ("b",)), ()) == {"a": 1, "c": [1, 2]}
    assert json_edit.value_at(json_edit.remove(text, ("c", 0)), ()) == {"a": 1, "b": 2, "c": [2]}
    assert json_edit.value_at(json_edit.remove(text, ("c",)), ()) == {"a": 1, "b": 2}


def test_a_value_is_replaced_where_it_stands() -> None:
    text = '{"hooks": [{"command": "/old", "timeout": 5} /* keep */]}'
    assert json_edit.put(text, ("hooks", 0, "command"), "/new") == text.replace("/old", "/new")


def test_of_members_with_one_name_the_last_counts() -> None:
    assert json_edit.value_at('{"a": 1, "a": 2}', ("a",)) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1', "line 1: } is missing"),
        ('{\n"a": 1\n"b": 2}', "line 3: a comma is missing"),
        ('{"a": }', "line 1: a value is missing"),
        ("{'a': 1}", "line 1: a name in double quotes is missing"),
        ('{"a" 1}', "line 1: a colon after 'a' is missing"),
        ('{"a": "b\n"}', "line 1: a text does not end on its line"),
        ('{"a": "\\x"}', "line 1: Invalid \\escape"),
        ('{"a": tru}', "line 1: unexpected 't'"),
        ("{} {}", "line 1: text after the end"),
        ("{} /* open", "line 1: text after the end"),
        ("[" * 300, "line 1: nested too deeply"),
        ("<<<<<<< HEAD\n{}", "line 1: unexpected '<'"),
    ],
)
def test_a_broken_text_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(NotEditable) as refused:
        json_edit.put(text, PATH, ENTRY)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("text", ["[]", '"a"', "null", '{"mcpServers": []}', '{"mcpServers": null}'])
def test_something_else_where_the_object_should_be_is_refused(text: str) -> None:
    with pytest.raises(NotEditable, match="is not an object"):
        json_edit.put(text, PATH, ENTRY)


TRIVIA = st.sampled_from(["", " ", "\n", "\r\n\t", " // c, } \n", "/* ] { */", " /**/ "])


@st.composite
def written(draw: st.DrawFn, depth: int = 0) -> tuple[str, Any]:
    """A value as somebody might have written it: with comments anywhere, and commas at the end."""
    kind = draw(st.sampled_from(["plain", "plain", "object", "array"] if depth < 3 else ["plain"]))
    if kind == "plain" and depth:
        return draw(st.sampled_from([("null", None), ('"a\\"//b"', 'a"//b'), ("-1.5e3", -1500.0), ("true", True)]))
    parts = [draw(written(depth + 1)) for _ in range(draw(st.integers(0, 3)))]
    is_array = kind == "array" and depth > 0
    text = ("[" if is_array else "{") + draw(TRIVIA)
    for number, (part, _) in enumerate(parts):
        name = "" if is_array else f'"k{number}"{draw(TRIVIA)}:{draw(TRIVIA)}'
        is_last = number == len(parts) - 1
        text += name + part + draw(TRIVIA) + ("," + draw(TRIVIA) if not is_last or draw(st.booleans()) else "")
    values = [value for _, value in parts]
    return text + ("]" if is_array else "}"), values if is_array else {f"k{n}": v for n, v in enumerate(values)}


@given(given_text=written(), before=TRIVIA, after=TRIVIA)
def test_whatever_the_comments_an_entry_comes_and_goes_and_any_other_may_go(
    given_text: tuple[str, dict[str, Any]], before: str, after: str
) -> None:
    text, value = before + given_text[0] + after, given_text[1]
    assert json_edit.value_at(text, ()) == value
    added = json_edit.put(text, ("reverie",), ENTRY)
    assert json_edit.value_at(added, ()) == {**value, "reverie": ENTRY}
    if value:
        assert json_edit.remove(added, ("reverie",)) == text
    for key in value:
        left = {name: one for name, one in value.items() if name != key}
        assert json_edit.value_at(json_edit.remove(added, (key,)), ()) == {**left, "reverie": ENTRY}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(value=st.dictionaries(st.text(max_size=5), VALUES, max_size=4), indent=st.sampled_from([None, 1, 2, 4, "\t"]))
def test_any_json_is_read_as_python_reads_it_and_survives_an_entry(value: dict[str, Any], indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    assert json_edit.value_at(text, ()) == value
    if "reverie" not in value:
        added = json_edit.put(text, ("reverie",), ENTRY)
        assert json.loads(added) == {**value, "reverie": ENTRY}
        assert json_edit.remove(added, ("reverie",)) == text
