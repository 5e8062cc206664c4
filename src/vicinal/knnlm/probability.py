"""
From distances to next-token probabilities.

Pure functions over tensors: nothing here knows where a distance came from or whether it was
calibrated. The minus sign of Eq. 2 is written once, in `log_weights`. All logarithms are natural.
An absent neighbor is at infinite distance, its value is never looked at.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vicinal.errors import InterpolationError


def log_weights(distances: Float[Tensor, "queries k"]) -> Float[Tensor, "queries k"]:
    """
    Give the share of each neighbor, ``log softmax(−d)``.

    Where a query has no neighbor at all, every share is zero.
    """
    total = torch.logsumexp(-distances, dim=-1, keepdim=True)
    return -distances - total.masked_fill(total.isneginf(), 0)


def log_p_target(
    distances: Float[Tensor, "queries k"],
    values: Int[Tensor, "queries k"],
    targets: Int[Tensor, " queries"],
) -> Float[Tensor, " queries"]:
    """
    Give the log-probability of one target token per query (Eq. 2).

    It is ``-inf`` where no neighbor carries the target.
    """
    misses = values != targets[:, None]
    return torch.logsumexp(log_weights(distances).masked_fill(misses, -math.inf), dim=-1)


def log_p_knn(
    distances: Float[Tensor, "queries k"],
    values: Int[Tensor, "queries k"],
    vocab_size: int,
) -> Float[Tensor, "queries {vocab_size}"]:
    """Give the log-probability of every token of the vocabulary (Eq. 2)."""
    shares = log_weights(distances)
    # An absent neighbor may carry any value; with a share of zero it may as well carry token 0.
    values = values.long().masked_fill(distances.isinf(), 0)
    shape = (distances.shape[0], vocab_size)
    # A plain scatter of exp(shares) underflows for far neighbors and would report -inf for a
    # token that was retrieved; scaling by each token's peak does not.
    peaks = shares.new_full(shape, -math.inf).scatter_reduce(1, values, shares, "amax")
    base = peaks.masked_fill(peaks.isneginf(), 0)
    scaled = (shares - base.gather(1, values)).exp()
    return base + shares.new_zeros(shape).scatter_add(1, values, scaled).log()


def sums_of_runs(
    values: Int[Tensor, "queries k"], shares: Float[Tensor, "queries k"]
) -> tuple[Float[Tensor, "queries k"], Bool[Tensor, "queries k"]]:
    """
    Sum the shares of equal values that stand side by side; *values* are sorted.

    The sum stands at each of them; the last of each is marked.
    """
    end = torch.ones(values.shape[0], 1, dtype=torch.bool)
    last = torch.cat([values[:, 1:] != values[:, :-1], end], 1)[:, : values.shape[1]]
    run = last.long().cumsum(1) - last.long()
    sums = torch.zeros(shares.shape, dtype=torch.float64).scatter_add_(1, run, shares.double())
    return sums.gather(1, run).float(), last


def interpolate(
    log_p_knn: Float[Tensor, "queries ..."],
    log_p_lm: Float[Tensor, "queries ..."],
    lam: Float[Tensor, " queries"],
) -> Float[Tensor, "queries ..."]:
    """Mix the two models in probability space; *lam* is the share of the neighbors (Eq. 3)."""
    if lam.numel() and not bool(((lam >= 0) & (lam < 1)).all()):
        raise InterpolationError(
            f"λ must be in [0, 1), was between {lam.min().item():g} and {lam.max().item():g}. "
            "At 1 every token without a neighbor would be impossible."
        )
    lam = lam.reshape(-1, *[1] * (log_p_lm.dim() - 1))
    return torch.logaddexp(log_p_knn + lam.log(), log_p_lm + torch.log1p(-lam))
