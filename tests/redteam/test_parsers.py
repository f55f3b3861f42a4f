"""Attack: input made to break whatever reads it. Each parser answers with a value or with its own error, ever."""

import io
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.clock import clock_from
from reverie.errors import InvalidInput, ReverieError
from reverie.guard.fence import harmless
from reverie.guard.instructions import orders_in
from reverie.guard.private import without_private
from reverie.guard.secrets import redact
from reverie.moments import iso, parse_iso, parse_moment, parse_span
from reverie.record import FIELDS, decode
from reverie.settings import TABLE, load_settings
from reverie.tools.drafts import checked_fields
from reverie.tools.lines import BadLine, Line, read_lines
from reverie.tools.screening import screened_fields

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
MANY = settings(max_examples=1_000, deadline=None)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
moments = st.text(max_size=40) | st.from_regex(r"[+-]?\d{1,12}[smhdwy]?", fullmatch=True) | st.datetimes().map(str)
lines = st.binary(max_size=300) | anything.map(lambda value: json.dumps(value).encode())
anchors = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("path", "symbol", "kind", "digest", "span", "commit", "freshness", "odd"), anything),
)


@given(st.lists(lines, max_size=6))
@MANY
def test_import_lines(raw: list[bytes]) -> None:
    for line in read_lines(io.BytesIO(b"\n".join(raw))):
        assert isinstance(line, Line | BadLine)
        if isinstance(line, Line):
            with suppress(InvalidInput):
                screened_fields(checked_fields(line.values))


@given(st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=10), anything, max_size=6), st.text(max_size=60))
@MANY
def test_import_fields(values: dict[str, Any], content: str) -> None:
    try:
        fields, _ = screened_fields(checked_fields(values | {"content": content}))
    except InvalidInput:
        return
    assert fields["content"].strip()


@given(st.sampled_from(FIELDS), anything)
@MANY
def test_record_fields(name: str, value: Any) -> None:
    with suppress(InvalidInput):
        decode(name, value)


@given(st.lists(anchors | anything, max_size=3))
@MANY
def test_anchors(value: list[Any]) -> None:
    try:
        decoded = decode("anchors", value)
    except InvalidInput:
        return
    assert all(anchor.path is not None for anchor in decoded)


@given(moments, st.booleans())
@MANY
def test_moments(text: str, forward: bool) -> None:
    for parse in (
        lambda: iso(parse_iso(text, "x")),
        lambda: iso(parse_moment(text, "x", now=NOW, forward=forward)),
        lambda: parse_span(text, "x"),
        lambda: clock_from(text)(),
    ):
        with suppress(ReverieError):
            parse()


@given(
    st.dictionaries(st.sampled_from([setting.variable for setting in TABLE[1:]]), st.text(max_size=40), max_size=4)
)
@MANY
def test_settings(environment: dict[str, str]) -> None:
    with suppress(ReverieError):
        loaded = load_settings(environment | {"REVERIE_HOME": "/nowhere/at/all"})
        assert loaded.domain_uri.startswith("/nowhere/at/all/domains/")
        assert "/" not in loaded.domain
        assert loaded.domain not in (".", "..")


@given(st.text(max_size=300))
@MANY
def test_the_guard_itself(text: str) -> None:
    assert isinstance(redact(text).text, str)
    assert isinstance(orders_in(text), tuple)
    assert "<memories" not in harmless(text).lower()
    assert len(without_private(text).text) <= len(text)
