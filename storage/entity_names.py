"""The names that the memories of each project use, with how many memories use each: derived from the rows.

There is no table of its own that eight processes could leave out of step: a layer is counted again once its table has
changed, by Arrow, and the counts are kept until then. What this process appends is added without reading it back.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

import pyarrow as pa

from reverie.memory import LAYERS, Layer
from reverie.storage.database import Database
from reverie.storage.filters import one_of
from reverie.storage.lance_table import Table
from reverie.storage.rows import OWNER_COLUMNS, owners_of
from reverie.storage.scope import RECALLED, Viewer
from reverie.text.word_lists import is_ordinary

_Counts = dict[tuple[str, str | None], Counter[str]]  # by project and owner

_COMMITS_BEHIND = 20
"""So many commits of others a layer's known names may miss: they help to read a text, and reading them takes time."""

_MOST_KEPT = 32


class EntityNames:
    """Counts names by project; what is superseded, expired or in quarantine does not count."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: dict[Layer, tuple[int, _Counts]] = {}
        self._known: dict[tuple[Viewer, tuple[str, ...]], tuple[tuple[int, ...], frozenset[str]]] = {}

    async def counts(
        self, viewer: Viewer, projects: Sequence[str] | None, layers: Sequence[Layer] = LAYERS
    ) -> Counter[str]:
        """Return the names that memories of these projects, or of all, use at this moment, as somebody sees them."""
        parts = await asyncio.gather(*(self._of(layer, self._database.table(layer), 0) for layer in layers))
        return _joined((counts for _, counts in parts), viewer, projects)

    async def known(self, viewer: Viewer, projects: Sequence[str]) -> frozenset[str]:
        """Return, in lower case, the names that projects use; a symbol of code that is also a word is none.

        They may be a few commits old, and nothing that is still in the write-ahead log is waited for.
        """
        parts = await asyncio.gather(
            *(self._of(layer, self._database.raw_table(layer), _COMMITS_BEHIND) for layer in LAYERS)
        )
        key, versions = (viewer, tuple(projects)), tuple(version for version, _ in parts)
        if key not in self._known or self._known[key][0] != versions:
            by_layer = {
                layer: _joined([counts], viewer, projects) for layer, (_, counts) in zip(LAYERS, parts, strict=True)
            }
            symbols = {name for name in by_layer.pop("codebase") if not is_ordinary(name)}
            named = (name for counts in by_layer.values() for name in counts)
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = versions, frozenset(map(str.casefold, symbols.union(named)))
        return self._known[key][1]

    def note_added(self, layer: Layer, version: int, rows: pa.Table) -> None:
        """Follow an append of this process without reading it back."""
        counted = self._counted.get(layer)
        if counted is None or counted[0] != version - 1:
            return
        columns = (rows.column("project"), owners_of(rows), rows.column("entities"), rows.column("status"))
        for project, owner, names, status in zip(*(column.to_pylist() for column in columns), strict=True):
            if status in RECALLED:
                counted[1].setdefault((project, owner), Counter()).update(names)
        self._counted[layer] = version, counted[1]

    async def _of(self, layer: Layer, table: Table, commits_behind: int) -> tuple[int, _Counts]:
        version = await table.version()
        counted = self._counted.get(layer)
        if counted is not None and 0 <= version - counted[0] <= commits_behind:
            return counted
        rows = await table.rows(["project", "entities", *OWNER_COLUMNS], one_of("status", RECALLED))
        self._counted[layer] = version, _counted(rows)
        return self._counted[layer]


def _joined(parts: Iterable[_Counts], viewer: Viewer, projects: Sequence[str] | None) -> Counter[str]:
    found = Counter[str]()
    for part in parts:
        for (project, owner), names in part.items():
            if not viewer.sees_owner(owner) or not viewer.sees_project(project):
                continue
            if projects is None or project in projects:
                found.update(names)
    return found


def _counted(rows: pa.Table) -> _Counts:
    column: pa.ListArray = rows.column("entities").combine_chunks()
    pairs = pa.table(
        {
            "project": rows.column("project").take(column.value_parent_indices()),
            "owner": owners_of(rows).take(column.value_parent_indices()),
            "name": column.flatten(),
        }
    )
    grouped = pairs.group_by(["project", "owner", "name"]).aggregate([([], "count_all")])
    counts: _Counts = {}
    parts = ("project", "owner", "name", "count_all")
    for project, owner, name, count in zip(*(grouped.column(part).to_pylist() for part in parts), strict=True):
        counts.setdefault((project, owner), Counter())[name] = count
    return counts
