"""
The live entries of a snapshot as a table for other programs: Parquet or Arrow.

Knows nothing of stores, only of what a snapshot shows.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Int64

from vicinal.datastore.segment_file import TEMPORARY, sync_directory
from vicinal.datastore.snapshot import Snapshot
from vicinal.errors import StoreError

ROWS = 16_384


def export(snapshot: Snapshot, path: Path | str, format: Literal["parquet", "arrow"]) -> int:
    """
    Write one row for each live entry, a block at a time, and say how many.

    Columns: document, path, position (in the document), value, offset (in characters), key, and
    the span's attributes as JSON.
    """
    arrow, open_writer = _arrow(format)
    target = Path(path)
    temporary = target.with_name(target.name + TEMPORARY)
    schema = arrow.schema(
        [
            ("document", arrow.string()),
            ("path", arrow.string()),
            ("position", arrow.int32()),
            ("value", arrow.int32()),
            ("offset", arrow.int32()),
            ("key", arrow.list_(arrow.float16(), snapshot.key_dim)),
            ("attributes", arrow.string()),
        ]
    )
    with open_writer(temporary, schema) as writer:
        for entries in _blocks(snapshot):
            writer.write_batch(_batch(arrow, schema, snapshot, entries))
    os.replace(temporary, target)
    sync_directory(target.parent)
    return snapshot.n_live


def _arrow(format: str) -> tuple[Any, Any]:
    """Import pyarrow, which only this needs, and choose the writer."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise StoreError(
            "Exporting needs pyarrow, which is not installed. "
            "Install it: `pip install 'vicinal[export]'`."
        ) from error
    writers = {"parquet": pyarrow.parquet.ParquetWriter, "arrow": pyarrow.ipc.new_file}
    if format not in writers:
        raise StoreError(f"The format should be one of {', '.join(writers)}, found {format!r}.")
    return pyarrow, writers[format]


def _blocks(snapshot: Snapshot) -> Iterator[Int64[np.ndarray, " rows"]]:
    """Walk over the live entries in blocks of bounded size."""
    block: list[Int64[np.ndarray, " rows"]] = []
    size = 0
    for document in snapshot.documents:
        for lo in range(document.lo, document.hi, ROWS):
            block.append(np.arange(lo, min(lo + ROWS, document.hi)))
            size += len(block[-1])
            if size >= ROWS:
                yield np.concatenate(block)
                block, size = [], 0
    if block:
        yield np.concatenate(block)


def _batch(arrow: Any, schema: Any, snapshot: Snapshot, entries: Int64[np.ndarray, " rows"]) -> Any:
    """Turn a block of entries into a record batch."""
    places = snapshot.document_of(entries)
    documents = [snapshot.documents[i] for i in places]
    starts = np.array([document.lo for document in documents])
    spans = [snapshot.spans[i] for i in snapshot.span_of(entries)]
    keys = arrow.array(snapshot.keys(entries).reshape(-1))
    columns = [
        arrow.array([_unicode(document.name) for document in documents]),
        arrow.array([_unicode(document.path) for document in documents]),
        arrow.array((entries - starts).astype(np.int32)),
        arrow.array(snapshot.values(entries)),
        arrow.array(snapshot.offsets(entries)),
        arrow.FixedSizeListArray.from_arrays(keys, snapshot.key_dim),
        arrow.array([json.dumps(dict(span.attributes), sort_keys=True) for span in spans]),
    ]
    return arrow.RecordBatch.from_arrays(columns, schema=schema)


def _unicode(name: str) -> str:
    """Replace what is no valid Unicode in a file name: Arrow would refuse it."""
    return name.encode("utf-8", "replace").decode()
