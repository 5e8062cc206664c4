"""
The paper's figures 2 and 3 for any store, as files: PNG, SVG, PDF, and their numbers as a table.

Levels differ in color, in lightness, in dashes and in the place of their bands, so that the figures
can be read when they are printed in gray. Needs matplotlib (the extra ``plot``).
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vicinal.analysis.curves import Curves
from vicinal.analysis.plots import draw_curves, dress
from vicinal.analysis.tables import Cell, Number, Table

if TYPE_CHECKING:  # heavy, and only needed to draw
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
PANEL = (4.0, 3.1)  # inches
RIGHT = "retrieval accuracy"
PANELS = ("distance and accuracy", "rank and accuracy", "rank and distance")


def draw_published(found: Curves, title: str) -> "Figure":
    """Draw the three panels of Figure 2: distance and rank against accuracy, and one another."""
    figure = _figure(3, title)
    left, middle, right = figure.axes
    dress(left, "negative distance −d", RIGHT)
    draw_curves(left, found.by_distance, share=True, markers=False)
    dress(middle, "rank", RIGHT)
    draw_curves(middle, found.by_rank, share=True, markers=False)
    dress(right, "rank", "mean −d")
    draw_curves(right, found.distance_by_rank, markers=False)
    _explain(figure)
    return figure


def draw_calibrated(found: Curves, title: str) -> "Figure":
    """Draw Figure 3: rank against the mean of the negative calibrated distance."""
    figure = _figure(1, title)
    (axes,) = figure.axes
    dress(axes, "rank", "mean calibrated −g")
    draw_curves(axes, found.distance_by_rank, markers=False)
    _explain(figure)
    return figure


def image(figure: "Figure", kind: str) -> bytes:
    """Write a figure as one of `FORMATS`; the same figure gives the same bytes."""
    from matplotlib import rc_context

    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    file = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "vicinal"}):
        figure.savefig(file, format=kind, dpi=150, metadata=dates[kind])
    return file.getvalue()


def numbers(name: str, found: Curves, title: str) -> Table:
    """Give what a figure shows as a table: a row for each panel, level and bin."""
    several = (found.by_distance, found.by_rank, found.distance_by_rank)
    rows: list[Sequence[Cell]] = [
        (panel, curve.level, *(Number(v, 6) for v in values), Number(float(count), 0))
        for panel, curves in zip(PANELS, several, strict=True)
        for curve in curves
        for *values, count in zip(curve.x, curve.y, curve.low, curve.high, curve.count, strict=True)
    ]
    columns = ("panel", "level", "x", "y", "low", "high", "neighbors")
    note = "low and high: 95 % interval. What is told by fewer than 25 neighbors is left out."
    return Table(name, title, columns, rows, note)


def _figure(n_panels: int, title: str) -> "Figure":
    # Not pyplot: it would keep every figure, and choose a backend for the whole process.
    from matplotlib.figure import Figure

    width, height = PANEL
    figure = Figure(figsize=(width * n_panels, height), layout="constrained")
    figure.subplots(1, n_panels)
    figure.suptitle(title, fontsize=10)
    return figure


def _explain(figure: "Figure") -> None:
    """Set one legend below all panels."""
    handles, labels = figure.axes[-1].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
