"""Editing TOML: a table is added at the end and cut again; comments belong to whom they stood by."""

import tomllib
from typing import Any

import pytest

from reverie.clients import toml_edit
from reverie.clients.json_edit import NotEditable

PATH = ("mcp_servers", "reverie")
ENTRY: Any = {"command": 'C:\\Program Files\\"x"\\reverie.exe', "args": ["serve"], "env_vars": ["A", "B"]}

STYLES = {
    "nothing": "",
    "settings and a comment": 'model = "o5"  # the best\n\n# end\n',
    "another server": '[mcp_servers.docs]\ncommand = "x" # why\n\n# about the next\n[profiles.a]\nb = 1\n',
    "CRLF": 'a = 1\r\n[mcp_servers.docs]\r\ncommand = "x"\r\n',
    "a string that looks like us": "a = \"\"\"\n[mcp_servers.reverie]\ncommand = 1\n\"\"\"\nb = '''\n[x]'''\n",
    "a long array": "a = [\n  1, # [b]\n  2,\n]\n",
    "dotted keys": "mcp_servers.a.command = 'x'\n",
    "byte order mark": "\ufeffa = 1\n",
}


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_a_table_is_added_and_cut_again(text: str) -> None:
    added = toml_edit.add_table(text, PATH, ENTRY)
    assert added.startswith(text)
    assert tomllib.loads(added.removeprefix("\ufeff"))["mcp_servers"]["reverie"] == ENTRY
    assert added.count("\r\n") in (0, added.count("\n"))
    assert toml_edit.remove_table(added, PATH) == text


def test_a_file_without_a_final_newline_gets_one_first() -> None:
    added = toml_edit.add_table("a = 1", PATH, {"command": "/r"})
    assert added == 'a = 1\n\n[mcp_servers.reverie]\ncommand = "/r"\n'


def test_what_others_wrote_around_and_below_the_table_is_told_apart() -> None:
    text = (
        'a = 1\n\n[mcp_servers.reverie] # ours\ncommand = "/r"\n# mine, inside\nargs = [\n  "serve",\n]\n\n'
        "# about the next\n[mcp_servers.other]\ncommand = 'y'\n\n[mcp_servers.reverie.tools.purge]\nmode = 'prompt'\n"
        "[[lists]]\nb = 2\n"
    )
    assert toml_edit.remove_table(text, PATH) == (
        "a = 1\n\n# about the next\n[mcp_servers.other]\ncommand = 'y'\n[[lists]]\nb = 2\n"
    )


def test_a_value_is_changed_on_its_line_with_its_comment() -> None:
    text = '[mcp_servers.reverie]\r\ncommand = "/old" # here\r\nargs = ["serve"]\r\n'
    assert toml_edit.set_value(text, PATH, "command", "/new") == text.replace("/old", "/new")


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", "mcp_servers = { a = { command = 'x' } }\n"])
def test_a_parent_that_no_table_can_extend_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        toml_edit.add_table(text, PATH, ENTRY)


@pytest.mark.parametrize("text", ["a = \n", "[a\n", "a = 1\na = 2\n", "mcp_servers = 3\n"])
def test_a_broken_text_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        toml_edit.add_table(text, PATH, ENTRY)
