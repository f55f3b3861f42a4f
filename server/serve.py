"""Running the server on stdio: quiet on stdout, prompt at the end, nothing lost on the way out."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from reverie.server.app import build_server
from reverie.server.parts import Parts
from reverie.server.stdio import run_on_stdio
from reverie.server.thrift import share_heaps
from reverie.settings import Settings


def serve(load_settings: Callable[[], Settings]) -> int:
    """Serve MCP until the client closes stdin or the system asks to stop; return the exit code."""
    os.umask(0o077)  # whatever is written belongs to its owner alone
    share_heaps()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="reverie: %(message)s")
    asyncio.run(_serve(load_settings))
    return 0


async def _serve(load_settings: Callable[[], Settings]) -> None:
    parts = Parts(load_settings, Path.cwd())
    serving = asyncio.ensure_future(run_on_stdio(build_server(parts)))
    # Cancelling would wait for the thread that reads stdin, and a client that sends a signal may leave stdin open.
    asked_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its loop
            loop.add_signal_handler(number, asked_to_stop.set)
    stopping = asyncio.ensure_future(asked_to_stop.wait())
    code = 1
    try:
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        code = 0
    except Exception:  # the wire itself broke
        logging.getLogger(__name__).exception("Reverie stopped serving.")
    finally:
        await parts.close()
        # A thread may still be importing or waiting on stdin. Everything is written: do not wait for it.
        sys.stderr.flush()
        os._exit(code)
