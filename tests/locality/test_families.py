"""Which parameters are free on each rung of the ladder."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vicinal.errors import CalibrationError
from vicinal.locality import LevelCalibration
from vicinal.locality.families import family

THETA = [0.5, 2.0, 3.0, -1.0, 4.0]


def lines_of(name, n_levels, theta):
    weights, biases = family(name, n_levels).lines(torch.tensor(theta).double())
    return weights.tolist(), biases.tolist()


def test_temperature_ties_all_weights():
    """One number is the weight of every level, and no level has a bias."""
    assert lines_of("temperature", 3, THETA[:1]) == ([0.5] * 3, [0.0] * 3)


def test_bias_frees_the_first_weight_and_the_other_biases():
    """Weights above level 0 are one, the first is free, and the bias of level 0 is none."""
    assert lines_of("bias", 3, THETA[:3]) == ([0.5, 1.0, 1.0], [0.0, 2.0, 3.0])


def test_linear_frees_all_but_one():
    """Each level has its weight, each but level 0 its bias."""
    assert lines_of("linear", 3, THETA) == ([0.5, 2.0, 3.0], [0.0, -1.0, 4.0])


@pytest.mark.parametrize(
    ("name", "n_parameters", "n_weights"),
    [("temperature", 1, 1), ("bias", 4, 1), ("linear", 7, 4)],
)
def test_free_parameters_are_counted(name, n_parameters, n_weights):
    """With four levels each rung has as many parameters as the paper says, weights first."""
    chosen = family(name, 4)
    assert (chosen.n_parameters, chosen.n_weights) == (n_parameters, n_weights)
    assert chosen.name == name


@given(st.sampled_from(["temperature", "bias", "linear"]), st.integers(1, 5), st.data())
def test_nearest_recovers_what_the_family_can_say(name, n_levels, data):
    """Lines of a family are given back by the nearest parameters."""
    chosen = family(name, n_levels)
    n = chosen.n_parameters
    theta = torch.tensor(data.draw(st.lists(st.floats(-9, 9), min_size=n, max_size=n))).double()
    calibration = chosen.calibration(theta)
    assert chosen.nearest(calibration).tolist() == pytest.approx(theta.tolist(), abs=1e-4)


def test_nearest_is_the_mean_where_weights_are_tied():
    """Of lines that temperature cannot say, the nearest has their mean weight."""
    lines = LevelCalibration(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([0.0, 5.0, 7.0]))
    assert family("temperature", 3).nearest(lines).tolist() == pytest.approx([3.0])
    assert family("bias", 3).nearest(lines).tolist() == pytest.approx([1.0, 5.0, 7.0])


def test_an_unknown_family_is_answered_with_the_known():
    """The message lists the families there are."""
    with pytest.raises(CalibrationError, match="temperature, bias, linear, found: 'cubic'"):
        family("cubic", 2)
