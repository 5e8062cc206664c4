"""Calibrated distances: identity, lines, lines from a network; what is absent stays absent."""

import json
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from strategies import DIM, LEVELS, lines, retrievals
from vicinal.errors import CalibrationError
from vicinal.locality import LevelCalibration, MLPCalibration, calibration_from_dict


def levels_like(distances, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, LEVELS, distances.shape, generator=generator).byte()


def keys_for(distances, seed=0):
    return torch.randn(len(distances), DIM, generator=torch.Generator().manual_seed(seed))


def network(start, seed=0, hidden=4, silent=False) -> MLPCalibration:
    """Make a network of random parameters; a silent one adds nothing to its start."""
    generator = torch.Generator().manual_seed(seed)
    outs = 2 * start.n_levels - 1
    out = torch.randn(outs, hidden + 1, generator=generator)
    return MLPCalibration(
        mean=torch.randn(DIM, generator=generator),
        scale=torch.rand(DIM, generator=generator) + 0.5,
        hidden=torch.randn(hidden, DIM + 1, generator=generator),
        out=torch.zeros_like(out) if silent else out,
        start=start,
        unit=2.5,
    )


@given(retrievals(), st.integers(0, 9))
def test_identity_changes_nothing(retrieval, seed):
    """With all weights 1 and biases 0 every distance comes back bit for bit: the plain kNN-LM."""
    distances, _ = retrieval
    levels, keys = levels_like(distances, seed), keys_for(distances)
    assert torch.equal(LevelCalibration.identity(LEVELS)(distances, levels, keys), distances)


@given(retrievals(), lines(), st.integers(0, 9))
def test_lines_match_the_oracle(retrieval, calibration, seed):
    """Each distance is multiplied by its level's weight and moved by its level's bias."""
    distances, _ = retrieval
    levels = levels_like(distances, seed)
    found = calibration(distances, levels, keys_for(distances))
    parameters = calibration.weights.tolist(), calibration.biases.tolist()
    for row, (ds, ns) in enumerate(zip(distances.tolist(), levels.tolist(), strict=True)):
        expected = [oracles.calibrate(d, n, *parameters) for d, n in zip(ds, ns, strict=True)]
        assert found[row].tolist() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_a_negative_bias_draws_local_neighbors_closer():
    """At equal distance, the neighbor of the level with the lower bias comes nearer."""
    calibration = LevelCalibration(torch.tensor([1.0, 0.5]), torch.tensor([0.0, -2.0]))
    levels = torch.tensor([[0, 1]], dtype=torch.uint8)
    found = calibration(torch.tensor([[3.0, 3.0]]), levels, torch.zeros(1, DIM))
    assert found.tolist() == [[3.0, -0.5]]


@pytest.mark.parametrize("weight", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("contextual", [False, True])
def test_what_is_absent_stays_absent(weight, contextual):
    """An infinite distance stays infinite whatever the weight, zero and below included."""
    start = LevelCalibration(torch.full((2,), weight), torch.tensor([0.0, -4.0]))
    calibration = network(start, silent=True) if contextual else start
    distances = torch.tensor([[2.0, math.inf]])
    found = calibration(distances, torch.tensor([[0, 1]]).byte(), torch.ones(1, DIM))
    assert found.tolist() == [[2.0 * weight, math.inf]]


def test_level_zero_has_no_bias():
    """The message says what was found and what to do."""
    with pytest.raises(CalibrationError, match=r"must be 0, was: 0\.5.*Subtract it"):
        LevelCalibration(torch.ones(2), torch.tensor([0.5, 0.0]))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_parameters_are_finite(wrong):
    """A weight or a bias that is no number is refused, whichever of the two it is."""
    with pytest.raises(CalibrationError, match="must be finite"):
        LevelCalibration(torch.tensor([1.0, wrong]), torch.zeros(2))
    with pytest.raises(CalibrationError, match="must be finite"):
        LevelCalibration(torch.ones(2), torch.tensor([0.0, wrong]))


@pytest.mark.parametrize("contextual", [False, True])
def test_levels_of_another_schema_are_refused(contextual):
    """A calibration of two levels takes level 1 and refuses level 2."""
    start = LevelCalibration.identity(2)
    calibration = network(start) if contextual else start
    assert calibration.n_levels == 2
    one = torch.tensor([[0, 1]]).byte()
    calibration(torch.zeros(1, 2), one, torch.zeros(1, DIM))
    with pytest.raises(CalibrationError, match=r"in \[0, 2\), found up to 2\. Was this c"):
        calibration(torch.zeros(1, 2), one * 2, torch.zeros(1, DIM))


def test_nothing_to_calibrate_is_no_error():
    """No neighbors at all, as of an empty store, give no distances."""
    empty = torch.zeros(2, 0)
    assert LevelCalibration.identity(1)(empty, empty.byte(), torch.zeros(2, DIM)).shape == (2, 0)


@given(retrievals(), lines(), st.integers(0, 9))
def test_a_silent_network_is_the_lines_it_starts_from(retrieval, start, seed):
    """With a last layer of zeros, the context changes nothing."""
    distances, _ = retrieval
    levels, keys = levels_like(distances, seed), keys_for(distances, seed)
    silent = network(start, seed, silent=True)
    assert torch.equal(silent(distances, levels, keys), start(distances, levels, keys))
    assert silent.lines is start


@given(retrievals(), lines(), st.integers(0, 9))
def test_a_network_matches_the_oracle(retrieval, start, seed):
    """Each query's lines are what the two layers give neuron by neuron, added to the start."""
    distances, _ = retrieval
    levels, keys = levels_like(distances, seed), keys_for(distances, seed)
    calibration = network(start, seed)
    found = calibration(distances, levels, keys)
    weights, biases = calibration.parameters(calibration.features(keys))
    for row, key in enumerate(keys.tolist()):
        expected = oracles.mlp_lines(calibration, key)
        assert weights[row].tolist() == pytest.approx(expected[0], rel=1e-3, abs=1e-3)
        assert biases[row].tolist() == pytest.approx(expected[1], rel=1e-3, abs=1e-3)
        pairs = zip(distances[row].tolist(), levels[row].tolist(), strict=True)
        moved = [oracles.calibrate(d, n, *expected) for d, n in pairs]
        assert found[row].tolist() == pytest.approx(moved, rel=1e-3, abs=1e-2)


def test_a_network_listens_to_the_context():
    """Two queries of equal distances and levels, but other keys, get other lines."""
    calibration = network(LevelCalibration.identity(2))
    keys = torch.tensor([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    one, other = calibration(torch.full((2, 1), 3.0), torch.zeros(2, 1).byte(), keys).tolist()
    assert one != pytest.approx(other, abs=0.1)


def test_a_network_reads_half_precision_keys():
    """Keys come as the store has them, in half precision, and are computed with in single."""
    calibration = network(LevelCalibration.identity(2))
    keys = torch.tensor([[0.5, -1.5, 2.0]])
    found = calibration.features(keys.half())
    assert found.dtype == torch.float32
    assert torch.equal(found, calibration.features(keys))


def written(calibration):
    """Write as a file does, and read again."""
    return calibration_from_dict(json.loads(json.dumps(calibration.to_dict())))


@given(lines())
def test_lines_survive_json(calibration):
    """Every bit of the parameters is there again after JSON."""
    again = written(calibration)
    assert torch.equal(again.weights, calibration.weights)
    assert torch.equal(again.biases, calibration.biases)
    assert calibration.to_dict()["kind"] == "lines"


@given(lines(), st.integers(0, 9))
def test_a_network_survives_json(start, seed):
    """Every bit of the network, its unit and its start is there again after JSON."""
    calibration = network(start, seed)
    again = written(calibration)
    for name in ("mean", "scale", "hidden", "out"):
        assert torch.equal(getattr(again, name), getattr(calibration, name)), name
    assert again.unit == calibration.unit
    assert torch.equal(again.start.weights, start.weights)
    keys = keys_for(torch.zeros(2, 1))
    assert torch.equal(again.features(keys), calibration.features(keys))


def test_a_network_is_written_in_single_precision():
    """Whatever precision it was made in, what is written is what is read."""
    calibration = network(LevelCalibration.identity(2))
    again = written(replace(calibration, mean=calibration.mean.double()))
    assert again.mean.dtype == torch.float32
    assert torch.equal(again.mean, calibration.mean)


@pytest.mark.parametrize("data", [{}, {"kind": "spline"}])
def test_an_unknown_kind_is_refused(data):
    """A calibration of a kind this version does not know is named."""
    with pytest.raises(CalibrationError, match=f"or 'mlp', found: {data.get('kind')!r}. Was the f"):
        calibration_from_dict(data)


def test_a_network_starts_from_lines_only():
    """A network that starts from a network is none of ours."""
    inner = network(LevelCalibration.identity(2)).to_dict()
    with pytest.raises(CalibrationError, match="found: 'mlp'"):
        calibration_from_dict({**inner, "start": inner})
