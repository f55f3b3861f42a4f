"""Attack: input made to break whatever reads it. Each parser answers with a value or with its own error, ever."""

import io
import json
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reverie.codebase.mentions import Mention, mentions_in, path_mention
from reverie.codebase.tree import SourceTree
from reverie.errors import InvalidInput, ReverieError
from reverie.guard.fence import neutralized
from reverie.guard.injection import signs_of_injection
from reverie.guard.secrets import redact, without_private
from reverie.memory import FIELDS, decode
from reverie.settings import TABLE, load_settings
from reverie.time import clock_from, iso, parse_iso, parse_moment, parse_span
from reverie.tools.export_jsonl import BadLine, Line, read_lines
from reverie.tools.import_jsonl import checked_fields
from reverie.tools.screening import screened_fields

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
MANY = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
DRAWN = settings(max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
TEN_THOUSAND = 10_000
PARSERS: dict[str, tuple[Callable[..., None], tuple[st.SearchStrategy[Any], ...]]] = {}


def parser(*inputs: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Note a check and what it is given: some inputs by default, ten thousand at length."""

    def noted(check: Callable[..., None]) -> Callable[..., None]:
        PARSERS[check.__name__] = (check, inputs)
        return check

    return noted


scalar = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | st.lists(st.integers(), max_size=3)
)
anything = st.recursive(
    scalar,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=4,
)
moments = st.text(max_size=40) | st.from_regex(r"[+-]?\d{1,12}[smhdwy]?", fullmatch=True) | st.datetimes().map(str)
paths = st.text(max_size=60) | st.lists(
    st.sampled_from(
        ["..", ".", "", "a", "a.py", "src", "~", "C:", "\\\\host", "%2e%2e", "\0", "\n", "con", "é", "\u202e"]
    ),
    max_size=6,
).flatmap(lambda parts: st.sampled_from(["/", "\\", "::", "//"]).map(lambda joint: joint.join(parts)))
lines = st.binary(max_size=300) | anything.map(lambda value: json.dumps(value).encode())
anchors = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("path", "symbol", "kind", "digest", "span", "commit", "freshness", "odd"), scalar),
)


@parser(st.lists(lines, max_size=6))
def import_lines(raw: list[bytes]) -> None:
    for line in read_lines(io.BytesIO(b"\n".join(raw))):
        assert isinstance(line, Line | BadLine)
        if isinstance(line, Line):
            with suppress(InvalidInput):
                screened_fields(checked_fields(line.values))


@parser(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=10), anything, max_size=6), st.text(max_size=60))
def import_fields(values: dict[str, Any], content: str) -> None:
    try:
        fields, _ = screened_fields(checked_fields(values | {"content": content}))
    except InvalidInput:
        return
    assert fields["content"].strip()


@parser(st.sampled_from(FIELDS), anything)
def record_fields(name: str, value: Any) -> None:
    with suppress(InvalidInput):
        decode(name, value)


@parser(st.lists(anchors | anything, max_size=2))
def anchors(value: list[Any]) -> None:
    try:
        decoded = decode("anchors", value)
    except InvalidInput:
        return
    assert all(anchor.path is not None for anchor in decoded)


@parser(moments, st.booleans())
def moments(text: str, forward: bool) -> None:
    for parse in (
        lambda: iso(parse_iso(text, "x")),
        lambda: iso(parse_moment(text, "x", now=NOW, forward=forward)),
        lambda: parse_span(text, "x"),
        lambda: clock_from(text)(),
    ):
        with suppress(ReverieError):
            parse()


@parser(
    st.dictionaries(st.sampled_from([setting.variable for setting in TABLE[1:]]), st.text(max_size=40), max_size=4)
)
def environment(variables: dict[str, str]) -> None:
    with suppress(ReverieError):
        loaded = load_settings(variables | {"REVERIE_HOME": "/nowhere/at/all"})
        assert loaded.domain_uri.startswith("/nowhere/at/all/domains/")
        assert "/" not in loaded.domain
        assert loaded.domain not in (".", "..")


@parser(st.text(max_size=300))
def the_guard_itself(text: str) -> None:
    assert isinstance(redact(text).text, str)
    assert isinstance(signs_of_injection(text), tuple)
    assert "<memories" not in neutralized(text).lower()
    assert len(without_private(text).text) <= len(text)


@parser(paths)
def project_paths(path: str) -> None:
    tree = SourceTree(Path(__file__).parent)
    place = tree.locate(path)
    assert place is None or place.resolve().is_relative_to(tree.root)
    mention = path_mention(path)
    assert not mention.name.startswith("../")
    for text in (path, f"see `{path}` and {path}::x"):
        assert all(isinstance(found, Mention) for found in mentions_in(text))


@pytest.mark.parametrize("name", PARSERS)
def test_hostile_input(name: str) -> None:
    check, inputs = PARSERS[name]
    MANY(given(*inputs)(check))()


def crossed(dice: random.Random, one: Any, other: Any) -> Any:
    """Return a value made of parts of two: texts are spliced, lists and objects get parts of both.

    Drawing one value with hypothesis takes as long as making a hundred of these.
    """
    if type(one) is not type(other):
        return dice.choice((one, other))
    if isinstance(one, str | bytes):
        return one[: dice.randint(0, len(one))] + other[dice.randint(0, len(other)) :]
    if isinstance(one, dict):
        shared = {key: crossed(dice, one[key], other[key]) for key in one.keys() & other.keys()}
        rest = [(key, value) for key, value in (one | other).items() if key not in shared]
        return shared | dict(dice.sample(rest, dice.randint(0, len(rest))))
    if isinstance(one, list | tuple):
        if len(one) == len(other):
            return type(one)(crossed(dice, a, b) for a, b in zip(one, other, strict=True))
        return type(one)(dice.choice((*one, *other)) for _ in range(max(len(one), len(other))))
    return dice.choice((one, other))


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_ten_thousand_hostile_inputs(name: str) -> None:
    check, inputs = PARSERS[name]
    drawn: list[tuple[Any, ...]] = []

    def noted(*values: Any) -> None:
        drawn.append(values)
        check(*values)

    DRAWN(given(st.tuples(*inputs))(lambda values: noted(*values)))()
    dice = random.Random(20260302)  # noqa: S311 - no secrets here
    tried = {repr(values) for values in drawn}
    while len(tried) < TEN_THOUSAND:
        values = tuple(crossed(dice, one, other) for one, other in zip(*dice.sample(drawn, 2), strict=True))
        if dice.random() < 0.2:  # what was made is crossed on, or all would be children of what was drawn
            drawn[dice.randrange(len(drawn))] = values
        tried.add(repr(values))
        try:
            check(*values)
        except BaseException as error:
            error.add_note(f"input: {values!r}")
            raise
