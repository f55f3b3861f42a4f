"""The tools as the server calls them: one place that is imported once everything heavy may be."""

from reverie.server.apart import consolidate_apart as consolidate
from reverie.tools import forget, recall, remember
from reverie.tools.brief import brief
from reverie.tools.index_codebase import index_codebase
from reverie.tools.inspect import inspect
from reverie.tools.move import move
from reverie.tools.pin import pin
from reverie.tools.restore import restore
from reverie.tools.review import review
from reverie.tools.revise import revise
from reverie.tools.status import status

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
