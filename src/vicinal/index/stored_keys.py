"""
The keys of all segments of a snapshot, as if they lay in one array.

Reads them block by block or row by row, straight from the mapped files, always as float32. Knows
which entries are dead, nothing of queries or distances.
"""

import warnings
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from vicinal.datastore.snapshot import Segment, Snapshot
from vicinal.errors import SearchError

SAMPLED_FOR_CENTER = 4096


class StoredKeys:
    """All keys of *snapshot*, addressed by entry."""

    def __init__(self, snapshot: Snapshot) -> None:
        segments = sorted((s for s in snapshot.segments if len(s)), key=lambda s: s.base)
        _refuse_gaps(segments)
        _refuse_other_widths(segments, snapshot.key_dim)
        self.segments = segments
        self.dim = snapshot.key_dim
        self.n_entries = snapshot.n_entries
        self.dead = snapshot.dead
        self._bases = torch.tensor([s.base for s in segments], dtype=torch.long)
        self._parts = [_as_tensor(s.keys) for s in segments]

    def fill(self, lo: int, out: Float32[Tensor, "n d"]) -> None:
        """Copy the keys of the entries from *lo* on into *out*."""
        hi = lo + len(out)
        for base, part in zip(self._bases.tolist(), self._parts, strict=True):
            first, last = max(lo, base), min(hi, base + len(part))
            if first < last:
                out[first - lo : last - lo].copy_(part[first - base : last - base])

    def take(self, entries: Int64[Tensor, " n"]) -> Float32[Tensor, "n d"]:
        """Gather the keys of *entries*."""
        owners = torch.bucketize(entries, self._bases, right=True) - 1
        halves = torch.empty(len(entries), self.dim, dtype=torch.float16)
        for owner, part in enumerate(self._parts):
            (here,) = (owners == owner).nonzero(as_tuple=True)
            if len(here):
                halves[here] = part.index_select(0, entries[here] - self._bases[owner])
        return halves.float()

    @cached_property
    def live(self) -> Bool[Tensor, " entries"]:
        """Say of each entry whether a search may find it."""
        live = torch.ones(self.n_entries, dtype=torch.bool)
        for lo, hi in self.dead.tolist():
            live[lo:hi] = False
        return live

    @cached_property
    def center(self) -> Float32[Tensor, " d"]:
        """
        Average some of the keys, spread evenly over the store.

        Products of keys that lie far from the origin but close together lose their digits; taken
        from any point amid the keys they do not. It need not be the exact mean.
        """
        n_sampled = min(SAMPLED_FOR_CENTER, self.n_entries)
        if not n_sampled:
            return torch.zeros(self.dim)
        center = self.take(torch.arange(n_sampled) * self.n_entries // n_sampled).mean(0)
        return center.nan_to_num(0.0, 0.0, 0.0)


def _as_tensor(keys: np.ndarray) -> Float[Tensor, "n d"]:
    with warnings.catch_warnings():
        # The map is read-only and torch has no such tensors. Nothing here writes to it.
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(keys)


def _refuse_gaps(segments: list[Segment]) -> None:
    expected = 0
    for segment in segments:
        if segment.base != expected:
            raise SearchError(
                f"Segment {segment.id} should begin at entry {expected}, where the one before it "
                f"ends, but begins at {segment.base}. Take a new snapshot of the store."
            )
        expected += len(segment)


def _refuse_other_widths(segments: list[Segment], key_dim: int) -> None:
    for segment in segments:
        if segment.keys.shape != (len(segment), key_dim):
            raise SearchError(
                f"Segment {segment.id} should hold keys of shape {(len(segment), key_dim)}, "
                f"found {segment.keys.shape}. Was it written by another model?"
            )
