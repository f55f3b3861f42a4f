"""What an HTTP server says of itself: JSON lines without contents, and Prometheus text at /metrics.

A line says who called what, when, how long it took and how it ended: never a text, an argument, a query string or a
token. What other libraries log is reduced to who logged and where, because their messages may quote a request.
OpenTelemetry needs nothing here: the SDK makes a span for each message, and they go wherever the process's own
OpenTelemetry setup sends them.
"""

import json
import logging
import sys
import traceback
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, TextIO

from opentelemetry import trace

OURS = "reverie"
FIELDS = "fields"
"""The attribute of a log record in which a line of ours keeps its facts."""

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class JsonFormatter(logging.Formatter):
    """Writes a log record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.name.partition(".")[0] == OURS:
            line["message"] = record.getMessage()
            line |= getattr(record, FIELDS, {})
        else:
            line["at"] = f"{record.filename}:{record.lineno}"
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__  # its text may quote what somebody wrote
            frames = traceback.extract_tb(record.exc_info[2])
            line["trace"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(line, ensure_ascii=False)


def log_as_json(stream: TextIO = sys.stderr) -> None:
    """Have everything logged as JSON lines: requests, warnings and errors."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("reverie.http").setLevel(logging.INFO)


def flush_spans() -> None:
    """Have the spans sent that wait, if the process has an OpenTelemetry setup: it is about to end."""
    flush = getattr(trace.get_tracer_provider(), "force_flush", None)  # the API alone has nothing to flush
    if flush is not None:
        flush()


class Metrics:
    """Counts of requests, calls and refusals, and how long calls took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by route and status
        self.refused: Counter[str] = Counter()  # by reason
        self._calls: Counter[tuple[str, str]] = Counter()  # by tool and outcome
        self._seconds: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._sums: Counter[str] = Counter()

    def note_call(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a call of a tool."""
        self._calls[tool, outcome] += 1
        self._seconds[tool][bisect_left(BUCKETS, seconds)] += 1
        self._sums[tool] += seconds  # type: ignore[assignment]  # a Counter adds any number

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return everything in Prometheus' text format; gauges are values of this moment, with their help."""
        lines: list[str] = []
        for name, (meaning, value) in gauges.items():
            lines += [*_head(name, "gauge", meaning), f"{name} {value:g}"]
        lines += _head("reverie_http_requests_total", "counter", "HTTP requests by route and status.")
        for (route, status), count in sorted(self.requests.items()):
            lines.append(f'reverie_http_requests_total{{route="{route}",status="{status}"}} {count}')
        lines += _head("reverie_http_refused_total", "counter", "Requests refused, by reason.")
        for reason, count in sorted(self.refused.items()):
            lines.append(f'reverie_http_refused_total{{reason="{reason}"}} {count}')
        lines += _head("reverie_calls_total", "counter", "Calls of tools by outcome.")
        for (tool, outcome), count in sorted(self._calls.items()):
            lines.append(f'reverie_calls_total{{tool="{tool}",outcome="{outcome}"}} {count}')
        lines += _head("reverie_call_seconds", "histogram", "How long calls of tools took.")
        for tool, counts in sorted(self._seconds.items()):
            total = 0
            for bound, count in zip((*map("{:g}".format, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                lines.append(f'reverie_call_seconds_bucket{{tool="{tool}",le="{bound}"}} {total}')
            lines.append(f'reverie_call_seconds_sum{{tool="{tool}"}} {float(self._sums[tool]):g}')
            lines.append(f'reverie_call_seconds_count{{tool="{tool}"}} {total}')
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
