"""Real processes that do one thing to a store and kill themselves right after their nth write to a table."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from tests.tiny_embedder import IMPORT

# Imports take two seconds, so one process has them all and forks for each run. What is killed is a whole process.
_FORKING = """
import asyncio, json, os, signal, sys, traceback
from datetime import datetime
from pathlib import Path
TINY_EMBEDDER
from reverie.settings import Settings
from reverie.storage.lance_table import Table
from reverie.tools.session import Session

STEP

def counted(write, last):
    async def wrapped(self, *arguments, **named):
        global writes
        result = await write(self, *arguments, **named)
        writes += 1
        if writes == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return wrapped

async def main(home, settings, now, last, arguments):
    session = await Session.open(
        Settings(home=home, **settings), embedder=TinyEmbedder(), clock=lambda: now, folder=Path(home)
    )
    for name in ("add", "upsert", "merge", "update_by", "delete", "tidy"):
        setattr(Table, name, counted(getattr(Table, name), last))
    await step(session, *arguments)

writes = 0
for line in sys.stdin:
    home, settings, now, last, arguments = json.loads(line)
    child = os.fork()
    if not child:
        try:
            asyncio.run(main(home, settings, datetime.fromisoformat(now), last, arguments))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
""".replace("TINY_EMBEDDER", IMPORT)


class KilledProcess:
    """Runs `step(session, *arguments)`, which is given as source, in one new process after the other."""

    def __init__(self, process: "subprocess.Popen[str]", settings: dict[str, str]) -> None:
        self._process = process
        self._settings = settings

    def killed_at(self, write: int, home: Path, now: datetime, *arguments: object) -> bool:
        """Run it once on a store; say whether it was killed, or had nothing more to write."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        run = [str(home), self._settings, now.isoformat(), write, arguments]
        print(json.dumps(run), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        assert code in (0, -signal.SIGKILL), f"it failed with {code}: see its traceback on stderr"
        return code != 0

    async def kills(self, filled: Path, now: datetime, *arguments: object, most: int = 60) -> AsyncIterator[Path]:
        """Yield a copy of the store for each write, killed there, until a run has nothing more to write."""
        for write in range(1, most):
            home = filled.parent / f"{filled.name}-killed-{write}"
            shutil.copytree(filled, home)
            killed = self.killed_at(write, home, now, *arguments)
            if killed:
                yield home
            shutil.rmtree(home)
            if not killed:
                return
        raise AssertionError(f"it is not done after {most} writes")


@contextmanager
def killed_process(step: str, **settings: str) -> Iterator[KilledProcess]:
    """Start the process that the others are forked from."""
    arguments = [sys.executable, "-c", _FORKING.replace("STEP", step)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield KilledProcess(process, settings)
        assert process.stdin is not None
        process.stdin.close()
