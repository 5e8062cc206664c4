"""Stores as dictionaries: what a snapshot must show, told without segments, and drawn documents."""

import os
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vicinal.datastore import Datastore, EncodedDocument, Snapshot, StoredSpan, StoreIdentity

DIM, OUTPUT_DIM = 4, 3
IDENTITY = StoreIdentity("print-1", DIM, OUTPUT_DIM, "tiny", '{"attributes": []}', "float32")


@dataclass(frozen=True)
class Content:
    """All that a document brought along, as plain values."""

    content_hash: str
    values: tuple[int, ...]
    offsets: tuple[int, ...]
    keys: bytes
    outputs: bytes | None
    spans: tuple[tuple[int, int, tuple[tuple[str, tuple[str, ...]], ...]], ...]


def encoded(name: str, n: int, seed: int = 0, outputs: bool = True) -> EncodedDocument:
    """Make a document of *n* entries that differs with name and seed."""
    rng = np.random.default_rng([*name.encode(), seed])
    cut = int(rng.integers(0, n))
    spans = [StoredSpan(cut, n, {"project": (f"p{seed}",), "tags": ("a", "b")})]
    if cut:
        spans.insert(0, StoredSpan(0, cut, {"project": (name,), "tags": ()}))
    return EncodedDocument(
        name=name,
        content_hash=f"{name}-{seed}-{n}",
        language="python",
        path=f"src/{name}.py",
        values=rng.integers(0, 100_000, n).astype(np.int32),
        offsets=np.sort(rng.integers(0, 5 * n, n)).astype(np.int32),
        spans=tuple(spans),
        keys=rng.standard_normal((n, DIM)).astype(np.float16),
        outputs=rng.standard_normal((n, OUTPUT_DIM)).astype(np.float16) if outputs else None,
    )


def content_of(document: EncodedDocument) -> Content:
    """Tell a document by heart."""
    return Content(
        content_hash=document.content_hash,
        values=tuple(document.values.tolist()),
        offsets=tuple(document.offsets.tolist()),
        keys=document.keys.tobytes(),
        outputs=None if document.outputs is None else document.outputs.tobytes(),
        spans=_spans(document.spans, 0),
    )


def _spans(spans: tuple[StoredSpan, ...], start: int) -> tuple:
    return tuple((s.lo - start, s.hi - start, tuple(sorted(s.attributes.items()))) for s in spans)


def contents(snapshot: Snapshot) -> dict[str, Content]:
    """Read every live document row by row, straight from the segments."""
    rows = [
        (
            int(segment.values[i]),
            int(segment.offsets[i]),
            segment.keys[i].tobytes(),
            None if segment.outputs is None else segment.outputs[i].tobytes(),
        )
        for segment in snapshot.segments
        for i in range(len(segment))
    ]
    found = {}
    for d in snapshot.documents:
        mine = rows[d.lo : d.hi]
        found[d.name] = Content(
            content_hash=d.content_hash,
            values=tuple(row[0] for row in mine),
            offsets=tuple(row[1] for row in mine),
            keys=b"".join(row[2] for row in mine),
            outputs=None if mine[0][3] is None else b"".join(row[3] for row in mine),
            spans=_spans(snapshot.spans[d.first_span : d.last_span], d.lo),
        )
    return found


def operation(number: int) -> tuple[str, list]:
    """Give the n-th of an endless, repeatable series of changes."""
    draw = random.Random(number)
    kind = draw.choices(["add", "remove", "compact"], [7, 2, 1])[0]
    names = draw.sample([f"d{i}" for i in range(12)], draw.randint(1, 3))
    if kind == "add":
        return kind, [encoded(name, draw.randint(1, 400), number) for name in names]
    return kind, names


def expect(model: dict[str, Content], number: int) -> dict[str, Content]:
    """Apply the n-th change to a dictionary."""
    kind, arguments = operation(number)
    if kind == "add":
        return model | {document.name: content_of(document) for document in arguments}
    gone = arguments if kind == "remove" else []
    return {name: content for name, content in model.items() if name not in gone}


def change_until_killed(path: str, first: int, acknowledged: str) -> None:
    """Apply change after change to a store; write a byte for each that was acknowledged."""
    log = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Datastore.open(Path(path)).writer() as writer:
        for number in range(first, first + 100_000):
            kind, arguments = operation(number)
            if kind == "compact":
                writer.compact(max_entries=1500)
            else:
                getattr(writer, kind)(arguments)
            os.write(log, b".")


def hold_the_lock(path: str, held: str, release: str) -> None:
    """Be another process that writes."""
    with Datastore.open(Path(path)).writer():
        Path(held).touch()
        while not Path(release).exists():
            os.sched_yield()
