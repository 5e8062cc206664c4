"""
λ as a small function of features of a query: beyond the paper.

    logit λ = logit λ₀ + network(features)

where λ₀ is a fixed λ and the network has one hidden layer; an untrained one answers zero, so that
λ is λ₀. Knows nothing of what the features are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vicinal.errors import CalibrationError
from vicinal.locality.calibration import pack, unpack

FAR = 4.0  # standard deviations: what is farther out than any example is taken to be no farther
MAX_LOGIT = 12.0  # λ stays below one
TENSORS = ("mean", "scale", "hidden", "out")


@dataclass(frozen=True)
class AdaptiveLam:
    """
    A network that moves λ of each query away from a fixed one.

    *names* are the features it was fitted to, standardized by *mean* and *scale*; *seen* are the
    smallest, the mean and the largest λ of the positions it was fitted on.
    """

    names: tuple[str, ...]
    mean: Float[Tensor, " features"]
    scale: Float[Tensor, " features"]
    hidden: Float[Tensor, "hidden features_and_one"]
    out: Float[Tensor, " hidden_and_one"]
    seen: tuple[float, float, float]

    def __str__(self) -> str:
        """Tell where λ lay, as a person reads it."""
        smallest, mean, largest = self.seen
        return f"{smallest:.2f}..{largest:.2f}, mean {mean:.2f}"

    def standard(
        self, features: Float[Tensor, "queries features"]
    ) -> Float[Tensor, "queries features"]:
        """Bring features to a spread of one around zero, and none far out."""
        return ((features - self.mean) / self.scale).clamp(-FAR, FAR)

    def logits(
        self, standard: Float[Tensor, "queries features"], lam: float
    ) -> Float[Tensor, " queries"]:
        """Give logit λ of each query from its standardized features and the fixed *lam*."""
        hidden = torch.tanh(standard @ self.hidden[:, :-1].T + self.hidden[:, -1])
        moved = hidden @ self.out[:-1] + self.out[-1]
        return (torch.logit(torch.tensor(lam)) + moved).clamp(max=MAX_LOGIT)

    def __call__(
        self, features: Float[Tensor, "queries features"], lam: float
    ) -> Float[Tensor, " queries"]:
        """Give λ of each query, in [0, 1); where the fixed *lam* is zero, so is each."""
        return torch.sigmoid(self.logits(self.standard(features), lam))

    def check(self, names: tuple[str, ...]) -> None:
        """Refuse features other than those it was fitted to."""
        if names != self.names:
            raise CalibrationError(
                f"λ was fitted to the features {', '.join(self.names)}; here they are "
                f"{', '.join(names)}. Fit again with these levels and this vicinal."
            )

    def to_dict(self) -> dict[str, Any]:
        """Write the parameters as plain data."""
        tensors = {name: pack(getattr(self, name)) for name in TENSORS}
        return {"features": list(self.names), "seen": list(self.seen), **tensors}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "AdaptiveLam":
        """Read what `to_dict` wrote."""
        tensors = {name: unpack(data[name]) for name in TENSORS}
        smallest, mean, largest = map(float, data["seen"])
        return cls(names=tuple(data["features"]), seen=(smallest, mean, largest), **tensors)
