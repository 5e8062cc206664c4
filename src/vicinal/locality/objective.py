"""
What fitting minimizes, with its gradient written out.

With z = −g, the neighbors' share of the gold token is ``log p_kNN = lse(z over hits) − lse(z)``.

* objective ``knn``, the paper's: mean of −log p_kNN over the positions whose gold token is among
  the neighbors. The others would add a constant and no gradient; their share is the *coverage*.
* objective ``mixture``: mean of −log(λ p_kNN + (1−λ) p_LM) over all positions; it has no such
  hole, and learns λ too.

Knows nothing of how parameters are tied (`families`) or searched (`fitting`). The gradient is
by hand since automatic differentiation through the gather of each level's parameters takes an
order of magnitude longer, and rows go through in blocks that fit the cache.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from jaxtyping import Bool, Float, Float32, Float64, Int32, Int64, UInt8
from torch import Tensor

from vicinal.errors import CalibrationError
from vicinal.locality.evidence import Evidence

OBJECTIVES = ("mixture", "knn")
ROWS_PER_BLOCK = 64


@dataclass(frozen=True)
class Observations:
    """
    What the neighbors of some positions were, and whether they carried the gold token.

    *documents* numbers the documents of the positions, which come in their order; *evidence* is
    what a λ of each position can be learned from.
    """

    distances: Float32[Tensor, "n k"]
    levels: UInt8[Tensor, "n k"]
    hits: Bool[Tensor, "n k"]
    log_p_lm: Float32[Tensor, " n"]
    keys: Float[Tensor, "n d"]
    documents: Int64[Tensor, " n"] | None = None
    evidence: Evidence | None = None

    def __len__(self) -> int:
        """Count the positions."""
        return len(self.log_p_lm)

    @property
    def covered(self) -> Bool[Tensor, " n"]:
        """Say of each position whether its gold token is among the neighbors."""
        return self.hits.any(1)

    @property
    def coverage(self) -> float:
        """Give the share of positions whose gold token is among the neighbors."""
        return self.covered.float().mean().item()

    @classmethod
    def joined(cls, parts: Sequence["Observations"]) -> "Observations":
        """Put parts after one another; what one of them lacks, all lack."""
        return cls(*(_joined([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def rows(self, chosen: Tensor) -> "Observations":
        """Take some of the positions."""
        return Observations(
            self.distances[chosen],
            self.levels[chosen],
            self.hits[chosen],
            self.log_p_lm[chosen],
            self.keys[chosen],
            None if self.documents is None else self.documents[chosen],
            None if self.evidence is None else self.evidence.rows(chosen),
        )


@dataclass(frozen=True)
class Loss:
    """A loss and its derivatives by every level's weight and bias and by logit λ."""

    value: float
    weights: Float64[Tensor, " levels"]
    biases: Float64[Tensor, " levels"]
    logit_lam: float


@dataclass(frozen=True)
class _Block:
    distances: Float32[Tensor, "rows k"]
    levels: Int32[Tensor, " rows*k"]
    hits: Bool[Tensor, "rows k"]
    log_p_lm: Float32[Tensor, " rows"]
    absent: Bool[Tensor, "rows k"] | None
    of_level: Float32[Tensor, "levels_above_0 rows*k"]


class Objective:
    """One of the two objectives over fixed observations."""

    def __init__(self, observations: Observations, name: str) -> None:
        if name not in OBJECTIVES:
            raise CalibrationError(
                f"Expected an objective of {', '.join(OBJECTIVES)}, found: {name!r}."
            )
        covered = observations.covered
        self.name = name
        self.coverage = observations.coverage
        self._n = int(covered.sum()) if name == "knn" else len(observations)
        if not self._n:
            raise CalibrationError(
                f"No gold token is among the neighbors of any of {len(observations)} positions, so "
                "there is nothing to fit. Fit on more positions, or with a larger k."
            )
        # Positions without a hit never see a parameter but λ.
        self._lm_only = observations.log_p_lm[~covered].double()
        self._blocks = list(_blocks(observations.rows(covered)))

    def __call__(
        self, weights: Float[Tensor, " levels"], biases: Float[Tensor, " levels"], lam: float
    ) -> Loss:
        """Give the loss and its gradient."""
        total, slope_lam = 0.0, 0.0
        slope = torch.zeros(2, len(weights), dtype=torch.float64)
        for block in self._blocks:
            log_p_knn, derivative = _posterior(block, weights.float(), biases.float())
            log_p, share = self._mix(log_p_knn, block.log_p_lm, lam)
            total -= log_p.double().sum().item()
            slope_lam -= (share.double() - lam).sum().item()
            derivative *= share[:, None]
            slope += _sums_by_level(block, derivative, len(weights))
        if self.name == "mixture":
            total -= (self._lm_only + math.log1p(-lam)).sum().item()
            slope_lam += lam * len(self._lm_only)
        n = self._n
        return Loss(total / n, slope[0] / n, slope[1] / n, slope_lam / n)

    def _mix(
        self, log_p_knn: Float32[Tensor, " rows"], log_p_lm: Float32[Tensor, " rows"], lam: float
    ) -> tuple[Float32[Tensor, " rows"], Float32[Tensor, " rows"]]:
        """Give log p, and what share of p is the neighbors' (the derivative by log p_kNN)."""
        if self.name == "knn":
            return log_p_knn, torch.ones_like(log_p_knn)
        neighbors = log_p_knn + math.log(lam) if lam else torch.full_like(log_p_knn, -math.inf)
        log_p = torch.logaddexp(neighbors, log_p_lm + math.log1p(-lam))
        return log_p, (neighbors - log_p).exp()


def _joined(column: Sequence[Any]) -> Any:
    if any(part is None for part in column):
        return None
    return Evidence.joined(column) if isinstance(column[0], Evidence) else torch.cat(list(column))


def _blocks(observations: Observations) -> list[_Block]:
    blocks = []
    # Products with these sum by level; counting by index would take most of the time.
    n_levels = int(observations.levels.max()) + 1 if len(observations) else 1
    above = torch.arange(1, n_levels, dtype=torch.uint8)[:, None]
    for start in range(0, len(observations), ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        distances = observations.distances[rows]
        absent = distances.isinf()
        some_absent = bool(absent.any())
        blocks.append(
            _Block(
                distances.masked_fill(absent, 0) if some_absent else distances,
                observations.levels[rows].reshape(-1).int(),
                observations.hits[rows],
                observations.log_p_lm[rows],
                absent if some_absent else None,
                (observations.levels[rows].reshape(1, -1) == above).float(),
            )
        )
    return blocks


def _posterior(
    block: _Block, weights: Float32[Tensor, " levels"], biases: Float32[Tensor, " levels"]
) -> tuple[Float32[Tensor, " rows"], Float32[Tensor, "rows k"]]:
    """Give log p_kNN(gold) and the derivative of −log p_kNN(gold) by each calibrated distance."""
    shape = block.distances.shape
    z = weights.index_select(0, block.levels).view(shape).mul_(block.distances)
    z.add_(biases.index_select(0, block.levels).view(shape)).neg_()
    if block.absent is not None:
        z.masked_fill_(block.absent, -math.inf)
    # Hits get a peak of their own: next to a far nearer miss they would all underflow to zero.
    hits = z.masked_fill(~block.hits, -math.inf)
    peak, peak_hits = z.amax(1, keepdim=True), hits.amax(1, keepdim=True)
    hits.sub_(peak_hits).exp_()
    z.sub_(peak).exp_()
    mass, mass_hits = z.sum(1, keepdim=True), hits.sum(1, keepdim=True)
    log_p_knn = (peak_hits + mass_hits.log() - peak - mass.log()).squeeze(1)
    return log_p_knn, hits.div_(mass_hits).sub_(z.div_(mass))


def _sums_by_level(
    block: _Block, derivative: Float32[Tensor, "rows k"], n_levels: int
) -> Float64[Tensor, "2 levels"]:
    """Sum the derivative by each level's weight and bias; level 0 has what the others leave."""
    by_line = torch.stack([derivative * block.distances, derivative]).view(2, -1)
    sums = torch.zeros(2, n_levels, dtype=torch.float64)
    above = by_line @ block.of_level.T
    sums[:, 1 : 1 + above.shape[1]] = above
    sums[:, 0] = by_line.sum(1, dtype=torch.float64) - sums.sum(1)
    return sums
