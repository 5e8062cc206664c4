"""
Curves and lines as SVG, to be set into a page: levels differ in color, in lightness and in dashes.

Whatever is ink takes the page's own color, so that a plot can be read on white and on black.
Knows nothing of where the numbers come from. Needs matplotlib (the extra ``plot``).
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float64

from vicinal.analysis.curves import Curve
from vicinal.locality import LevelCalibration

if TYPE_CHECKING:  # heavy, and only needed to draw
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

# Dark enough on white, light enough on black, apart in gray too; level 0 is the gray one.
COLORS = ("#90959d", "#2668ab", "#d07200", "#1a875e", "#c55a9c", "#7c56d0")
DASHES = ((4.0, 2.0), (1.0, 0.0), (6.0, 1.5, 1.0, 1.5), (1.5, 1.5), (8.0, 2.0), (3.0, 1.0))
MARKERS = "osD^vP"
Points = tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]
INK = "#010203"  # replaced by the page's own color
SIZE = (4.2, 3.0)


def color(level: int) -> str:
    """Give the color of a level; the seventh level has the first one's again."""
    return COLORS[level % len(COLORS)]


def dashes(level: int) -> tuple[float, ...]:
    """Give the dashes of a level; levels of one color have different ones."""
    return DASHES[(level + level // len(COLORS)) % len(DASHES)]


def plot_curves(
    curves: Sequence[Curve], *, x: str, y: str, log_x: bool = False, share: bool = False
) -> str:
    """Draw a curve for each level with its interval as a band; the answer is an SVG element."""
    figure, axes = _axes(x, y)
    draw_curves(axes, curves, log_x=log_x, share=share)
    return _svg(figure, axes)


def draw_curves(
    axes: "Axes",
    curves: Sequence[Curve],
    *,
    log_x: bool = False,
    share: bool = False,
    markers: bool = True,
) -> None:
    """Draw a curve for each level with its interval as a band."""
    for level, curve in enumerate(curves):
        if len(curve.x):
            axes.fill_between(curve.x, curve.low, curve.high, color=color(level), alpha=0.2, lw=0)
            marker = MARKERS[level % len(MARKERS)] if markers else ""
            _line(axes, level, curve.level, (curve.x, curve.y), marker=marker)
    if log_x:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
    if share:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_ylim(bottom=0)


def plot_lines(
    lines: LevelCalibration, level_names: Sequence[str], reach: tuple[float, float]
) -> str:
    """Draw the line of each level over the distances there are."""
    figure, axes = _axes("distance d", "calibrated distance g")
    d = np.array(reach)
    pairs = zip(lines.weights.tolist(), lines.biases.tolist(), strict=True)
    for level, ((w, b), name) in enumerate(zip(pairs, level_names, strict=True)):
        _line(axes, level, name, (d, w * d + b))
    return _svg(figure, axes)


def _line(axes: "Axes", level: int, name: str, points: Points, marker: str = "") -> None:
    x, y = points
    (line,) = axes.plot(x, y, color=color(level), marker=marker, ms=3.5, lw=1.7, label=name)
    line.set_dashes(dashes(level))


def name_lines(place: "Axes | Figure", lines: "Sequence[Line2D]", **style: Any) -> "Legend":
    """Set a legend that names all the lines, whatever signs their names are made of."""
    legend = place.legend(lines, [str(line.get_label()) for line in lines], frameon=False, **style)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def _axes(x: str, y: str) -> "tuple[Figure, Axes]":
    # Not pyplot: it would keep every figure, and choose a backend for the whole process.
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    dress(axes, x, y, ink=INK)
    return figure, axes


def dress(axes: "Axes", x: str, y: str, *, ink: str = "black") -> None:
    """Label the axes, and leave away what is no ink for numbers."""
    axes.set_xlabel(x, color=ink)
    axes.set_ylabel(y, color=ink)
    axes.tick_params(colors=ink, which="both")
    axes.grid(color=ink, alpha=0.12, lw=0.6)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink)


def _svg(figure: "Figure", axes: "Axes") -> str:
    from matplotlib import rc_context

    if axes.lines:
        name_lines(axes, axes.lines, labelcolor=INK, handlelength=3.2)
    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": axes.get_ylabel()}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :].replace(INK, "currentColor")
