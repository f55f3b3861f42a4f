"""What prose names, and what it does not."""

import pytest

from reverie.codebase.mentions import mentions_in


def _of(kind: str, text: str) -> list[str]:
    return [m.name + (f"::{m.detail}" if m.detail else "") for m in mentions_in(text) if m.kind == kind]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("The retry logic lives in `src/http/retry.py`.", ["src/http/retry.py"]),
        ("The retry logic lives in src/http/retry.py.", ["src/http/retry.py"]),
        ("Look at src/http/retry.py:42, then stop", ["src/http/retry.py"]),
        ("Look at `src/http/retry.py:42:7`", ["src/http/retry.py"]),
        ("Look at src/http/retry.py#L10-L20", ["src/http/retry.py"]),
        ("`retry.py::Backoff.next` waits", ["retry.py::Backoff.next"]),
        (r"In src\http\retry.py it waits", ["src/http/retry.py"]),
        ("Open ./scripts/deploy.sh (carefully)", ["scripts/deploy.sh"]),
        ("Tests live in tests/unit/, mostly", ["tests/unit/"]),
        ("See [the page](docs/why.md#reasons) and [home](https://x.org/a.py)", ["docs/why.md"]),
        ("See [up](../CONTRIBUTING.md)", ["CONTRIBUTING.md"]),
        ("Edit :file:`conf/app.toml` and ``Makefile``", ["conf/app.toml", "Makefile"]),
        ("Täglich: `docs/Über uns.md` und src/größe.py", ["docs/Über uns.md", "docs/Über", "uns.md", "src/größe.py"]),
        ("Ask me at wile@example.org or https://example.org/x/y.html", []),
        ("Look at _anvil/capture.py:12 first, not at _this_", ["_anvil/capture.py"]),
        ("It is read from _anvil/__init__.py.", ["_anvil/__init__.py"]),
        ("Use *.py and src/**/x.py and {name}.txt", []),
    ],
)
def test_paths_are_read_as_people_write_them(text: str, paths: list[str]) -> None:
    assert _of("path", text) == paths


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("`parse_config` reads the TOML", ["parse_config"]),
        ("`Parser.feed()` and `Parser::feed` and `Parser#feed`", ["Parser.feed"]),
        ("Call pkg.mod.func() or parse_config() first", ["pkg.mod.func", "parse_config"]),
        (
            "Use :func:`~flask.json.jsonify` or :class:`the app <flask.app.Flask>`",
            ["flask.json.jsonify", "flask.app.Flask"],
        ),
        ("`get(id, default=None)` returns it", ["get"]),
        ("`def load(path)` is new", ["load"]),
        ("The cat sat on the mat, and JavaScript is not GitHub", []),
        ("`None`, `self`, `str` and `true` are no names of ours", []),
    ],
)
def test_symbols_need_ticks_or_a_shape_that_no_word_has(text: str, symbols: list[str]) -> None:
    assert list(dict.fromkeys(_of("symbol", text))) == symbols


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("Run `make lint` before pushing", "make lint"),
        ("Run `npm run build:prod -- --fast`", "npm run build:prod -- --fast"),
        ("First run make lint, then push", "make lint"),
        ("Do this with tox -e docs", "tox -e docs"),
    ],
)
def test_commands_are_read_in_ticks_or_after_a_word_that_asks_for_one(text: str, command: str) -> None:
    assert command in _of("command", text)


def test_to_make_something_is_not_to_run_make() -> None:
    assert _of("command", "Let us make tests faster and make sure they pass") == []


@pytest.mark.parametrize(
    ("text", "dependency"),
    [
        ("We use lancedb 0.40 for storage", "lancedb::0.40"),
        ("`Django>=4.2` is required", "Django::>=4.2"),
        ("react@^18.2 it is", "react::^18.2"),
        ("Needs Python 3.11", "Python::3.11"),
    ],
)
def test_dependencies_are_names_with_a_version(text: str, dependency: str) -> None:
    assert dependency in _of("dependency", text)


def test_a_long_text_full_of_names_comes_to_an_end() -> None:
    assert len(mentions_in("`a/b.py` " * 50_000 + "x" * 100_000)) == 1
    assert len(mentions_in(" ".join(f"`dir{n}/file{n}.py`" for n in range(10_000)))) == 40
    assert mentions_in("`" * 20_000) == []
    assert mentions_in("a.b" * 20_000) is not None
