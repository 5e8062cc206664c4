"""The mixture with a λ of each query: the oracle, the laws, and what it does without."""

import json
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from strategies import DIM, LEVELS, VOCAB, lines, retrievals
from vicinal.errors import CalibrationError, InterpolationError
from vicinal.knnlm import KNNLM, Mixture, Parameters, Retrieved
from vicinal.knnlm.features import NAMES
from vicinal.locality import AdaptiveLam, Evidence, LevelCalibration

NETWORK = AdaptiveLam(
    names=NAMES,
    mean=torch.linspace(-1, 1, len(NAMES)),
    scale=torch.linspace(0.5, 3, len(NAMES)),
    hidden=torch.randn(4, len(NAMES) + 1, generator=torch.Generator().manual_seed(1)),
    out=torch.tensor([1.5, -2.0, 1.0, 0.5, -0.2]),
    seen=(0.1, 0.2, 0.3),
)
PLAIN = LevelCalibration.identity(LEVELS)


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


def slow_lam(mixture, found, evidence, row):
    """Give λ of one query by loops."""
    if not bool((found.entries[row] >= 0).any()):
        return 0.0
    told = oracles.features(
        found.distances[row].tolist(),
        calibrated(mixture, found, row),
        found.values[row].tolist(),
        evidence.log_p_values[row].tolist(),
        evidence.entropy[row].item(),
    )
    return oracles.adaptive_lam(mixture.adaptive, list(told.values()), mixture.lam)


def calibrated(mixture, found, row):
    lines = mixture.calibration.weights.tolist(), mixture.calibration.biases.tolist()
    pairs = zip(found.distances[row].tolist(), found.levels[row].tolist(), strict=True)
    return [oracles.calibrate(d, level, *lines) for d, level in pairs]


@given(retrievals(), lines(low=0.0), st.floats(0.05, 0.95), st.data())
def test_matches_the_oracle(retrieval, calibration, lam, data):
    """λ of each query is what loops find from what was retrieved, and so is its log p."""
    found = retrieved(retrieval, data.draw(st.integers(0, 9)))
    log_p_lm = base_model(len(found.values))
    evidence = Evidence.of(found.values, log_p_lm)
    mixture = Mixture(calibration, lam, NETWORK)
    expected = [slow_lam(mixture, found, evidence, row) for row in range(len(found.values))]
    lams = mixture.lams(found, evidence).tolist()
    assert lams == pytest.approx(expected, rel=1e-3, abs=1e-5)
    target = data.draw(st.integers(0, VOCAB - 1))
    targets = torch.full((len(lams),), target)
    actual = mixture.log_p_target(found, targets, log_p_lm[:, target], evidence).exp()
    for row, lam_of_row in enumerate(expected):
        neighbors = oracles.p_knn(calibrated(mixture, found, row), found.values[row].tolist())
        p = oracles.mixed(neighbors, log_p_lm[row].exp().tolist(), lam_of_row)
        assert actual[row].item() == pytest.approx(p[target], rel=1e-3, abs=1e-5)


@given(retrievals(), lines(low=0.0), st.floats(0, 0.95))
def test_sums_to_one(retrieval, calibration, lam):
    """Over all tokens p sums to one: λ is the same whichever token is asked for."""
    found = retrieved(retrieval)
    log_p_lm = base_model(len(found.values))
    mixture, evidence = Mixture(calibration, lam, NETWORK), Evidence.of(found.values, log_p_lm)
    every = [torch.full((len(log_p_lm),), t) for t in range(VOCAB)]
    total = sum(
        mixture.log_p_target(found, targets, log_p_lm[:, t], evidence).exp()
        for t, targets in enumerate(every)
    )
    assert total.tolist() == pytest.approx([1.0] * len(log_p_lm), abs=1e-4)


@given(retrievals(), lines(low=0.0), st.floats(0, 0.95))
def test_lam_is_in_range(retrieval, calibration, lam):
    """λ is below one, and exactly zero where nothing was retrieved or none was to begin with."""
    found = retrieved(retrieval)
    evidence = Evidence.of(found.values, base_model(len(found.values)))
    lams = Mixture(calibration, lam, NETWORK).lams(found, evidence)
    assert bool(((lams >= 0) & (lams < 1)).all())
    none = ~(found.entries >= 0).any(1)
    assert lams[none].count_nonzero() == 0
    if lam == 0:
        assert lams.count_nonzero() == 0


@given(retrievals(), lines(low=0.0), st.floats(0.01, 0.95))
def test_untrained_it_is_the_fixed_mixture(retrieval, calibration, lam):
    """A network that has learned nothing gives the mixture it starts from."""
    found = retrieved(retrieval)
    evidence = Evidence.of(found.values, base_model(len(found.values)))
    untrained = Mixture(calibration, lam, replace(NETWORK, out=torch.zeros(5)))
    fixed = Mixture(calibration, lam).lams(found)
    assert untrained.lams(found, evidence).tolist() == pytest.approx(fixed.tolist())


@given(retrievals(absent=False), lines(low=0.0), st.randoms(use_true_random=False))
def test_the_order_of_neighbors_does_not_matter(retrieval, calibration, random):
    """Shuffled neighbors give the same λ and the same p."""
    found = retrieved(retrieval)
    order = list(range(found.values.shape[1]))
    random.shuffle(order)
    shuffled = replace(
        found,
        **{n: getattr(found, n)[:, order] for n in ("entries", "distances", "values", "levels")},
    )
    mixture, log_p_lm = Mixture(calibration, 0.4, NETWORK), base_model(len(found.values))
    targets = found.values[:, 0].long()
    one, other = (
        mixture.log_p_target(
            some, targets, log_p_lm[:, 0], Evidence.of(some.values, log_p_lm)
        ).tolist()
        for some in (found, shuffled)
    )
    assert one == pytest.approx(other, rel=1e-3, abs=1e-4)


@given(retrievals(absent=False), st.floats(-3, 3))
def test_a_shift_of_all_distances_moves_lam_only(retrieval, shift):
    """How near the nearest is may move λ; the neighbors' shares do not see the shift."""
    found = retrieved(retrieval)
    biases = torch.tensor([0.0, -1.0, -2.0])
    lines = LevelCalibration(torch.ones(LEVELS), biases)
    mixture = Mixture(lines, 0.4, NETWORK)
    near = replace(found, distances=found.distances + 3)
    moved = replace(found, distances=found.distances + 3 + shift)
    torch.testing.assert_close(mixture.shares(near), mixture.shares(moved), rtol=1e-3, atol=1e-5)
    blind = replace(NETWORK, hidden=NETWORK.hidden.clone())
    for name in ("nearest", "repeated"):
        blind.hidden[:, NAMES.index(name)] = 0
    evidence = Evidence.of(found.values, base_model(len(found.values)))
    one, other = (Mixture(lines, 0.4, blind).lams(some, evidence) for some in (near, moved))
    torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_without_neighbors_the_language_model_is_unchanged():
    """A query for which nothing was found has the base model's log p bit for bit."""
    inf = math.inf
    found = retrieved((torch.tensor([[1.0, inf], [inf, inf]]), torch.tensor([[2, -1], [-1, -1]])))
    log_p_lm = base_model(2)
    evidence = Evidence.of(found.values, log_p_lm)
    log_p = Mixture(PLAIN, 0.5, NETWORK).log_p_target(
        found, torch.tensor([2, 2]), log_p_lm[:, 2], evidence
    )
    assert log_p[1].item() == log_p_lm[1, 2].item()
    assert log_p[0].item() != log_p_lm[0, 2].item()


def test_asks_what_the_base_model_says():
    """A fixed λ does without; one that adapts says what it needs."""
    found = retrieved((torch.tensor([[1.0, 2.0]]), torch.tensor([[2, 3]])))
    assert Mixture(PLAIN, 0.5).lams(found).tolist() == [0.5]
    with pytest.raises(InterpolationError, match=r"what the base model says.*Evidence\.of\("):
        Mixture(PLAIN, 0.5, NETWORK).lams(found)


def test_other_features_are_refused():
    """A network for features that this vicinal does not have is refused when it is read."""
    strange = replace(NETWORK, names=("mood", *NAMES[1:]))
    with pytest.raises(CalibrationError, match=rf"mood, .*here they are {NAMES[0]}"):
        Mixture(PLAIN, 0.5, strange)


def test_levels_it_was_not_fitted_for_are_refused():
    """Another number of levels is refused, as it is by the lines that belong to it."""
    found = retrieved((torch.tensor([[1.0, 2.0]]), torch.tensor([[2, 3]])))
    far = replace(found, levels=torch.tensor([[0, 2]]).byte())
    evidence = Evidence.of(found.values, base_model(1))
    with pytest.raises(CalibrationError, match=r"Levels must be in \[0, 2\), found up to 2"):
        Mixture(LevelCalibration.identity(2), 0.5, NETWORK).lams(far, evidence)


def test_survives_json():
    """λ of every query is the same bits after JSON; a fixed one is written without a network."""
    found = retrieved((torch.tensor([[1.0, 2.0], [4.0, 5.0]]), torch.tensor([[2, 3], [1, 1]])))
    evidence = Evidence.of(found.values, base_model(2))
    mixture = Mixture(PLAIN, 0.3, NETWORK)
    again = Mixture.from_dict(json.loads(json.dumps(mixture.to_dict())))
    assert torch.equal(again.lams(found, evidence), mixture.lams(found, evidence))
    assert again.lam == 0.3
    assert "adaptive" not in Mixture(PLAIN, 0.3).to_dict()
    assert Mixture.from_dict(Mixture(PLAIN, 0.3).to_dict()).adaptive is None


def test_lam_is_told_as_a_table_does():
    """A fixed λ to three digits; of one that adapts, where it lay."""
    assert Mixture(PLAIN, 0.12345).lam_told == "0.123"
    assert Mixture(PLAIN, 0.5, NETWORK).lam_told == "0.10..0.30, mean 0.20"


def test_the_model_takes_it_whatever_the_next_token_is(store, lm, schema):
    """Through store and search p sums to one with λ of each query, and no target changes it."""
    rungs = {"adaptive": Mixture(PLAIN, 0.4, NETWORK), "linear": Mixture(PLAIN, 0.4)}
    model = KNNLM.from_store(store, lm, Parameters(lm.fingerprint, schema, 5, rungs))
    assert model.mixture is rungs["adaptive"]
    here = {"project": ("kettle",), "directory": ("kettle/app",)}
    queries = model.queries("the kettle pours the oil", here, name="kettle/app/pour.py")
    log_p, found = model.log_p(queries), model.retrieve(queries)
    assert log_p.exp().sum(1).tolist() == pytest.approx([1.0] * len(queries), abs=1e-4)
    log_p_lm = lm.log_p(queries.outputs)
    evidence = Evidence.of(found.values, log_p_lm)
    lams = [slow_lam(model.mixture, found, evidence, row) for row in range(len(queries))]
    assert max(lams) - min(lams) > 0.05
    for row, lam in enumerate(lams):
        neighbors = oracles.p_knn(calibrated(model.mixture, found, row), found.values[row].tolist())
        expected = oracles.mixed(neighbors, log_p_lm[row].exp().tolist(), lam)
        assert log_p[row].exp().tolist() == pytest.approx(expected, abs=1e-5)
    others = replace(queries, targets=queries.targets.flip(0))
    assert torch.equal(model.log_p(others), log_p)
