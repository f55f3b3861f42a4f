"""Markdown becomes one fact per note, with its heading and its lines."""

import pytest

from reverie.clients.markdown_notes import blocks_of, read_basic_memory, read_memory_file, read_rules
from reverie.tools.import_files import Note, Problem


def notes(text: str) -> list[tuple[str, int, int]]:
    return [(block.content, block.first, block.last) for block in blocks_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# Title\n\nOne line\nand its rest.\n", [("One line and its rest.", 3, 4)], id="a paragraph"),
        pytest.param(
            "## Tests\n- run `make`\n- keep\n  them small\n",
            [("Tests: run `make`", 2, 2), ("Tests: keep them small", 3, 4)],
            id="bullets, one of two lines",
        ),
        pytest.param(
            "## Tests ##\n* Never mock:\n  * the database\n  * the clock\n* Always seed\n",
            [
                ("Tests: Never mock: the database", 3, 3),
                ("Tests: Never mock: the clock", 4, 4),
                ("Tests: Always seed", 5, 5),
            ],
            id="a bullet that introduces others",
        ),
        pytest.param(
            "- Use pnpm\n  - it is faster\n- Use node 22\n",
            [("Use pnpm\n  - it is faster", 1, 2), ("Use node 22", 3, 3)],
            id="a detail stays with its bullet",
        ),
        pytest.param(
            "Build it with:\n\n```sh\n# not a heading\nmake\n\nmake install\n```\n\nThen rest.\n",
            [("Build it with:\n```sh\n# not a heading\nmake\n\nmake install\n```", 1, 8), ("Then rest.", 10, 10)],
            id="code stays with the sentence that introduces it",
        ),
        pytest.param(
            "- Lint like this.\n\n  ```sh\n  ruff check\n  ```\n- Next one\n",
            [("Lint like this.\n```sh\n  ruff check\n  ```", 1, 5), ("Next one", 6, 6)],
            id="code stays with its bullet",
        ),
        pytest.param(
            "## Release\nDo this:\n1. Tag it\n2. Push it\n",
            [("Release: Do this:\n1. Tag it\n2. Push it", 2, 4)],
            id="numbered steps are one procedure",
        ),
        pytest.param(
            "Words:\n\n| a | b |\n|---|---|\n| x | y |\n",
            [("Words:\n| a | b |\n|---|---|\n| x | y |", 1, 5)],
            id="a table",
        ),
        pytest.param("<!-- a\ncomment -->\nSaid aloud.\n", [("Said aloud.", 3, 3)], id="a comment is not read"),
        pytest.param("@docs/style.md\n\n---\n\n[link](x.md)\n\n- \n", [], id="imports, rulers and bare links"),
        pytest.param("## A\n\n**Why:**\n\nIt broke.\n", [("Why: It broke.", 5, 5)], id="a bold line is a heading"),
        pytest.param("- [ ] buy milk\n- [x] done it\n", [("buy milk", 1, 1), ("done it", 2, 2)], id="tasks"),
        pytest.param("```\nnever closed\n", [("```\nnever closed", 1, 2)], id="a code block that is cut off"),
        pytest.param("Ünïcode – ist wichtig\n", [("Ünïcode – ist wichtig", 1, 1)], id="other letters"),
        pytest.param(
            "## A\ntext one here\n## B\n```\ncode\n```\n",
            [("A: text one here", 2, 2), ("B: ```\ncode\n```", 4, 6)],
            id="code joins nothing of another section",
        ),
    ],
)
def test_markdown_is_split_into_facts(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert notes(text) == expected


def test_the_same_file_with_windows_line_breaks_and_a_mark_reads_the_same() -> None:
    text = "# T\n\n- one thing\n- two things\n"
    plain, windows = (
        list(read_rules("CLAUDE.md", data))
        for data in (text.encode(), ("\ufeff" + text.replace("\n", "\r\n")).encode())
    )
    assert plain == windows
    assert len(plain) == 2


def test_rules_for_some_files_say_so() -> None:
    rule = b"---\ndescription: Go\nglobs: ['*.go', '*.mod']\nalwaysApply: false\n---\n- Wrap errors.\n"
    [note] = read_rules(".cursor/rules/go.mdc", rule)
    assert isinstance(note, Note)
    assert (note.values["content"], note.first, note.source_ref) == (
        "Wrap errors. (for *.go, *.mod)",
        6,
        ".cursor/rules/go.mdc:6",
    )
    [always] = read_rules("x.mdc", rule.replace(b"false", b"true"))
    assert isinstance(always, Note)
    assert always.values["content"] == "Wrap errors."
    [copilot] = read_rules("x.instructions.md", b'---\napplyTo: "**/*.ts"\n---\nUse strict types.\n')
    assert isinstance(copilot, Note)
    assert copilot.values["content"] == "Use strict types. (for **/*.ts)"


def test_a_file_of_the_memory_folder_is_one_memory_and_the_index_only_points_at_it() -> None:
    front = b"---\nname: no-mocks\ndescription: Never mock the database\ntype: feedback\n---\n"
    file = front + b"\nIt hid a bug.\n\n**Why:** May.\n"
    [note] = read_memory_file("feedback_no_mocks.md", file)
    assert isinstance(note, Note)
    assert note.values == {
        "content": "It hid a bug.\n\n**Why:** May.",
        "layer": "semantic",
        "title": "Never mock the database",
        "kind": "preference",
        "tags": ["feedback"],
    }
    assert (note.first, note.last) == (7, 9)
    index = b"# Memory\n\n- [No mocks](feedback_no_mocks.md) - never mock\n- The user works at night.\n"
    [line] = read_memory_file("MEMORY.md", index)
    assert isinstance(line, Note)
    assert line.values["content"] == "The user works at night."


def test_a_note_of_basic_memory_gives_its_observations_and_relations() -> None:
    text = (
        "---\ntitle: Coffee\ntype: note\npermalink: coffee\ntags: [drinks]\n---\n# Coffee\n\n## Observations\n"
        "- [decision] We buy beans from Rosa #beans (since May)\n\n## Relations\n- pairs_with [[Chocolate]]\n"
    )
    observation, relation = read_basic_memory("coffee.md", text.encode())
    assert isinstance(observation, Note)
    assert isinstance(relation, Note)
    assert observation.values == {
        "content": "Coffee: We buy beans from Rosa (since May)",
        "kind": "decision",
        "layer": "semantic",
        "entities": ["Coffee"],
        "tags": ["drinks", "decision", "beans"],
    }
    assert relation.values["content"] == "Coffee pairs with Chocolate"
    assert relation.values["entities"] == ["Coffee", "Chocolate"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"caf\xe9", "not UTF-8 at byte 4", id="another encoding"),
        pytest.param(b"x" * (2 * 2**20 + 1), "larger than 2 MB", id="too large"),
        pytest.param(b"---\nname: [x\n---\ntext", "no YAML", id="broken front matter"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(data: bytes, reason: str) -> None:
    for read in (read_rules, read_memory_file, read_basic_memory):
        [problem] = read("a.md", data)
        assert isinstance(problem, Problem)
        assert reason in problem.reason
