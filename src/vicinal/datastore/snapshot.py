"""
What a reader sees of a store: one consistent state, whatever a writer does meanwhile.

An entry is named by its global row: the row in its segment plus the segment's `base`. Segments
are never rewritten, so a snapshot's maps stay valid even after a compaction removed the files.
Knows nothing of how the files came to be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float16, Int32, Int64, Shaped

from vicinal.errors import StoreError


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

    @cached_property
    def has_outputs(self) -> bool:
        """Say whether the model's outputs are stored for every entry."""
        return all(segment.outputs is not None for segment in self.segments)

    def values(self, entries: Int64[np.ndarray, "*shape"]) -> Int32[np.ndarray, "*shape"]:
        """Look up the token that came next; entry -1 has value -1."""
        return self._gather([s.values for s in self.segments], entries, np.int32(-1))

    def offsets(self, entries: Int64[np.ndarray, "*shape"]) -> Int32[np.ndarray, "*shape"]:
        """Look up the character of the document at which the value starts; -1 for entry -1."""
        return self._gather([s.offsets for s in self.segments], entries, np.int32(-1))

    def keys(self, entries: Int64[np.ndarray, "*shape"]) -> Float16[np.ndarray, "*shape d"]:
        """Look up the keys; entry -1 has a key of zeros, and no distance to it means anything."""
        fill = np.zeros(self.key_dim, np.float16)
        return self._gather([s.keys for s in self.segments], entries, fill)

    def outputs(self, entries: Int64[np.ndarray, "*shape"]) -> Float16[np.ndarray, "*shape d_out"]:
        """Look up the vectors of the model's own prediction; zeros for entry -1."""
        columns = [s.outputs for s in self.segments if s.outputs is not None]
        if len(columns) < len(self.segments) or not columns:
            raise StoreError(
                f"The model's outputs should be stored, found them in {len(columns)} of "
                f"{len(self.segments)} segments. Index again with outputs kept."
            )
        return self._gather(columns, entries, np.zeros(columns[0].shape[1], np.float16))

    def span_of(self, entries: Int64[np.ndarray, "*shape"]) -> Int32[np.ndarray, "*shape"]:
        """Find in which of `spans` each entry lies; -1 for dead entries and entry -1."""
        return self._place(self._span_ranges, entries)

    def document_of(self, entries: Int64[np.ndarray, "*shape"]) -> Int32[np.ndarray, "*shape"]:
        """Find in which of `documents` each entry lies; -1 for dead entries and entry -1."""
        return self._place(self._document_ranges, entries)

    def document(self, name: str) -> StoredDocument | None:
        """Find a live document by its name."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, StoredDocument]:
        return {document.name: document for document in self.documents}

    @cached_property
    def _bases(self) -> Int64[np.ndarray, " segments"]:
        return np.array([segment.base for segment in self.segments], np.int64)

    @cached_property
    def _span_ranges(self) -> Int64[np.ndarray, "spans 2"]:
        return np.array([(s.lo, s.hi) for s in self.spans], np.int64).reshape(-1, 2)

    @cached_property
    def _document_ranges(self) -> Int64[np.ndarray, "documents 2"]:
        return np.array([(d.lo, d.hi) for d in self.documents], np.int64).reshape(-1, 2)

    def _check(self, entries: Int64[np.ndarray, "*shape"]) -> None:
        """Refuse rows that the store does not have."""
        if entries.size and not -1 <= entries.min() <= entries.max() < self.n_entries:
            raise StoreError(
                f"Entries should be in [-1, {self.n_entries}), found {entries.min()} to "
                f"{entries.max()}. Do they come from another snapshot?"
            )

    def _gather(
        self,
        columns: Sequence[Shaped[np.ndarray, "..."]],
        entries: Int64[np.ndarray, "*shape"],
        fill: Shaped[np.ndarray, "..."] | np.int32,
    ) -> Shaped[np.ndarray, "..."]:
        """Take rows of a column that lies in pieces, one piece per segment."""
        self._check(entries)
        flat = entries.reshape(-1)
        found = np.empty((flat.size, *fill.shape), fill.dtype)
        home = np.searchsorted(self._bases, flat, side="right") - 1
        for segment in np.unique(home):
            rows = np.flatnonzero(home == segment)
            if segment < 0:
                found[rows] = fill
            else:
                found[rows] = columns[segment][flat[rows] - self._bases[segment]]
        return found.reshape(*entries.shape, *fill.shape)

    def _place(
        self, ranges: Int64[np.ndarray, "ranges 2"], entries: Int64[np.ndarray, "*shape"]
    ) -> Int32[np.ndarray, "*shape"]:
        """Find the range each entry lies in, -1 where it lies in none."""
        self._check(entries)
        place = np.searchsorted(ranges[:, 0], entries, side="right") - 1
        inside = (place >= 0) & (entries < np.append(ranges[:, 1], -1)[place])
        return np.where(inside, place, -1).astype(np.int32)
