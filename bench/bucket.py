"""What a home in a bucket costs: requests and bytes per remember and per recall, and how much slower a recall is.

    python -m bench.bucket [--memories 300] [--recalls 100]

Starts a real S3 server (SeaweedFS) on loopback and counts by its own metrics. The ratio of the recalls is between two
homes in one run, interleaved, so that a busy machine slows both. Loopback has no distance: on a real network add one
round trip to every recall that comes more than two seconds after the last, and nothing to the others.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from reverie.settings import Settings
from reverie.tools.recall import recall
from reverie.tools.remember import remember
from reverie.tools.requests import RecallRequest, RememberRequest
from reverie.tools.session import Session
from tests.s3_server import S3Server
from tests.tiny_embedder import TinyEmbedder

_QUIET_SECONDS = 2.5  # longer than tables count as up to date


@dataclass(frozen=True, slots=True)
class Cost:
    """Requests and bytes of one operation."""

    requests: float
    received: float
    sent: float

    def __str__(self) -> str:
        return (
            f"{self.requests:6.1f} requests, {self.received / 1024:7.1f} KB written, {self.sent / 1024:7.1f} KB read"
        )


def _text(number: int) -> str:
    return f"Service s{number * 7919 % 997} keeps table t{number * 104729 % 9973} in region r{number % 13}."


class Meter:
    """Counts what the server answers between two looks."""

    def __init__(self, server: S3Server) -> None:
        self._server = server
        self._last = server.counted()

    def cost(self, operations: int) -> Cost:
        """Return the cost of each of the operations since the last look."""
        now = self._server.counted()
        requests, received, sent = (new - old for new, old in zip(now, self._last, strict=True))
        self._last = now
        return Cost(requests / operations, received / operations, sent / operations)


async def _measure(server: S3Server, folder: Path, memories: int, recalls: int) -> None:
    bucket = server.make_bucket("bench")
    homes = {"local": str(folder / "home"), "bucket": f"s3://{bucket}/home"}
    sessions = {
        name: await Session.open(
            Settings(home=home, host_folder=str(folder / "host"), project="bench"),
            embedder=TinyEmbedder(),
            folder=folder,
        )
        for name, home in homes.items()
    }
    meter = Meter(server)
    for name, session in sessions.items():
        for number in range(memories):
            await remember(session, RememberRequest(content=_text(number)))
        await session.store.database.write_ahead_log.flush()
        await session.store.journal.flush()
        await session.warm()
        if name == "bucket":
            print(f"remember, one after the other  {meter.cost(memories)}")
    remote = sessions["bucket"]
    alone = 5
    meter.cost(1)
    for number in range(alone):
        await remember(remote, RememberRequest(content=_text(memories + number)))
        await remote.store.database.write_ahead_log.flush()
    print(f"remember, each flushed alone   {meter.cost(alone)}")

    times: dict[str, list[float]] = {name: [] for name in sessions}
    for session in sessions.values():
        await recall(session, RecallRequest(query=_text(1)))
    meter.cost(1)
    for number in range(recalls):
        for name, session in sessions.items():
            started = time.perf_counter()
            await recall(session, RecallRequest(query=_text(number * 3)))
            times[name].append(time.perf_counter() - started)
    print(f"recall, one after the other    {meter.cost(recalls)}")
    medians = {name: statistics.median(some) for name, some in times.items()}
    print(
        f"recall warm, p50: local {medians['local'] * 1000:.1f} ms, bucket {medians['bucket'] * 1000:.1f} ms, "
        f"ratio {medians['bucket'] / medians['local']:.2f} (wanted: at most 1.5)"
    )
    await asyncio.sleep(_QUIET_SECONDS)
    meter.cost(1)
    started = time.perf_counter()
    await recall(remote, RecallRequest(query=_text(2)))
    took = time.perf_counter() - started
    print(f"recall after a pause           {meter.cost(1)} ({took * 1000:.1f} ms)")
    for session in sessions.values():
        await session.close()


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=300)
    parser.add_argument("--recalls", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CONFIG_HOME"] = name
        server = S3Server(Path(name) / "s3")
        try:
            server.start()
            os.environ.update(server.environment)
            asyncio.run(_measure(server, Path(name), given.memories, given.recalls))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
