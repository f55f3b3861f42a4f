"""The tools as the server calls them: one place that is imported once everything heavy may be.

Those that dream are imported when they are first called: no session begins with them, and the first answers of one
that just began are waited for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reverie.tools import forget, recall, remember
from reverie.tools.brief import brief
from reverie.tools.index_codebase import index_codebase
from reverie.tools.inspect import inspect
from reverie.tools.move import move
from reverie.tools.pin import pin
from reverie.tools.revise import revise
from reverie.tools.status import status

if TYPE_CHECKING:
    from reverie.server.dream_process import consolidate_in_process as consolidate
    from reverie.tools.restore import restore
    from reverie.tools.review import review

__all__ = [
    "brief",
    "consolidate",
    "forget",
    "index_codebase",
    "inspect",
    "move",
    "pin",
    "recall",
    "remember",
    "restore",
    "review",
    "revise",
    "status",
]

_LATE = {
    "consolidate": ("reverie.server.dream_process", "consolidate_in_process"),
    "restore": ("reverie.tools.restore", "restore"),
    "review": ("reverie.tools.review", "review"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(name)
    module, called = _LATE[name]
    return getattr(import_module(module), called)
