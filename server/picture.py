"""Curves as a PNG file. The only file that knows matplotlib, which is optional."""

from pathlib import Path

from reverie.errors import InvalidInput
from reverie.lifecycle.archive import ARCHIVE_BELOW_RETENTION
from reverie.settings import RETENTION_MODES
from reverie.tools.curves import Curves

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
    axes.axhline(ARCHIVE_BELOW_RETENTION, color="grey", linestyle=":", linewidth=1.0)
    axes.annotate("archived below", (curves.days[-1], ARCHIVE_BELOW_RETENTION), ha="right", va="bottom", color="grey")
    if curves.standing is not None:
        axes.plot([curves.standing.day], [curves.standing.retention], "k*", markersize=14, label=curves.standing.id)
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
