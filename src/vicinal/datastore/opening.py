"""
From the manifest's rows to a snapshot: files mapped, ranges counted through the whole store.

Knows nothing of how anything is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from vicinal.datastore.files import StoreFiles
from vicinal.datastore.identity import StoreIdentity
from vicinal.datastore.manifest import DocumentRow, SegmentRow, State
from vicinal.datastore.segment_file import Layout, map_file
from vicinal.datastore.snapshot import Segment, Snapshot, StoredDocument, StoredSpan
from vicinal.errors import CorruptStoreError

Ranges = Int64[np.ndarray, "_ 2"]


def open_state(files: StoreFiles, identity: StoreIdentity, state: State) -> Snapshot:
    """Map every segment of a state and place its documents, spans and dead ranges."""
    problems = state_problems(state)
    if problems:
        raise CorruptStoreError(
            f"The manifest of {files.root} contradicts itself: {'; '.join(problems[:5])}. "
            "Restore it from a copy, or delete the store and index again."
        )
    bases = _bases(state)
    spans, counts = _spans(state, bases)
    return Snapshot(
        segments=tuple(map_segment(files, identity, r, bases[r.id]) for r in state.segments),
        documents=_documents(state.documents, bases, counts),
        spans=spans,
        dead=_joined(_dead(state, bases)),
        key_dim=identity.key_dim,
    )


def state_problems(state: State) -> list[str]:
    """Say where a state breaks the laws that readers rely on."""
    bases = _bases(state)
    live = _array([(bases[d.segment] + d.lo, bases[d.segment] + d.hi) for d in state.documents])
    n_entries = sum(row.entries for row in state.segments)
    return [*_partition_problems(live, _dead(state, bases), n_entries), *_span_problems(state)]


def _bases(state: State) -> dict[str, int]:
    """Give the global row with which each segment begins."""
    ends = accumulate((row.entries for row in state.segments), initial=0)
    return {row.id: base for row, base in zip(state.segments, ends, strict=False)}


def map_segment(
    files: StoreFiles, identity: StoreIdentity, row: SegmentRow, base: int = 0
) -> Segment:
    """Map the files of one segment."""
    entries = map_file(files.entries(row.id), Layout.of_entries(row.entries, identity.key_dim))
    outputs = None
    if row.outputs_sha256 is not None:
        layout = outputs_layout(identity, row)
        outputs = map_file(files.outputs(row.id), layout)["outputs"]
    return Segment(id=row.id, base=base, outputs=outputs, **entries)


def expected_files(
    files: StoreFiles, identity: StoreIdentity, row: SegmentRow
) -> Iterator[tuple[Path, Layout, str]]:
    """Give path, layout and SHA-256 of each file that a segment should have."""
    yield files.entries(row.id), Layout.of_entries(row.entries, identity.key_dim), row.sha256
    if row.outputs_sha256 is not None:
        yield files.outputs(row.id), outputs_layout(identity, row), row.outputs_sha256


def outputs_layout(identity: StoreIdentity, row: SegmentRow) -> Layout:
    """Lay out a segment's outputs, if the store can have any."""
    if identity.output_dim is None:
        raise CorruptStoreError(
            f"Segment {row.id} has outputs, but the manifest does not say how wide. "
            "Restore the manifest from a copy."
        )
    return Layout.of_outputs(row.entries, identity.output_dim)


def _spans(
    state: State, bases: Mapping[str, int]
) -> tuple[tuple[StoredSpan, ...], Mapping[int, int]]:
    """Place the spans, and count those of each document."""
    starts = {row.id: bases[row.segment] + row.lo for row in state.documents}
    placed, counts = [], dict.fromkeys(starts, 0)
    for row in state.spans:
        start = starts[row.document]
        placed.append(StoredSpan(start + row.lo, start + row.hi, row.attributes))
        counts[row.document] += 1
    return tuple(placed), counts


def _span_problems(state: State) -> list[str]:
    """Name the documents whose spans do not cover them: their entries lack attributes."""
    covered = dict.fromkeys((row.id for row in state.documents), 0)
    for span in state.spans:
        covered[span.document] = span.hi if covered[span.document] == span.lo else -1
    return [
        f"the spans of document {row.name!r} do not cover its {row.hi - row.lo} entries"
        for row in state.documents
        if covered[row.id] != row.hi - row.lo
    ]


def _documents(
    rows: Sequence[DocumentRow], bases: Mapping[str, int], counts: Mapping[int, int]
) -> tuple[StoredDocument, ...]:
    """Place the documents, and say which spans are theirs."""
    ends = list(accumulate((counts[row.id] for row in rows), initial=0))
    return tuple(
        StoredDocument(
            name=row.name,
            content_hash=row.content_hash,
            language=row.language,
            path=row.path,
            lo=bases[row.segment] + row.lo,
            hi=bases[row.segment] + row.hi,
            first_span=ends[i],
            last_span=ends[i + 1],
        )
        for i, row in enumerate(rows)
    )


def _dead(state: State, bases: Mapping[str, int]) -> Ranges:
    """Place the dead ranges, in order."""
    return _array([(bases[segment] + lo, bases[segment] + hi) for segment, lo, hi in state.dead])


def _array(ranges: Sequence[tuple[int, int]]) -> Ranges:
    return np.array(ranges, np.int64).reshape(-1, 2)


def _joined(dead: Ranges) -> Ranges:
    """Join dead ranges that touch."""
    if not len(dead):
        return dead
    gaps = dead[1:, 0] > dead[:-1, 1]
    return np.stack([dead[np.append(True, gaps), 0], dead[np.append(gaps, True), 1]], axis=1)


def _partition_problems(live: Ranges, dead: Ranges, n_entries: int) -> list[str]:
    """Say where an entry is not in exactly one live document or dead range."""
    ranges = np.concatenate([live, dead])
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    ends = np.append(0, ranges[:, 1])
    starts = np.append(ranges[:, 0], n_entries)
    return [
        f"entries {min(end, start)} to {max(end, start)} belong to "
        f"{'no document' if end < start else 'two documents'}"
        for end, start in zip(ends[ends != starts], starts[ends != starts], strict=True)
    ]
