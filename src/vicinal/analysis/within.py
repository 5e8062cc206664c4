"""
Whether a local neighbor is more often right than another of its position, equally far.

Curves over all positions mix easy positions with hard ones, and levels are not spread alike over
them. Here only neighbors of one position and one bin of distance are compared (the odds ratio of
Mantel and Haenszel), so that neither the position nor the distance can explain a difference.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from vicinal.locality import Observations

TOP, N_BINS, DRAWS = 200, 30, 1000


@dataclass(frozen=True)
class Odds:
    """
    How the odds of being right compare with those of a neighbor that is not local.

    Above 1 the level is informative. *interval* is the middle 95 % of a bootstrap over documents;
    *strata* counts the bins of positions that have neighbors of both kinds.
    """

    level: str
    ratio: float
    interval: tuple[float, float]
    strata: int

    def __str__(self) -> str:
        """Write the ratio as a person reads it."""
        low, high = self.interval
        return f"{self.level}: {self.ratio:.2f} [{low:.2f}, {high:.2f}] over {self.strata:,} strata"


def odds_within(
    observations: Observations,
    level_names: Sequence[str],
    documents: Int64[np.ndarray, " n"],
    seed: int = 0,
) -> list[Odds]:
    """Compare each level with level 0 inside of positions and bins of distance."""
    distances, order = observations.distances.sort(dim=1, stable=True)
    distances, order = distances[:, :TOP], order[:, :TOP]
    found = distances.isfinite().numpy()
    if not found.any():
        return []
    near = distances.double().numpy()
    cuts = np.linspace(near[found].min(), near[found].max(), N_BINS + 1)
    bins = np.clip(np.searchsorted(cuts, near, side="right") - 1, 0, N_BINS - 1)
    stratum = np.arange(len(near))[:, None] * N_BINS + bins
    cells = _Cells(
        stratum[found],
        observations.levels.gather(1, order).numpy()[found],
        observations.hits.gather(1, order).numpy()[found],
    )
    random = np.random.default_rng(seed)
    return [
        _odds(name, cells.table(level), documents, random)
        for level, name in enumerate(level_names)
        if level
    ]


@dataclass(frozen=True)
class _Cells:
    """All neighbors in one row: the stratum, level and hit of each."""

    stratum: Int64[np.ndarray, " pairs"]
    level: np.ndarray[tuple[int], np.dtype[np.uint8]]
    hit: Bool[np.ndarray, " pairs"]

    def table(self, level: int) -> Float64[np.ndarray, "strata 5"]:
        """Count, for each stratum with both kinds: position, and hits and misses of each kind."""
        chosen = (self.level == level) | (self.level == 0)
        strata, row = np.unique(self.stratum[chosen], return_inverse=True)
        local, hit = self.level[chosen] == level, self.hit[chosen]
        counts = [
            np.bincount(row, kind & right, len(strata))
            for kind in (local, ~local)
            for right in (hit, ~hit)
        ]
        table = np.stack([strata // N_BINS, *counts], 1).astype(np.float64)
        both = (table[:, 1:3].sum(1) > 0) & (table[:, 3:].sum(1) > 0)
        rows: np.ndarray[tuple[int, int], np.dtype[np.float64]] = table[both]
        return rows


def _odds(
    name: str,
    table: Float64[np.ndarray, "strata 5"],
    documents: Int64[np.ndarray, " n"],
    random: np.random.Generator,
) -> Odds:
    if not len(table):
        return Odds(name, math.nan, (math.nan, math.nan), 0)
    position, hits, misses, other_hits, other_misses = table.T
    n = table[:, 1:].sum(1)
    document = documents[position.astype(np.int64)]
    present, row = np.unique(document, return_inverse=True)
    up = np.bincount(row, hits * other_misses / n, len(present))
    down = np.bincount(row, misses * other_hits / n, len(present))
    weights = random.multinomial(len(present), np.full(len(present), 1 / len(present)), size=DRAWS)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.float64(up.sum()) / down.sum())
        drawn = (weights @ up) / (weights @ down)
    return Odds(name, ratio, _middle(drawn[~np.isnan(drawn)]), len(table))


def _middle(drawn: Float64[np.ndarray, " draws"]) -> tuple[float, float]:
    """Give the middle 95 % of what was drawn, by rank: infinities cannot be interpolated."""
    if not len(drawn):
        return math.nan, math.nan
    ranks = np.rint(np.array([0.025, 0.975]) * (len(drawn) - 1)).astype(np.int64)
    low, high = np.sort(drawn)[ranks].tolist()
    return low, high
