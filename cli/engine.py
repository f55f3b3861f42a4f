"""`reverie engine`: shows the engine, stops it, prints its log; and `reverie page`, which the engine serves.

Where there is no engine, `reverie page` serves the page from its own process. `doctor` uses `engine_check`.
"""

import asyncio
import html
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reverie import __version__
from reverie.cli.commands import Options
from reverie.cli.requests import EngineRequest, PageRequest
from reverie.cli.terminal import DONE, FAILED, Line, columns, counted, note, say, say_json
from reverie.server.endpoint import Endpoint, EngineUnavailable
from reverie.server.engine_client import RunningEngine, endpoints, page_address, running_engines, stop_engine
from reverie.settings import load_settings
from reverie.time import clock_from, iso

if TYPE_CHECKING:
    from reverie.tools.doctor import Check

_SECONDS_TO_END = 15.0
_POLL_SECONDS = 0.05
_LONGEST_LINE = 2_000
_FROZEN = "runs but does not answer. `reverie engine stop` ends it; nothing that was acknowledged is lost."


async def run_engine(request: EngineRequest, options: Options) -> int:
    """Show the engines of this user, stop them, or print the log of the one for these settings."""
    match request.action:
        case "stop":
            return _stop(options, every=request.all)
        case "log":
            return _log(options, request.last)
        case "show":
            return _show(options)


def _show(options: Options) -> int:
    found = running_engines(os.environ)
    if options.json:
        say_json({"off": _is_off(os.environ), "engines": [_as_json(engine) for engine in found]})
    else:
        say(*engine_lines(found, is_off=_is_off(os.environ)))
    return DONE


def _as_json(engine: RunningEngine) -> dict[str, object]:
    return asdict(engine) | {"since": _since(engine)}


def engine_lines(found: Sequence[RunningEngine], *, is_off: bool) -> list[Line]:
    """Describe each engine; the one for these settings first."""
    lines: list[Line] = []
    if not any(engine.is_ours for engine in found):
        lines.append(
            "REVERIE_ENGINE is off: sessions and commands work alone."
            if is_off
            else "No engine runs for these settings; the next session or command starts one."
        )
    for engine in sorted(found, key=lambda engine: not engine.is_ours):
        whose = "for these settings" if engine.is_ours else "for other settings"
        if engine.is_frozen:
            lines += [*([""] if lines else []), f"Engine {engine.pid}, {whose}, {_FROZEN}"]
            continue
        sessions = counted(engine.sessions, "session")
        facts = [
            ("version", engine.version),
            ("serves", f"{sessions}, dreaming now" if engine.is_dreaming else sessions),
            ("memory", f"{engine.memory_bytes / 1e6:.0f} MB" if engine.memory_bytes else "unknown"),
            ("since", f"{_since(engine)[:19].replace('T', ' ')} UTC, {_spoken(engine.seconds)}"),
            ("store", engine.store or "not open"),
            ("last dream", engine.last_dream or ("none" if engine.store else "unknown")),
            ("log", engine.log),
        ]
        lines += [*([""] if lines else []), f"Engine {engine.pid}, {whose}:", *columns(facts)]
    return lines


def _since(engine: RunningEngine) -> str:
    return iso(clock_from(None)() - timedelta(seconds=engine.seconds))


def _spoken(seconds: int) -> str:
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return counted(seconds // size, noun)
    return counted(seconds, "second")


def _stop(options: Options, *, every: bool) -> int:
    engines = [engine for engine in running_engines(os.environ) if every or engine.is_ours]
    for engine in engines:
        stop_engine(os.environ, engine.key)
    left = _until_gone({engine.key for engine in engines})
    if options.json:
        say_json({"stopped": [e.pid for e in engines if e.key not in left], "left": [*left]})
    elif not engines:
        say("No engine runs." if every else "No engine runs for these settings.")
    for engine in engines if not options.json else ():
        again = f"; its {counted(engine.sessions, 'session')} will start another" if engine.sessions else ""
        say(
            f"Stopped engine {engine.pid}{again}."
            if engine.key not in left
            else f"Asked engine {engine.pid} to stop."
        )
    if left:
        note(f"reverie: still running after {_SECONDS_TO_END:.0f} s: a call under way may hold it up.")
    return FAILED if left else DONE


def _until_gone(keys: set[str]) -> set[str]:
    """Wait for engines to end, and return those that have not."""
    deadline = time.monotonic() + _SECONDS_TO_END
    while keys and time.monotonic() < deadline:
        keys = keys & {endpoint.key for endpoint in endpoints(os.environ)}
        time.sleep(_POLL_SECONDS if keys else 0)
    return keys


def _log(options: Options, last: int) -> int:
    path = Endpoint.of(os.environ).log
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n")[:_LONGEST_LINE] for line in file][-last:]
    except FileNotFoundError:
        lines = []
    if options.json:
        say_json({"file": path, "lines": lines})
    else:
        say(*(lines or [f"Nothing was logged for these settings ({path})."]))
    return DONE


def engine_check(environment: Mapping[str, str]) -> "Check":
    """Say whether sessions can share an engine, and what to do if not."""
    from reverie.tools.doctor import Check  # imports LanceDB, which `reverie engine` does not need

    if _is_off(environment):
        return Check("engine", "ok", "off: each session works alone")
    own = Endpoint.of(environment)
    try:
        own.prepare()
    except EngineUnavailable as error:
        advice = "Until it is, each session works alone. REVERIE_RUNTIME names another folder."
        return Check("engine", "warn", f"sessions cannot share one: {error}", advice)
    engines = running_engines(environment)
    frozen = [engine for engine in engines if engine.is_frozen]
    if frozen:
        found = ", ".join(f"process {engine.pid}" for engine in frozen)
        return Check("engine", "warn", f"does not answer: {found}", "`reverie engine stop --all` ends it.")
    others = [engine for engine in engines if engine.version != __version__]
    if others:
        found = ", ".join(f"{engine.version} (process {engine.pid})" for engine in others)
        return Check("engine", "warn", f"of another version: {found}", "`reverie engine stop --all` ends it.")
    ours = [engine for engine in engines if engine.is_ours]
    if ours:
        sessions = counted(ours[0].sessions, "session")
        return Check("engine", "ok", f"runs (process {ours[0].pid}, version {__version__}, {sessions})")
    if os.path.exists(own.lock) and own.key in {endpoint.key for endpoint in endpoints(environment)}:
        advice = "If it lasts, `reverie engine log` may say why; the next session works alone until it is gone."
        return Check("engine", "warn", "there is one that does not answer, or was killed", advice)
    return Check("engine", "ok", f"none runs; the next session starts one in {own.folder}")


def _is_off(environment: Mapping[str, str]) -> bool:
    return environment.get("REVERIE_ENGINE", "").strip() == "off"


_HOP = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reverie</title>
<meta http-equiv="refresh" content="0; url={address}"></head>
<body><p><a href="{address}">Open Reverie</a></p></body></html>
"""


async def run_page(request: PageRequest, options: Options) -> int:
    """Have the page served and open it in the browser, or print its address."""
    load_settings()  # a wrong setting is an error here; no engine is started for it
    if not (request.no_engine or os.environ.get("REVERIE_ENGINE", "").strip() == "off"):
        try:
            address = await asyncio.to_thread(page_address, os.environ, os.getcwd(), request.port)
        except (EngineUnavailable, OSError) as error:
            note(f"reverie: no engine serves the page ({error}); this process does.")
        else:
            _show_page(address, request, options)
            return DONE
    return await _serve_here(request, options)


async def _serve_here(request: PageRequest, options: Options) -> int:
    """Serve the page until Ctrl-C."""
    from reverie.server.engine import Engine, LazySession
    from reverie.server.page_server import PageServer

    engine, page = Engine(load_settings), PageServer()
    await page.start(request.port)
    engine.start()
    _show_page(page.link_for(LazySession(engine, Path.cwd())), request, options)
    note("Serving the page from this process; Ctrl-C ends it.")
    try:
        await page.until_stopped()
    finally:
        await page.stop()
        await engine.close()
    return DONE


def _show_page(address: str, request: PageRequest, options: Options) -> None:
    if options.json:
        say_json({"address": address})
    elif request.print_only:
        say(address)
    elif _open(address):
        say("Opened the page in your browser. If no window appears, open this address, which works once:", address)
    else:
        say("Open this address in a browser; it works once:", address)


def _open(address: str) -> bool:
    """Open a browser by a file that only its owner can read: other users see the arguments of a process."""
    import webbrowser  # slow to import, and only needed here

    endpoint = Endpoint.of(os.environ)
    try:
        endpoint.prepare()
        hop = Path(endpoint.folder, f"{endpoint.key}.html")
        hop.unlink(missing_ok=True)
        with open(os.open(hop, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_HOP.format(address=html.escape(address)))
        return webbrowser.open(hop.as_uri())
    except (EngineUnavailable, OSError, webbrowser.Error):
        return False
