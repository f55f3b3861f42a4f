"""How many modules a remember and a recall go through: `python bench/walks.py`.

Counts the modules of ours whose functions run during one call on a warm session, how often control passes from one
module to another, and how often from one folder to another. Properties and comprehensions count as the functions
they are.
"""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import reverie
from reverie.settings import Settings
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import RecallRequest, RememberRequest
from reverie.tools.session import Session

ROOT = Path(reverie.__file__).resolve().parents[1]
TEXTS = (
    "We chose LanceDB over SQLite because vectors and text are searched in one place.",
    "Deploys go through `make release`; the tag is signed by the release manager.",
    "The flaky test in tests/api/test_upload.py was a timezone bug, mended in 3f2c1d9.",
)


class Walk:
    """The modules a call goes through, in order."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note the module of a function that begins."""
        if event != "call":
            return
        name = frame.f_globals.get("__name__", "")
        if name.startswith("reverie") and (not self.steps or self.steps[-1] != name):
            self.steps.append(name)

    @property
    def modules(self) -> list[str]:
        """The modules, each once."""
        return list(dict.fromkeys(self.steps))

    @property
    def borders(self) -> int:
        """How often control passes from one folder to another."""
        folders = [name.split(".")[1] if name.count(".") > 1 else "core" for name in self.steps]
        return sum(one != other for one, other in pairwise(folders))


async def walked(call: Callable[[], Awaitable[Any]]) -> Walk:
    """Follow one call through the modules, in every thread that it starts."""
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        await call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


async def main() -> None:
    """Print the figures of one remember and one recall."""
    with tempfile.TemporaryDirectory() as folder:
        session = await Session.open(Settings(home=folder + "/home", config=folder + "/config"), folder=Path(folder))
        await session.warm()
        for text in TEXTS:
            await remember(session, RememberRequest(content=text))
        await recall(session, RecallRequest(query="which database"))
        walks = {
            "remember": await walked(
                lambda: remember(
                    session, RememberRequest(content="The nightly build runs at 02:00 UTC on the second runner.")
                )
            ),
            "recall": await walked(lambda: recall(session, RecallRequest(query="why LanceDB"))),
        }
        await session.close()
    for name, walk in walks.items():
        print(
            f"{name}: {len(walk.modules)} modules, {len(walk.steps)} changes of module, {walk.borders} folder borders"
        )
        if "--list" in sys.argv:
            print("  " + " ".join(m.removeprefix("reverie.") for m in walk.modules))


if __name__ == "__main__":
    asyncio.run(main())
