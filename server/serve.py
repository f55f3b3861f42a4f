"""Running the server on stdio: quiet on stdout, prompt at the end, nothing lost on the way out."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

from reverie.server.app import build_server
from reverie.server.parts import Parts
from reverie.server.thrift import share_heaps
from reverie.settings import Settings


def serve(settings: Settings) -> int:
    """Serve MCP until the client closes stdin or the system asks to stop; return the exit code."""
    os.umask(0o077)  # whatever is written belongs to its owner alone
    share_heaps()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="reverie: %(message)s")
    asyncio.run(_serve(settings))
    return 0


async def _serve(settings: Settings) -> None:
    parts = Parts(settings, Path.cwd())
    serving = asyncio.ensure_future(build_server(parts).run_stdio_async())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its loop
            loop.add_signal_handler(number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        logging.getLogger(__name__).info("Asked to stop.")
    finally:
        await parts.close()
        # A thread may still be importing or waiting on stdin. Everything is written: do not wait for it.
        sys.stderr.flush()
        os._exit(0)
