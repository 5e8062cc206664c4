"""
One FAISS index per segment, searched together.

What a query must not find is left out inside the search, by selectors. A selector holds for a
whole call, so queries with the same range are searched in one. FAISS orders equal distances as
it likes; distances are recomputed and ordered afterwards, so of the entries tied for the last
place any may be found, while all before it are as exact search has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from vicinal.datastore.snapshot import Segment
from vicinal.index.neighbors import Neighbors
from vicinal.index.questions import admit
from vicinal.index.rescoring import NO_ENTRY, moved, over_fetched, rescore
from vicinal.index.stored_keys import StoredKeys

ROWS_AT_A_TIME = 16384
_untyped: Any = faiss  # its own stubs refuse the arguments that its documentation gives


@dataclass(frozen=True)
class FaissPart:
    """A FAISS *index* over the entries from *base* on; *live* says which may be found."""

    base: int
    index: Any
    live: Bool[np.ndarray, " n"]
    is_inverted: bool

    def search(
        self,
        queries: Float32[np.ndarray, "queries d"],
        width: int,
        *,
        without: tuple[int, int],
        n_probes: int,
    ) -> tuple[Int64[np.ndarray, "queries w"], Float32[np.ndarray, "queries w"]]:
        """Find the *width* nearest entries of the part outside of one range for all queries."""
        selector = _selector(self.live, without[0] - self.base, without[1] - self.base)
        if self.is_inverted:
            how = _untyped.SearchParametersIVF(sel=selector, nprobe=n_probes)
        else:
            how = _untyped.SearchParameters(sel=selector)
        distances, rows = self.index.search(queries, min(width, len(self.live)), params=how)
        entries = np.where(rows < 0, -1, rows + self.base)
        return entries, np.where(rows < 0, np.float32(np.inf), distances)


@dataclass(frozen=True)
class FaissParts:
    """All *parts* of a snapshot, and its *keys* to compute true distances from."""

    keys: StoredKeys
    parts: tuple[FaissPart, ...]

    def search(
        self,
        queries: Float[Tensor, "queries d"],
        k: int,
        *,
        without: Int64[Tensor, "queries 2"],
        n_probes: int,
    ) -> Neighbors:
        """Search all parts, merge what they find, and give it true distances and their order."""
        asked = admit(queries, k, without, dim=self.keys.dim)
        entries = torch.full((len(asked), over_fetched(k)), NO_ENTRY)
        ranges, groups = torch.unique(without.cpu(), dim=0, return_inverse=True)
        for number, (lo, hi) in enumerate(ranges.tolist()):
            (members,) = (groups == number).nonzero(as_tuple=True)
            found = [
                part.search(
                    asked[members].numpy(), over_fetched(k), without=(lo, hi), n_probes=n_probes
                )
                for part in self.parts
            ]
            entries[members] = _merged(found, len(members), over_fetched(k))
        return moved(rescore(self.keys, asked, entries, k), queries.device)


def fill(index: Any, segment: Segment) -> Any:
    """Add all keys of *segment* to *index*, some at a time; half floats stay what they are."""
    for lo in range(0, len(segment), ROWS_AT_A_TIME):
        index.add(segment.keys[lo : lo + ROWS_AT_A_TIME].astype(np.float32))
    return index


def _merged(
    found: Sequence[tuple[Int64[np.ndarray, "queries _"], Float32[np.ndarray, "queries _"]]],
    n_queries: int,
    width: int,
) -> Int64[Tensor, "queries width"]:
    """Keep the *width* nearest of what the parts found."""
    entries = np.concatenate([*(e for e, _ in found), np.full((n_queries, width), -1)], axis=1)
    padding = np.full((n_queries, width), np.inf, np.float32)
    distances = np.concatenate([*(d for _, d in found), padding], axis=1)
    best = torch.from_numpy(distances).topk(width, dim=1, largest=False, sorted=False).indices
    return torch.from_numpy(entries).gather(1, best)


def _selector(live: Bool[np.ndarray, " n"], lo: int, hi: int) -> Any:
    """Select the live rows outside of ``[lo, hi)``; None selects all."""
    alive = None
    if not live.all():
        alive = _untyped.IDSelectorBitmap(np.packbits(live, bitorder="little"))
    if hi <= max(lo, 0) or lo >= len(live):
        return alive
    outside = faiss.IDSelectorNot(faiss.IDSelectorRange(max(lo, 0), hi))
    return outside if alive is None else faiss.IDSelectorAnd(alive, outside)
