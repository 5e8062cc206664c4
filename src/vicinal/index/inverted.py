"""
FAISS inverted lists: search only the lists whose centers are nearest to the query.

How many are probed is measured, not guessed: the fewest that reach the wanted recall against exact
search. Segments too small for lists are searched flat.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from jaxtyping import Float, Int64
from torch import Tensor

from vicinal.datastore.snapshot import Segment, Snapshot
from vicinal.index.exact import ExactIndex
from vicinal.index.faiss_files import load_or_build, write_text_whole
from vicinal.index.faiss_parts import FaissPart, FaissParts, fill
from vicinal.index.flat import flat_part
from vicinal.index.neighbors import AbstractIndex, Neighbors
from vicinal.index.recall import (
    RecallReport,
    RecallTarget,
    draw_queries,
    fewest_probes,
    recall,
)
from vicinal.index.stored_keys import StoredKeys

FLAT_BELOW = 20_000  # entries; searching so few takes no longer than choosing lists
ROWS_PER_LIST = 39  # to learn a center from; FAISS warns below


class IVFIndex(AbstractIndex):
    """Probes as many lists as its *report* says."""

    def __init__(self, parts: FaissParts, report: RecallReport) -> None:
        self._parts = parts
        self.report = report

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot,
        *,
        cache: Path | None = None,
        target: RecallTarget | None = None,
        flat_below: int = FLAT_BELOW,
    ) -> "IVFIndex":
        """
        Load lists and report from the folder *cache*; build and measure what is missing.

        A report holds for the segments that have lists; new small segments do not outdate it.
        """
        target = target or RecallTarget()
        keys = StoredKeys(snapshot)
        parts = FaissParts(
            keys,
            tuple(
                (flat_part if len(segment) < flat_below else inverted_part)(segment, keys, cache)
                for segment in keys.segments
            ),
        )
        note = _note_path(cache, [s.id for s in keys.segments if len(s) >= flat_below], target)
        report = _read_report(note) or _measure(snapshot, parts, target)
        if note is not None:
            write_text_whole(note, json.dumps(asdict(report), indent=1))
        return cls(parts, report)

    def search(
        self,
        queries: Float[Tensor, "queries d"],
        k: int,
        *,
        without: Int64[Tensor, "queries 2"],
    ) -> Neighbors:
        """Find about the report's share of the k nearest entries outside of each query's range."""
        return self._parts.search(queries, k, without=without, n_probes=self.report.n_probes)


def inverted_part(segment: Segment, keys: StoredKeys, cache: Path | None) -> FaissPart:
    """Load or build the inverted lists of one segment."""
    path = cache / f"{segment.id}.ivf.faiss" if cache else None
    recipe = f"IVF{n_lists(len(segment))},SQfp16 {len(segment)}x{keys.dim}"
    index = load_or_build(path, recipe, partial(_build, segment))
    live = keys.live[segment.base : segment.base + len(segment)].numpy()
    return FaissPart(segment.base, index, live, is_inverted=True)


def n_lists(n_entries: int) -> int:
    """Choose how many lists to have: four times the root, but enough entries to learn each."""
    return max(1, min(round(4 * math.sqrt(n_entries)), n_entries // ROWS_PER_LIST))


def _build(segment: Segment) -> Any:
    n, dim = segment.keys.shape
    lists = n_lists(n)
    half = faiss.ScalarQuantizer.QT_fp16
    by_residual = False  # a rounded residual would not be the stored key
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatL2(dim), dim, lists, half, faiss.METRIC_L2, by_residual
    )
    n_sampled = min(n, lists * (ROWS_PER_LIST + 1))
    index.train(segment.keys[np.arange(n_sampled) * n // n_sampled].astype(np.float32))
    return fill(index, segment)


def _measure(snapshot: Snapshot, parts: FaissParts, target: RecallTarget) -> RecallReport:
    """Find the fewest probes that reach the target."""
    queries, without = draw_queries(parts.keys, target)
    truth = ExactIndex(snapshot).search(queries, target.k, without=without)

    def recall_at(n_probes: int) -> float:
        found = parts.search(queries, target.k, without=without, n_probes=n_probes)
        return recall(found, truth)

    most = max([1, *(part.index.nlist for part in parts.parts if part.is_inverted)])
    n_probes, reached = fewest_probes(recall_at, target.recall, most)
    return RecallReport(
        n_probes=n_probes,
        recall=reached,
        target=target.recall,
        k=target.k,
        n_queries=len(queries),
        around=target.around,
        seed=target.seed,
    )


def _note_path(cache: Path | None, ids: Sequence[str], target: RecallTarget) -> Path | None:
    if cache is None:
        return None
    subject = json.dumps([list(ids), asdict(target)])
    return cache / f"{hashlib.sha256(subject.encode()).hexdigest()[:16]}.recall.json"


def _read_report(note: Path | None) -> RecallReport | None:
    """Read a report; None where there is none or it is damaged."""
    try:
        return None if note is None else RecallReport(**json.loads(note.read_text()))
    except (OSError, ValueError, TypeError):
        return None
