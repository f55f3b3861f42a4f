"""One LanceDB table, with every operation retried and its failures translated."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
from lancedb import AsyncTable
from lancedb.index import FTS, Bitmap, BTree, IvfRq
from lancedb.query import MatchQuery

from reverie.storage.faults import retried
from reverie.storage.filters import Condition, literal
from reverie.storage.rows import Vector

TEXT_INDEX = FTS(language="English", stem=True, ascii_folding=True, max_token_length=None)


class Table:
    """A named table; reads always see the newest version."""

    def __init__(self, name: str, lance: AsyncTable) -> None:
        self.name = name
        self.lance = lance

    async def version(self) -> int:
        """Return the number of the newest version."""
        return await retried(self.name, self.lance.version)

    async def count(self, where: Condition | None = None) -> int:
        """Count rows."""
        return await retried(self.name, lambda: self.lance.count_rows(where.sql if where else None))

    async def rows(
        self, columns: Sequence[str], where: Condition | None = None, limit: int | None = None
    ) -> pa.Table:
        """Read rows in no particular order."""

        async def read() -> pa.Table:
            query = self.lance.query().select(list(columns))
            if where is not None:
                query = query.where(where.sql)
            if limit is not None:
                query = query.limit(limit)
            return await query.to_arrow()

        return await retried(self.name, read)

    async def matching(self, text: str, where: Condition, columns: Sequence[str], limit: int) -> pa.Table:
        """Search the text index by BM25; `_score` is the score."""

        async def read() -> pa.Table:
            query = self.lance.query().nearest_to_text(MatchQuery(text, "search_text"))
            return await query.where(where.sql).limit(limit).select([*columns, "_score"]).to_arrow()

        return await retried(self.name, read)

    async def nearest(self, vector: Vector, where: Condition, columns: Sequence[str], limit: int) -> pa.Table:
        """Search by vector; `_distance` is the cosine distance."""

        async def read() -> pa.Table:
            query = self.lance.query().nearest_to(vector).distance_type("cosine")
            query = query.where(where.sql).nprobes(_PROBES).refine_factor(_REFINE).limit(limit)
            return await query.select([*columns, "_distance"]).to_arrow()

        return await retried(self.name, read)

    async def add(self, rows: pa.Table) -> int:
        """Append rows; all land together or none does. Returns the version that holds them."""
        result = await retried(self.name, lambda: self.lance.add(rows))
        return int(result.version)

    async def upsert(self, rows: pa.Table) -> None:
        """Write rows, replacing any that share an id."""

        async def write() -> None:
            await self.lance.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)

        await retried(self.name, write)

    async def update(self, where: Condition, values: Mapping[str, Any]) -> None:
        """Set columns of the matching rows to literal values, leaving every other column as it is."""
        await self.update_by({column: literal(value) for column, value in values.items()}, where)

    async def update_by(self, expressions: Mapping[str, str], where: Condition) -> int:
        """Set columns of the matching rows by SQL expressions over their present values; return the version."""
        result = await retried(
            self.name, lambda: self.lance.update(updates_sql=dict(expressions), where=where.sql)
        )
        return int(result.version)

    async def delete(self, where: Condition) -> None:
        """Remove the matching rows from the newest version."""
        await retried(self.name, lambda: self.lance.delete(where.sql))

    async def fragments(self) -> int:
        """Count the pieces the table lies in on disk."""
        stats = await retried(self.name, self.lance.stats)
        return int(stats["fragment_stats"]["num_fragments"])

    async def indexed_columns(self) -> set[str]:
        """Return the columns that have an index."""
        indexes = await retried(self.name, self.lance.list_indices)
        return {column for index in indexes for column in index.columns}

    async def index_text(self) -> None:
        """Build the full-text index."""
        await retried(self.name, lambda: self.lance.create_index("search_text", config=TEXT_INDEX))

    async def index_values(self, column: str, *, few_distinct: bool = False) -> None:
        """Build a scalar index: a bitmap where there are few distinct values, a tree otherwise."""
        config = Bitmap() if few_distinct else BTree()
        await retried(self.name, lambda: self.lance.create_index(column, config=config))

    async def index_vectors(self, rows: int) -> None:
        """Build the approximate vector index for a table of this many rows."""
        config = IvfRq(distance_type="cosine", num_partitions=max(1, round(rows**0.5 / 2)))
        await retried(self.name, lambda: self.lance.create_index("vector", config=config, replace=True))

    async def tidy(self, keep_versions_for: timedelta) -> None:
        """Merge small pieces, bring the indexes up to date, drop versions older than the given age."""
        await retried(self.name, lambda: self.lance.optimize(cleanup_older_than=keep_versions_for))


_PROBES = 20
_REFINE = 10
