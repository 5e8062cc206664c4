"""Figures read again: their lines, their legends, their bytes, and what is left of them in gray."""

import csv
import io
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from observed import NAMES, observations
from vicinal.analysis import (
    FORMATS,
    PUBLISHED,
    Curves,
    curves,
    draw_calibrated,
    draw_published,
    image,
    numbers,
    plot_curves,
    plot_lines,
)
from vicinal.analysis.figures import PANELS
from vicinal.analysis.plots import color, dashes
from vicinal.locality import LevelCalibration

LATTICE = ("not local", "section", "category", "section & category")
ODD = ("not local", "$_$", "_hidden", "a & <b>")  # formulas, and names that legends leave out
BEGINNINGS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.fixture(scope="module")
def found() -> Curves:
    return curves(observations(1, n=300, k=30), NAMES, None, PUBLISHED)


def names(figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("draw", [draw_published, draw_calibrated])
def test_every_line_is_a_curve(found, draw):
    """Each panel has a line for each level, through the curve's own points."""
    panels = [found.by_distance, found.by_rank, found.distance_by_rank]
    figure = draw(found, "any")
    for axes, several in zip(figure.axes, panels[-len(figure.axes) :], strict=True):
        assert [line.get_label() for line in axes.lines] == list(NAMES)
        for line, curve in zip(axes.lines, several, strict=True):
            assert np.array_equal(line.get_xdata(), curve.x)
            assert np.array_equal(line.get_ydata(), curve.y)
        assert axes.get_xlabel()
        assert axes.get_ylabel()


def test_shares_are_told_as_percentages_from_zero(found):
    """The published panels are those of the paper: accuracy twice, then distance."""
    left, middle, right = draw_published(found, "any").axes
    assert {left.get_ylabel(), middle.get_ylabel()} == {"retrieval accuracy"}
    assert left.yaxis.get_major_formatter()(0.25) == "25%"
    assert left.get_ylim()[0] == middle.get_ylim()[0] == 0
    assert right.get_ylim()[0] < 0


@pytest.mark.parametrize("kind", FORMATS)
def test_drawn_twice_the_bytes_are_the_same(found, kind):
    """A format is what it is called; nothing in it depends on when or how often it was drawn."""
    figure = draw_calibrated(found, "again")
    first = image(figure, kind)
    assert first.startswith(BEGINNINGS[kind])
    assert image(figure, kind) == first
    assert image(draw_calibrated(found, "again"), kind) == first
    assert image(draw_calibrated(found, "otherwise"), kind) != first
    # Two draws of one second would have the same date.
    assert b"CreationDate" not in first
    assert b"dc:date" not in first


def test_the_numbers_are_the_curves(found):
    """The CSV beside a figure has a row for each point, level by level and panel by panel."""
    head, *rows = csv.reader(io.StringIO(numbers("figure2", found, "any").to_csv()))
    assert head == ["panel", "level", "x", "y", "low", "high", "neighbors"]
    expected = [
        (panel, curve.level, *point)
        for panel, several in zip(
            PANELS, (found.by_distance, found.by_rank, found.distance_by_rank), strict=True
        )
        for curve in several
        for point in zip(curve.x, curve.y, curve.low, curve.high, curve.count, strict=True)
    ]
    assert len(expected) > 100
    assert [tuple(row[:2]) for row in rows] == [row[:2] for row in expected]
    values = np.array([row[2:] for row in rows], float)
    assert np.abs(values - np.array([row[2:] for row in expected])).max() <= 0.5e-6
    assert {row[-1] for row in rows} == {str(int(row[-1])) for row in expected}


def test_the_legend_names_levels_of_any_panel(found):
    """A level that only one panel has enough neighbors of is named, in the schema's order."""
    fields = {name: getattr(found.by_rank[1], name)[:0] for name in ("x", "y", "low", "high")}
    gone = replace(found.by_rank[1], **fields, count=found.by_rank[1].count[:0])
    some = replace(
        found,
        by_rank=(found.by_rank[0], gone, found.by_rank[2]),
        distance_by_rank=(found.distance_by_rank[0], gone, found.distance_by_rank[2]),
    )
    assert names(draw_published(some, "any")) == list(NAMES)
    assert names(draw_calibrated(some, "any")) == ["none", "directory"]


@pytest.mark.parametrize("drawn", [LATTICE, ODD, [f"level number {i}" for i in range(9)]])
def test_the_legend_fits(drawn):
    """Every level is named within the figure, however many and however odd their names are."""
    made = curves(observations(2, n=400, k=8, n_levels=len(drawn)), drawn, None, PUBLISHED)
    figure = draw_calibrated(made, "$_$ & <title>")
    text = image(figure, "svg").decode()
    assert names(figure) == list(drawn)
    for name in (*drawn, "$_$ & <title>"):
        assert f">{name.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')}<" in text
    reach = figure.legends[0].get_window_extent()
    assert reach.x0 >= 0
    assert reach.x1 <= figure.bbox.width


def test_plots_of_the_report_take_odd_names_too():
    """What is set into a page has the same legends."""
    made = curves(observations(2, n=300, k=30, n_levels=len(ODD)), ODD)
    lines = LevelCalibration.identity(len(ODD))
    for svg in (plot_curves(made.by_rank, x="x", y="y"), plot_lines(lines, ODD, (0.0, 1.0))):
        assert svg.startswith("<svg")
        assert ">$_$<" in svg
        assert ">_hidden<" in svg


def test_a_band_without_end_is_left_out():
    """Of a single document no interval is known: lines are drawn, and the table says inf."""
    alone = np.zeros(300, np.int64)
    made = curves(observations(1, n=300, k=30), NAMES, None, PUBLISHED, alone)
    figure = draw_calibrated(made, "alone")
    assert image(figure, "svg").startswith(b"<?xml")
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    means = np.concatenate([curve.y for curve in made.distance_by_rank])
    assert low < means.min() < means.max() < high
    assert high - low < 2 * np.ptp(means)
    assert ",-inf,inf," in numbers("figure3", made, "any").to_csv()


def test_without_a_curve_there_is_an_empty_figure():
    """Nothing measured is no error."""
    figure = draw_published(Curves((), (), ()), "empty")
    assert not figure.legends
    assert image(figure, "svg").startswith(b"<?xml")
    assert numbers("figure2", Curves((), (), ()), "empty").rows == []


def lightness(ink: str) -> float:
    """Give the CIE lightness, 0 to 100, of a color written #rrggbb: what is left of it in gray."""
    parts = [int(ink[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    red, green, blue = linear
    return 116 * (0.2126 * red + 0.7152 * green + 0.0722 * blue) ** (1 / 3) - 16


def test_levels_can_be_told_apart_in_gray():
    """No two of the first six have the same dashes or nearly the same lightness."""
    assert lightness("#ffffff") == pytest.approx(100, abs=0.01)
    for one, other in combinations(range(6), 2):
        assert dashes(one) != dashes(other)
        assert abs(lightness(color(one)) - lightness(color(other))) > 3
    for level in range(6):
        assert 40 < lightness(color(level)) < 62, "readable on white and on black"


def test_many_levels_have_looks_of_their_own():
    """Three attributes make eight levels, five make thirty-two: no two are drawn alike."""
    looks = {(color(level), dashes(level)) for level in range(32)}
    assert len(looks) == 32


def test_what_is_drawn_has_the_looks_of_its_level(found):
    """Lines and bands are drawn as `color` and `dashes` say, so that a key can be made of them."""
    figure = draw_calibrated(found, "any")
    (axes,) = figure.axes
    for level, line in enumerate(axes.lines):
        assert line.get_color() == color(level)
        # Told by matplotlib in points, as long as the line is thick.
        _, pattern = line._dash_pattern
        wide = line.get_linewidth()
        assert pattern == pytest.approx([d * wide for d in dashes(level)])
