"""A look into the small store: what it puts together, and the files it leaves."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vicinal.analysis import (
    FORMATS,
    PUBLISHED,
    Change,
    Curves,
    Look,
    Wanted,
    curves,
    draw_calibrated,
    draw_published,
    image,
    look,
    movements,
    numbers,
)
from vicinal.errors import CalibrationError
from vicinal.evaluation import Examination, observe, stored_subjects
from vicinal.knnlm import Mixture, Parameters
from vicinal.locality import LevelCalibration

FLAT = LevelCalibration(torch.full((3,), 0.05), torch.zeros(3))
LOCAL = LevelCalibration(torch.tensor([0.05, 0.1, 0.2]), torch.tensor([0.0, -1.0, -3.0]))
WANTED = Wanted("linear", n=2, seed=3)


@pytest.fixture(scope="module")
def examination(store, lm, model) -> Examination:
    subjects = stored_subjects(store.snapshot(), lm)
    return Examination.from_subjects(subjects, model, size=300, seed=5)


@pytest.fixture(scope="module")
def parameters(model, examination) -> Parameters:
    rungs = {"temperature": Mixture(FLAT, 0.3), "linear": Mixture(LOCAL, 0.4)}
    fitted_on = {examination.subjects[i].content_hash for i in (1, 4)} | {"elsewhere"}
    schema = model.retriever.schema
    return Parameters(model.lm.fingerprint, schema, 12, rungs, frozenset(fitted_on))


@pytest.fixture(scope="module")
def written(seen, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("look") / "new" / "out"
    return seen[0].write("the <store>", {"seed": "3"}, folder)


@pytest.fixture(scope="module")
def seen(examination, model, parameters) -> tuple[Look, list[int]]:
    steps: list[int] = []
    return look(examination, model, parameters, WANTED, steps.append), steps


def equal(one: Curves, other: Curves) -> bool:
    """Compare every number of every curve."""
    return all(
        np.array_equal(getattr(a, column), getattr(b, column))
        for name in ("by_rank", "by_distance", "distance_by_rank")
        for a, b in zip(getattr(one, name), getattr(other, name), strict=True)
        for column in ("x", "y", "low", "high", "count")
    )


def test_a_look_is_curves_and_what_moved_from_temperature(seen, examination, model):
    """The published curves over documents, as found and calibrated; temperature is what was."""
    made, steps = seen
    found = observe(examination.queries, model)
    names, documents = model.retriever.schema.level_names, examination.sample.subject
    raw = curves(found, names, None, PUBLISHED, documents)
    assert equal(made.raw, raw)
    assert not equal(raw, curves(found, names, None, PUBLISHED))
    assert equal(made.calibrated, curves(found, names, LOCAL, PUBLISHED, documents))
    assert made.moved == movements(found, examination, model, Change(FLAT, LOCAL, 2, 3))
    assert made.positions == sum(steps) == len(examination.sample)
    assert made.fitted_on == 2


def test_without_temperature_the_plain_model_is_what_was(examination, model, parameters):
    """Then what moves, moves from distances as they were found."""
    alone = replace(parameters, rungs={"linear": parameters.rungs["linear"]})
    made = look(examination, model, alone, WANTED)
    found = observe(examination.queries, model)
    change = Change(LevelCalibration.identity(3), LOCAL, 2, 3)
    assert made.moved == movements(found, examination, model, change)


@pytest.mark.parametrize("rung", ["knn", "mlp"])
def test_a_calibration_that_was_not_fitted_is_refused(examination, model, parameters, rung):
    """Before anything is looked up, with those that there are."""
    words = rf"that was fitted \(temperature, linear\), found '{rung}'. Fit it: `vicinal fit"
    steps: list[int] = []
    with pytest.raises(CalibrationError, match=words):
        look(examination, model, parameters, Wanted(rung), steps.append)
    assert steps == []


def test_it_leaves_a_page_and_all_its_parts_as_files(seen, written):
    """Every table in three formats, every figure in three and with its numbers."""
    made, folder = seen[0], written.parent
    assert folder.name == "out"
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    tables = {f"tables/{t.name}.{kind}" for t in made.tables for kind in ("csv", "md", "tex")}
    figures = {f"figures/figure{n}.{kind}" for n in (2, 3) for kind in (*FORMATS, "csv")}
    assert found == tables | figures | {"report.html"}
    assert [t.name for t in made.tables] == ["levels", "parameters", "cases"]
    for table in made.tables:
        stem = folder / "tables" / table.name
        assert stem.with_suffix(".csv").read_text("utf-8") == table.to_csv()
        assert stem.with_suffix(".md").read_text("utf-8") == table.to_markdown()
        assert stem.with_suffix(".tex").read_text("utf-8") == table.to_latex()
    for n, drawn in ((2, made.raw), (3, made.calibrated)):
        rows = (folder / "figures" / f"figure{n}.csv").read_text("utf-8")
        assert rows == numbers(f"figure{n}", drawn, "").to_csv()
        assert len(list(csv.reader(rows.splitlines()))) > 20


def test_figures_are_drawn_of_their_own_curves(seen, written):
    """What was found is Figure 2, what was calibrated is Figure 3, each with the store's name."""
    made, folder = seen[0], written.parent / "figures"
    as_found = draw_published(made.raw, "As found: the <store>")
    calibrated = draw_calibrated(made.calibrated, "Calibrated: the <store>")
    assert (folder / "figure2.svg").read_bytes() == image(as_found, "svg")
    assert (folder / "figure3.svg").read_bytes() == image(calibrated, "svg")


def test_the_page_shows_what_the_files_have(seen, written):
    """Levels, parameters, both figures and every case; how many positions, and how they overlap."""
    made, html = seen[0], written.read_text("utf-8")
    assert "A look into the &lt;store&gt;" in html
    assert f"{made.positions:,} positions" in html
    assert "2 of their documents are among those that were fitted on" in html
    for name in ("figure2", "figure3"):
        svg = (written.parent / "figures" / f"{name}.svg").read_text("utf-8")
        assert svg[svg.index("<svg") :] in html
        assert f"F{name[1:-1]} {name[-1]}. " in html
    for table in made.tables[:2]:
        for cell in (c for cells in table.cells for c in cells):
            assert f">{cell}</td>" in html
    cases = [case for several in made.moved.kinds.values() for case in several]
    assert html.count("<article>") == len(cases) >= 5
    for case in cases:
        assert f"<b>{case.place.document}:{case.place.line}</b>" in html
    assert re.search(r"rose at [\d,]+ and fell at [\d,]+ of", html)
    assert "<dt>seed</dt><dd>3</dd>" in html
