"""
How much an approximate index finds of what exact search finds, and how many probes that takes.

Stored keys serve as queries, each without the entries around it, as a document is left out of its
own search. Knows nothing of FAISS: a search is a function of queries and probes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from vicinal.index.neighbors import Neighbors
from vicinal.index.stored_keys import StoredKeys


@dataclass(frozen=True)
class RecallTarget:
    """Ask for *recall* at *k*, measured on *n_queries* stored keys drawn with *seed*."""

    recall: float = 0.99
    k: int = 1024
    n_queries: int = 256
    around: int = 256
    seed: int = 0


@dataclass(frozen=True)
class RecallReport:
    """
    What was measured: with *n_probes* lists probed, *recall* at *k* over *n_queries* stored keys.

    Each of these was searched without the *around* entries on either side of it.
    """

    n_probes: int
    recall: float
    target: float
    k: int
    n_queries: int
    around: int
    seed: int


def draw_queries(
    keys: StoredKeys, target: RecallTarget
) -> tuple[Float32[Tensor, "queries d"], Int64[Tensor, "queries 2"]]:
    """Draw live entries; give their keys and the ranges around them."""
    (live,) = keys.live.nonzero(as_tuple=True)
    generator = torch.Generator().manual_seed(target.seed)
    chosen = live[torch.randperm(len(live), generator=generator)[: target.n_queries]]
    ranges = torch.stack([chosen - target.around, chosen + target.around + 1], 1)
    return keys.take(chosen), ranges.clamp(0, keys.n_entries)


def recall(found: Neighbors, truth: Neighbors) -> float:
    """
    Compute the share of the true neighbors that were found, averaged over the queries.

    Any entry as near as the farthest true neighbor counts: which of equally near entries is
    found does not matter.
    """
    n_true = truth.distances.isfinite().sum(1)
    farthest = truth.distances.masked_fill(truth.distances.isinf(), -1).amax(1, keepdim=True)
    n_found = (found.distances <= farthest).sum(1)
    asked = n_true > 0
    return float((n_found[asked] / n_true[asked]).mean()) if asked.any() else 1.0


def fewest_probes(recall_at: Callable[[int], float], wanted: float, most: int) -> tuple[int, float]:
    """Find the fewest probes, up to *most*, whose recall is at least *wanted*, and that recall."""
    low, high = 0, 1
    while (reached := recall_at(high)) < wanted and high < most:
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        here = recall_at(middle)
        if here >= wanted:
            high, reached = middle, here
        else:
            low = middle
    return high, reached
