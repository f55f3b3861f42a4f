"""`reverie curves` and `reverie forecast`: seeing how memories fade, and what lies ahead of them."""

from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from itertools import groupby
from typing import TYPE_CHECKING

from reverie.server.drawing import WIDTH, drawn
from reverie.server.terminal import columns, counted, say, say_json
from reverie.settings import Settings
from reverie.tools.arguments import checked_number
from reverie.tools.curves import Curves, curves_of, typical_curves
from reverie.tools.exporting import keep_out_of
from reverie.tools.forecast import LONGEST_DAYS, Forecast, forecast
from reverie.tools.resolving import resolved

if TYPE_CHECKING:
    from reverie.tools.workspace import Workspace

Opener = Callable[[Settings], AbstractAsyncContextManager["Workspace"]]

_SHORTEST_DAYS = 1.0
_TITLE = 44


async def run_curves(settings: Settings, given: Namespace, opened: Opener) -> int:
    """Draw the curves; the store is opened only if a memory is asked about."""
    from reverie.server.picture import POINTS, save_png

    days = checked_number("days", given.days, _SHORTEST_DAYS, LONGEST_DAYS)
    if given.png:
        keep_out_of(settings.home, given.png, "--png")
    points = POINTS if given.png else WIDTH
    if given.id:
        async with opened(settings) as workspace:
            workspace.all_projects = given.all_projects
            memory = await resolved(workspace, given.id)
            curves = curves_of(memory, workspace.now, settings.retention, days, points, settings.tier)
    else:
        curves = typical_curves(settings.retention, days, points, settings.tier)
    if given.png:
        save_png(curves, given.png)
    if given.json:
        say_json(_as_json(curves, given.png))
    elif given.png:
        say(f"Drew the seven curves over {curves.days[-1]:g} days to {given.png}.")
    else:
        say(*drawn(curves))
    return 0


async def run_forecast(settings: Settings, given: Namespace, opened: Opener) -> int:
    """Tell what would be let go, moved and kept."""
    async with opened(settings) as workspace:
        ahead = await forecast(workspace, given.days, all_projects=given.all_projects)
    if given.json:
        say_json(ahead)
    else:
        say(*_told(ahead))
    return 0


def _as_json(curves: Curves, file: str | None) -> dict[str, object]:
    standing = curves.standing
    return {
        "subject": curves.subject,
        "chosen": curves.chosen,
        "days": curves.days,
        "curves": curves.left,
        "memory": None
        if standing is None
        else {
            "id": standing.id,
            "title": standing.title,
            "day": standing.day,
            "retention": standing.retention,
            "described": standing.described,
        },
        "png": file,
    }


def _told(ahead: Forecast) -> list[str]:
    total = sum(ahead.kept.values())
    whose = "all projects" if ahead.projects == "all" else ", ".join(ahead.projects)
    lines = [
        f"In {ahead.days:g} days ({ahead.at[:10]}), by {ahead.curve}, if nothing is recalled till then, of {whose}:",
        "",
    ]
    for rule, group in groupby(ahead.let_go, key=lambda going: going.rule):
        going = list(group)
        lines.append(f"{counted(len(going), 'memory')} let go ({rule}):")
        lines += [*columns([(one.id, one.at[:10], _short(one.title)) for one in going]), ""]
    if not ahead.let_go:
        lines += ["Nothing is let go.", ""]
    if ahead.moved:
        lines.append(f"{counted(len(ahead.moved), 'memory')} moved:")
        lines += [
            *columns([(one.id, f"{one.from_layer} → {one.to_layer}", _short(one.title)) for one in ahead.moved]),
            "",
        ]
    if ahead.made_core:
        lines += [f"{counted(len(ahead.made_core), 'memory')} made core: {', '.join(ahead.made_core)}", ""]
    layers = ", ".join(f"{layer} {number:,}" for layer, number in ahead.kept.items())
    return [*lines, f"{counted(total, 'memory')} kept{': ' + layers if layers else ''}.", "Nothing was changed."]


def _short(title: str) -> str:
    return title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…"
