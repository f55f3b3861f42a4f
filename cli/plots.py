"""`reverie curves`, `forecast` and `tune`: forgetting curves as text or PNG, what will expire, and fitted rates."""

from collections.abc import Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.cli.commands import Options
from reverie.cli.requests import CurvesRequest, ForecastRequest, TuneRequest
from reverie.cli.run import opened
from reverie.cli.terminal import DONE, columns, counted, say, say_json
from reverie.errors import InvalidInput
from reverie.lifecycle.tuning import FEWEST_RECALLS
from reverie.parameters import STANDARD, changed_parameters
from reverie.settings import RETENTION_MODES, RetentionMode, load_settings
from reverie.tools.export_jsonl import keep_out_of
from reverie.tools.forecast import Curves, Forecast, curves_of, forecast, typical_curves
from reverie.tools.resolve import resolved
from reverie.tools.tune import Tuned, tune

if TYPE_CHECKING:
    from reverie.tools.session import Session


WIDTH = 70
HEIGHT = 17
LETTERS: Mapping[RetentionMode, str] = {
    "huber": "H",
    "l2": "L",
    "elastic": "E",
    "exponential": "X",
    "power": "P",
    "lifespan": "F",
    "strength": "S",
}
MARK = "@"

_GUTTER = 6
_TICKS = 5
_LABEL_EVERY = 4


def drawn(curves: Curves) -> list[str]:
    """Draw the curves as lines of text; where they cross, the domain's own is on top."""
    return [
        f"How much is left of {curves.subject}",
        *_plot(curves),
        " " * (_GUTTER - 1) + "+" + "-" * WIDTH,
        _axis(curves.days[-1]),
        *_legend(curves),
    ]


def _plot(curves: Curves) -> list[str]:
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for mode in sorted(RETENTION_MODES, key=lambda mode: mode == curves.chosen):
        for column, left in enumerate(curves.left[mode]):
            grid[_row(left)][column] = LETTERS[mode]
    if curves.position is not None:
        column = round(curves.position.day / (curves.days[-1] or 1.0) * (WIDTH - 1))
        grid[_row(curves.position.retention)][column] = MARK
    return [f"{_level(number)}|{''.join(cells)}".rstrip() for number, cells in enumerate(grid)]


def _row(left: float) -> int:
    return round((1.0 - left) * (HEIGHT - 1))


def _level(row: int) -> str:
    """Label every fourth row: 1.00, 0.75 and so on."""
    named = f"{1.0 - row / (HEIGHT - 1):.2f} " if row % _LABEL_EVERY == 0 else ""
    return named.rjust(_GUTTER - 1)


def _axis(days: float) -> str:
    line = [" "] * (_GUTTER + WIDTH)
    for tick in range(_TICKS):
        share = tick / (_TICKS - 1)
        name = f"{days * share:g}" if days >= _TICKS - 1 else f"{days * share:.2g}"
        name = f"{days * share:.0f}" if len(name) > 5 else name
        start = min(_GUTTER + round(share * (WIDTH - 1)), len(line) - len(name))
        line[start : start + len(name)] = name
    return "".join(line).rstrip() + " d"


def _legend(curves: Curves) -> list[str]:
    names = [f"{LETTERS[mode]} {mode}{' *' if mode == curves.chosen else ''}" for mode in RETENTION_MODES]
    position = curves.position
    if position is None:
        return ["  ".join(names), "* the curve of this domain (REVERIE_RETENTION)", *_own_parameters(curves)]
    return [
        "  ".join(names),
        f"{MARK} {position.id} on day {position.day:.1f}: {position.retention:.2f} left by the domain's curve *",
        f"  {position.described}"[: _GUTTER + WIDTH],
        *_own_parameters(curves),
    ]


def _own_parameters(curves: Curves) -> list[str]:
    """List the parameters that reverie.toml sets, beside their standard values."""
    own = changed_parameters(curves.parameters)
    return [f"{name} = {value:g} (reverie.toml; standard {getattr(STANDARD, name):g})" for name, value in own.items()]


POINTS = 400

_INCHES = (9.0, 4.8)
_DOTS_PER_INCH = 120


def save_png(curves: Curves, file: str) -> None:
    """Write the curves to a PNG file.

    Raises:
        InvalidInput: if matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInput(
            "--png", "drawing needs matplotlib, which is not installed", "Run pip install 'reverie-mcp[plots]'."
        ) from None
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.subplots()
    for mode in RETENTION_MODES:
        chosen = mode == curves.chosen
        axes.plot(curves.days, curves.left[mode], label=mode, linewidth=3.0 if chosen else 1.5)
    least = curves.parameters.archive_retention
    axes.axhline(least, color="grey", linestyle=":", linewidth=1.0)
    axes.annotate("archived below", (curves.days[-1], least), ha="right", va="bottom", color="grey")
    if curves.position is not None:
        axes.plot([curves.position.day], [curves.position.retention], "k*", markersize=14, label=curves.position.id)
    axes.set(
        title=f"How much is left of {curves.subject}",
        xlabel="days",
        ylabel="retention",
        xlim=(0.0, curves.days[-1]),
        ylim=(0.0, 1.02),
    )
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        # Without the version of matplotlib in it, the same curves give the same bytes.
        figure.savefig(Path(file), format="png", dpi=_DOTS_PER_INCH, metadata={"Software": "reverie"})
    except OSError as error:
        raise InvalidInput(
            "--png", f"{file} cannot be written ({error.strerror or error})", "Name a file in a folder of yours."
        ) from error


_TITLE = 44


async def run_curves(request: CurvesRequest, options: Options) -> int:
    """Draw the curves; the store is opened only if a memory is given."""
    settings = load_settings()
    if request.png:
        keep_out_of(settings.home, request.png, "--png")
    points = POINTS if request.png else WIDTH
    if request.id:
        async with opened(settings, all_projects=options.all_projects) as session:
            memory = await resolved(session, request.id)
            curves = curves_of(
                memory, session.now, settings.retention, request.days, points, settings.tier, settings.parameters
            )
    else:
        curves = typical_curves(settings.retention, request.days, points, settings.tier, settings.parameters)
    if request.png:
        save_png(curves, request.png)
    if options.json:
        say_json(_as_json(curves, request.png or None))
    elif request.png:
        say(f"Drew the seven curves over {curves.days[-1]:g} days to {request.png}.")
    else:
        say(*drawn(curves))
    return DONE


async def run_forecast(session: "Session", request: ForecastRequest, options: Options) -> int:
    """Show what would be forgotten, moved and kept."""
    ahead = await forecast(session, request.days, all_projects=options.all_projects)
    if options.json:
        say_json(ahead)
    else:
        say(*_forecast_lines(ahead))
    return DONE


async def run_tune(session: "Session", request: TuneRequest, options: Options) -> int:
    """Show the rates that fit the recalls, and what to write into reverie.toml."""
    found = await tune(session)
    if options.json:
        fits = {name: one and {**asdict(one), "sure": one.is_sure} for name, one in found.fits.items()}
        say_json({"curve": found.curve, "memories": found.memories, "fits": fits})
    else:
        say(*_tuned_lines(found, session.settings.domain))
    return DONE


def _tuned_lines(found: Tuned, domain: str) -> list[str]:
    if not found.fits:
        return [f"The curve {found.curve} has no rate that recalls could show. Nothing was changed."]
    lines, written = [], []
    for name, one in found.fits.items():
        if one is None:
            lines.append(f"{name}: no recall shows it yet.")
            continue
        basis = f"{counted(one.recalls, 'recall')} in {counted(one.gaps, 'gap')}"
        span = f"{one.fitted:.3g} fits best ({one.low:.3g} to {one.high:.3g})"
        lines.append(f"{name}: {one.now:g} now; {span}, from {basis}.")
        if not one.is_sure:
            lines.append(f"  Too uncertain to act on: that takes {FEWEST_RECALLS} recalls and a narrow range.")
        elif one.differs:
            written.append(f"{name} = {one.fitted:.3g}")
        else:
            lines.append("  The present value fits.")
    if written:
        section = f"[domains.{domain}.forgetting]"
        lines += ["", "To use it, write into reverie.toml in the data folder:", "", section, *written]
    return [*lines, "", "Nothing was changed."]


def _as_json(curves: Curves, file: str | None) -> dict[str, object]:
    position = curves.position
    return {
        "subject": curves.subject,
        "chosen": curves.chosen,
        "days": curves.days,
        "curves": curves.left,
        "parameters": asdict(curves.parameters),
        "memory": None
        if position is None
        else {
            "id": position.id,
            "title": position.title,
            "day": position.day,
            "retention": position.retention,
            "described": position.described,
        },
        "png": file,
    }


def _forecast_lines(ahead: Forecast) -> list[str]:
    total = sum(ahead.kept.values())
    whose = "all projects" if ahead.projects == "all" else ", ".join(ahead.projects)
    lines = [
        f"In {ahead.days:g} days ({ahead.at[:10]}), by {ahead.curve}, if nothing is recalled until then, of {whose}:",
        "",
    ]
    for rule, group in groupby(ahead.expired, key=lambda ending: ending.rule):
        endings = list(group)
        lines.append(f"{counted(len(endings), 'memory')} expired ({rule}):")
        lines += [*columns([(one.id, one.at[:10], _short(one.title)) for one in endings]), ""]
    if not ahead.expired:
        lines += ["Nothing expires.", ""]
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
