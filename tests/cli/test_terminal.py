"""What is written to a terminal: styles, widths, escapes, questions and the editor."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reverie.cli import terminal
from reverie.cli.terminal import NobodyToAsk, Span, agreed, display_width, edited, say, set_color, shortened, table
from reverie.errors import InvalidInput

HOSTILE = "red \x1b[31m, bell \x07, right-to-left \u202e, tag \U000e0041"


@pytest.fixture(autouse=True)
def _color_as_it_was() -> Iterator[None]:
    yield
    set_color("auto")


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make every stream a terminal."""
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return monkeypatch


# ── styles ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_style_is_shown_on_a_terminal_and_nowhere_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    say(("a ", Span("b", "bold")))
    assert capsys.readouterr().out == "a b\n"
    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    say(("a ", Span("b", "bold")))
    assert capsys.readouterr().out == "a \x1b[1mb\x1b[0m\n"


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_environment_turns_colour_off_and_the_option_has_the_last_word(
    on_a_terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str
) -> None:
    on_a_terminal.setenv(variable, value)
    say((Span("b", "red"),))
    assert "\x1b" not in capsys.readouterr().out
    set_color("always")
    say((Span("b", "red"),))
    assert "\x1b[31m" in capsys.readouterr().out
    set_color("never")
    say((Span("b", "red"),))
    assert "\x1b" not in capsys.readouterr().out


def test_a_memory_cannot_style_or_turn_anything_whether_its_text_has_a_style_or_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_color("always")
    say(HOSTILE, (HOSTILE, Span(HOSTILE, "bold")), *table([(HOSTILE, Span(HOSTILE, "dim"))]))
    out = capsys.readouterr().out
    for ours in ("\x1b[1m", "\x1b[2m", "\x1b[0m"):
        out = out.replace(ours, "")
    assert not any(char in out for char in "\x1b\x07\u202e\U000e0041")
    assert out.count("\\x1b[31m") == 5


# ── widths ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        pytest.param("short", 10, "short", id="fits"),
        pytest.param("exactly ten", 11, "exactly ten", id="fits exactly"),
        pytest.param("one word more", 9, "one word…", id="cut at a space"),
        pytest.param("two\nlines", 20, "two lines", id="one line"),
        pytest.param("日本語テキスト", 7, "日本語…", id="wide characters take two columns"),
    ],
)
def test_a_text_is_cut_to_columns(text: str, width: int, cut: str) -> None:
    assert shortened(text, width) == cut
    assert display_width(cut) <= width


def test_columns_line_up_whatever_is_in_them() -> None:
    lines = ["".join(map(str, line)) for line in table([("日本", "x"), ("ascii", Span("y", "red"))])]
    assert lines == ["  日本   x", "  ascii  y"]


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_terminal_nothing_is_agreed_to_unless_yes_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert agreed("the plan", question="Do it?", yes=True)
    assert capsys.readouterr().err == ""
    with pytest.raises(NobodyToAsk, match="--yes"):
        agreed("the plan", question="Do it?", yes=False)
    assert "the plan" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "agrees"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
@pytest.mark.anyio
async def test_on_a_terminal_only_a_yes_is_a_yes(
    on_a_terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, agrees: bool
) -> None:
    on_a_terminal.setattr(sys, "stdin", io.StringIO(typed))
    assert agreed("the plan", question="Do it?", yes=False) is agrees
    said = capsys.readouterr()
    assert (said.out, "Do it? [y/N]" in said.err, "Nothing was changed" in said.err) == ("", True, not agrees)


# ── the editor ────────────────────────────────────────────────────────────────────────────────────────────


def editor(folder: Path, script: str) -> str:
    """Write an editor: a script that finds the file in $1."""
    file = folder / "my editor"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.skipif(sys.platform == "win32", reason="the editors are shell scripts")
@pytest.mark.parametrize(
    ("script", "text"),
    [
        pytest.param('echo "new text" > "$1"', "new text", id="written anew, without the editor's line end"),
        pytest.param('printf "a\\r\\nb" > "$1"', "a\nb", id="line ends of another system"),
        pytest.param(":", None, id="left as it was"),
        pytest.param('echo >> "$1"', None, id="only a line end added"),
        pytest.param(': > "$1"', None, id="emptied"),
    ],
)
def test_a_text_comes_back_from_the_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, text: str | None
) -> None:
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", editor(tmp_path, script))  # VISUAL comes first
    assert edited("old text") == text


@pytest.mark.skipif(sys.platform == "win32", reason="the editors are shell scripts")
def test_the_file_in_the_editor_is_its_owners_alone_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, f'echo "$1" > {seen}; stat -c %a "$(dirname "$1")" >> {seen}'))
    assert edited("old text") is None
    name, mode = seen.read_text().split()
    assert (mode, Path(name).exists()) == ("700", False)


@pytest.mark.skipif(sys.platform == "win32", reason="the editors are shell scripts")
@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        pytest.param("no-such-editor --wait", "no-such-editor cannot be started", id="not there"),
        pytest.param("sh -c 'exit 3'", "ended with code 3", id="with arguments, and failing"),
        pytest.param("", "there is no terminal for vi|vi is not there either", id="none set, and no terminal"),
    ],
)
def test_an_editor_that_cannot_be_used_is_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch, chosen: str, said: str
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", chosen)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(InvalidInput, match=said):
        edited("old text")
