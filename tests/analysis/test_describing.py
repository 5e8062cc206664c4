"""Tables of results, cell by cell from what they tell of."""

import math

import pytest
import torch

from vicinal.analysis import (
    Moved,
    MovedNeighbor,
    Movements,
    Place,
    accuracy_table,
    ladder_table,
    levels_table,
    movements_table,
    parameters_table,
)
from vicinal.evaluation import MEASURES, Difference, Result, Row
from vicinal.knnlm import Mixture, Parameters
from vicinal.locality import LevelCalibration, LocalitySchema, Overlap, Same

NESTED = LocalitySchema.nested("code", [Same("project"), Same("directory")])
LATTICE = LocalitySchema.lattice("wiki", [Same("section"), Overlap("categories")])


def test_levels_say_what_must_match():
    """A row for each level from 0 on; equal values and common values are told apart."""
    assert levels_table(NESTED).rows == [
        ("0", "not local", "none of those below"),
        ("1", "project", "equal project"),
        ("2", "directory", "equal directory"),
    ]
    assert levels_table(LATTICE).rows == [
        ("0", "not local", "none of those below"),
        ("1", "section", "equal section"),
        ("2", "categories", "a common value of categories"),
        ("3", "section & categories", "equal section and a common value of categories"),
    ]


def row(name, ppl, top, difference=None, over=None) -> Row:
    """Make a row whose perplexities follow from one number, and its accuracies from another."""
    measures = {m.name: ppl if "ppl" in m.name else top for m in MEASURES}
    measures |= {"ppl_full_token": 2 * ppl, "ppl_macro": ppl + 0.5}
    return Row(name, measures, difference, over)


@pytest.fixture
def result() -> Result:
    change = Difference(-1.0, (-1.5, -0.5))
    over = Difference(-0.25, (-0.5, 0.125))
    rows = (row("lm", 4.0, 0.5), row("knn", 3.0, 0.75, change), row("linear", 2.7, 1.0, None, over))
    return Result((*rows, row("more", 2.7, 0.9)), 12_345, 67)


def shown(table) -> list[dict[str, str]]:
    return [dict(zip(table.columns, cells, strict=True)) for cells in table.cells]


def test_the_ladder_compares_with_the_row_above_and_with_temperature(result):
    """Perplexities as measured, the relative gain per full token, differences with intervals."""
    lm, knn, linear, more = shown(ladder_table(result))
    assert [lm[""], knn[""], linear[""], more[""]] == ["lm", "knn", "linear", "more"]
    assert (knn["PPL"], knn["PPL full token"]) == ("3.000", "6.000")
    assert (knn["PPL byte"], knn["PPL macro"]) == ("3.000", "3.500")
    gains = [r["rel. gain"] for r in (lm, knn, linear, more)]
    assert gains == ["", "+25.00%", "+10.00%", "0.00%"]
    assert knn["Δ above"] == "-1.0000 [-1.5000, -0.5000]"
    assert (lm["Δ above"], linear["Δ above"]) == ("", "")
    assert (knn["Δ temperature"], linear["Δ temperature"]) == ("", "-0.2500 [-0.5000, +0.1250]")
    assert "12,345 positions of 67 documents" in ladder_table(result).note


def test_accuracies_with_the_error_that_is_gone(result):
    """RER is the share of the errors above that were put right; without errors there is none."""
    lm, knn, linear, more = accuracy_table(result).cells
    assert lm == ["lm", *["50.00%"] * 4, *["50.00%", ""] * 4]
    assert knn == ["knn", *["75.00%"] * 4, *["75.00%", "+50.00%"] * 4]
    assert linear == ["linear", *["100.00%"] * 4, *["100.00%", "+100.00%"] * 4]
    assert more == ["more", *["90.00%"] * 4, *["90.00%", ""] * 4]
    head = accuracy_table(result).columns
    assert head[1:5] == ("top-1", "top-5", "top-10", "top-20")
    assert head[5::2] == ("top-1 full", "top-5 full", "top-10 full", "top-20 full")


def test_each_measure_stands_in_its_own_column(result):
    """Different accuracies do not change places."""
    measures = {m.name: 0.0 for m in MEASURES}
    names = [f"top{n}{kind}" for kind in ("", "_full_token") for n in (1, 5, 10, 20)]
    measures |= {name: i / 100 for i, name in enumerate(names, 1)}
    table = accuracy_table(Result((Row("lm", measures, None),), 1, 1))
    (cells,) = table.cells
    assert [c for c in cells[1:] if c] == [f"{i}.00%" for i in range(1, 9)]


def test_parameters_have_a_row_for_each_level():
    """Calibration, λ, level, w and b of every rung; the note says what was minimized."""
    lines = LevelCalibration(torch.tensor([0.1, 0.25, 0.5]), torch.tensor([0.0, 1.5, -2.0]))
    rungs = {
        "temperature": Mixture(LevelCalibration.identity(3), 0.25),
        "linear": Mixture(lines, 0.375),
    }
    made = Parameters("print", NESTED, 8, rungs, notes={"objective": "knn"})
    assert parameters_table(made).cells == [
        ["temperature", "0.250", "not local", "1.0000", "0.000"],
        ["temperature", "0.250", "project", "1.0000", "0.000"],
        ["temperature", "0.250", "directory", "1.0000", "0.000"],
        ["linear", "0.375", "not local", "0.1000", "0.000"],
        ["linear", "0.375", "project", "0.2500", "+1.500"],
        ["linear", "0.375", "directory", "0.5000", "-2.000"],
    ]
    assert "Objective: knn." in parameters_table(made).note
    assert "Objective: unknown." in parameters_table(Parameters("", NESTED, 8, rungs)).note


def moved(document, change, n_neighbors) -> Moved:
    place = Place(document, "", 3, "  a line\n\tand  more", " gold ")
    near = Place(f"near {document}", "/src", 7, "other\ntext", "gold")
    told = MovedNeighbor(near, {"project": ("p", "q")}, 1, "project", -0.0001, 0.75)
    return Moved(place, {"directory": ("d",)}, -1.25, change, (told,) * n_neighbors)


def test_cases_are_followed_by_their_neighbors():
    """Each case and each of its neighbors is a row; white space is told as single spaces."""
    found = Movements((moved("a", 2.0, 2),), (), (moved("b", -0.5, 0),), 1234, 56, 7890)
    table = movements_table(found, ["project", "directory"])
    assert table.columns[:5] == ("case", "what", "where", "project", "directory")
    tail = ["other text", "gold", "0.00", "+0.75"]
    neighbor = ["most helped 1", "neighbor", "near a:7", "p; q", "", "project", *tail]
    case = ["a line and more", "gold", "-1.25"]
    assert table.cells == [
        ["most helped 1", "test", "a:3", "", "d", "", *case, "+2.00"],
        neighbor,
        neighbor,
        ["hurt 1", "test", "b:3", "", "d", "", *case, "-0.50"],
    ]
    assert "rose at 1,234 and fell at 56 of 7,890 positions" in table.note


def test_nothing_moved_is_a_table_without_rows():
    """Head and note stand for themselves, in every format."""
    table = movements_table(Movements((), (), (), 0, 0, 0), [])
    assert table.rows == []
    assert table.to_csv().count("\n") == 1
    assert "\\midrule\n\n\\bottomrule" in table.to_latex()
    assert table.to_markdown().count("\n|") == 2


def test_a_measure_that_is_missing_shows_as_a_dash():
    """No number is no zero."""
    one = row("lm", math.nan, 0.5)
    assert ladder_table(Result((one,), 1, 1)).cells[0][1] == "--"
