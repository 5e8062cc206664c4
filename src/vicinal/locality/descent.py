"""
L-BFGS for a handful of parameters whose gradient is dear: few calls matter, nothing else does.

By hand because torch's own loads a compiler, which takes longer than the whole fit. Knows nothing
of what it minimizes.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float64
from torch import Tensor

Vector = Float64[Tensor, " x"]
Function = Callable[[Vector], tuple[float, Vector]]
Pair = tuple[Vector, Vector]

ARMIJO = 1e-4  # of the decrease that the slope promises, the least that counts as one
SHORTEST = 1e-8
CURVATURE_STEP = 1e-2


def minimize(
    function: Function, start: Vector, *, flat: float = 1e-6, steps: int = 100
) -> tuple[Vector, float, int]:
    """Find a minimum, where no slope exceeds *flat*; give it, its value, and the calls it took."""
    x, (value, slope), asked = start.clone(), function(start), 1
    pairs: list[Pair] = []
    for _ in range(steps):
        if slope.abs().max().item() <= flat:
            break
        direction = _direction(slope, pairs)
        if not torch.dot(direction, slope) < 0:
            pairs, direction = [], -slope
        length = 1.0 if pairs else min(1.0, 1 / slope.abs().sum().item())
        promised = torch.dot(direction, slope).item()
        while True:
            moved = x + length * direction
            value_moved, slope_moved = function(moved)
            asked += 1
            if value_moved <= value + ARMIJO * length * promised or length < SHORTEST:
                break
            length /= 4
        if not value_moved < value:
            break
        step, change = moved - x, slope_moved - slope
        # A pair along which the function curves downward would turn the next direction uphill.
        if torch.dot(step, change) > 1e-12:
            pairs.append((step, change))
        x, value, slope = moved, value_moved, slope_moved
    return x, value, asked


def whitening(function: Function, x: Vector) -> Float64[Tensor, "x x"]:
    """
    Give axes along which the function curves by one near *x*, from differences of its gradient.

    In such coordinates L-BFGS, which begins by assuming just that, is there in a few steps.
    """
    _, slope = function(x)
    steps = torch.eye(len(x), dtype=torch.float64) * CURVATURE_STEP
    hessian = torch.stack([(function(x + step)[1] - slope) / CURVATURE_STEP for step in steps])
    values, axes = torch.linalg.eigh((hessian + hessian.T) / 2)
    values = values.abs()
    # Along a direction that hardly matters (a fixed λ, an unseen level) steps stay bounded.
    scales = values.clamp_min(max(values.max().item() * 1e-3, 1e-6)).rsqrt()
    return torch.mul(axes, scales)


def along(function: Function, origin: Vector, axes: Float64[Tensor, "x x"]) -> Function:
    """Give the function in other coordinates: of ``origin + axes y``."""

    def moved(y: Vector) -> tuple[float, Vector]:
        value, slope = function(origin + axes @ y)
        return value, axes.T @ slope

    return moved


def _direction(slope: Vector, pairs: list[Pair]) -> Vector:
    """Multiply the slope by the inverse curvature that the steps so far have shown."""
    direction, shares = -slope, []
    for step, change in reversed(pairs):
        share = torch.dot(step, direction) / torch.dot(step, change)
        shares.append(share)
        direction = direction - share * change
    if pairs:
        step, change = pairs[-1]
        direction = direction * (torch.dot(step, change) / torch.dot(change, change))
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        back = torch.dot(change, direction) / torch.dot(step, change)
        direction = direction + step * (share - back)
    return direction
