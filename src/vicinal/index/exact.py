"""
Exact search as blocked matrix products: the oracle of every other index, and the way on a GPU.

With queries and keys moved by one center, the score ``q.k - |k|^2 / 2`` orders a query's entries
like ``|q - k|^2`` does, and it is one product. Products round, so a few more than k entries are
kept; their true distances are computed directly, and then it is *proven* for each query, with the
worst rounding that the product can have done, that no other entry belongs among its k nearest.
Where that cannot be proven (many entries equally near: license headers, generated code), the
query is searched a second time for everything within the rounding of the k-th distance.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from vicinal.datastore.snapshot import Snapshot
from vicinal.errors import SearchError
from vicinal.index.candidates import GROUP, Candidates, sift
from vicinal.index.neighbors import AbstractIndex, Neighbors
from vicinal.index.questions import admit
from vicinal.index.rescoring import moved, nearest, over_fetched, pair_distances, rescore
from vicinal.index.stored_keys import StoredKeys

SCORES_AT_A_TIME = 2**23
MAX_BLOCK, MIN_BLOCK = 16384, 1024
MAX_QUERIES = 4096
ROUNDOFF = 2.0**-24  # of float32
# How far a product of two numbers may be off where torch was allowed to shorten them to
# TensorFloat32 ("high") or bfloat16 ("medium") first: twice their roundoff, and one bit to spare.
SHORTENED = {"highest": 0.0, "high": 2.0**-9, "medium": 2.0**-6}


class ExactIndex(AbstractIndex):
    """Compares each query with each live key of *snapshot*; products run on *device*."""

    def __init__(self, snapshot: Snapshot, *, device: str = "cpu") -> None:
        self._keys = StoredKeys(snapshot)
        self._device = torch.device(device)

    def search(
        self,
        queries: Float[Tensor, "queries d"],
        k: int,
        *,
        without: Int64[Tensor, "queries 2"],
    ) -> Neighbors:
        """Find the k nearest entries of each query outside of its range, all of them."""
        questions = admit(queries, k, without, dim=self._keys.dim)
        without = without.cpu()
        parts = [
            self._search(questions[lo : lo + MAX_QUERIES], k, without[lo : lo + MAX_QUERIES])
            for lo in range(0, len(questions), MAX_QUERIES)
        ]
        empty = torch.empty(0, k)
        found = Neighbors(
            torch.cat([empty.long(), *(part.entries for part in parts)]),
            torch.cat([empty, *(part.distances for part in parts)]),
        )
        return moved(found, queries.device)

    def _search(
        self,
        queries: Float32[Tensor, "queries d"],
        k: int,
        without: Int64[Tensor, "queries 2"],
    ) -> Neighbors:
        candidates = Candidates(len(queries), over_fetched(k), self._device)
        for lo, scores in self._blocks(queries, without):
            candidates.offer(lo, scores)
        found = rescore(self._keys, queries, candidates.settle().cpu(), k)
        floors = self._floors(queries, found.distances[:, -1])
        bars = candidates.bars.cpu()
        doubtful = (bars > -torch.inf) & (bars >= floors)
        if doubtful.any():
            asked = queries[doubtful], without[doubtful], floors[doubtful]
            again = self._search_above(*asked, k=k)
            found.entries[doubtful] = again.entries
            found.distances[doubtful] = again.distances
        return found

    def _search_above(
        self,
        queries: Float32[Tensor, "queries d"],
        without: Int64[Tensor, "queries 2"],
        floors: Float32[Tensor, " queries"],
        *,
        k: int,
    ) -> Neighbors:
        """Find the k nearest among all entries that score above *floors*, however many."""
        nothing = torch.empty(len(queries), 0)
        found = nearest(nothing.long(), nothing, k)
        for lo, scores in self._blocks(queries, without):
            hits = sift(scores, floors.to(self._device)).sorted_by_query().cpu()
            distances = pair_distances(self._keys, queries, hits.queries, hits.rows + lo)
            entries, negated = replace(hits, rows=hits.rows + lo, scores=-distances).tabulated(
                len(queries)
            )
            found = nearest(
                torch.cat([found.entries, entries], 1), torch.cat([found.distances, -negated], 1), k
            )
        return found

    def _blocks(
        self, queries: Float32[Tensor, "queries d"], without: Int64[Tensor, "queries 2"]
    ) -> Iterator[tuple[int, Float32[Tensor, "rows queries"]]]:
        """Score all entries, block by block; what must not be found scores minus infinity."""
        columns = (queries - self._keys.center).to(self._device).T.contiguous()
        size = block_size(len(queries))
        keys = torch.empty(size, self._keys.dim, device=self._device)
        scores = torch.empty(size, len(queries), device=self._device)
        biases = self._biases.to(self._device)
        masks = _masks(without)
        for lo in range(0, self._keys.n_entries, size):
            bias = biases[lo : lo + size, None]
            n = len(bias)
            if not self._keys.live[lo : lo + n].any():
                continue
            self._fill(lo, keys[:n])
            torch.addmm(bias, keys[:n], columns, out=scores[:n])
            scores[n:] = -torch.inf
            for mask in masks:
                mask.apply(lo, scores)
            yield lo, scores[: -(-n // GROUP) * GROUP]

    def _fill(self, lo: int, out: Float32[Tensor, "rows d"]) -> None:
        self._keys.fill(lo, out)
        out.sub_(self._keys.center.to(self._device))

    @cached_property
    def _biases(self) -> Float32[Tensor, " entries"]:
        """Compute minus half of each moved key's squared norm; minus infinity for the dead."""
        biases = torch.empty(self._keys.n_entries)
        block = torch.empty(MIN_BLOCK, self._keys.dim, device=self._device)
        for lo in range(0, len(biases), MIN_BLOCK):
            some = biases[lo : lo + MIN_BLOCK]
            keys = block[: len(some)]
            self._fill(lo, keys)
            some.copy_(keys.square().sum(1).mul_(-0.5))
        biases[~self._keys.live] = -torch.inf
        _refuse_non_finite_keys(biases[self._keys.live])
        return biases

    def _floors(
        self, queries: Float32[Tensor, "queries d"], farthest: Float32[Tensor, " queries"]
    ) -> Float32[Tensor, " queries"]:
        """
        Bound from below what an entry no farther than *farthest* can have scored.

        A key at distance D of a query of norm Q has a norm of at most K = Q + sqrt(D), so its
        true score ``(Q^2 - D) / 2`` was missed by at most ``(d + 8) u (QK + K^2)`` in float32,
        and by QK times what is lost where the product runs in a shorter format.
        """
        slack = (self._keys.dim + 8) * ROUNDOFF
        shortened = SHORTENED[torch.get_float32_matmul_precision()]
        norms = (queries - self._keys.center).double().norm(dim=1)
        farthest = farthest.double() * (1 + 2 * slack)
        reach = norms + farthest.sqrt()
        missed = reach * (slack * (norms + reach) + shortened * norms)
        floors: Tensor = (norms.square() - farthest) / 2 - missed
        return floors.float().nextafter(torch.tensor(-torch.inf))


def block_size(n_queries: int) -> int:
    """Choose how many keys to multiply at once: a multiple of the group that fits the caches."""
    fitting = SCORES_AT_A_TIME // max(n_queries, 1) // GROUP * GROUP
    return min(max(fitting, MIN_BLOCK), MAX_BLOCK)


@dataclass(frozen=True)
class _Mask:
    """Entries ``[lo, hi)`` must not be found by queries ``[first, last)``."""

    lo: int
    hi: int
    first: int
    last: int

    def apply(self, lo: int, scores: Float32[Tensor, "rows queries"]) -> None:
        """Mask what lies in the block of entries from *lo* on."""
        if self.lo < lo + len(scores) and self.hi > lo:
            scores[max(self.lo - lo, 0) : self.hi - lo, self.first : self.last] = -torch.inf


def _masks(without: Int64[Tensor, "queries 2"]) -> list[_Mask]:
    """Join neighboring queries of the same range: mostly they come from one document."""
    ranges, counts = torch.unique_consecutive(without, dim=0, return_counts=True)
    last = counts.cumsum(0)
    bounds = zip(ranges.tolist(), (last - counts).tolist(), last.tolist(), strict=True)
    return [_Mask(lo, hi, a, b) for (lo, hi), a, b in bounds if lo < hi]


def _refuse_non_finite_keys(biases: Float32[Tensor, " live"]) -> None:
    n_wrong = int((~biases.isfinite()).sum())
    if n_wrong:
        raise SearchError(
            f"Keys must be finite, but {n_wrong} live keys of the store are not. "
            "Verify the store, and build it anew from the model's own keys."
        )
