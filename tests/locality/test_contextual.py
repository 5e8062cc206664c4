"""The contextual calibration begins as the lines, is kept only where it is better, and learns."""

import math
import time
from dataclasses import replace

import pytest
import torch

import oracles
from vicinal.locality import (
    Fitted,
    LevelCalibration,
    MLPCalibration,
    Network,
    Observations,
    Recipe,
    fit_lines,
    fit_mlp,
)

QUICK = Network(hidden=8, epochs=6, learning_rate=0.02, batch=128)


def sampled(n=1000, k=6, seed=0) -> Observations:
    """Draw tokens from lines that depend on the sign of the key: level 1 is good news, or bad."""
    generator = torch.Generator().manual_seed(seed)
    keys = torch.randn(n, 3, generator=generator)
    distances = torch.rand(n, k, generator=generator) * 8
    levels = torch.randint(0, 2, (n, k), generator=generator)
    biases = torch.stack([torch.zeros(n), -3.0 * keys[:, 0].sign()], 1)
    shares = (-(0.5 * distances + biases.gather(1, levels))).softmax(1)
    gold = torch.multinomial(shares, 1, generator=generator)
    hits = torch.zeros(n, k, dtype=torch.bool).scatter(1, gold, 1)
    hits &= torch.rand(n, 1, generator=generator) < 0.8
    log_p_lm = torch.where(hits.any(1), -6.0, -1.0)
    # A neighbor that is absent everywhere must disturb nothing.
    distances[:, -1] = torch.inf
    hits[:, -1] = False
    return Observations(distances, levels.byte(), hits, log_p_lm, keys)


@pytest.fixture(scope="module")
def seen():
    return sampled()


@pytest.fixture(scope="module")
def lines(seen) -> Fitted:
    return fit_lines(seen, "linear", n_levels=2)


def slow_loss(calibration, lam, seen, objective="mixture") -> float:
    """Average over positions, each with the lines that loops give its key."""
    losses = []
    for row, key in enumerate(seen.keys.tolist()):
        one = seen.rows(torch.tensor([row]))
        if objective == "mixture" or one.covered.any():
            losses.append(oracles.loss(one, objective, *oracles.mlp_lines(calibration, key), lam))
    return sum(losses) / len(losses)


def test_learns_what_depends_on_the_context(seen, lines):
    """Where lines cannot know which way level 1 counts, the network does, on new data too."""
    began = time.perf_counter()
    found = fit_mlp(seen, lines, network=QUICK)
    assert 0 < found.seconds <= time.perf_counter() - began
    assert isinstance(found.calibration, MLPCalibration)
    untaught = fit_mlp(seen, lines, network=replace(QUICK, epochs=0)).calibration
    assert not torch.allclose(found.calibration.hidden, untaught.hidden, atol=0.01)
    assert found.loss < lines.loss - 0.1
    fresh = sampled(300, seed=1)
    weights, biases = lines.calibration.weights.tolist(), lines.calibration.biases.tolist()
    before = oracles.loss(fresh, "mixture", weights, biases, lines.lam)
    assert slow_loss(found.calibration, found.lam, fresh) < before - 0.1
    _, learned = found.calibration.parameters(found.calibration.features(fresh.keys))
    positive = fresh.keys[:, 0] > 0.5
    negative = fresh.keys[:, 0] < -0.5
    assert learned[positive, 1].mean() < learned[negative, 1].mean() - 2


@pytest.mark.parametrize("objective", ["mixture", "knn"])
def test_the_loss_told_is_the_oracles(seen, lines, objective):
    """The loss is over all positions of the objective, without dropout."""
    recipe = Recipe(objective=objective)
    found = fit_mlp(seen.rows(torch.arange(200)), lines, recipe, replace(QUICK, epochs=2))
    expected = slow_loss(found.calibration, found.lam, seen.rows(torch.arange(200)), objective)
    assert found.loss == pytest.approx(expected, rel=1e-4)
    assert (found.lam, found.coverage, found.n_positions) == (
        lines.lam,
        lines.coverage,
        lines.n_positions,
    )


def test_without_any_weight_on_neighbors_there_is_nothing_to_learn(seen, lines):
    """At λ = 0 the loss is the base model's, and the lines stay as they were."""
    found = fit_mlp(seen, replace(lines, lam=0.0), network=replace(QUICK, epochs=1))
    assert found.loss == pytest.approx(-seen.log_p_lm.mean().item(), rel=1e-5)
    assert found.calibration.out.count_nonzero() == 0


def test_keeps_the_lines_where_learning_does_not_help(seen, lines):
    """Trained where the truth is the reverse of the held-out part's, the start is kept."""
    wild = replace(QUICK, learning_rate=30.0, epochs=3)
    found = fit_mlp(seen, lines, network=wild)
    assert found.loss <= lines.loss + 1e-5
    misled = replace(seen, keys=torch.cat([seen.keys[:800], -seen.keys[800:]]))
    kept = fit_mlp(misled, lines, network=QUICK)
    assert kept.calibration.out.count_nonzero() == 0
    assert kept.loss == pytest.approx(lines.loss, rel=1e-4)
    assert kept.evaluations == QUICK.patience


def test_held_out_positions_decide_and_are_the_last(seen, lines):
    """A larger held-out part is never worse than the lines on exactly those last positions."""
    found = fit_mlp(seen, lines, network=replace(QUICK, epochs=2, held_out=0.5))
    last = seen.rows(torch.arange(500, 1000))
    weights, biases = lines.calibration.weights.tolist(), lines.calibration.biases.tolist()
    before = oracles.loss(last, "mixture", weights, biases, lines.lam)
    assert slow_loss(found.calibration, found.lam, last) < before


def test_stops_when_its_patience_ends(seen, lines):
    """A network that learns nothing gives up after its patience, before its epochs end."""
    still = replace(QUICK, learning_rate=0.0, patience=2, epochs=9)
    assert fit_mlp(seen, lines, network=still).evaluations == 2
    assert fit_mlp(seen, lines, network=replace(still, epochs=1)).evaluations == 1
    steady = replace(QUICK, learning_rate=1e-3, dropout=0.0, patience=1, epochs=4)
    assert fit_mlp(seen, lines, network=steady).evaluations == 4


def test_a_seed_repeats_the_fit(seen, lines):
    """The same seed gives the same bits, another seed others."""
    short = replace(QUICK, epochs=2)
    one, same, other = (
        fit_mlp(seen, lines, network=replace(short, seed=seed)).calibration for seed in (3, 3, 4)
    )
    assert torch.equal(one.out, same.out)
    assert torch.equal(one.hidden, same.hidden)
    assert not torch.equal(one.out, other.out)


def test_dropout_is_for_training_only(seen, lines):
    """Other dropout trains another network; the loss told is of the whole network either way."""
    short = replace(QUICK, epochs=2)
    without, with_it = (
        fit_mlp(seen, lines, network=replace(short, dropout=p)).calibration for p in (0.0, 0.5)
    )
    assert not torch.equal(without.out, with_it.out)


def test_what_is_not_dropped_weighs_more(seen, lines, monkeypatch):
    """A fifth of the features is dropped while training, and the rest makes up for it."""
    heard = []
    original = MLPCalibration.parameters

    def listening(self, features):
        heard.append(features.detach())
        return original(self, features)

    monkeypatch.setattr(MLPCalibration, "parameters", listening)
    monkeypatch.setattr(MLPCalibration, "features", lambda self, keys: torch.ones(len(keys), 8))
    fit_mlp(seen, lines, network=replace(QUICK, epochs=1, batch=2000, dropout=0.2))
    before, training, after, told = heard
    assert training.unique().tolist() == pytest.approx([0.0, 1.25])
    assert (training == 0).float().mean().item() == pytest.approx(0.2, abs=0.02)
    assert all(bool((features == 1).all()) for features in (before, after, told))
    assert [len(features) for features in heard] == [200, 800, 200, 1000]


def test_two_positions_are_enough(seen, lines):
    """However small the part held out, it is one position; the rest is learned from."""
    one = seen.rows(seen.covered.nonzero()[:1, 0].expand(2))
    start = replace(lines, calibration=LevelCalibration.identity(2))
    found = fit_mlp(one, start, network=replace(QUICK, epochs=1, dropout=0.0))
    assert found.calibration.out.count_nonzero() > 0


def test_keys_are_standardized(seen, lines):
    """Mean and scale are the keys' own, so that a common shift and unit make no difference."""
    short = replace(QUICK, epochs=2)
    found = fit_mlp(seen, lines, network=short).calibration
    assert found.mean.tolist() == pytest.approx(seen.keys.mean(0).tolist(), abs=1e-5)
    spread = seen.keys.std(0, correction=0).tolist()
    assert found.scale.tolist() == pytest.approx(spread, rel=1e-5)
    moved = fit_mlp(replace(seen, keys=seen.keys * 7 + 3), lines, network=short)
    one = found.features(seen.keys[:5])
    other = moved.calibration.features(seen.keys[:5] * 7 + 3)
    torch.testing.assert_close(one, other, atol=5e-3, rtol=5e-2)


def test_the_network_has_the_papers_size(seen, lines):
    """64 hidden units and dropout .3 by default; an output for each free parameter of the lines."""
    assert (Network().hidden, Network().dropout) == (64, 0.3)
    found = fit_mlp(seen, lines, network=Network(epochs=0)).calibration
    assert tuple(found.hidden.shape) == (64, 3 + 1)
    assert tuple(found.out.shape) == (3, 64 + 1)
    assert found.hidden[:, :-1].std().item() == pytest.approx(1 / math.sqrt(3), rel=0.2)
    assert found.hidden[:, -1].count_nonzero() == 0
    assert isinstance(found.start, LevelCalibration)
