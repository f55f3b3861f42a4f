"""`reverie list`, `show` and `edit`: memories one a line, in full, and in an editor.

Also `reverie entities` and `reindex`: the names in memories, and finding them again.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.cli.commands import CommandSession, Options
from reverie.cli.requests import EditRequest, ReindexRequest
from reverie.cli.terminal import (
    DONE,
    Cell,
    Line,
    Span,
    Style,
    counted,
    edited,
    is_terminal,
    note,
    one_line,
    paragraph,
    say,
    say_json,
    shortened,
    table,
    terminal_width,
)
from reverie.ids import short_ids
from reverie.recall.results import freshness_word, repeats
from reverie.tools import catalog
from reverie.tools.render import render
from reverie.tools.requests import EntitiesRequest, InspectRequest, ListRequest, NamedRequest, ReviseRequest
from reverie.tools.results import EntityList, MemoryList

_BAR = 20
_SHORTEST_TITLE = 20
_LONGEST_REASON = 60
_STRENGTH_STYLES: Mapping[str, Style] = {"strong": "green", "moderate": "yellow", "faint": "dim"}
_FRESHNESS_STYLES: Mapping[str, Style] = {
    "verified": "green",
    "changed": "yellow",
    "moved": "yellow",
    "missing": "red",
}
_STATUS_STYLES: Mapping[str, Style] = {"challenged": "yellow", "quarantined": "red"}


async def run_list(session: CommandSession, request: ListRequest, options: Options) -> int:
    """List memories; titles are cut to the width of a terminal, and not in a pipe."""
    found = await catalog.call(catalog.LIST, session, request)
    if options.json:
        say_json(found)
    else:
        width = terminal_width() if is_terminal(sys.stdout) else None
        say(*list_lines(found, everywhere=request.all_projects, width=width))
    return DONE


async def run_show(session: CommandSession, request: InspectRequest, options: Options) -> int:
    """Show memories in full."""
    found = await catalog.call(catalog.INSPECT, session, request)
    if options.json:
        say_json(found)
        return DONE
    for number, memory in enumerate(found.memories):
        say(*([""] if number else []), *memory_lines(memory))
    return DONE


async def run_edit(session: CommandSession, request: EditRequest, options: Options) -> int:
    """Open a memory's text in the editor, and revise the memory if it was changed."""
    named = await catalog.call(catalog.NAMED, session, NamedRequest(ids=(request.id,), to_change=True))
    [memory] = named.memories
    text = edited(memory.content)
    if text is None:
        note("The text is empty or the same: nothing was changed.")
        return DONE
    revision = ReviseRequest(id=memory.id, content=text, reason=request.reason or "edited")
    result = await catalog.call(catalog.REVISE, session, revision)
    if options.json:
        say_json(result)
    else:
        say(*render(result).splitlines())
    return DONE


def list_lines(found: MemoryList, *, everywhere: bool, width: int | None) -> list[Line]:
    """Show one memory a line, and counts at the end; titles are cut to the width, if there is one."""
    if not found.memories:
        return [f"No memory{_within(found)} fits. `reverie list --all-projects` looks everywhere."]
    short = short_ids(memory.id for memory in found.memories)
    rows: list[tuple[Cell, ...]] = []
    for memory in found.memories:
        word = memory.strength_word
        row: list[Cell] = [
            Span(short[memory.id], "cyan"),
            _age(memory.age_days),
            f"{memory.layer}/{memory.kind}",
            Span(word, _STRENGTH_STYLES.get(word, "dim")),
        ]
        if everywhere:
            row.append(shortened(memory.project, 24))
        notes = [*(["pinned"] if memory.pinned else []), *([memory.status] if memory.status != "active" else [])]
        rows.append((*row, f"[{', '.join(notes)}] {memory.title}" if notes else memory.title))
    lines = table(rows, indent="")
    if width is not None:
        lines = [_cut(line, width) for line in lines]
    layers = ", ".join(f"{layer} {number:,}" for layer, number in found.layers.items())
    shown = (
        counted(found.total, "memory") if len(rows) == found.total else f"{len(rows):,} of {found.total:,} memories"
    )
    return [*lines, "", (Span(f"{shown}{_within(found)}: {layers}", "dim"),)]


def _cut(line: tuple[Cell, ...], width: int) -> tuple[Cell, ...]:
    *before, title, _ = line
    taken = sum(len(str(cell)) for cell in before)
    return (*before, shortened(str(title), max(_SHORTEST_TITLE, width - taken)))


def _within(found: MemoryList) -> str:
    return f" in {found.project}" if found.project else ""


def _age(days: float) -> str:
    """Return an age in one unit: 5m, 3h, 12d, 8w, 2y."""
    for size, unit in ((365.0, "y"), (7.0, "w"), (1.0, "d"), (1 / 24, "h")):
        if days >= size * (2 if unit in "yw" else 1):
            return f"{int(days / size)}{unit}"
    return f"{int(days * 1440)}m"


def memory_lines(memory: Mapping[str, Any]) -> list[Line]:
    """Show one memory in full, from the result of `inspect`."""
    sections: list[list[Line]] = [_head(memory), [paragraph(memory["content"])]]
    for title, lines in (
        ("Evidence", _evidence(memory)),
        ("Lineage", _lineage(memory)),
        (f"Importance {memory['composite_importance']:.2f}", _factors(memory["factors"])),
        ("Retention", _retention(memory)),
        ("History", _history(memory["events"])),
    ):
        if lines:
            sections.append([(Span(title, "bold"),), *lines])
    return [line for section in sections for line in (*section, "")][:-1]


def _head(memory: Mapping[str, Any]) -> list[Line]:
    title = one_line(memory["title"])
    first: list[Cell] = [Span(memory["id"], "cyan")]
    if not repeats(title, memory["content"]):
        first += ["  ", Span(title, "bold")]
    status = memory["status"]
    word = memory["strength_word"]
    second: list[Cell] = [f"{memory['layer']} {memory['kind']}, ", Span(word, _STRENGTH_STYLES.get(word, "dim"))]
    second += [f" ({memory['strength']:.2f}), "]
    second += [Span(status, _STATUS_STYLES[status]) if status in _STATUS_STYLES else status]
    reason = one_line(memory["status_reason"] or "")
    second += [f" ({reason})"] if reason else []
    second += [Span(", pinned", "bold")] if memory["pinned"] else []
    second += [", core"] if memory["core"] else []
    facts = [
        f"in {memory['project']}",
        f"from {memory['source']}",
        *([f"by {memory['author']}"] if memory["author"] else []),
        *(["personal"] if memory["visibility"] == "personal" else []),
        f"trust {memory['trust']:.2f}",
        f"written {_minute(memory['created_at'])}",
        f"recalled {counted(memory['access_count'], 'time')}",
        *([f"tier {memory['tier']}"] if memory["tier"] else []),
        *([f"forgotten after {_minute(memory['forget_after'])}"] if memory["forget_after"] else []),
    ]
    lines: list[Line] = [tuple(first), tuple(second), one_line(", ".join(facts))]
    if memory["tags"]:
        lines.append(f"tags: {one_line(', '.join(memory['tags']))}")
    if memory["entities"]:
        lines.append(f"names: {one_line(', '.join(memory['entities']))}")
    return lines


def _evidence(memory: Mapping[str, Any]) -> list[Line]:
    rows: list[tuple[Cell, ...]] = []
    for anchor in memory["anchors"]:
        word = freshness_word(anchor["freshness"], memory["created_at"])
        where = f"{anchor['path']}::{anchor['symbol']}" if anchor["symbol"] else anchor["path"]
        note = (anchor["note"] or "").removeprefix(where).strip()
        now = f"now {anchor['now_at']}" if anchor["now_at"] else note if note != word else ""
        rows.append((where, Span(word, _FRESHNESS_STYLES.get(anchor["freshness"], "dim")), now))
    return [*table(rows)]


_KIN = {
    "derived_from": "made from",
    "supersedes": "replaces",
    "superseded_by": "replaced by",
    "derived": "led to",
}


def _lineage(memory: Mapping[str, Any]) -> list[Line]:
    return [f"  {_KIN[name]} {', '.join(ids)}" for name, ids in memory["lineage"].items() if ids]


def _factors(factors: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Draw each factor's value as a bar, beside what it adds to the importance."""
    rows: list[tuple[Cell, ...]] = []
    idle = [factor["name"] for factor in factors if factor["share"] <= 0]
    for factor in sorted(factors, key=lambda factor: -factor["share"]):
        if factor["share"] > 0:
            share = f"{factor['value']:.2f} × {factor['weight']:.2f} = {factor['share']:.3f}"
            rows.append((factor["name"], _bar(factor["value"]), share))
    return [*table(rows), *([f"  nothing from {', '.join(idle)}"] if idle else [])]


def _retention(memory: Mapping[str, Any]) -> list[Line]:
    left = memory["retention"]
    rows: list[tuple[Cell, ...]] = [
        (name, _bar(left[horizon]), f"{left[horizon]:.2f}")
        for horizon, name in (("now", "now"), ("30", "30 days"), ("90", "90 days"), ("365", "365 days"))
    ]
    return [*table(rows), paragraph(memory["outlook"], "  ")]


def _bar(share: float) -> Span:
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    return Span("█" * full + "░" * (_BAR - full), "cyan")


def _history(events: Sequence[Mapping[str, Any]]) -> list[Line]:
    rows: list[tuple[Cell, ...]] = []
    for event in events:
        reason = one_line(event.get("reason") or "")
        by = f"by {event['actor']}"
        rows.append(
            (_minute(event["at"]), event["action"], shortened(f"{by}: {reason}" if reason else by, _LONGEST_REASON))
        )
    return [*table(rows)]


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


if TYPE_CHECKING:
    from reverie.tools.session import Session


async def run_entities(session: CommandSession, request: EntitiesRequest, options: Options) -> int:
    """List the names in memories, the most frequent first."""
    found = await catalog.call(catalog.ENTITIES, session, request)
    if options.json:
        say_json(found)
    else:
        say(*_lines(found))
    return DONE


def _lines(found: EntityList) -> list[Line]:
    if not found.entities:
        return ["No names yet. `reverie reindex` finds the names in memories of earlier versions."]
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
    """Find the names in every memory again, and say how to undo that."""
    from reverie.tools.entities import reindex

    done = await reindex(session, request.project)
    if options.json:
        say_json(done)
    elif not done.changed:
        say(f"{counted(done.memories, 'memory')} read; their names are up to date.")
    else:
        say(
            f"{counted(done.memories, 'memory')} read; {done.changed:,} have other names now.",
            f"`reverie restore --dream-id {done.batch}` undoes this.",
        )
    return DONE
