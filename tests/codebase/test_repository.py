"""Reading a repository's configuration as text: as git reads it, and only what is harmless goes on."""

import subprocess
from pathlib import Path

import pytest

from reverie.codebase.repository import Setting, format_config, naming_settings, parse_config, storage_settings

SOURCE = b"""\xef\xbb\xbf# a comment ; and another
[core] bare = false ; behind a section
\tignoreCase
\tprecomposeUnicode = YES
\tworktree = /elsewhere
\tfsmonitor = /bin/evil
[extensions]
\tobjectFormat = SHA256
\tpartialClone = origin
\tworktreeConfig = true
[remote "or\\"i\\\\gin"]
\turl = "https://example.org/a b" # joined \\
\tpromisor = true
\tuploadpack = /bin/evil
[remote.old]
\turl = host:a\\
/b   \t
[url "git@github.com:"]
\tinsteadOf = "gh:"
[branch "feature/x"]\r
\tremote = up"str"eam\r
[include]
\tpath = ../evil
"""


def _as_git_reads(source: bytes, folder: Path) -> list[tuple[str, str | None]]:
    file = folder / "config"
    file.write_bytes(source)
    done = subprocess.run(
        ["git", "config", "--no-includes", "-z", "--file", str(file), "--list"], capture_output=True, check=True
    )
    entries = done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return [(key, value if newline else None) for key, newline, value in (entry.partition("\n") for entry in entries)]


def _listed(settings: list[Setting]) -> list[tuple[str, str | None]]:
    return [(".".join(filter(None, (s.section, s.subsection, s.key))), s.value) for s in settings]


def test_a_configuration_is_read_as_git_reads_it(tmp_path: Path) -> None:
    assert _listed(parse_config(SOURCE)) == _as_git_reads(SOURCE, tmp_path)


def test_only_what_says_how_things_are_stored_goes_on() -> None:
    kept = storage_settings(parse_config(SOURCE))
    assert [(s.section, s.key, s.value) for s in kept] == [
        ("core", "ignorecase", "true"),
        ("core", "precomposeunicode", "true"),
        ("extensions", "objectformat", "sha256"),
    ]


def test_only_addresses_and_what_follows_them_name_the_project() -> None:
    named = {(s.section, s.key) for s in naming_settings(parse_config(SOURCE))}
    assert named == {("remote", "url"), ("url", "insteadof"), ("branch", "remote")}


@pytest.mark.parametrize(
    "value",
    [
        '"]\n[core]\n\tfsmonitor = evil\n[x "',
        "\\",
        '\\"',
        "a # b ; c",
        " spaced ",
        "tab\there",
        "\udce9",
        "x\\n[core]",
    ],
)
def test_no_value_breaks_out_of_what_is_written(value: str, tmp_path: Path) -> None:
    written = format_config([Setting("remote", value, "url", value), Setting("remote", "z", "url", "last")])
    read = _as_git_reads(written, tmp_path)
    expected = [] if "\n" in value else [(f"remote.{value}.url", value)]
    assert read == [*expected, ("remote.z.url", "last")]


@pytest.mark.parametrize(
    "source", [b"[core", b"no section = 1", b'[a "b\n"]', b"[a]\nb = \\x", b'[a]\nb = "c', b"\xff"]
)
def test_what_makes_no_sense_is_not_read_and_does_no_harm(source: bytes) -> None:
    good = b"[core]\n\tbare = true\n"
    assert _listed(parse_config(good + source)) == [("core.bare", "true")]
