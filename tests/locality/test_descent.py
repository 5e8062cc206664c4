"""Going down: bowls, valleys, cliffs; and the coordinates in which every bowl is round."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vicinal.locality.descent import along, minimize, whitening

BOTTOM = torch.tensor([1.0, -2.0, 0.5]).double()


def bowl(bottom, hessian):
    """Make a quadratic of a given curvature, lowest at *bottom* with the value 3."""

    def function(x):
        slope = hessian @ (x - bottom)
        return 3.0 + (0.5 * (x - bottom) @ slope).item(), slope

    return function


def positive(entries) -> torch.Tensor:
    square = torch.tensor(entries, dtype=torch.float64).view(3, 3)
    return square @ square.T + 0.1 * torch.eye(3, dtype=torch.float64)


def counted(function):
    asked = []

    def counting(x):
        asked.append(x.clone())
        return function(x)

    return counting, asked


MATRICES = st.lists(st.floats(-2, 2), min_size=9, max_size=9)


@given(MATRICES, st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_finds_the_bottom_of_a_bowl(entries, bottom):
    """The lowest point of a quadratic is found from elsewhere, with its value."""
    bottom = torch.tensor(bottom).double()
    found, value, _ = minimize(bowl(bottom, positive(entries)), torch.zeros(3).double())
    assert found.tolist() == pytest.approx(bottom.tolist(), abs=1e-4)
    assert value == pytest.approx(3.0, abs=1e-8)


def test_leaves_its_start_alone_and_counts_its_questions():
    """The start is asked first and not changed; each call of the function is counted."""
    function, asked = counted(bowl(BOTTOM, positive([3, 1, 0, 0, 1, 0, 0, 0, 0.3])))
    start = torch.zeros(3).double()
    found, value, count = minimize(function, start)
    assert count == len(asked) < 60
    assert start.tolist() == asked[0].tolist() == [0.0] * 3
    assert value == function(found)[0]


def test_follows_a_bent_valley():
    """Rosenbrock's banana is followed to its end, and only its very bottom is flat enough."""

    def banana(x):
        x = x.clone().requires_grad_()
        value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        (slope,) = torch.autograd.grad(value, x)
        return value.item(), slope

    found, value, count = minimize(banana, torch.tensor([-1.2, 1.0]).double())
    assert found.tolist() == pytest.approx([1.0, 1.0], abs=1e-4)
    assert value < 1e-8
    # The one before last had a slope worth another step.
    early, value_early, count_early = minimize(banana, torch.tensor([-1.2, 1.0]).double(), steps=5)
    assert count_early < count
    assert value < value_early < banana(torch.tensor([-1.2, 1.0]).double())[0]
    assert value_early == banana(early)[0]


def test_turns_back_from_a_cliff():
    """Where a step leads to infinity or to no number at all, a shorter one is taken."""

    def barrier(x):
        value = x[0].item()
        if value <= 0:
            return (math.inf if value > -1 else math.nan), torch.full((1,), math.nan).double()
        return value - math.log(value), torch.tensor([1 - 1 / value]).double()

    found, value, _ = minimize(barrier, torch.tensor([9.0]).double())
    assert found.item() == pytest.approx(1.0, abs=1e-4)
    assert value == pytest.approx(1.0)


def test_an_upward_curve_is_not_believed():
    """From where the function curves downward, the way still leads down into the valley."""

    def wave(x):
        return -math.cos(x[0].item()), torch.sin(x)

    found, value, _ = minimize(wave, torch.tensor([3.0]).double())
    assert value == pytest.approx(-1.0)
    assert math.cos(found.item()) == pytest.approx(1.0)


def test_goes_on_where_curvatures_overflow():
    """A bowl too steep for the products of two slopes is gone down by slopes alone."""
    hessian = torch.tensor([[1.0, -1.0], [-1.0, 1.5]]).double() * 1e200
    bottom = torch.tensor([-3.0, -2.0]).double()

    def steep(x):
        slope = hessian @ (x - bottom)
        return 0.5 * torch.dot(x - bottom, slope).item(), slope

    # After the first step the slope is square to it, and a curvature of infinity leaves no way.
    found, value, asked = minimize(steep, torch.zeros(2).double(), flat=1e190, steps=2)
    assert found.tolist() == pytest.approx([-1.0, -1.0])
    assert (value, asked) == (steep(found)[0], 3)


def test_stops_where_it_is_flat():
    """At a bottom nothing more is asked, and a coarser *flat* stops sooner."""
    function = bowl(BOTTOM, positive([1, 0, 0, 0, 2, 0, 0, 0, 3]))
    found, value, count = minimize(function, BOTTOM)
    assert (found.tolist(), value, count) == (BOTTOM.tolist(), 3.0, 1)
    rough = minimize(function, torch.zeros(3).double(), flat=1.0)
    fine = minimize(function, torch.zeros(3).double(), flat=1e-6)
    assert rough[2] < fine[2]
    assert 1e-6 < function(rough[0])[1].abs().max().item() <= 1.0
    assert function(fine[0])[1].abs().max().item() <= 1e-6


def test_gives_up_where_no_step_helps():
    """A slope that lies (the value never falls) ends the search where it began."""

    def liar(x):
        return 1.0, torch.ones(1).double()

    found, value, count = minimize(liar, torch.zeros(1).double())
    assert (found.tolist(), value) == ([0.0], 1.0)
    assert 2 < count < 40


@given(MATRICES)
def test_whitened_axes_make_every_bowl_round(entries):
    """In the coordinates given, the curvature is one in every direction."""
    hessian = positive(entries)
    values = torch.linalg.eigvalsh(hessian)
    if values.min() < 2e-3 * values.max():
        return
    axes = whitening(bowl(BOTTOM, hessian), torch.zeros(3).double())
    assert (axes.T @ hessian @ axes).flatten().tolist() == pytest.approx(
        torch.eye(3).flatten().tolist(), abs=1e-9
    )
    round_bowl, asked = counted(along(bowl(BOTTOM, hessian), torch.zeros(3).double(), axes))
    minimize(round_bowl, torch.zeros(3).double(), flat=1e-6)
    assert len(asked) <= 12


def test_steps_stay_bounded_along_what_hardly_matters():
    """A direction without curvature is stretched by a bounded factor."""
    flat = torch.diag(torch.tensor([4.0, 0.0, -1.0])).double()
    axes = whitening(bowl(BOTTOM, flat), BOTTOM)
    lengths = sorted(axes.norm(dim=0).tolist())
    assert lengths == pytest.approx([0.5, 1.0, 1 / math.sqrt(4e-3)])


@given(MATRICES, st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_other_coordinates_are_the_same_function(entries, y):
    """Value and slope at y are those at origin + axes y, the slope turned along the axes."""
    function, y = bowl(BOTTOM, positive(entries)), torch.tensor(y).double()
    axes = torch.tensor([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [0.5, 0.0, 1.0]]).double()
    origin = torch.tensor([0.3, 0.2, 0.1]).double()
    value, slope = along(function, origin, axes)(y)
    expected, outer = function(origin + axes @ y)
    assert value == expected
    for i in range(3):
        by_hand = sum(axes[j, i].item() * outer[j].item() for j in range(3))
        assert slope[i].item() == pytest.approx(by_hand, abs=1e-9)
