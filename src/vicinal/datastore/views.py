"""
Snapshots seen otherwise: with some documents hidden or cut short, or under other attributes.

Nothing is copied and nothing on disk changes: what is hidden counts as dead, as if it had been
removed. So one store serves several protocols, and what a label is worth can be measured without
encoding anything again.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from vicinal.datastore.snapshot import Snapshot, StoredDocument, StoredSpan
from vicinal.errors import StoreError

Attributes = Mapping[str, tuple[str, ...]]
Keys = np.ndarray[tuple[int, int], np.dtype[np.float16]]


def clipped(snapshot: Snapshot, length: Callable[[StoredDocument], int]) -> Snapshot:
    """Keep of each document its first entries, as many as *length* says; with 0 it is hidden."""
    documents: list[StoredDocument] = []
    spans: list[StoredSpan] = []
    dead = [(int(lo), int(hi)) for lo, hi in snapshot.dead]
    for document in snapshot.documents:
        hi = document.lo + max(0, min(length(document), document.hi - document.lo))
        if hi < document.hi:
            dead.append((hi, document.hi))
        if hi == document.lo:
            continue
        own = snapshot.spans[document.first_span : document.last_span]
        kept = [replace(span, hi=min(span.hi, hi)) for span in own if span.lo < hi]
        first = len(spans)
        spans += kept
        documents.append(replace(document, hi=hi, first_span=first, last_span=len(spans)))
    return replace(snapshot, documents=tuple(documents), spans=tuple(spans), dead=_joined(dead))


def visible(snapshot: Snapshot, wanted: Callable[[StoredDocument], bool]) -> Snapshot:
    """Hide every document that is not *wanted*."""
    return clipped(snapshot, lambda d: d.hi - d.lo if wanted(d) else 0)


def relabeled(
    snapshot: Snapshot, attributes: Callable[[StoredDocument, StoredSpan], Attributes]
) -> Snapshot:
    """Give every span the attributes that a function says."""
    spans = list(snapshot.spans)
    for document in snapshot.documents:
        for i in range(document.first_span, document.last_span):
            spans[i] = replace(spans[i], attributes=attributes(document, spans[i]))
    return replace(snapshot, spans=tuple(spans))


def with_keys(snapshot: Snapshot, label: str, keys: Callable[[Keys], Keys]) -> Snapshot:
    """
    Replace the keys of each segment by a function of them, of the same shape and type.

    *label* goes into the segments' names: what is remembered of the one is not of the other.
    """
    segments = []
    for segment in snapshot.segments:
        found = keys(segment.keys)
        if found.shape != segment.keys.shape or found.dtype != segment.keys.dtype:
            raise StoreError(
                f"Keys should stay {segment.keys.dtype}{list(segment.keys.shape)}, found "
                f"{found.dtype}{list(found.shape)}. Give a row for each row."
            )
        segments.append(replace(segment, id=f"{segment.id}+{label}", keys=found))
    return replace(snapshot, segments=tuple(segments))


def _joined(ranges: list[tuple[int, int]]) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    """Order ranges, and join those that touch."""
    joined: list[list[int]] = []
    for lo, hi in sorted(ranges):
        if joined and joined[-1][1] == lo:
            joined[-1][1] = hi
        else:
            joined.append([lo, hi])
    return np.array(joined, np.int64).reshape(-1, 2)
