"""
Merging segments: which ones, and how, without holding their entries in memory.

Knows nothing of locks; the writer calls.
"""

import sqlite3
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

from vicinal.datastore import manifest
from vicinal.datastore.files import StoreFiles
from vicinal.datastore.identity import StoreIdentity
from vicinal.datastore.manifest import DocumentRow, SegmentRow, State
from vicinal.datastore.opening import expected_files, outputs_layout
from vicinal.datastore.segment_file import (
    REMEDY,
    Layout,
    read_blocks,
    sha256_of,
    sync_directory,
    write_file,
)
from vicinal.errors import CorruptStoreError

TOLERATED_DEAD = 0.2


@dataclass(frozen=True)
class Merge:
    """Segments that become one, and their live documents in the order they will have."""

    segments: tuple[SegmentRow, ...]
    documents: tuple[DocumentRow, ...]

    @property
    def n_live(self) -> int:
        """Count the entries that survive."""
        return sum(document.hi - document.lo for document in self.documents)


def plan_merges(state: State, *, max_entries: int, drop_outputs: bool, lazy: bool) -> list[Merge]:
    """Choose the segments that are small, or carry dead entries, and fill merged ones in order."""
    live: dict[str, list[DocumentRow]] = {row.id: [] for row in state.segments}
    for document in state.documents:
        live[document.segment].append(document)
    parts = [Merge((row,), tuple(live[row.id])) for row in state.segments]
    small = [part for part in parts if part.n_live < max_entries / 2]
    wanted = {part.segments[0].id for part in (_without_giants(small) if lazy else small)}
    wanted |= {
        part.segments[0].id
        for part in parts
        if _dead_share(part) > (TOLERATED_DEAD if lazy else 0)
        or (drop_outputs and _has_outputs(part))
    }
    chosen = [part for part in parts if part.segments[0].id in wanted]
    groups: list[Merge] = []
    for with_outputs in (False, True):
        alike = [p for p in chosen if (_has_outputs(p) and not drop_outputs) is with_outputs]
        groups += _fill(alike, max_entries)
    return [g for g in groups if _worthwhile(g, drop_outputs)]


def _without_giants(parts: list[Merge]) -> list[Merge]:
    """
    Leave out the largest while it weighs more than twice all smaller ones together.

    So a store of half a million entries is not copied whenever sixteen files were saved.
    """
    kept = sorted(parts, key=lambda part: part.n_live)
    while kept and kept[-1].n_live > 2 * sum(part.n_live for part in kept[:-1]):
        kept.pop()
    return kept


def _dead_share(part: Merge) -> float:
    return 1 - part.n_live / sum(row.entries for row in part.segments)


def _has_outputs(part: Merge) -> bool:
    return any(row.outputs_sha256 is not None for row in part.segments)


def _worthwhile(group: Merge, drop_outputs: bool) -> bool:
    """Rewrite a single segment only if that changes anything."""
    return (
        len(group.segments) > 1 or _dead_share(group) > 0 or (drop_outputs and _has_outputs(group))
    )


def _fill(parts: list[Merge], max_entries: int) -> list[Merge]:
    """Join neighbors as long as the result is not too large."""
    groups: list[Merge] = []
    for part in parts:
        if groups and groups[-1].n_live + part.n_live <= max_entries:
            last = groups.pop()
            part = Merge(last.segments + part.segments, last.documents + part.documents)
        groups.append(part)
    return groups


def write_merged(
    files: StoreFiles, identity: StoreIdentity, group: Merge, *, drop_outputs: bool
) -> SegmentRow | None:
    """Stream the live rows of a group into the files of a new segment, if there are any."""
    if not group.documents:
        return None
    for row in group.segments:
        _check_sums(files, identity, row)
    segment, n = uuid.uuid4().hex, group.n_live
    layout = Layout.of_entries(n, identity.key_dim)
    digest = write_file(
        files.entries(segment),
        layout,
        (b for column in layout.columns for b in _column(files, identity, group, column.name)),
    )
    outputs_digest = None
    if _has_outputs(group) and not drop_outputs:
        row = SegmentRow(segment, n, digest, None)
        blocks = _column(files, identity, group, "outputs")
        layout = outputs_layout(identity, row)
        outputs_digest = write_file(files.outputs(segment), layout, blocks)
    sync_directory(files.segments)
    return SegmentRow(segment, n, digest, outputs_digest)


def replace_segments(
    connection: sqlite3.Connection, group: Merge, merged: SegmentRow | None
) -> None:
    """Let the merged segment take the place of those it was made from."""
    if merged is not None:
        manifest.insert_segment(connection, merged)
        ends = accumulate((d.hi - d.lo for d in group.documents), initial=0)
        connection.executemany(
            "UPDATE document SET segment = ?, lo = ?, hi = ? WHERE id = ?",
            [
                (merged.id, lo, hi, document.id)
                for document, (lo, hi) in zip(group.documents, pairwise(ends), strict=True)
            ],
        )
    connection.executemany(
        "DELETE FROM segment WHERE id = ?", [(row.id,) for row in group.segments]
    )


def _check_sums(files: StoreFiles, identity: StoreIdentity, row: SegmentRow) -> None:
    """Refuse to copy what is not what was written: the copy would get a valid checksum."""
    for path, _, digest in expected_files(files, identity, row):
        found = sha256_of(path)
        if found != digest:
            raise CorruptStoreError(
                f"Segment file {path.name} should have SHA-256 {digest}, has {found}. {REMEDY}"
            )


def _column(files: StoreFiles, identity: StoreIdentity, group: Merge, name: str) -> Iterator[bytes]:
    """Read the live rows of a column, document after document."""
    for row in group.segments:
        ranges = [(d.lo, d.hi) for d in group.documents if d.segment == row.id]
        if name == "outputs":
            path, layout = files.outputs(row.id), outputs_layout(identity, row)
        else:
            path = files.entries(row.id)
            layout = Layout.of_entries(row.entries, identity.key_dim)
        yield from read_blocks(path, layout, name, _joined(ranges))


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that touch, so that whole segments are read in large blocks."""
    joined: list[tuple[int, int]] = []
    for lo, hi in ranges:
        if joined and joined[-1][1] == lo:
            lo = joined.pop()[0]
        joined.append((lo, hi))
    return joined
