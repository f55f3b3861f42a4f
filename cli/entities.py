"""`reverie entities` and `reverie reindex`: the names that memories use, and finding them anew."""

from typing import TYPE_CHECKING

from reverie.cli.commands import CommandSession, Options
from reverie.cli.requests import ReindexRequest
from reverie.cli.terminal import DONE, Cell, Line, Span, counted, one_line, say, say_json, table
from reverie.tools import catalog
from reverie.tools.requests import EntitiesRequest
from reverie.tools.results import EntityList

if TYPE_CHECKING:
    from reverie.tools.session import Session


async def run_entities(session: CommandSession, request: EntitiesRequest, options: Options) -> int:
    """List what memories name, the most named first."""
    found = await catalog.call(catalog.ENTITIES, session, request)
    if options.json:
        say_json(found)
    else:
        say(*_lines(found))
    return DONE


def _lines(found: EntityList) -> list[Line]:
    if not found.entities:
        return ["No names yet. `reverie reindex` finds those of memories from before there were any."]
    rows: list[tuple[Cell, ...]] = [
        (
            Span(one_line(one.name), "bold"),
            counted(one.memories, "memory"),
            one_line(f"also {', '.join(one.aliases)}") if one.aliases else "",
        )
        for one in found.entities
    ]
    more = found.total - len(found.entities)
    return [*table(rows), *([f"{counted(more, 'name')} more; --limit shows them."] if more else [])]


async def run_reindex(session: "Session", request: ReindexRequest, options: Options) -> int:
    """Find the names in every memory again, and say how to take it back."""
    from reverie.tools.entities import reindex

    done = await reindex(session, request.project)
    if options.json:
        say_json(done)
    elif not done.changed:
        say(f"{counted(done.memories, 'memory')} read; their names are up to date.")
    else:
        say(
            f"{counted(done.memories, 'memory')} read, {done.changed:,} with other names now.",
            f"`reverie restore --dream-id {done.batch}` takes it back.",
        )
    return DONE
