"""The names that the memories of each project use, with how many memories use each: derived from the rows.

There is no table of its own that eight processes could leave out of step: a layer is counted again once its table has
changed, by Arrow, and the counts are kept until then.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from reverie.memory import LAYERS, Layer
from reverie.storage.database import Database
from reverie.storage.filters import one_of
from reverie.storage.lance_table import Table
from reverie.storage.scope import RECALLED

_Counts = Mapping[str, Counter[str]]


class EntityNames:
    """Counts names by project; what is superseded, expired or in quarantine does not count."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: dict[Layer, tuple[int, _Counts]] = {}

    async def counts(
        self, projects: Sequence[str] | None, layers: Sequence[Layer] = LAYERS, *, with_pending: bool = True
    ) -> Counter[str]:
        """Return the names that memories of these projects, or of all, use.

        Without `with_pending` what is still in the write-ahead log is left out, and nothing waits for it.
        """
        tables = {
            layer: self._database.table(layer) if with_pending else self._database.raw_table(layer)
            for layer in layers
        }
        parts = await asyncio.gather(*(self._of(layer, table) for layer, table in tables.items()))
        found = Counter[str]()
        for part in parts:
            for project, names in part.items():
                if projects is None or project in projects:
                    found.update(names)
        return found

    async def _of(self, layer: Layer, table: Table) -> _Counts:
        version = await table.version()
        known = self._counted.get(layer)
        if known is not None and known[0] == version:
            return known[1]
        rows = await table.rows(["project", "entities"], one_of("status", RECALLED))
        counts = _counted(rows)
        self._counted[layer] = version, counts
        return counts


def _counted(rows: pa.Table) -> dict[str, Counter[str]]:
    column = rows.column("entities").combine_chunks()
    pairs = pa.table(
        {
            "project": rows.column("project").take(pc.list_parent_indices(column)),
            "name": pc.list_flatten(column),
        }
    )
    grouped = pairs.group_by(["project", "name"]).aggregate([([], "count_all")])
    counts: dict[str, Counter[str]] = {}
    for project, name, count in zip(*(grouped.column(n).to_pylist() for n in grouped.column_names), strict=True):
        counts.setdefault(project, Counter())[name] = count
    return counts
