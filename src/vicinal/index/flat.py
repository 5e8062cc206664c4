"""FAISS flat search over the stored half floats: exact, and one file of cache per segment."""

from functools import partial
from pathlib import Path
from typing import Any

import faiss
from jaxtyping import Float, Int64
from torch import Tensor

from vicinal.datastore.snapshot import Segment, Snapshot
from vicinal.index.faiss_files import load_or_build
from vicinal.index.faiss_parts import FaissPart, FaissParts, fill
from vicinal.index.neighbors import AbstractIndex, Neighbors
from vicinal.index.stored_keys import StoredKeys


class FlatFaissIndex(AbstractIndex):
    """Compares each query with each live key, by FAISS."""

    def __init__(self, parts: FaissParts) -> None:
        self._parts = parts

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, *, cache: Path | None = None) -> "FlatFaissIndex":
        """Load the index of each segment from the folder *cache*, or build it."""
        keys = StoredKeys(snapshot)
        return cls(FaissParts(keys, tuple(flat_part(s, keys, cache) for s in keys.segments)))

    def search(
        self,
        queries: Float[Tensor, "queries d"],
        k: int,
        *,
        without: Int64[Tensor, "queries 2"],
    ) -> Neighbors:
        """Find the k nearest entries of each query outside of its range, all of them."""
        return self._parts.search(queries, k, without=without, n_probes=1)


def flat_part(segment: Segment, keys: StoredKeys, cache: Path | None) -> FaissPart:
    """Load or build the flat index of one segment."""
    path = cache / f"{segment.id}.flat.faiss" if cache else None
    recipe = f"SQfp16 {len(segment)}x{keys.dim}"
    index = load_or_build(path, recipe, partial(_build, segment))
    live = keys.live[segment.base : segment.base + len(segment)].numpy()
    return FaissPart(segment.base, index, live, is_inverted=False)


def _build(segment: Segment) -> Any:
    kind = faiss.ScalarQuantizer.QT_fp16
    return fill(faiss.IndexScalarQuantizer(segment.keys.shape[1], kind, faiss.METRIC_L2), segment)
