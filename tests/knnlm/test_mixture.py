"""A calibration and λ: what turns a retrieval into a probability."""

import json
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from strategies import DIM, LEVELS, VOCAB, lines, retrievals
from vicinal.errors import InterpolationError
from vicinal.knnlm import PUBLISHED_LAM, Mixture, Retrieved, interpolate, log_p_knn, log_p_target
from vicinal.locality import LevelCalibration, MLPCalibration


def retrieved(retrieval, seed=0) -> Retrieved:
    distances, values = retrieval
    generator = torch.Generator().manual_seed(seed)
    levels = torch.randint(0, LEVELS, distances.shape, generator=generator).byte()
    absent = distances.isinf()
    return Retrieved(
        torch.arange(distances.numel()).view(distances.shape).masked_fill(absent, -1),
        distances,
        values.int(),
        levels.masked_fill(absent, 0),
        torch.zeros(len(distances), DIM),
    )


def base_model(n):
    return torch.stack([torch.linspace(0, 1 + i, VOCAB) for i in range(n)]).log_softmax(-1)


@given(retrievals(), lines(low=0.0), st.floats(0, 0.95), st.data())
def test_matches_the_oracle(retrieval, calibration, lam, data):
    """log p of a token is that of calibrated distances, summed and mixed by hand."""
    found = retrieved(retrieval, data.draw(st.integers(0, 9)))
    log_p_lm = base_model(len(found.values))
    target = data.draw(st.integers(0, VOCAB - 1))
    targets = torch.full((len(log_p_lm),), target)
    actual = Mixture(calibration, lam).log_p_target(found, targets, log_p_lm[:, target]).exp()
    parameters = calibration.weights.tolist(), calibration.biases.tolist()
    for row, p in enumerate(actual.tolist()):
        pairs = zip(found.distances[row].tolist(), found.levels[row].tolist(), strict=True)
        distances = [oracles.calibrate(d, n, *parameters) for d, n in pairs]
        neighbors = oracles.p_knn(distances, found.values[row].tolist())
        expected = oracles.mixed(neighbors, log_p_lm[row].exp().tolist(), lam)
        assert p == pytest.approx(expected[target], rel=1e-3, abs=1e-6)


@given(retrievals(), lines(low=0.0), st.floats(0, 0.95))
def test_sums_to_one(retrieval, calibration, lam):
    """Over all tokens the mixture sums to one, also where nothing was retrieved."""
    found = retrieved(retrieval)
    mixture, log_p_lm = Mixture(calibration, lam), base_model(len(found.values))
    total = sum(
        mixture.log_p_target(found, torch.full((len(log_p_lm),), t), log_p_lm[:, t]).exp()
        for t in range(VOCAB)
    )
    assert total.tolist() == pytest.approx([1.0] * len(log_p_lm), abs=1e-4)


@given(retrievals())
def test_published_is_the_plain_knn_lm(retrieval):
    """T = 1, λ = .25 and no locality: bit for bit what the uncalibrated distances give."""
    found = retrieved(retrieval)
    mixture, targets = Mixture.published(LEVELS), torch.zeros(len(found.values)).long()
    log_p_lm = base_model(len(targets))[:, 0]
    plain = log_p_target(found.distances, found.values, targets)
    expected = interpolate(plain, log_p_lm, mixture.lams(found))
    assert torch.equal(mixture.log_p_target(found, targets, log_p_lm), expected)
    assert mixture.lam == PUBLISHED_LAM == 0.25


@given(retrievals(), lines())
def test_without_the_knn_the_language_model_is_unchanged(retrieval, calibration):
    """At λ = 0 the base model's log p comes back bit for bit."""
    found = retrieved(retrieval)
    log_p_lm = base_model(len(found.values))[:, 3]
    targets = torch.full((len(log_p_lm),), 3)
    assert torch.equal(Mixture(calibration, 0.0).log_p_target(found, targets, log_p_lm), log_p_lm)


def test_without_neighbors_the_language_model_is_unchanged():
    """A query for which nothing was found has λ = 0, the one beside it has its neighbors."""
    inf = math.inf
    found = retrieved((torch.tensor([[1.0, inf], [inf, inf]]), torch.tensor([[2, -1], [-1, -1]])))
    mixture = Mixture(LevelCalibration.identity(LEVELS), 0.5)
    assert mixture.lams(found).tolist() == [0.5, 0.0]
    log_p_lm = torch.tensor([0.5, 0.3]).log()
    log_p = mixture.log_p_target(found, torch.tensor([2, 2]), log_p_lm)
    assert log_p[0].exp().item() == pytest.approx(0.75)
    assert log_p[1].item() == log_p_lm[1].item()


def test_shares_are_each_neighbors_part():
    """Shares follow the calibrated distances, sum to one, and are zero for the absent."""
    found = retrieved((torch.tensor([[2.0, 2.0, math.inf]]), torch.tensor([[0, 0, -1]])))
    levels = torch.tensor([[0, 1, 0]]).byte()
    found = Retrieved(found.entries, found.distances, found.values, levels, found.keys)
    lines = LevelCalibration(torch.ones(LEVELS), torch.tensor([0.0, -math.log(4), 0.0]))
    mixture = Mixture(lines, 0.5)
    assert mixture.shares(found)[0].tolist() == pytest.approx([0.2, 0.8, 0.0])
    moved = mixture.calibrated(found)[0].tolist()
    assert moved == pytest.approx([2.0, 2.0 - math.log(4), math.inf])


@given(lines(), st.floats(0, 0.99))
def test_survives_json(calibration, lam):
    """Calibration and λ are the same bits after JSON."""
    again = Mixture.from_dict(json.loads(json.dumps(Mixture(calibration, lam).to_dict())))
    assert again.lam == lam
    assert torch.equal(again.calibration.lines.weights, calibration.weights)
    assert torch.equal(again.calibration.lines.biases, calibration.biases)


@pytest.mark.parametrize("lam", [-0.1, 1.0, 1.5])
def test_rejects_a_weight_out_of_range(lam):
    """The message names the allowed range and the value."""
    with pytest.raises(InterpolationError, match=rf"\[0, 1\), was: {lam:g}\. At 1 "):
        Mixture(LevelCalibration.identity(1), lam)


def test_a_contextual_calibration_is_given_the_querys_key():
    """Two queries that differ in their keys only have other calibrated distances."""
    found = retrieved((torch.full((2, 1), 3.0), torch.tensor([[4], [4]])))
    found = replace(found, keys=torch.tensor([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]))
    network = MLPCalibration(
        mean=torch.zeros(DIM),
        scale=torch.ones(DIM),
        hidden=torch.tensor([[1.0, 0.0, 0.0, 0.0]]),
        out=torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
        start=LevelCalibration.identity(LEVELS),
        unit=2.0,
    )
    found = replace(found, levels=torch.zeros(2, 1).byte())
    assert Mixture(network, 0.5).calibrated(found).tolist() == [[3.0 * 1.5], [3.0]]


def test_the_far_and_the_near_token_change_places_with_the_sign():
    """The nearer neighbor's token is the more probable one through the whole mixture."""
    found = retrieved((torch.tensor([[1.0, 3.0]]), torch.tensor([[4, 5]])))
    mixture = Mixture(LevelCalibration.identity(LEVELS), 0.5)
    near, far = (
        mixture.log_p_target(found, torch.tensor([t]), torch.tensor([-3.0])).item() for t in (4, 5)
    )
    assert near > far > -3.0 + math.log(0.5)
    whole = log_p_knn(found.distances, found.values, VOCAB)[0]
    assert near == pytest.approx(math.log(0.5 * whole[4].exp().item() + 0.5 * math.exp(-3)))
