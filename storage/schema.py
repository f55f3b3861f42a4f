"""The tables, column by column."""

from functools import cache

import pyarrow as pa

from reverie.memory import LAYERS
from reverie.storage.packed_vectors import vector_type

MOMENT = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.string())

PACKED = pa.field("packed", pa.binary())
"""A vector of few bits a dimension, instead of a whole one; `precision` says how many (packed_vectors.py)."""

PIECES = pa.field("pieces", pa.binary())
"""The packed token vectors of a memory; null or empty where the embedder gives none."""

OUTCOME = pa.field("outcome", pa.string())
"""What came of a decision; null for every other memory."""

AUTHOR = pa.field("author", pa.string())
"""Who said it, by their token; null for the person of this machine."""

VISIBILITY = pa.field("visibility", pa.string())
"""`team` or `personal`; null, in rows from before it was kept, is `team`."""

ARCHIVE = "archive"
"""The table of memories that are expired or superseded for a while: every layer's, in the schema of a layer."""

ARCHIVED_PASSAGES = "archived_passages"
PASSAGES = "passages"
PASSAGE_TABLES = (PASSAGES, ARCHIVED_PASSAGES)

MEMORY_TABLES: tuple[str, ...] = (*LAYERS, ARCHIVE)
SIDE_TABLES = (*PASSAGE_TABLES, "events", "accesses", "dreams", "questions", "meta")
TABLES = (*MEMORY_TABLES, *SIDE_TABLES)


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


@cache
def memory_schema(dimensions: int) -> pa.Schema:
    """Return the one schema of the five layer tables and the archive (DESIGN §3)."""
    return pa.schema(
        [
            # identity
            _required("id", pa.string()),
            _required("content", pa.string()),
            _required("content_hash", pa.string()),
            _required("title", pa.string()),
            _required("kind", pa.string()),
            _required("layer", pa.string()),
            _required("tags", _TEXTS),
            _required("entities", _TEXTS),
            # scope
            _required("project", pa.string()),
            pa.field("branch", pa.string()),
            pa.field("session", pa.string()),
            # provenance
            _required("source", pa.string()),
            pa.field("source_ref", pa.string()),
            _required("trust", pa.float64()),
            _required("confidence", pa.float64()),
            _required("derived_from", _TEXTS),
            # vitals
            _required("importance", pa.float64()),
            pa.field("surprise", pa.float64()),
            _required("valence", pa.float64()),
            _required("stability", pa.float64()),
            _required("confirmations", pa.int64()),
            _required("confirmed_by", _TEXTS),
            _required("created_at", MOMENT),
            _required("happened_at", MOMENT),
            pa.field("last_accessed_at", MOMENT),
            _required("access_count", pa.int64()),
            _required("access_times", pa.list_(MOMENT)),
            _required("sessions", _TEXTS),
            _required("core", pa.bool_()),
            _required("pinned", pa.bool_()),
            pa.field("tier", pa.string()),
            pa.field("forget_after", MOMENT),
            # status
            _required("status", pa.string()),
            pa.field("expired_at", MOMENT),
            pa.field("status_reason", pa.string()),
            pa.field("superseded_by", pa.string()),
            _required("updated_at", MOMENT),
            # evidence, as JSON: its parts are never queried
            _required("anchors", pa.string()),
            # search
            _required("embedder", pa.string()),
            _required("precision", pa.int64()),
            _required("search_text", pa.string()),
            PIECES,
            pa.field("vector", vector_type(dimensions)),
            PACKED,
            OUTCOME,
            AUTHOR,
            VISIBILITY,
        ]
    )


@cache
def side_schema(table: str, dimensions: int) -> pa.Schema:
    """Return the schema of one side table."""
    match table:
        case "passages" | "archived_passages":  # the windows of memories too long for one vector
            return pa.schema(
                [
                    _required("id", pa.string()),
                    _required("memory_id", pa.string()),
                    _required("project", pa.string()),
                    pa.field("vector", vector_type(dimensions)),
                    PACKED,
                    _required("precision", pa.int64()),
                ]
            )
        case "events":  # the audit journal: what changed, before and after, by what, why
            return pa.schema(
                [
                    _required("id", pa.string()),
                    _required("at", MOMENT),
                    _required("action", pa.string()),
                    _required("memory_id", pa.string()),
                    _required("actor", pa.string()),
                    _required("session", pa.string()),
                    pa.field("batch", pa.string()),
                    pa.field("reason", pa.string()),
                    _required("before", pa.string()),
                    _required("after", pa.string()),
                    # the chain (see journal.py); empty only while a store is being migrated
                    pa.field("digest", pa.string()),
                    pa.field("number", pa.int64()),
                    pa.field("hash", pa.string()),
                    # the digest of the row after the change, and the proof that this installation wrote it
                    pa.field("state", pa.string()),
                    pa.field("seal", pa.string()),
                ]
            )
        case "accesses":
            return pa.schema(
                [
                    _required("id", pa.string()),
                    _required("memory_id", pa.string()),
                    _required("at", MOMENT),
                    _required("session", pa.string()),
                ]
            )
        case "dreams":
            return pa.schema(
                [
                    _required("id", pa.string()),
                    _required("started_at", MOMENT),
                    pa.field("finished_at", MOMENT),
                    _required("status", pa.string()),
                    _required("report", pa.string()),
                ]
            )
        case "questions":
            return pa.schema(
                [
                    _required("id", pa.string()),
                    _required("asked_at", MOMENT),
                    _required("kind", pa.string()),
                    _required("memory_ids", _TEXTS),
                    _required("status", pa.string()),
                    _required("body", pa.string()),
                ]
            )
        case "meta":
            return pa.schema([_required("id", pa.string()), _required("value", pa.string())])
        case _:
            raise ValueError(f"no side table is called {table!r}")
