"""
A calibration and λ: all that is fitted, and all that turns a retrieval into a probability.

Knows nothing of stores or of how the parameters were found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vicinal.errors import InterpolationError
from vicinal.knnlm.features import NAMES, features
from vicinal.knnlm.probability import interpolate, log_p_target, log_weights
from vicinal.knnlm.retrieval import Retrieved
from vicinal.locality import (
    AbstractCalibration,
    AdaptiveLam,
    Evidence,
    Fitted,
    LevelCalibration,
    calibration_from_dict,
)

PUBLISHED_LAM = 0.25


@dataclass(frozen=True)
class Mixture:
    """
    ``p = λ p_kNN + (1−λ) p_LM``, with p_kNN over calibrated distances.

    *lam* is λ of every query; or where *adaptive* is given, what it moves each query's λ from.
    """

    calibration: AbstractCalibration
    lam: float
    adaptive: AdaptiveLam | None = None

    def __post_init__(self) -> None:
        if self.adaptive:
            self.adaptive.check(NAMES)
        if not 0 <= self.lam < 1:
            raise InterpolationError(
                f"λ must be in [0, 1), was: {self.lam:g}. "
                "At 1 every token without a neighbor would be impossible."
            )

    @classmethod
    def published(cls, n_levels: int) -> "Mixture":
        """Give the kNN-LM as published: T = 1, λ = .25, no locality."""
        return cls(LevelCalibration.identity(n_levels), PUBLISHED_LAM)

    @classmethod
    def of(cls, fitted: Fitted) -> "Mixture":
        """Take what was fitted."""
        return cls(fitted.calibration, fitted.lam, fitted.adaptive)

    @property
    def lam_told(self) -> str:
        """Tell λ as a table does; of one that adapts, where it lay on what it was fitted on."""
        return str(self.adaptive) if self.adaptive else f"{self.lam:.3f}"

    def calibrated(self, retrieved: Retrieved) -> Float[Tensor, "queries k"]:
        """Give the calibrated distance of every neighbor."""
        return self.calibration(retrieved.distances, retrieved.levels, retrieved.keys)

    def shares(self, retrieved: Retrieved) -> Float[Tensor, "queries k"]:
        """Give each neighbor's share of p_kNN."""
        return log_weights(self.calibrated(retrieved)).exp()

    def lams(
        self, retrieved: Retrieved, evidence: Evidence | None = None
    ) -> Float[Tensor, " queries"]:
        """
        Give λ of each query: none where nothing was retrieved, so that p still sums to one.

        *evidence* is what the base model says of these queries; a fixed λ does without.
        """
        found = (retrieved.entries >= 0).any(1)
        if self.adaptive is None:
            return torch.full(found.shape, self.lam) * found
        if evidence is None:
            raise InterpolationError(
                "A λ that adapts needs what the base model says of each query, found nothing. "
                "Pass Evidence.of(retrieved.values, log_p_lm)."
            )
        told = features(retrieved.distances, self.calibrated(retrieved), evidence)
        return self.adaptive(told, self.lam) * found

    def log_p_target(
        self,
        retrieved: Retrieved,
        targets: Int[Tensor, " queries"],
        log_p_lm: Float[Tensor, " queries"],
        evidence: Evidence | None = None,
    ) -> Float[Tensor, " queries"]:
        """Give log p of one token per query; *evidence* as `lams` takes it."""
        log_p = log_p_target(self.calibrated(retrieved), retrieved.values, targets)
        return interpolate(log_p, log_p_lm, self.lams(retrieved, evidence))

    def to_dict(self) -> dict[str, Any]:
        """Write the parameters as plain data."""
        fixed = {"calibration": self.calibration.to_dict(), "lam": self.lam}
        return {**fixed, "adaptive": self.adaptive.to_dict()} if self.adaptive else fixed

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Mixture":
        """Read what `to_dict` wrote."""
        adaptive = AdaptiveLam.from_dict(data["adaptive"]) if "adaptive" in data else None
        return cls(calibration_from_dict(data["calibration"]), float(data["lam"]), adaptive)
