"""
The paper's figures 2 and 3 for any store, as files: PNG, SVG, PDF, and their numbers as a table.

Levels differ in color, in lightness, in dashes and in the place of their bands, so that the figures
can be read when they are printed in gray. Needs matplotlib (the extra ``plot``).
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vicinal.analysis.curves import Curves
from vicinal.analysis.plots import draw_curves, dress, name_lines
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
    _explain(figure, found)
    _settle(figure)
    return figure


def draw_calibrated(found: Curves, title: str) -> "Figure":
    """Draw Figure 3: rank against the mean of the negative calibrated distance."""
    figure = _figure(1, title)
    (axes,) = figure.axes
    dress(axes, "rank", "mean calibrated −g")
    draw_curves(axes, found.distance_by_rank, markers=False)
    _explain(figure, found)
    _settle(figure)
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
    figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


def _explain(figure: "Figure", found: Curves) -> None:
    """Set one legend below all panels, of the levels in any of them, in as few rows as fit."""
    drawn = {line.get_label(): line for axes in figure.axes for line in axes.lines}
    lines = [drawn[curve.level] for curve in found.by_rank if curve.level in drawn]
    for n_columns in range(len(lines), 0, -1):
        legend = name_lines(figure, lines, loc="outside lower center", ncols=n_columns)
        if n_columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def _settle(figure: "Figure") -> None:
    """Lay out once: each time anew it would come out a little otherwise, from where it was left."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
