"""Importing LanceDB quickly, and connecting to it."""

import importlib.abc
import importlib.machinery
import os
import sys
from abc import ABC
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lancedb import AsyncConnection


# Lance logs warnings of its own to stderr, which clients show to users as server errors.
os.environ.setdefault("LANCEDB_LOG", "error")

_REST_CLIENT = "lance_namespace_urllib3_client"
_CACHE_BYTES = 8 * 2**20
_REMOTE_CACHE_BYTES = 64 * 2**20  # what is not cached is a request
_MORE_THAN_WE_HAVE = 100


class _Absent(ModuleType):
    """Stands in for one module of the REST client; its classes hold what they are given and do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (SimpleNamespace,), {})


class _WithoutRestClient(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Keeps LanceDB from loading its REST client, which costs half its import time and 30 MB.

    We only open tables by path, so no call ever reaches it. See decision 0004.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] == _REST_CLIENT:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class _Unchecked(ModuleType):
    """Stands in for `overrides`, with which LanceDB checks its own classes while Python 3.11 makes them: 0.3 s."""

    EnforceOverrides = ABC

    @staticmethod
    def override(method: Any) -> Any:
        """Return the method as it is."""
        return method


def import_lancedb() -> ModuleType:
    """Import LanceDB without the parts we never use."""
    if "lancedb" in sys.modules:
        return sys.modules["lancedb"]
    finder = _WithoutRestClient()
    sys.meta_path.insert(0, finder)
    checks = sys.modules.setdefault("overrides", _Unchecked("overrides"))
    try:
        import lancedb
    finally:
        sys.meta_path.remove(finder)
        if isinstance(checks, _Unchecked):
            del sys.modules["overrides"]  # others get the real one
    return lancedb


async def connect(uri: str, store_options: Mapping[str, str] | None = None) -> "AsyncConnection":
    """Connect so that every read sees what other processes wrote.

    With options the tables are in an object store. There a look for new versions is a request, and remote_tables.py
    decides when to make it.
    """
    lancedb = import_lancedb()
    size = _CACHE_BYTES if store_options is None else _REMOTE_CACHE_BYTES
    session = lancedb.Session(index_cache_size_bytes=size, metadata_cache_size_bytes=size)
    connection: AsyncConnection = await lancedb.connect_async(
        uri,
        read_consistency_interval=timedelta(0) if store_options is None else None,
        storage_options=None if store_options is None else dict(store_options),
        session=session,
    )
    return connection


async def table_names(connection: "AsyncConnection") -> set[str]:
    """Return the names of the tables there are."""
    return set((await connection.list_tables(limit=_MORE_THAN_WE_HAVE)).tables)
