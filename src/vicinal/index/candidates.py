"""
The best-scored entries of each query so far, and the score that a new one must beat.

Scores are larger-is-better here and only here. A store is read block by block; after the first
blocks hardly any score beats the running bar, so the blocks are sifted by the largest score of
each group of rows, and only what passes is looked at one by one.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from vicinal.index.rescoring import NO_ENTRY

GROUP = 32  # rows per group: fewer sift finer, more sift faster


@dataclass(frozen=True)
class Hits:
    """Pairs of a query and a row of a block, with the row's score."""

    queries: Int64[Tensor, " hits"]
    rows: Int64[Tensor, " hits"]
    scores: Float32[Tensor, " hits"]

    def sorted_by_query(self) -> "Hits":
        """Bring the hits of each query together."""
        queries, order = self.queries.sort(stable=True)
        return Hits(queries, self.rows[order], self.scores[order])

    def cpu(self) -> "Hits":
        """Move to the CPU."""
        return Hits(self.queries.cpu(), self.rows.cpu(), self.scores.cpu())

    def tabulated(
        self, n_queries: int
    ) -> tuple[Int64[Tensor, "queries w"], Float32[Tensor, "queries w"]]:
        """Lay out rows and scores one line per query; the hits must be sorted by query."""
        counts = torch.bincount(self.queries, minlength=n_queries)
        starts = counts.cumsum(0) - counts
        columns = torch.arange(len(self.rows), device=counts.device) - starts[self.queries]
        shape = (n_queries, int(counts.max()))
        rows = self.rows.new_full(shape, NO_ENTRY)
        scores = self.scores.new_full(shape, -torch.inf)
        rows[self.queries, columns] = self.rows
        scores[self.queries, columns] = self.scores
        return rows, scores


def sift(scores: Float32[Tensor, "rows queries"], bars: Float32[Tensor, " queries"]) -> Hits:
    """Find all scores above their query's bar; the rows must be a multiple of `GROUP`."""
    grouped = scores.view(-1, GROUP, scores.shape[1])
    groups, queries = (grouped.amax(1) > bars).nonzero(as_tuple=True)
    members = grouped[groups, :, queries]
    which, offsets = (members > bars[queries, None]).nonzero(as_tuple=True)
    return Hits(queries[which], groups[which] * GROUP + offsets, members[which, offsets])


def best_rows(scores: Float32[Tensor, "rows queries"], width: int) -> Hits:
    """Find the *width* best rows of each query, however many there are."""
    best = scores.T.contiguous().topk(min(width, len(scores)), dim=1, sorted=False)
    queries, columns = (best.values > -torch.inf).nonzero(as_tuple=True)
    return Hits(queries, best.indices[queries, columns], best.values[queries, columns])


class Candidates:
    """Keeps at least the *width* best entries of each of *n_queries* queries."""

    def __init__(self, n_queries: int, width: int, device: torch.device) -> None:
        self.width = width
        self.bars = torch.full((n_queries,), -torch.inf, device=device)
        self._room = 2 * max(width, 512)
        self._counts = torch.zeros(n_queries, dtype=torch.long, device=device)
        self._entries = torch.full((n_queries, 0), NO_ENTRY, device=device)
        self._scores = torch.full((n_queries, 0), -torch.inf, device=device)
        self._pending: list[Hits] = []

    def offer(self, lo: int, scores: Float32[Tensor, "rows queries"]) -> None:
        """Take what is good enough from the *scores* of the entries from *lo* on."""
        unsettled = bool((self.bars == -torch.inf).any())
        hits = best_rows(scores, self.width) if unsettled else sift(scores, self.bars)
        if not len(hits.rows):
            return
        self._pending.append(Hits(hits.queries, hits.rows + lo, hits.scores))
        self._counts += torch.bincount(hits.queries, minlength=len(self._counts))
        if unsettled or int(self._counts.max()) > self._room:
            self.settle()

    def settle(self) -> Int64[Tensor, "queries w"]:
        """Throw away all but the best, raise the bars to the worst of these, return the entries."""
        entries, scores = self._table()
        if scores.shape[1] > self.width:
            scores, order = scores.topk(self.width, dim=1, sorted=False)
            entries = entries.gather(1, order)
        if scores.shape[1] == self.width:
            self.bars = scores.amin(1)
        self._entries, self._scores, self._pending = entries, scores, []
        self._counts = (entries != NO_ENTRY).sum(1)
        return entries

    def _table(self) -> tuple[Int64[Tensor, "queries w"], Float32[Tensor, "queries w"]]:
        """Lay out what is kept and what is pending, one line per query."""
        if not self._pending:
            return self._entries, self._scores
        hits = _joined(self._pending).sorted_by_query()
        entries, scores = hits.tabulated(len(self.bars))
        return torch.cat([self._entries, entries], 1), torch.cat([self._scores, scores], 1)


def _joined(many: list[Hits]) -> Hits:
    return Hits(
        torch.cat([hits.queries for hits in many]),
        torch.cat([hits.rows for hits in many]),
        torch.cat([hits.scores for hits in many]),
    )
