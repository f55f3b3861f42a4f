"""`reverie page`: opens the page, served by the engine, or by this process where there is none."""

import asyncio
import html
import os
from pathlib import Path

from reverie.cli.commands import Options
from reverie.cli.requests import PageRequest
from reverie.cli.terminal import DONE, note, say, say_json
from reverie.server.endpoint import Endpoint, EngineUnavailable
from reverie.server.engine_client import page_address
from reverie.settings import load_settings

_HOP = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reverie</title>
<meta http-equiv="refresh" content="0; url={address}"></head>
<body><p><a href="{address}">Open Reverie</a></p></body></html>
"""


async def run_page(request: PageRequest, options: Options) -> int:
    """Have the page served and open it in the browser, or print its address."""
    load_settings()  # a wrong one is an error here: no engine is started for it
    if not (request.no_engine or os.environ.get("REVERIE_ENGINE", "").strip() == "off"):
        try:
            address = await asyncio.to_thread(page_address, os.environ, os.getcwd(), request.port)
        except (EngineUnavailable, OSError) as error:
            note(f"reverie: no engine serves the page ({error}); this process does.")
        else:
            _show(address, request, options)
            return DONE
    return await _serve_here(request, options)


async def _serve_here(request: PageRequest, options: Options) -> int:
    """Serve the page until Ctrl-C."""
    from reverie.server.engine import Engine, LazySession
    from reverie.server.page_server import PageServer

    engine, page = Engine(load_settings), PageServer()
    await page.start(request.port)
    engine.start()
    _show(page.link_for(LazySession(engine, Path.cwd())), request, options)
    note("Serving the page from this process; Ctrl-C ends it.")
    try:
        await page.until_stopped()
    finally:
        await page.stop()
        await engine.close()
    return DONE


def _show(address: str, request: PageRequest, options: Options) -> None:
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
