"""
How often a neighbor is right, by level: against its rank, its distance, its calibrated distance.

The data of the paper's Figure 2: at the same rank or distance, is a local neighbor more often
right? After calibration the curves should lie closer together. Knows nothing of drawing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from vicinal.locality import AbstractCalibration, Observations

N_BINS = 12
FEWEST = 25  # neighbors; what is told by fewer is left out
Z = 1.96


@dataclass(frozen=True)
class Binning:
    """
    How neighbors are put together: of each query the nearest *top*, or all.

    *published* is the paper's way, made for its figures: each rank by itself, and bins of equal
    width of the negative distance, each told by its upper bound. Otherwise ranks are binned by
    their logarithm, and bins of distance hold equally many neighbors and are told by their mean.
    """

    top: int | None = None
    n_bins: int = N_BINS
    published: bool = False

    def rank_cuts(self, k: int) -> Float64[np.ndarray, " cuts"]:
        """Give the ranks at which bins begin, and where the last one ends."""
        if self.published:
            return np.arange(1, k + 2, dtype=np.float64)
        return np.unique(np.geomspace(1, k + 1, self.n_bins + 1).round())

    def value_cuts(self, values: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " cuts"]:
        """Give the distances at which bins begin, and where the last one ends."""
        if self.published:
            return np.linspace(values.min(), values.max(), self.n_bins + 1)
        return np.unique(np.quantile(values, np.linspace(0, 1, self.n_bins + 1)))


PUBLISHED = Binning(top=200, n_bins=30, published=True)


@dataclass(frozen=True)
class Curve:
    """One level's mean of something in each bin, with a 95 % interval and the neighbors counted."""

    level: str
    x: Float64[np.ndarray, " bins"]
    y: Float64[np.ndarray, " bins"]
    low: Float64[np.ndarray, " bins"]
    high: Float64[np.ndarray, " bins"]
    count: Int64[np.ndarray, " bins"]


@dataclass(frozen=True)
class Curves:
    """A curve for each level: right against rank and distance, and distance against rank."""

    by_rank: tuple[Curve, ...]
    by_distance: tuple[Curve, ...]
    distance_by_rank: tuple[Curve, ...]


@dataclass(frozen=True)
class _Pairs:
    """All neighbors of all queries in one row, ranked by the distance in question."""

    rank: Float64[np.ndarray, " n"]
    distance: Float64[np.ndarray, " n"]
    level: Int64[np.ndarray, " n"]
    hit: Float64[np.ndarray, " n"]
    cluster: Int64[np.ndarray, " n"]


def curves(
    observations: Observations,
    level_names: Sequence[str],
    calibration: AbstractCalibration | None = None,
    binning: Binning = Binning(),
    clusters: Int64[np.ndarray, " n"] | None = None,
) -> Curves:
    """
    Count hits by rank and by distance, as found or as a *calibration* sees them.

    Neighbors are not independent of one another: intervals are over *clusters*, the document of
    each position, or over positions where none are given.
    """
    distances = observations.distances
    if calibration is not None:
        distances = calibration(distances, observations.levels, observations.keys)
    if clusters is None:
        clusters = np.arange(len(observations))
    pairs = _pairs(observations, distances, binning, clusters)
    if not len(pairs.rank):
        return Curves((), (), ())
    by_rank = _binned(pairs.rank, binning.rank_cuts(int(pairs.rank.max())))
    cuts = binning.value_cuts(pairs.distance)
    by_distance = _binned(pairs.distance, cuts)
    x = cuts[1:][by_distance] if binning.published else pairs.distance
    levels = list(enumerate(level_names))
    return Curves(
        tuple(_shares(pairs, by_rank, pairs.rank, level) for level in levels),
        tuple(_shares(pairs, by_distance, x, level) for level in levels),
        tuple(_means(pairs, by_rank, level) for level in levels),
    )


def _pairs(
    observations: Observations,
    distances: Float[Tensor, "n k"],
    binning: Binning,
    clusters: Int64[np.ndarray, " n"],
) -> _Pairs:
    """Rank the neighbors of each query; the paper's way, distances are negated from here on."""
    ordered, order = distances.sort(dim=1, stable=True)
    ordered, order = ordered[:, : binning.top], order[:, : binning.top]
    found = ordered.isfinite()
    rank = torch.arange(1, ordered.shape[1] + 1).expand(ordered.shape)
    sign = -1 if binning.published else 1
    return _Pairs(
        rank[found].double().numpy(),
        sign * ordered[found].double().numpy(),
        observations.levels.gather(1, order)[found].long().numpy(),
        observations.hits.gather(1, order)[found].double().numpy(),
        torch.from_numpy(clusters)[:, None].expand(ordered.shape)[found].numpy(),
    )


def _binned(
    values: Float64[np.ndarray, " n"], cuts: Float64[np.ndarray, " cuts"]
) -> Int64[np.ndarray, " n"]:
    """Give each value the number of its bin; the last bin has its upper end too."""
    bins = np.searchsorted(cuts, values, side="right") - 1
    return np.clip(bins, 0, max(0, len(cuts) - 2)).astype(np.int64)


def _shares(
    pairs: _Pairs,
    bins: Int64[np.ndarray, " n"],
    values: Float64[np.ndarray, " n"],
    level: tuple[int, str],
) -> Curve:
    """
    Give the share of hits in each bin, with Wilson's interval, which never leaves [0, 1].

    It is as wide as if there were as many neighbors as the clusters' differences tell; with a
    single cluster these tell nothing, and every share is possible.
    """
    chosen = pairs.level == level[0]
    count, x = _counts(bins[chosen], values[chosen])
    share, variance = _mean(pairs, pairs.hit, bins, chosen)
    some = np.maximum(count, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(variance > 0, np.minimum(some, share * (1 - share) / variance), some)
    n = np.maximum(n, 1e-9)
    width = Z * np.sqrt(share * (1 - share) / n + (Z / 2 / n) ** 2)
    middle, scale = share + Z**2 / 2 / n, 1 + Z**2 / n
    low, high = np.minimum((middle - width) / scale, share), (middle + width) / scale
    return _curve(level[1], count, x, (share, low.clip(0), np.maximum(high, share).clip(max=1)))


def _means(pairs: _Pairs, bins: Int64[np.ndarray, " n"], level: tuple[int, str]) -> Curve:
    """Give the mean distance in each bin, two standard errors around."""
    chosen = pairs.level == level[0]
    count, x = _counts(bins[chosen], pairs.rank[chosen])
    mean, variance = _mean(pairs, pairs.distance, bins, chosen)
    error = Z * np.sqrt(variance)
    return _curve(level[1], count, x, (mean, mean - error, mean + error))


def _mean(
    pairs: _Pairs,
    values: Float64[np.ndarray, " n"],
    bins: Int64[np.ndarray, " n"],
    chosen: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> tuple[Float64[np.ndarray, " bins"], Float64[np.ndarray, " bins"]]:
    """Give the mean in each bin, and its variance as the clusters differ from it: not by one."""
    bins, values = bins[chosen], values[chosen]
    count = np.maximum(np.bincount(bins), 1)
    mean = np.bincount(bins, values) / count
    cells, cell = np.unique(pairs.cluster[chosen] * len(count) + bins, return_inverse=True)
    off = np.bincount(cell, values - mean[bins]) ** 2
    n_clusters = np.bincount(cells % len(count), minlength=len(count))
    variance = np.bincount(cells % len(count), off, len(count)) / count**2
    return mean, np.where(n_clusters == 1, np.inf, variance)


def _counts(
    bins: Int64[np.ndarray, " n"], values: Float64[np.ndarray, " n"]
) -> tuple[Int64[np.ndarray, " bins"], Float64[np.ndarray, " bins"]]:
    """Count each bin, and give the mean of what lies in it."""
    count = np.bincount(bins)
    return count.astype(np.int64), np.bincount(bins, values) / np.maximum(count, 1)


def _curve(
    name: str,
    count: Int64[np.ndarray, " bins"],
    x: Float64[np.ndarray, " bins"],
    columns: tuple[Float64[np.ndarray, " bins"], ...],
) -> Curve:
    """Keep the bins that enough neighbors speak for."""
    kept = count >= FEWEST
    y, low, high = (column[kept] for column in columns)
    return Curve(name, x[kept], y, low, high, count[kept])
