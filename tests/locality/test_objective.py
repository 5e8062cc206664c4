"""What fitting minimizes: values against loops, gradients against automatic differentiation."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from strategies import DIM, LEVELS, lines, observations
from vicinal.errors import CalibrationError
from vicinal.locality import LevelCalibration, Objective, Observations

OBJECTIVES = st.sampled_from(["mixture", "knn"])
LAM = st.floats(0.01, 0.95)


def naive_loss(seen, name, weights, biases, logit_lam):
    """Write the formula as on paper, in float64, for automatic differentiation."""
    absent = seen.distances.isinf()
    distances = seen.distances.double().masked_fill(absent, 0)
    levels = seen.levels.long()
    z = -(weights[levels] * distances + biases[levels])
    z = z.masked_fill(absent, -math.inf)
    lam, losses = torch.sigmoid(logit_lam), []
    for row in range(len(seen)):
        covered = bool(seen.hits[row].any())
        if covered:
            log_p_knn = torch.logsumexp(z[row][seen.hits[row]], 0) - torch.logsumexp(z[row], 0)
        p_lm = seen.log_p_lm[row].double().exp()
        if name == "mixture":
            p = lam * log_p_knn.exp() + (1 - lam) * p_lm if covered else (1 - lam) * p_lm
            losses.append(-p.log())
        elif covered:
            losses.append(-log_p_knn)
    return torch.stack(losses).mean()


def many(n, k=5, seed=0, coverage=0.7):
    """Make observations of more rows than one block has, some of them uncovered or short."""
    generator = torch.Generator().manual_seed(seed)
    distances = torch.rand(n, k, generator=generator) * 10
    present = torch.randint(0, k + 1, (n, 1), generator=generator)
    gone = torch.arange(k)[None, :] >= present
    hits = (torch.rand(n, k, generator=generator) < coverage / 2) & ~gone
    return Observations(
        distances.masked_fill(gone, torch.inf),
        torch.randint(0, LEVELS, (n, k), generator=generator).byte().masked_fill(gone, 0),
        hits,
        -torch.rand(n, generator=generator) * 5,
        torch.zeros(n, DIM),
    )


def check(seen, name, calibration, lam):
    weights, biases = calibration.weights.double(), calibration.biases.double()
    loss = Objective(seen, name)(weights, biases, lam)
    expected = oracles.loss(seen, name, weights.tolist(), biases.tolist(), lam)
    assert loss.value == pytest.approx(expected, rel=1e-4, abs=1e-4)
    logit = torch.tensor(math.log(lam / (1 - lam)), dtype=torch.float64)
    leaves = [x.clone().requires_grad_() for x in (weights, biases, logit)]
    naive_loss(seen, name, *leaves).backward()
    slopes = [torch.zeros_like(x) if x.grad is None else x.grad for x in leaves]
    assert loss.weights.tolist() == pytest.approx(slopes[0].tolist(), rel=1e-3, abs=1e-3)
    assert loss.biases.tolist() == pytest.approx(slopes[1].tolist(), rel=1e-3, abs=1e-4)
    if name == "mixture":
        assert loss.logit_lam == pytest.approx(slopes[2].item(), rel=1e-3, abs=1e-5)


@given(observations(), OBJECTIVES, lines(), LAM)
def test_value_and_gradient_match(seen, name, calibration, lam):
    """The loss is that of the loops, its slopes those of automatic differentiation."""
    check(seen, name, calibration, lam)


@pytest.mark.parametrize("name", ["mixture", "knn"])
@pytest.mark.parametrize("n", [63, 64, 65, 200])
def test_more_rows_than_one_block(name, n):
    """Rows are cut into blocks without losing, doubling or mixing up any."""
    calibration = LevelCalibration(torch.tensor([0.5, 1.0, 1.5]), torch.tensor([0.0, -1.0, 2.0]))
    check(many(n, seed=n), name, calibration, 0.3)


def test_one_position_by_hand():
    """A hit at distance ln 3 beside a miss at 0 has one quarter; half of that and half the LM's."""
    seen = Observations(
        torch.tensor([[0.0, math.log(3.0)]]),
        torch.zeros(1, 2).byte(),
        torch.tensor([[False, True]]),
        torch.tensor([math.log(0.75)]),
        torch.zeros(1, DIM),
    )
    one, zero = torch.ones(1), torch.zeros(1)
    assert Objective(seen, "knn")(one, zero, 0.5).value == pytest.approx(math.log(4))
    assert Objective(seen, "mixture")(one, zero, 0.5).value == pytest.approx(math.log(2))
    # Without a weight on distance both neighbors count alike.
    assert Objective(seen, "knn")(zero, zero, 0.5).value == pytest.approx(math.log(2))


def test_a_positive_weight_is_rewarded_where_hits_are_near():
    """Where the near neighbor is right, the loss falls as the weight grows: the sign of Eq. 2."""
    seen = Observations(
        torch.tensor([[1.0, 4.0]]),
        torch.zeros(1, 2).byte(),
        torch.tensor([[True, False]]),
        torch.tensor([-3.0]),
        torch.zeros(1, DIM),
    )
    for name in ("mixture", "knn"):
        assert Objective(seen, name)(torch.ones(1), torch.zeros(1), 0.25).weights.item() < -0.01


def test_a_far_hit_keeps_a_finite_loss():
    """A hit so far behind a miss that its share underflows still has a loss and a gradient."""
    seen = Observations(
        torch.tensor([[0.0, 4000.0]]),
        torch.tensor([[0, 1]]).byte(),
        torch.tensor([[False, True]]),
        torch.tensor([-2.0]),
        torch.zeros(1, DIM),
    )
    loss = Objective(seen, "knn")(torch.ones(2), torch.zeros(2), 0.25)
    assert loss.value == pytest.approx(4000.0)
    assert loss.biases.tolist() == pytest.approx([-1.0, 1.0])
    assert loss.weights.tolist() == pytest.approx([0.0, 4000.0])


def test_without_neighbors_only_the_model_counts():
    """At λ = 0 the mixture's loss is the base model's, and no slope is left but λ's, which is 0."""
    seen = many(70)
    loss = Objective(seen, "mixture")(torch.ones(LEVELS), torch.zeros(LEVELS), 0.0)
    assert loss.value == pytest.approx(-seen.log_p_lm.mean().item(), rel=1e-5)
    assert loss.weights.tolist() == loss.biases.tolist() == [0.0] * LEVELS
    assert loss.logit_lam == 0.0


def test_a_call_does_not_change_the_next():
    """The same parameters have the same loss twice, and the observations stay as they were."""
    seen = many(130)
    kept = seen.distances.clone()
    objective = Objective(seen, "mixture")
    first, second = (objective(torch.ones(LEVELS), torch.zeros(LEVELS), 0.4) for _ in range(2))
    assert first.value == second.value
    assert torch.equal(first.weights, second.weights)
    assert torch.equal(seen.distances, kept)


@given(observations())
def test_coverage_counts_positions_with_a_hit(seen):
    """A position is covered if any of its neighbors carries the gold token."""
    expected = [any(row) for row in seen.hits.tolist()]
    assert seen.covered.tolist() == expected
    assert seen.coverage == pytest.approx(sum(expected) / len(expected))
    assert Objective(seen, "knn").coverage == Objective(seen, "mixture").coverage == seen.coverage


def test_rows_are_taken_from_every_column():
    """Some positions of observations are those positions in all that is known of them."""
    seen = many(6)
    some = seen.rows(torch.tensor([4, 1]))
    assert len(some) == 2
    for name in ("distances", "levels", "hits", "log_p_lm", "keys"):
        assert torch.equal(getattr(some, name), getattr(seen, name)[[4, 1]]), name


def test_an_unknown_objective_is_answered_with_the_known():
    """The message names both objectives and what was asked."""
    with pytest.raises(CalibrationError, match=r"mixture, knn, found: 'ppl'"):
        Objective(many(3), "ppl")


def test_no_hits_leave_the_papers_objective_nothing():
    """Without any hit the objective knn is refused, and the mixture is the base model's share."""
    seen = many(5, coverage=0.0)
    with pytest.raises(CalibrationError, match=r"any of 5 positions.*larger k"):
        Objective(seen, "knn")
    loss = Objective(seen, "mixture")(torch.ones(LEVELS), torch.zeros(LEVELS), 0.2)
    assert loss.value == pytest.approx(-seen.log_p_lm.mean().item() - math.log(0.8), rel=1e-5)
    assert loss.logit_lam == pytest.approx(0.2)
