"""
The contract of every index: queries in, neighbors out.

Knows nothing of documents, tokens or locality. An *entry* is named by its row in a snapshot of
the store. *distance* is squared l2 in float32, smaller is closer, never negated.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float, Float32, Int64
from torch import Tensor


@dataclass(frozen=True)
class Neighbors:
    """
    The k nearest entries of each query, nearest first, equal distances by entry.

    Where a query has fewer than k, the rest is entry -1 at distance infinity.
    """

    entries: Int64[Tensor, "queries k"]
    distances: Float32[Tensor, "queries k"]


class AbstractIndex(ABC):
    """Finds the nearest live entries of a snapshot."""

    @abstractmethod
    def search(
        self,
        queries: Float[Tensor, "queries d"],
        k: int,
        *,
        without: Int64[Tensor, "queries 2"],
    ) -> Neighbors:
        """
        Find the k nearest entries of each query outside of ``[without[i,0], without[i,1])``.

        That range is the query's own document; an empty range (0, 0) leaves nothing out. Dead
        (tombstoned) entries are never found.
        """
