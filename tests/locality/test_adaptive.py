"""λ as a function of features: an untrained network gives the fixed λ, any gives one below 1."""

import json
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from vicinal.errors import CalibrationError
from vicinal.locality import AdaptiveLam

NAMES = ("height", "weight")
NETWORK = AdaptiveLam(
    names=NAMES,
    mean=torch.tensor([1.0, -2.0]),
    scale=torch.tensor([0.5, 4.0]),
    hidden=torch.tensor([[0.7, -1.1, 0.2], [-0.4, 0.9, -0.6], [1.3, 0.1, 0.0]]),
    out=torch.tensor([1.5, -0.8, 0.6, 0.3]),
    seen=(0.125, 0.5, 0.75),
)
ROWS = st.lists(st.tuples(st.floats(-30, 30), st.floats(-30, 30)), min_size=1, max_size=5)
LAMS = st.floats(0.001, 0.999)


def untrained(network: AdaptiveLam = NETWORK) -> AdaptiveLam:
    return replace(network, out=torch.zeros(4))


@given(ROWS, LAMS)
def test_matches_the_oracle(rows, lam):
    """λ is what two layers give neuron by neuron, added to the logit of the fixed λ."""
    found = NETWORK(torch.tensor(rows), lam).tolist()
    expected = [oracles.adaptive_lam(NETWORK, row, lam) for row in rows]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(ROWS, LAMS)
def test_untrained_it_is_the_fixed_lam(rows, lam):
    """A network whose last layer is zero moves λ nowhere."""
    assert untrained()(torch.tensor(rows), lam).tolist() == pytest.approx([lam] * len(rows))


@given(ROWS, LAMS, st.floats(-1e4, 1e4))
def test_lam_stays_below_one(rows, lam, push):
    """However hard the network pushes, λ is in [0, 1), also in single precision."""
    pushed = replace(untrained(), out=torch.tensor([0.0, 0.0, 0.0, push]))
    lams = pushed(torch.tensor(rows), lam)
    assert bool(((lams >= 0) & (lams < 1)).all())


def test_the_largest_lam_is_near_one():
    """It is cut at a logit of 12, so that log(1 − λ) stays finite."""
    pushed = replace(untrained(), out=torch.tensor([0.0, 0.0, 0.0, 99.0]))
    lam = pushed(torch.zeros(1, 2), 0.5)
    assert lam.logit().item() == pytest.approx(12, abs=0.1)
    assert torch.log1p(-lam).isfinite().all()


@given(ROWS)
def test_no_lam_to_move_stays_none(rows):
    """Where the fixed λ is zero, every query's is, exactly."""
    assert NETWORK(torch.tensor(rows), 0.0).count_nonzero() == 0


def test_far_features_count_as_four_deviations():
    """Features are standardized, and what is farther out than four is as if it were four."""
    standard = NETWORK.standard(torch.tensor([[1.5, 2.0], [3.0, -18.0], [99.0, -99.0]]))
    assert standard.tolist() == [[1.0, 1.0], [4.0, -4.0], [4.0, -4.0]]
    near, edge, far = NETWORK(torch.tensor([[1.5, 2.0], [3.0, -18.0], [99.0, -99.0]]), 0.3)
    assert near != edge == far


def test_features_decide():
    """Two queries with different features have different λ, on either side of the fixed one."""
    lower, higher = sorted(NETWORK(torch.tensor([[0.0, 2.0], [2.0, -6.0]]), 0.5).tolist())
    assert lower < 0.5 < higher


def test_survives_json():
    """Every bit is the same after JSON, so that every λ is."""
    again = AdaptiveLam.from_dict(json.loads(json.dumps(NETWORK.to_dict())))
    assert (again.names, again.seen) == (NETWORK.names, NETWORK.seen)
    for name in ("mean", "scale", "hidden", "out"):
        assert torch.equal(getattr(again, name), getattr(NETWORK, name)), name
    rows = torch.tensor([[0.1, 0.2], [5.0, -3.0]])
    assert torch.equal(again(rows, 0.3), NETWORK(rows, 0.3))


@pytest.mark.parametrize("missing", ["features", "seen", "mean", "scale", "hidden", "out"])
def test_nothing_may_be_missing(missing):
    """What lacks a part is not read as something else."""
    data = NETWORK.to_dict()
    del data[missing]
    with pytest.raises(KeyError, match=missing):
        AdaptiveLam.from_dict(data)


def test_other_features_are_refused():
    """Features that are called otherwise, or come in another order, are named beside its own."""
    NETWORK.check(NAMES)
    for other in (("weight", "height"), ("height",), ("height", "weight", "age")):
        with pytest.raises(CalibrationError) as caught:
            NETWORK.check(other)
        assert f"features height, weight; here they are {', '.join(other)}." in str(caught.value)
        assert "Fit again" in str(caught.value)


def test_tells_where_lam_lay():
    """A person reads the smallest, the largest and the mean λ of the positions fitted on."""
    assert str(NETWORK) == "0.12..0.75, mean 0.50"
