"""
Calibrated distances: how much a level of locality moves a neighbor closer.

Knows nothing of tokens or probabilities. Distances in and out are squared l2, smaller is closer;
an absent neighbor is at infinity before and after.
"""

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from vicinal.errors import CalibrationError


class AbstractCalibration(ABC):
    """A function of distance and level (and perhaps of the query) that is still a distance."""

    @property
    @abstractmethod
    def lines(self) -> "LevelCalibration":
        """Give the line of each level; of a contextual calibration, those it starts from."""

    @property
    def n_levels(self) -> int:
        """Count the levels it was made for, level 0 included."""
        return len(self.lines.weights)

    @abstractmethod
    def __call__(
        self,
        distances: Float[Tensor, "queries k"],
        levels: UInt8[Tensor, "queries k"],
        keys: Float[Tensor, "queries d"],
    ) -> Float[Tensor, "queries k"]:
        """Calibrate the distance of each neighbor; *keys* are the queries' own."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Write the parameters as plain data."""


@dataclass(frozen=True)
class LevelCalibration(AbstractCalibration):
    """
    One straight line per level, ``g_n(d) = w_n d + b_n`` (Eq. 5 and 6).

    Identity, temperature and biases only are such lines with some parameters tied or fixed. The
    bias of level 0 is held at zero: one number added to every distance leaves the softmax as it is.
    """

    weights: Float[Tensor, " levels"]
    biases: Float[Tensor, " levels"]

    def __post_init__(self) -> None:
        if self.biases[0] != 0:
            raise CalibrationError(
                f"The bias of level 0 must be 0, was: {self.biases[0].item():g}. "
                "Subtract it from every bias; the probabilities do not change."
            )
        parameters = torch.cat([self.weights, self.biases])
        if not bool(parameters.isfinite().all()):
            raise CalibrationError(
                f"Weights and biases must be finite, found: {parameters.tolist()}. "
                "Fit again with other starting values, or with fewer levels."
            )

    @classmethod
    def identity(cls, n_levels: int) -> "LevelCalibration":
        """Leave every distance as it is: the kNN-LM as published."""
        return cls(torch.ones(n_levels), torch.zeros(n_levels))

    @property
    def lines(self) -> "LevelCalibration":
        """Give the line of each level: itself."""
        return self

    def __call__(
        self,
        distances: Float[Tensor, "queries k"],
        levels: UInt8[Tensor, "queries k"],
        keys: Float[Tensor, "queries d"],
    ) -> Float[Tensor, "queries k"]:
        """Calibrate each neighbor's distance by the line of its level."""
        check_levels(levels, self.n_levels)
        chosen = levels.long()
        return _lines(distances, self.weights[chosen], self.biases[chosen])

    def to_dict(self) -> dict[str, Any]:
        """Write the parameters as plain data."""
        return {"kind": "lines", "weights": self.weights.tolist(), "biases": self.biases.tolist()}


@dataclass(frozen=True)
class MLPCalibration(AbstractCalibration):
    """
    Lines whose parameters depend on the context: ``[w_0 … w_n b_1 … b_n] = MLP(f(c_t))``.

    Two layers with ReLU (the paper's appendix). Keys are standardized by *mean* and *scale*. The
    network's answer is added to *start*, in units in which distances have a spread near one: a
    departure from the paper, which lets the network begin as the lines it is to improve on.
    """

    mean: Float[Tensor, " d"]
    scale: Float[Tensor, " d"]
    hidden: Float[Tensor, "hidden d_and_one"]
    out: Float[Tensor, "outs hidden_and_one"]
    start: LevelCalibration
    unit: float

    @property
    def lines(self) -> LevelCalibration:
        """Give the lines that the network starts from."""
        return self.start

    def parameters(
        self, features: Float[Tensor, "queries hidden"]
    ) -> tuple[Float[Tensor, "queries levels"], Float[Tensor, "queries levels"]]:
        """Give each query its weights and biases, from the hidden layer's answer."""
        answer = features @ self.out[:, :-1].T + self.out[:, -1]
        weights = self.start.weights + answer[:, : self.n_levels] / self.unit
        none = answer.new_zeros(len(answer), 1)
        return weights, self.start.biases + torch.cat([none, answer[:, self.n_levels :]], 1)

    def features(self, keys: Float[Tensor, "queries d"]) -> Float[Tensor, "queries hidden"]:
        """Give the hidden layer's answer to each query key."""
        standard = (keys.float() - self.mean) / self.scale
        return torch.relu(standard @ self.hidden[:, :-1].T + self.hidden[:, -1])

    def __call__(
        self,
        distances: Float[Tensor, "queries k"],
        levels: UInt8[Tensor, "queries k"],
        keys: Float[Tensor, "queries d"],
    ) -> Float[Tensor, "queries k"]:
        """Calibrate each neighbor's distance by the line its query's context gives its level."""
        check_levels(levels, self.n_levels)
        weights, biases = self.parameters(self.features(keys))
        chosen = levels.long()
        return _lines(distances, weights.gather(1, chosen), biases.gather(1, chosen))

    def to_dict(self) -> dict[str, Any]:
        """Write the parameters as plain data."""
        tensors = {n: pack(getattr(self, n)) for n in ("mean", "scale", "hidden", "out")}
        return {"kind": "mlp", "start": self.start.to_dict(), "unit": self.unit, **tensors}


def calibration_from_dict(data: Mapping[str, Any]) -> AbstractCalibration:
    """Read what a calibration's `to_dict` wrote."""
    if data.get("kind") == "lines":
        return LevelCalibration(torch.tensor(data["weights"]), torch.tensor(data["biases"]))
    if data.get("kind") == "mlp":
        start = calibration_from_dict(data["start"])
        if isinstance(start, LevelCalibration):
            tensors = {n: unpack(data[n]) for n in ("mean", "scale", "hidden", "out")}
            return MLPCalibration(**tensors, start=start, unit=float(data["unit"]))
    raise CalibrationError(
        f"Expected a calibration of kind 'lines' or 'mlp', found: {data.get('kind')!r}. "
        "Was the file written by a newer vicinal?"
    )


def check_levels(levels: UInt8[Tensor, "queries k"], n_levels: int) -> None:
    """Refuse levels that a calibration of *n_levels* does not know."""
    if levels.numel() and int(levels.max()) >= n_levels:
        raise CalibrationError(
            f"Levels must be in [0, {n_levels}), found up to {int(levels.max())}. "
            "Was this calibration fitted with another locality schema?"
        )


def _lines(
    distances: Float[Tensor, "queries k"],
    weights: Float[Tensor, "queries k"],
    biases: Float[Tensor, "queries k"],
) -> Float[Tensor, "queries k"]:
    # A weight of zero or below must not bring an absent neighbor back from infinity.
    return (weights * distances + biases).masked_fill(distances.isinf(), torch.inf)


def pack(tensor: Tensor) -> dict[str, Any]:
    """Write a tensor as text that keeps every bit of its single-precision numbers."""
    array = np.ascontiguousarray(tensor.detach().numpy(), dtype="<f4")
    return {"shape": list(array.shape), "f4": base64.b64encode(array.tobytes()).decode("ascii")}


def unpack(data: Mapping[str, Any]) -> Tensor:
    """Read what `pack` wrote."""
    array = np.frombuffer(base64.b64decode(data["f4"]), dtype="<f4").reshape(data["shape"])
    return torch.from_numpy(array.astype(np.float32))
