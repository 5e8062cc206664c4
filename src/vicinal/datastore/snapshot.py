"""
What a reader sees of a store: one consistent state, whatever a writer does meanwhile.

An entry is named by its global row: the row in its segment plus the segment's `base`. Segments
are never rewritten, so a snapshot's maps stay valid even after a compaction removed the files.
Knows nothing of how the files came to be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float16, Int32, Int64


@dataclass(frozen=True)
class Segment:
    """
    A run of entries as it lies on disk, mapped into memory.

    *outputs* is None where the store was built without them.
    """

    id: str
    base: int
    keys: Float16[np.ndarray, "n d"]
    values: Int32[np.ndarray, " n"]
    offsets: Int32[np.ndarray, " n"]
    outputs: Float16[np.ndarray, "n d_out"] | None

    def __len__(self) -> int:
        """Count the entries, the dead ones included."""
        return len(self.values)


@dataclass(frozen=True)
class StoredSpan:
    """A run of entries ``[lo, hi)`` that share attributes."""

    lo: int
    hi: int
    attributes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class StoredDocument:
    """A live document: entries ``[lo, hi)``, and its spans ``[first_span, last_span)``."""

    name: str
    content_hash: str
    language: str
    path: str
    lo: int
    hi: int
    first_span: int
    last_span: int


@dataclass(frozen=True)
class Snapshot:
    """
    One state of a store.

    *documents* and *spans* are the live ones, in the order of their entries. *dead* are the
    ranges of entries that were removed or replaced and not yet compacted away, in order, disjoint.
    """

    segments: tuple[Segment, ...]
    documents: tuple[StoredDocument, ...]
    spans: tuple[StoredSpan, ...]
    dead: Int64[np.ndarray, "ranges 2"]
    key_dim: int

    @cached_property
    def n_entries(self) -> int:
        """Count the entries, the dead ones included: one more than the last global row."""
        return sum(len(segment) for segment in self.segments)

    @cached_property
    def n_live(self) -> int:
        """Count the entries that a search can find."""
        return self.n_entries - int((self.dead[:, 1] - self.dead[:, 0]).sum())
