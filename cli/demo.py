"""`reverie demo`: a real client talks to a real server about an invented project."""

import asyncio
import json
import os
import shlex
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from reverie.cli.commands import Options
from reverie.cli.requests import NoRequest
from reverie.cli.terminal import columns, paragraph, say, say_json
from reverie.errors import ReverieError
from reverie.settings import TABLE

PROJECT = "tidewater"

LEARNED: tuple[dict[str, Any], ...] = (
    {"content": "Tidewater predicts the tides for 312 harbours and serves them as JSON.", "source": "human"},
    {"content": "The API listens on port 8080.", "tags": ["api"]},
    {"content": "We decided on SQLite instead of PostgreSQL: one writer, a small file, easy backups."},
    {"content": "Moon phases come from the ephemeris module, which is slow; cache them for a day."},
    {"content": "To run the tests: `make check`. It starts a fake harbour on a free port."},
    {"content": "Fixed: predictions were an hour off in summer because daylight saving was applied twice."},
    {"content": "Mara prefers plain functions over classes and short commit messages.", "source": "human"},
    {"content": "Tried caching whole responses in Redis but the hit rate was below 4 percent."},
    {"content": "Releases go out on Tuesdays; never deploy in the hour around high water.", "source": "human"},
    {"content": "Harbour names are stored in their own language and matched without accents."},
    {"content": "Currently working on the storm surge model, branch `surge`."},
    {"content": "The nightly import of gauge readings fails when a harbour reports in feet.", "layer": "episodic"},
)
QUESTIONS = (
    "why is there no real database server?",
    "when may I ship a new version?",
    "times were wrong after the clocks changed",
    "how does Mara like her code?",
)
CONFLICT = {"content": "The API listens on port 8081.", "tags": ["api"]}

_DAYS_LATER = 21
_MOST_POLLS = 400

Tell = Callable[..., None]


@dataclass(slots=True)
class Session:
    """A conversation with the server that keeps the time of every call."""

    client: Client
    handshake: float  # seconds from starting the process to its first answer
    milliseconds: dict[str, list[float]] = field(default_factory=dict)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured answer.

        Raises:
            ReverieError: if the server refuses; the demo has to work.
        """
        started = time.perf_counter()
        result = await self.client.call_tool(tool, arguments)
        self.milliseconds.setdefault(tool, []).append((time.perf_counter() - started) * 1000)
        if result.is_error or result.structured_content is None:
            raise ReverieError(f"The demo failed at {tool}: {result.content}. Please report this.")
        answer: dict[str, Any] = result.structured_content
        return answer


async def run_demo(_request: NoRequest, options: Options) -> int:
    """Run the demo and print it; it leaves nothing on the disk.

    Raises:
        ReverieError: if the server does not start or a call fails.
    """
    tell: Tell = (lambda *_lines: None) if options.json else say
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="reverie-demo-", ignore_cleanup_errors=True) as folder:
        try:
            story = await _first_session(Path(folder), tell)
            story |= await _second_session(Path(folder), tell, story["remembered"])
        except (MCPError, OSError, ExceptionGroup) as error:
            raise ReverieError(f"The demo's server did not answer ({error}). Try `reverie doctor`.") from error
    story["seconds"] = round(time.perf_counter() - started, 2)
    if options.json:
        say_json(story)
    else:
        say(*_closing(story))
    return 0


@asynccontextmanager
async def _connected(folder: Path, **settings: str) -> AsyncIterator[Session]:
    """Start the server as an assistant would: a process of its own, spoken to over stdio."""
    (folder / PROJECT).mkdir(exist_ok=True)
    ours = {setting.variable for setting in TABLE}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "reverie", "serve"],
        env={
            **environment,
            "REVERIE_HOME": str(folder / "home"),
            "REVERIE_CONFIG": str(folder / "config"),  # a demo leaves no head of its journal behind
            "REVERIE_ENGINE": "off",  # nor an engine
            "REVERIE_PROJECT": PROJECT,
            **settings,
        },
        cwd=folder / PROJECT,
    )
    started = time.perf_counter()
    async with Client(stdio_client(parameters), read_timeout_seconds=60) as client:
        yield Session(client, time.perf_counter() - started)


async def _first_session(folder: Path, tell: Tell) -> dict[str, Any]:
    async with _connected(folder) as session:
        tell(
            "",
            "Reverie: long-term memory for coding assistants",
            "",
            f"An assistant starts the server, which answers after {session.handshake:.2f} s. The project is",
            f"{PROJECT}, a small tide prediction service. During the day the assistant learns a dozen things:",
            "",
        )
        remembered = [await session.call("remember", **learned) for learned in LEARNED]
        tell(
            *columns(
                [
                    (answer["layer"], answer["kind"], _short(learned["content"]))
                    for answer, learned in _paired(remembered)
                ]
            )
        )
        kept = await _promote_and_pin(session, tell, remembered)
    return {
        "handshake_seconds": round(session.handshake, 3),
        "remembered": remembered,
        "first_remember_ms": round(session.milliseconds["remember"][0]),
        "remember_ms": round(statistics.median(session.milliseconds["remember"])),
        **kept,
    }


async def _second_session(folder: Path, tell: Tell, remembered: list[dict[str, Any]]) -> dict[str, Any]:
    async with _connected(folder, REVERIE_CLOCK=f"+{_DAYS_LATER}d") as session:
        tell("", f"{_DAYS_LATER} days later (the clock is set forward) a new session asks in other words:", "")
        await _until_ready(session)
        answers = [await _asked(session, tell, question) for question in QUESTIONS]
        conflict = await session.call("remember", **CONFLICT)
        tell("Someone says the opposite. Both are kept, and the assistant is told:", "")
        tell(f"  + {CONFLICT['content']}")
        tell(
            *(
                f"  ! conflicts with: {other['content']} ({other['reason']})"
                for other in conflict.get("conflicts", [])
            )
        )
        refused = await _try_to_forget(session, tell, remembered)
    recall_ms = round(statistics.median(session.milliseconds["recall"]))
    return {"recalled": answers, "recall_ms": recall_ms, "conflict": conflict, "refused": refused}


async def _until_ready(session: Session) -> None:
    """Wait for the model, which loads after the handshake; until then recall searches by words alone."""
    for _ in range(_MOST_POLLS):
        if (await session.call("status"))["index_state"] != "warming":
            return
        await asyncio.sleep(0.05)


async def _asked(session: Session, tell: Tell, question: str) -> dict[str, str]:
    found = await session.call("recall", query=question, limit=1)
    best = found["results"][0]["content"] if found["results"] else "nothing"
    tell(f"  ? {question}", paragraph(best, "    "), "")
    return {"question": question, "answer": best}


async def _promote_and_pin(session: Session, tell: Tell, remembered: list[dict[str, Any]]) -> dict[str, Any]:
    """Promote one memory and pin another."""
    moved = await session.call("promote", id=_id_of("in feet", remembered))
    pinned = await session.call("pin", id=_id_of("high water", remembered))
    tell(
        "",
        "What proves lasting is promoted; what must never be forgotten is pinned:",
        "",
        *columns(
            [
                ("promote", "the nightly import fails on feet", f"{moved['from_layer']} to {moved['to_layer']}"),
                ("pin", "never deploy around high water", "pinned" if pinned["pinned"] else "not pinned"),
            ]
        ),
    )
    return {"promoted": moved, "pinned": pinned}


async def _try_to_forget(session: Session, tell: Tell, remembered: list[dict[str, Any]]) -> dict[str, Any]:
    """Try to forget the pinned memory; the server must refuse."""
    refused = await session.call("forget", ids=[_id_of("high water", remembered)], reason="the demo tries it")
    reason = refused["skipped"][0]["reason"] if refused.get("skipped") else "nothing was refused"
    tell("", "And a pin holds:", "", *columns([("forget", "never deploy around high water", f"refused: {reason}")]))
    return refused


def _id_of(words: str, remembered: list[dict[str, Any]]) -> str:
    return next(str(answer["id"]) for answer, learned in _paired(remembered) if words in learned["content"])


def _paired(remembered: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return list(zip(remembered, LEARNED, strict=True))


def _short(content: str) -> str:
    return content if len(content) <= 76 else content[:75].rsplit(" ", 1)[0] + " …"


def _closing(story: dict[str, Any]) -> list[str]:
    command = _command()
    arguments = ", ".join(json.dumps(part) for part in command[1:])
    remember, recall, first = (f"{story[name]} ms" for name in ("remember_ms", "recall_ms", "first_remember_ms"))
    return [
        "",
        f"Remembering took {remember}, recalling {recall} (medians); the first call, which makes the",
        f"store and loads the model, {first}. No network, no key: two real servers, a real client,",
        f"{story['seconds']:.1f} s in all. The store was temporary and is gone.",
        "",
        "To give your assistant a memory, in Claude Code:",
        "",
        f"  claude mcp add reverie -- {shlex.join(command)}",
        "",
        "or for Claude Desktop and Cursor (mcp.json.example has VS Code too):",
        "",
        "  {",
        '    "mcpServers": {',
        '      "reverie": {',
        f'        "command": {json.dumps(command[0])},',
        f'        "args": [{arguments}]',
        "      }",
        "    }",
        "  }",
        "",
    ]


def _command() -> list[str]:
    """Return the command that starts the server from anywhere: desktop clients do not know the shell's PATH."""
    installed = Path(sysconfig.get_path("scripts")) / ("reverie.exe" if sys.platform == "win32" else "reverie")
    return [str(installed), "serve"] if installed.exists() else [sys.executable, "-m", "reverie", "serve"]
