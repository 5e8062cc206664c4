"""
Which parameters of the lines are free: the rungs of the ladder between kNN and linear.

A family is an affine map from its free parameters θ to every level's weight and bias:
``w = fixed + W θ``, ``b = B θ``. Knows nothing of losses.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from vicinal.errors import CalibrationError
from vicinal.locality.calibration import LevelCalibration


@dataclass(frozen=True)
class Family:
    """Lines with some parameters tied or fixed; θ holds the free weights first, then biases."""

    name: str
    fixed: Float64[Tensor, " levels"]
    to_weights: Float64[Tensor, "levels parameters"]
    to_biases: Float64[Tensor, "levels parameters"]
    n_weights: int

    @property
    def n_parameters(self) -> int:
        """Count the free parameters."""
        return self.to_weights.shape[1]

    def lines(
        self, theta: Float64[Tensor, " parameters"]
    ) -> tuple[Float64[Tensor, " levels"], Float64[Tensor, " levels"]]:
        """Give the weights and biases that θ stands for."""
        return self.fixed + self.to_weights @ theta, self.to_biases @ theta

    def calibration(self, theta: Float64[Tensor, " parameters"]) -> LevelCalibration:
        """Give the calibration that θ stands for."""
        weights, biases = self.lines(theta)
        return LevelCalibration(weights.float(), biases.float())

    def nearest(self, lines: LevelCalibration) -> Float64[Tensor, " parameters"]:
        """Give the θ whose lines are nearest to given ones: where a search starts."""
        both = torch.cat([self.to_weights, self.to_biases])
        wanted = torch.cat([lines.weights.double() - self.fixed, lines.biases.double()])
        solution: Tensor = torch.linalg.lstsq(both, wanted[:, None], driver="gelsd").solution
        return solution[:, 0]


def family(name: str, n_levels: int) -> Family:
    """Give the family of one rung: ``temperature``, ``bias`` or ``linear``."""
    makers: Mapping[str, tuple[Tensor, Tensor, Tensor]] = {
        "temperature": _temperature(n_levels),
        "bias": _bias(n_levels),
        "linear": _linear(n_levels),
    }
    if name not in makers:
        raise CalibrationError(f"Expected a family of {', '.join(makers)}, found: {name!r}.")
    fixed, weights, biases = (part.double() for part in makers[name])
    n_weights = int((weights != 0).any(0).sum())
    return Family(name, fixed, weights, biases, n_weights)


def _temperature(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """One weight for all levels: what any kNN-LM can have without locality."""
    return torch.zeros(n), torch.ones(n, 1), torch.zeros(n, 1)


def _bias(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weights above level 0 fixed at one, biases and ``w_0`` free (the paper's Table 8)."""
    fixed = torch.ones(n)
    fixed[0] = 0
    weights = torch.zeros(n, n)
    weights[0, 0] = 1
    return fixed, weights, _below_zero(n, first=1)


def _linear(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Free a weight for each level and a bias for each but level 0: the paper's method."""
    return torch.zeros(n), torch.eye(n, 2 * n - 1), _below_zero(n, first=n)


def _below_zero(n: int, first: int) -> Tensor:
    """Map parameters *first*, *first*+1, … to the biases of levels 1, 2, …."""
    biases = torch.zeros(n, first + n - 1)
    for level in range(1, n):
        biases[level, first + level - 1] = 1
    return biases
