"""`reverie reembed`: giving the store the vectors of the embedder that is set now."""

import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.clock import clock_from
from reverie.embeddings.choose import embedder_from
from reverie.server.terminal import Progress, counted, say, say_json
from reverie.settings import Settings
from reverie.storage.database import Stamp
from reverie.storage.reembed import reembed, stamp_of

if TYPE_CHECKING:
    from reverie.storage.reembed import Made


async def run_reembed(settings: Settings, given: Namespace) -> int:
    """Convert the store and say from what to what."""
    embedder = embedder_from(settings)
    folder = Path(settings.domain_uri)
    before = await stamp_of(folder)
    if before is None:
        return _tell(given, "none", embedder.stamp, 0, f"There is no store in {folder} yet: nothing to convert.")
    embedder.warm()
    bar = Progress("Embedding")
    started = time.perf_counter()

    def embed(texts: Sequence[str]) -> "list[Made]":
        return [(embedding.vector, embedding.passages, embedding.pieces) for embedding in embedder.embed(texts)]

    try:
        converted = await reembed(
            folder,
            Stamp(embedder.stamp, embedder.dimensions),
            embed,
            now=clock_from(settings.clock)(),
            progress=lambda done, total: bar.show(done / (total or 1), f"{done:,} of {total:,} texts"),
        )
    finally:
        bar.done()
    if converted is None:
        return _tell(
            given, before.embedder, embedder.stamp, 0, f"The store is already embedded with {embedder.stamp}."
        )
    return _tell(
        given,
        before.embedder,
        embedder.stamp,
        converted,
        f"Converted {counted(converted, 'memory')} from {before.embedder} to {embedder.stamp} "
        f"in {time.perf_counter() - started:.1f} s.",
    )


def _tell(given: Namespace, before: str, now: str, converted: int, sentence: str) -> int:
    if given.json:
        say_json({"before": before, "embedder": now, "converted": converted})
    else:
        say(sentence)
    return 0
