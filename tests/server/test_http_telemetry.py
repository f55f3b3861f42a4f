"""What a server over HTTP says of itself holds nothing of what people wrote."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, Tracer

from reverie.server.app import ReverieServer, ServedClient, build_shared_server
from reverie.server.http_telemetry import JsonFormatter, Metrics, flush_spans


def line_of(name: str, message: str, *arguments: object, failing: bool = False) -> dict[str, Any]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.Logger(name)
    logger.addHandler(handler)
    try:
        if failing:
            raise ValueError("a secret text")
        logger.warning(message, *arguments)
    except ValueError:
        logger.exception(message, *arguments)
    return json.loads(stream.getvalue())


def test_our_lines_have_their_message_and_those_of_others_only_their_place() -> None:
    assert line_of("reverie.http", "refused: %s", "Expired")["message"] == "refused: Expired"
    theirs = line_of("mcp.server.lowlevel", "Invalid request: %s", "a secret text")
    assert "secret" not in json.dumps(theirs)
    assert theirs["at"].startswith("test_http_telemetry.py:")


def test_an_error_is_logged_by_its_kind_and_place_without_its_text() -> None:
    for name in ("reverie.http", "uvicorn.error"):
        line = line_of(name, "it broke", failing=True)
        assert line["error"] == "ValueError"
        assert line["trace"][0].endswith("line_of")
        assert "secret" not in json.dumps(line)


def test_metrics_are_prometheus_text_with_buckets_that_add_up() -> None:
    metrics = Metrics()
    metrics.requests["/mcp", 200] += 2
    metrics.refused["rate"] += 1
    for seconds in (0.004, 0.004, 0.3, 99.0):
        metrics.note_call("recall", "answered", seconds)
    lines = metrics.text({"reverie_ready": ("Whether.", 1.0)}).splitlines()
    assert "reverie_ready 1" in lines
    assert 'reverie_http_requests_total{route="/mcp",status="200"} 2' in lines
    assert 'reverie_call_seconds_bucket{tool="recall",le="0.005"} 2' in lines
    assert 'reverie_call_seconds_bucket{tool="recall",le="0.5"} 3' in lines
    assert 'reverie_call_seconds_bucket{tool="recall",le="+Inf"} 4' in lines
    assert 'reverie_call_seconds_count{tool="recall"} 4' in lines
    kinds = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(kinds) == len(set(kinds))


class Recorder(trace.TracerProvider, Tracer):
    """An OpenTelemetry setup that keeps the names and attributes of spans."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, Any]]] = []
        self.flushed = 0

    def get_tracer(self, *arguments: Any, **named: Any) -> Tracer:
        return self

    def start_span(self, name: str, *arguments: Any, **named: Any) -> trace.Span:
        self.spans.append((name, dict(named.get("attributes") or {})))
        return NonRecordingSpan(SpanContext(1, 1, is_remote=False))

    def start_as_current_span(self, name: str, *arguments: Any, **named: Any) -> Any:
        return trace.use_span(self.start_span(name, *arguments, **named))

    def force_flush(self) -> None:
        self.flushed += 1


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    recording = Recorder()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", recording)
    for name, module in list(sys.modules.items()):  # the SDK may have asked for its tracer before
        if name.startswith("mcp.") and hasattr(module, "_tracer"):
            monkeypatch.setattr(module, "_tracer", recording)
    return recording


@pytest.mark.anyio
async def test_a_span_names_the_tool_and_nothing_that_was_asked(recorder: Recorder) -> None:
    def nobody() -> ServedClient:
        raise AssertionError("this test calls no tool that exists")

    server: ReverieServer = build_shared_server(nobody)
    async with Client(server) as client:
        await client.list_tools()
        await client.call_tool("no_such_tool", {"query": "a secret text"})
    names = [name for name, _ in recorder.spans]
    assert "tools/list" in names
    assert "tools/call no_such_tool" in names
    assert "secret" not in json.dumps(recorder.spans, default=str)


def test_spans_that_wait_are_sent_before_the_process_ends(recorder: Recorder) -> None:
    flush_spans()
    assert recorder.flushed == 1
