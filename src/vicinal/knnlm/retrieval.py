"""
What was found for each query: neighbors with their values and levels.

Joins the index, the store's snapshot and the schema; knows nothing of probabilities.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float32, Int32, Int64, UInt8
from torch import Tensor

from vicinal.datastore import Snapshot
from vicinal.index import AbstractIndex
from vicinal.locality import LocalitySchema


@dataclass(frozen=True)
class Queries:
    """
    Positions to look up, a row each.

    *targets* are the tokens that came next; *without* is the range of entries of the query's own
    document; *spans* tells which of *attributes* the query's span has; *documents* numbers the
    documents the queries are of, where that is known.
    """

    keys: Float[Tensor, "queries d"]
    outputs: Float[Tensor, "queries d_out"]
    targets: Int64[Tensor, " queries"]
    without: Int64[Tensor, "queries 2"]
    spans: Int64[Tensor, " queries"]
    attributes: Sequence[Mapping[str, tuple[str, ...]]]
    documents: Int64[Tensor, " queries"] | None = None

    def __len__(self) -> int:
        """Count the queries."""
        return len(self.targets)

    def batches(self, size: int) -> Iterator["Queries"]:
        """Go through the queries a few at a time."""
        for start in range(0, len(self), size):
            yield self.rows(slice(start, start + size))

    def rows(self, rows: slice) -> "Queries":
        """Take some of the queries."""
        return Queries(
            self.keys[rows],
            self.outputs[rows],
            self.targets[rows],
            self.without[rows],
            self.spans[rows],
            self.attributes,
            None if self.documents is None else self.documents[rows],
        )


@dataclass(frozen=True)
class Retrieved:
    """
    The neighbors of each query, nearest first, and the queries' own keys.

    Where there are fewer than k, the rest is entry -1, value -1, level 0 at distance infinity.
    """

    entries: Int64[Tensor, "queries k"]
    distances: Float32[Tensor, "queries k"]
    values: Int32[Tensor, "queries k"]
    levels: UInt8[Tensor, "queries k"]
    keys: Float[Tensor, "queries d"]


class Retriever:
    """Looks queries up in a snapshot and says how local each neighbor is."""

    def __init__(self, snapshot: Snapshot, index: AbstractIndex, schema: LocalitySchema) -> None:
        self.snapshot = snapshot
        self.schema = schema
        self._index = index
        self._bound = schema.bind([span.attributes for span in snapshot.spans])

    def retrieve(self, queries: Queries, k: int) -> Retrieved:
        """Find the k nearest entries of each query outside its own document."""
        neighbors = self._index.search(queries.keys, k, without=queries.without)
        absent = neighbors.entries < 0
        entries = neighbors.entries.numpy()
        values = torch.from_numpy(self.snapshot.values(entries)).masked_fill(absent, -1)
        levels = self._levels(queries, torch.from_numpy(self.snapshot.span_of(entries)).long())
        return Retrieved(
            neighbors.entries,
            neighbors.distances,
            values,
            levels.masked_fill(absent, 0),
            queries.keys,
        )

    def _levels(
        self, queries: Queries, spans: Int64[Tensor, "queries k"]
    ) -> UInt8[Tensor, "queries k"]:
        """Compare each distinct query span once with all stored spans, then look levels up."""
        if not self._bound.n_spans:
            return torch.zeros(spans.shape, dtype=torch.uint8)
        distinct, rows = torch.unique(queries.spans, return_inverse=True)
        seen = [self._bound.levels(queries.attributes[i]) for i in distinct.tolist()]
        table = torch.stack(seen) if seen else torch.zeros(0, self._bound.n_spans).byte()
        return table[rows[:, None], spans.clamp_min(0)]
