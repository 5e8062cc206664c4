"""Fits that are kept, one for each recipe and seed, and measuring all of them in one pass."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vicinal.evaluation import FITTED, Sample, measure, observe, rungs_of
from vicinal.knnlm import Parameters
from vicinal.paper import How, fitting
from vicinal.paper.fitting import (
    OURS,
    PAPER,
    Fit,
    Ground,
    Measuring,
    fit_all,
    measure_all,
    some_units,
)
from vicinal.paper.scene import Scene


@pytest.fixture(scope="module")
def looked_up(java_material):
    """Look up some positions of both splits."""

    def look(split, size):
        material, how = java_material, How(8, "exact")
        scene = Scene.of(material.protocol, material.store, material.lm, how, split)
        model = scene.model()
        return model, scene.examine(model, size, 0)

    return {"valid": look("valid", 150), "test": look("test", 100)}


@pytest.fixture(scope="module")
def ground(looked_up):
    model, examination = looked_up["valid"]
    return Ground(examination, observe(examination.queries, model), model)


@pytest.fixture(scope="module")
def fits(ground, tmp_path_factory):
    return fit_all(ground, [0, 1], tmp_path_factory.mktemp("fits"), lambda words: None)


def test_every_recipe_is_fitted_with_every_seed(ground, fits):
    """There is a fit for each, of every rung, which remembers what it was fitted on."""
    assert [(fit.recipe, fit.seed) for fit in fits] == [
        (PAPER, 0),
        (PAPER, 1),
        (OURS, 0),
        (OURS, 1),
    ]
    for fit in fits:
        parameters = fit.parameters
        assert tuple(parameters.rungs) == FITTED
        assert parameters.fitted_on == ground.examination.content_hashes
        assert (parameters.k, parameters.schema) == (8, ground.model.retriever.schema)
        assert parameters.fingerprint == ground.model.lm.fingerprint
    assert [fit.parameters.notes["objective"] for fit in fits] == ["knn"] * 2 + ["mixture"] * 2
    rungs = [rung for rung in FITTED if rung != "adaptive"]
    assert {fit.parameters.rungs[rung].lam for fit in fits[:2] for rung in rungs} == {0.25}
    assert all(m.lam != 0.25 for fit in fits[2:] for m in fit.parameters.rungs.values())
    weights = [fit.parameters.rungs["temperature"].calibration.weights[0].item() for fit in fits]
    assert len(set(weights)) == 4


def test_what_was_fitted_is_read_again(ground, tmp_path, monkeypatch):
    """A second run fits nothing, says nothing, and has the same parameters to the last digit."""
    said = []
    first = fit_all(ground, [3], tmp_path, said.append)
    assert said == ["fitting, paper, seed 3", "fitting, ours, seed 3"]
    monkeypatch.setattr(fitting, "fit_ladder", None)
    again = fit_all(ground, [3], tmp_path, said.append)
    assert len(said) == 2
    assert [f.parameters.to_json() for f in again] == [f.parameters.to_json() for f in first]


def test_an_interrupted_fit_goes_on(ground, tmp_path, monkeypatch):
    """What was fitted before the interruption is kept; half a file is none."""
    plain, calls = fitting.fit_ladder, []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(*arguments, **options)

    monkeypatch.setattr(fitting, "fit_ladder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit_all(ground, [0, 1], tmp_path, lambda words: None)
    assert len(list(tmp_path.glob("paper-*.json"))) == 2
    next(tmp_path.glob("paper-1-*.json")).with_suffix(".tmp").write_text("{", "utf-8")
    said = []
    fit_all(ground, [0, 1], tmp_path, said.append)
    assert said == ["fitting, ours, seed 0", "fitting, ours, seed 1"]


def changes(ground: Ground) -> dict[str, Ground]:
    """Change one thing that a fit depends on at a time."""
    seen, sample = ground.observations, ground.examination.sample
    flipped = seen.hits.clone()
    flipped[0, 0] = ~flipped[0, 0]
    levels = seen.levels.clone()
    levels[3, 1] = (levels[3, 1] + 1) % 3
    surer = replace(seen.evidence, entropy=seen.evidence.entropy / 2)
    unit = sample.unit.copy()
    unit[1] = unit[0] if unit[1] != unit[0] else unit[1] + 1
    moved = replace(ground.examination, sample=replace(sample, unit=unit))
    return {
        "distances": replace(ground, observations=replace(seen, distances=seen.distances * 1.01)),
        "levels": replace(ground, observations=replace(seen, levels=levels)),
        "hits": replace(ground, observations=replace(seen, hits=flipped)),
        "base model": replace(ground, observations=replace(seen, log_p_lm=seen.log_p_lm * 0.5)),
        "contexts": replace(ground, observations=replace(seen, keys=seen.keys.flip(1))),
        "evidence": replace(ground, observations=replace(seen, evidence=surer)),
        "documents": replace(ground, observations=replace(seen, documents=seen.documents // 2)),
        "units": replace(ground, examination=moved),
    }


@pytest.mark.parametrize(
    "what",
    ["distances", "levels", "hits", "base model", "contexts", "evidence", "documents", "units"],
)
def test_other_observations_are_fitted_anew(ground, tmp_path, monkeypatch, what):
    """Whatever a fit depends on, when it changes nothing that was kept is read."""
    said = []
    monkeypatch.setattr(fitting, "FITTED", ("temperature",))
    fit_all(ground, [0], tmp_path, said.append)
    fit_all(changes(ground)[what], [0], tmp_path, said.append)
    assert len(said) == 4
    fit_all(ground, [0], tmp_path, said.append)
    assert len(said) == 4


def test_another_recipe_is_fitted_anew(ground, tmp_path, monkeypatch):
    """Parameters of a recipe that has changed are not read for those of the new one."""
    monkeypatch.setattr(fitting, "FITTED", ("temperature",))
    (before,) = fit_all(ground, [0], tmp_path, lambda words: None)[:1]
    changed = {**fitting.RECIPES, PAPER: replace(fitting.RECIPES[PAPER], lam=0.5)}
    monkeypatch.setattr(fitting, "RECIPES", changed)
    (after,) = fit_all(ground, [0], tmp_path, lambda words: None)[:1]
    assert before.parameters.rungs["temperature"].lam == 0.25
    assert after.parameters.rungs["temperature"].lam == 0.5


def test_measuring_all_is_measuring_each(looked_up, fits):
    """One pass over the positions gives what a pass for each fit gives, row by row."""
    model, examination = looked_up["test"]
    counted = []
    found = measure_all(examination, model, fits, Measuring("project", counted.append))
    assert sum(counted) == len(examination.sample)
    assert list(found) == [(fit.recipe, fit.seed) for fit in fits]
    for fit in fits:
        rungs = rungs_of(fit.parameters, model.retriever.schema.n_levels)
        alone = measure(examination, model, rungs, group="project", seed=0)
        assert found[fit.recipe, fit.seed] == alone
    linear = {key: result.rows[4].measures["ppl"] for key, result in found.items()}
    assert len(set(linear.values())) > 1
    assert {result.rows[0].measures["ppl"] for result in found.values()} == {
        found[PAPER, 0].rows[0].measures["ppl"]
    }


def test_the_group_decides_the_macro_average(looked_up, fits):
    """Macro averages go by the attribute that was asked for."""
    model, examination = looked_up["test"]
    by = {
        group: measure_all(examination, model, fits[:1], Measuring(group))[PAPER, 0].rows[0]
        for group in ("project", "nothing")
    }
    assert by["nothing"].measures["ppl_macro"] == pytest.approx(by["nothing"].measures["ppl"])
    assert by["project"].measures["ppl_macro"] != pytest.approx(by["nothing"].measures["ppl"])


def test_a_fit_is_of_half_the_full_tokens(ground, tmp_path, monkeypatch):
    """The paper's recipe and ours see the same positions; other seeds see others."""
    asked = []

    def watched(observations, names, recipe, *, n_levels):
        asked.append((recipe.objective, recipe.seed, observations))
        return {}

    monkeypatch.setattr(fitting, "fit_ladder", watched)
    fit_all(ground, [0, 5], tmp_path, lambda words: None)
    (_, _, zero), (_, _, five), (_, _, again), _ = asked
    assert [a[:2] for a in asked] == [("knn", 0), ("knn", 5), ("mixture", 0), ("mixture", 5)]
    assert torch.equal(zero.distances, again.distances)
    assert not torch.equal(zero.distances[:20], five.distances[:20])
    rows = torch.from_numpy(some_units(ground.examination.sample, 0.5, 5))
    assert torch.equal(five.keys, ground.observations.keys[rows])


def sample(unit_sizes: list[int]) -> Sample:
    """Make a sample of units of given numbers of positions."""
    unit = np.repeat(np.arange(len(unit_sizes)), unit_sizes)
    ones = np.ones(len(unit_sizes), np.int64)
    return Sample(np.zeros(len(unit), np.int64), np.arange(len(unit)), unit, ones, ones)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=12),
    st.floats(0, 1),
    st.integers(0, 3),
)
def test_units_are_kept_whole(unit_sizes, share, seed):
    """A unit is there with all its positions or none, and about the share of units is there."""
    drawn = sample(unit_sizes)
    rows = some_units(drawn, share, seed)
    assert rows.tolist() == sorted(set(rows.tolist()))
    kept = set(drawn.unit[rows].tolist())
    assert len(rows) == sum(unit_sizes[i] for i in kept)
    assert len(kept) == max(1, round(share * len(unit_sizes)))
    assert np.array_equal(rows, some_units(drawn, share, seed))


def test_the_seed_draws_the_units():
    """Other seeds keep other units, and over many each is kept about as often."""
    drawn = sample([2] * 10)
    kept = [frozenset(drawn.unit[some_units(drawn, 0.3, seed)].tolist()) for seed in range(200)]
    assert len(set(kept)) > 60
    often = np.bincount([unit for units in kept for unit in units], minlength=10)
    assert often.sum() == 600
    assert 35 < often.min() <= often.max() < 90


def test_a_fit_names_its_rungs(java_material):
    """Rungs of several fits are told apart by recipe and seed."""
    parameters = Parameters("f", java_material.protocol.domain.schema, 1, {})
    names = {
        Fit(recipe, seed, parameters).name("linear") for recipe in (PAPER, OURS) for seed in (1, 11)
    }
    assert len(names) == 4
