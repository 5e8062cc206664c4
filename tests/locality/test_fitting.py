"""Fitting finds what the data were drawn with, and every choice of a recipe does what it says."""

import math
from dataclasses import replace

import pytest
import torch

from strategies import DIM
from vicinal.errors import CalibrationError
from vicinal.locality import LevelCalibration, Objective, Observations, Recipe, fit_lines
from vicinal.locality.families import family
from vicinal.locality.fitting import PAPER_LAM, spread

WEIGHTS, BIASES, LAM = torch.tensor([0.2, 0.35, 0.25]), torch.tensor([0.0, -1.5, 1.0]), 0.6


def sampled(n=3000, k=12, lam=LAM, seed=0) -> Observations:
    """Draw each gold token from the model: from the neighbors by −(w·d + b), or from the LM."""
    generator = torch.Generator().manual_seed(seed)
    distances = torch.rand(n, k, generator=generator) * 25
    levels = torch.randint(0, 3, (n, k), generator=generator)
    shares = (-(WEIGHTS[levels] * distances + BIASES[levels])).softmax(1)
    gold = torch.multinomial(shares, 1, generator=generator)
    hits = torch.zeros(n, k, dtype=torch.bool).scatter(1, gold, 1)
    hits &= torch.rand(n, 1, generator=generator) < lam
    # What the LM draws is none of the neighbors; what the neighbors draw, the LM finds unlikely.
    log_p_lm = torch.where(hits.any(1), -12.0, -1.0)
    return Observations(distances, levels.byte(), hits, log_p_lm, torch.zeros(n, DIM))


@pytest.fixture(scope="module")
def seen():
    return sampled()


@pytest.fixture(scope="module")
def linear(seen):
    return fit_lines(seen, "linear", n_levels=3)


def test_recovers_what_the_data_were_drawn_with(linear, seen):
    """Weights, biases and λ of the model that drew the tokens are found, by the mixture."""
    assert linear.calibration.weights.tolist() == pytest.approx(WEIGHTS.tolist(), rel=0.1)
    assert linear.calibration.biases.tolist() == pytest.approx(BIASES.tolist(), abs=0.25)
    assert linear.lam == pytest.approx(LAM, abs=0.03)
    assert linear.n_positions == len(seen)
    assert linear.coverage == pytest.approx(seen.coverage)
    assert linear.seconds > 0


def test_the_papers_objective_recovers_them_too(seen, linear):
    """On p_kNN alone the same lines are found, and λ is learned on the mixture afterwards."""
    found = fit_lines(seen, "linear", Recipe(objective="knn"), n_levels=3)
    assert found.calibration.weights.tolist() == pytest.approx(WEIGHTS.tolist(), rel=0.1)
    assert found.calibration.biases.tolist() == pytest.approx(BIASES.tolist(), abs=0.25)
    assert found.lam == pytest.approx(linear.lam, abs=0.01)
    weights, biases = found.calibration.weights.double(), found.calibration.biases.double()
    assert found.loss == pytest.approx(Objective(seen, "knn")(weights, biases, 0.5).value, rel=1e-5)


def test_the_loss_told_is_the_loss_of_what_was_found(linear, seen):
    """The loss belongs to the calibration and the λ beside it."""
    lines = linear.calibration
    again = Objective(seen, "mixture")(lines.weights.double(), lines.biases.double(), linear.lam)
    assert linear.loss == pytest.approx(again.value, rel=1e-6)


def test_more_freedom_is_never_worse(seen, linear):
    """Linear does at least as well as temperature and as biases only, on what was fitted."""
    for name in ("temperature", "bias"):
        assert linear.loss <= fit_lines(seen, name, n_levels=3).loss + 1e-6
    assert linear.loss < fit_lines(seen, "temperature", n_levels=3).loss - 0.02


def test_the_end_is_a_minimum(linear, seen):
    """Moving any free parameter a little, either way, makes the loss no smaller."""
    chosen, objective = family("linear", 3), Objective(seen, "mixture")
    theta = chosen.nearest(linear.calibration)
    for i in range(len(theta)):
        for step in (-0.02, 0.02):
            moved = theta.clone()
            moved[i] += step
            assert objective(*chosen.lines(moved), linear.lam).value >= linear.loss - 1e-6
    for lam in (linear.lam - 0.02, linear.lam + 0.02):
        assert objective(*chosen.lines(theta), lam).value > linear.loss


def test_few_positions_are_fitted_to_the_end(linear, seen):
    """Where all positions are cheap, no slope is left, in units of the typical distance."""
    lines = linear.calibration
    loss = Objective(seen, "mixture")(lines.weights.double(), lines.biases.double(), linear.lam)
    slopes = [*(loss.weights / spread(seen)).tolist(), *loss.biases.tolist(), loss.logit_lam]
    assert max(abs(slope) for slope in slopes) < 1e-5


@pytest.mark.parametrize(("n", "name"), [(900, "temperature"), (8100, "bias")])
def test_every_look_at_a_position_is_counted(monkeypatch, n, name):
    """Evaluations are positions looked at, in units of all of them."""
    looked = []
    original = Objective.__call__

    def counting(self, weights, biases, lam):
        looked.append(self._n)
        return original(self, weights, biases, lam)

    monkeypatch.setattr(Objective, "__call__", counting)
    found = fit_lines(sampled(n, k=4), name, n_levels=3)
    assert found.evaluations == pytest.approx(sum(looked) / n)


def test_a_learned_lam_beats_a_fixed_one(seen, linear):
    """λ that was given stays as it was given, and learning it does better."""
    fixed = fit_lines(seen, "linear", Recipe(lam=0.1), n_levels=3)
    assert fixed.lam == 0.1
    assert fixed.loss > linear.loss + 0.05
    for recipe in (Recipe(objective="knn", lam=0.4), Recipe(optimizer="adam", epochs=1, lam=0.0)):
        assert fit_lines(seen, "temperature", recipe, n_levels=3).lam == recipe.lam


def test_lam_is_learned_to_its_ends():
    """Where only one of the two models is ever right, λ goes towards it and stays inside."""
    for lam, expected in ((0.02, 0.02), (1.0, 1.0)):
        found = fit_lines(sampled(600, lam=lam), "temperature", n_levels=3)
        assert found.lam == pytest.approx(expected, abs=0.03)
        assert 0 < found.lam < 1


def test_adam_goes_the_same_way(seen, linear):
    """Adam starts from the identity, gets better with its epochs, and not below L-BFGS."""
    adam = Recipe(optimizer="adam", learning_rate=0.02, batch=1000)
    few, more = (fit_lines(seen, "linear", replace(adam, epochs=n), n_levels=3) for n in (2, 60))
    identity = Objective(seen, "mixture")(torch.ones(3), torch.zeros(3), PAPER_LAM).value
    assert identity > few.loss > more.loss > linear.loss - 1e-6
    assert more.loss < linear.loss + 0.05
    assert (few.evaluations, more.evaluations) == (2, 60)


def test_adam_sees_every_batch():
    """One epoch in two batches of Adam is two steps of the learning rate."""
    recipe = Recipe(optimizer="adam", epochs=1, learning_rate=0.01, objective="knn")
    some = sampled(400)
    one = fit_lines(some, "temperature", replace(recipe, batch=400), n_levels=3)
    two = fit_lines(some, "temperature", replace(recipe, batch=200), n_levels=3)
    assert one.calibration.weights.tolist() == pytest.approx([0.99] * 3, abs=1e-4)
    assert two.calibration.weights.tolist() == pytest.approx([0.98] * 3, abs=1e-3)


def test_adam_passes_over_batches_without_hits():
    """Under the paper's objective a batch without any hit has no step; the others do."""
    some = sampled(300)
    hits = some.hits.clone()
    hits[100:200] = False
    recipe = Recipe("knn", "adam", epochs=1, learning_rate=0.01, batch=100)
    found = fit_lines(replace(some, hits=hits), "temperature", recipe, n_levels=3)
    assert found.calibration.weights[0].item() == pytest.approx(0.98, abs=1e-3)


def test_adam_learns_lam_where_nothing_was_hit():
    """Under the mixture every batch counts: without any hit, λ falls by a step for each."""
    some = sampled(300)
    recipe = Recipe(optimizer="adam", epochs=1, learning_rate=0.01, batch=100)
    missed = replace(some, hits=torch.zeros_like(some.hits))
    found = fit_lines(missed, "linear", recipe, n_levels=3)
    logit = math.log(PAPER_LAM / (1 - PAPER_LAM)) - 3 * 0.01
    assert found.lam == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-5)
    assert found.calibration.weights.tolist() == pytest.approx([1.0] * 3)


def test_a_start_is_where_the_search_starts(seen):
    """With no step taken, the start comes back as far as the family can say it."""
    start = LevelCalibration(torch.tensor([0.5, 1.5, 2.5]), torch.tensor([0.0, 1.0, -1.0]))
    recipe = Recipe(optimizer="adam", epochs=0, lam=0.3)
    found = fit_lines(seen, "linear", recipe, n_levels=3, start=start)
    assert found.calibration.weights.tolist() == pytest.approx([0.5, 1.5, 2.5])
    assert found.calibration.biases.tolist() == pytest.approx([0.0, 1.0, -1.0], abs=1e-6)
    untouched = fit_lines(seen, "linear", recipe, n_levels=3)
    assert untouched.calibration.weights.tolist() == pytest.approx([1.0] * 3)


def test_lbfgs_starts_where_it_is_told_to(seen, linear):
    """From the end of another fit there is hardly anything left to do."""
    recipe = Recipe(lam=linear.lam)
    there = fit_lines(seen, "linear", recipe, n_levels=3, start=linear.calibration)
    assert there.loss == pytest.approx(linear.loss, abs=1e-6)
    assert there.evaluations < fit_lines(seen, "linear", recipe, n_levels=3).evaluations / 2


def test_units_do_not_matter_to_lbfgs(seen, linear):
    """Distances a thousand times as large give weights a thousandth, and the same loss."""
    large = fit_lines(replace(seen, distances=seen.distances * 1000), "linear", n_levels=3)
    assert large.loss == pytest.approx(linear.loss, abs=1e-4)
    assert (large.calibration.weights * 1000).tolist() == pytest.approx(
        linear.calibration.weights.tolist(), rel=0.02
    )


def test_fitting_twice_gives_the_same_bits(seen, linear):
    """Nothing is random but by the seed."""
    again = fit_lines(seen, "linear", n_levels=3)
    assert torch.equal(again.calibration.weights, linear.calibration.weights)
    assert torch.equal(again.calibration.biases, linear.calibration.biases)
    assert (again.lam, again.loss) == (linear.lam, linear.loss)


def test_a_first_round_without_hits_is_left_out():
    """Where the first few hundred positions have no hit, the search goes on with all of them."""
    some = sampled(8100, k=4)
    first = torch.randperm(8100, generator=torch.Generator().manual_seed(0))[:500]
    hits = some.hits.clone()
    hits[first] = False
    found = fit_lines(replace(some, hits=hits), "temperature", n_levels=3)
    assert found.evaluations == int(found.evaluations)
    assert found.calibration.weights[0].item() > 0.1


def test_a_first_round_saves_looks_at_all_positions():
    """What is asked of a few hundred positions counts as that part of one evaluation."""
    some = sampled(8100, k=4)
    found = fit_lines(some, "linear", n_levels=3)
    assert found.evaluations % 1 > 0
    assert found.evaluations < 20
    assert found.calibration.biases.tolist() == pytest.approx(BIASES.tolist(), abs=0.25)
    again = fit_lines(some, "linear", Recipe(seed=5), n_levels=3)
    assert again.loss == pytest.approx(found.loss, abs=1e-4)


def test_spread_is_the_typical_reach_of_present_neighbors():
    """The median of farthest minus nearest; absent neighbors do not count, empty rows are zero."""
    inf = math.inf
    rows = [[0.0, 4.0, inf], [1.0, 11.0, inf], [2.0, 4.5, 5.0], [inf] * 3, [0.0, 1.0, 9.0]]
    distances = torch.tensor(rows)
    rest = (torch.zeros(5, 3).byte(), torch.ones(5, 3).bool(), torch.zeros(5), torch.zeros(5, DIM))
    assert spread(Observations(distances, *rest)) == 4.0
    assert spread(Observations(torch.full((5, 3), 2.0), *rest)) == 1.0


def test_recipes_are_checked():
    """An optimizer that there is not, and a λ that no mixture can have, are refused at once."""
    with pytest.raises(CalibrationError, match="lbfgs, adam, found: 'sgd'"):
        Recipe(optimizer="sgd")
    for lam in (-0.1, 1.0, 1.5):
        with pytest.raises(CalibrationError, match=rf"λ must be in \[0, 1\), was: {lam}"):
            Recipe(lam=lam)
    assert (Recipe(lam=0.0).lam, Recipe(lam=0.99).lam) == (0.0, 0.99)


def test_the_defaults_are_the_papers():
    """Adam's learning rate and epochs are the paper's; by default λ is learned on the mixture."""
    recipe = Recipe()
    assert (recipe.epochs, recipe.learning_rate, recipe.lam) == (200, 1e-4, None)
    assert (recipe.objective, recipe.optimizer) == ("mixture", "lbfgs")


def test_an_end_without_a_loss_is_an_error(seen):
    """Steps into nowhere end in an error that says what to do, not in parameters."""
    recipe = Recipe(optimizer="adam", learning_rate=1e38, epochs=2)
    with pytest.raises(CalibrationError, match=r"'linear' ended at a loss of .*lbfgs"):
        fit_lines(seen, "linear", recipe, n_levels=3)


def test_unknown_names_are_refused(seen):
    """A family or an objective that there is not is answered with the known ones."""
    with pytest.raises(CalibrationError, match="temperature, bias, linear, found: 'mlp'"):
        fit_lines(seen, "mlp", n_levels=3)
    with pytest.raises(CalibrationError, match="mixture, knn, found: 'ppl'"):
        fit_lines(seen, "linear", Recipe(objective="ppl"), n_levels=3)
