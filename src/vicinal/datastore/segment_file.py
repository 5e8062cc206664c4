"""
One segment as files: safetensors, written as a stream, mapped only after their header is checked.

    segments/<id>.safetensors            values i32 [n], offsets i32 [n], keys f16 [n, d]
    segments/<id>.outputs.safetensors    outputs f16 [n, d_out]

The integers come first so that every number lies at a multiple of its size, whatever d is.
A header has only one right form, so it is compared byte for byte and never parsed.
Knows nothing of documents, nor of which segments a store has.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Shaped

from vicinal.errors import CorruptStoreError, StoreError

BLOCK_BYTES = 1 << 22
TEMPORARY = ".tmp"
DTYPES: dict[str, np.dtype[Any]] = {"I32": np.dtype("<i4"), "F16": np.dtype("<f2")}
ALIGNMENT = 64


@dataclass(frozen=True)
class Column:
    """A named array of a file, and the bytes ``[start, end)`` where it lies behind the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int

    @property
    def row_bytes(self) -> int:
        """Count the bytes of one entry."""
        return int(prod(self.shape[1:]) * DTYPES[self.dtype].itemsize)

    @property
    def end(self) -> int:
        """Find the byte behind the last."""
        return self.start + self.shape[0] * self.row_bytes


@dataclass(frozen=True)
class Layout:
    """What one file holds: its columns one after the other, without holes."""

    columns: tuple[Column, ...]

    @classmethod
    def of_entries(cls, n: int, key_dim: int) -> "Layout":
        """Lay out *n* entries without their outputs."""
        return cls(
            (
                Column("values", "I32", (n,), 0),
                Column("offsets", "I32", (n,), 4 * n),
                Column("keys", "F16", (n, key_dim), 8 * n),
            )
        )

    @classmethod
    def of_outputs(cls, n: int, output_dim: int) -> "Layout":
        """Lay out the outputs of *n* entries."""
        return cls((Column("outputs", "F16", (n, output_dim), 0),))

    @cached_property
    def head(self) -> bytes:
        """Give the length and the JSON header with which the file begins."""
        header = {
            c.name: {"dtype": c.dtype, "shape": c.shape, "data_offsets": (c.start, c.end)}
            for c in self.columns
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-(8 + len(text)) % ALIGNMENT)
        return len(text).to_bytes(8, "little") + text

    @property
    def n_bytes(self) -> int:
        """Count the bytes of the whole file."""
        return len(self.head) + self.columns[-1].end


def write_file(path: Path, layout: Layout, chunks: Iterable[bytes | memoryview]) -> str:
    """
    Write a file beside its name and rename it when it is whole and on disk; give its SHA-256.

    The rename itself is on disk only after `sync_directory`.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    digest = hashlib.sha256()
    with open(temporary, "wb") as file:
        for chunk in chain([layout.head], chunks):
            file.write(chunk)
            digest.update(chunk)
        if file.tell() != layout.n_bytes:
            raise StoreError(
                f"{path.name} should have {layout.n_bytes} bytes, got {file.tell()}. "
                "Give as many rows as were announced."
            )
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    return digest.hexdigest()


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a loss of power."""
    if os.name == "nt":  # a directory cannot be opened there, and renames are journaled
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def raw(array: Shaped[np.ndarray, "..."], dtype: str) -> memoryview:
    """View an array as the bytes that go to disk."""
    flat = np.ascontiguousarray(array, DTYPES[dtype]).reshape(-1)
    return flat.view(np.uint8).data


def map_file(path: Path, layout: Layout) -> dict[str, Shaped[np.ndarray, "..."]]:
    """Map the columns of a file into memory, read only, after checking header and size."""
    with open(path, "rb") as file:
        check_file(file, layout)
        everything = np.memmap(file, np.uint8, mode="r").view(np.ndarray)
    data = everything[len(layout.head) :]
    return {
        c.name: data[c.start : c.end].view(DTYPES[c.dtype]).reshape(c.shape) for c in layout.columns
    }


def check_file(file: BinaryIO, layout: Layout) -> None:
    """
    Refuse a file whose header or size is not what the manifest promises.

    A file that is too short would otherwise end the process when its last page is touched.
    """
    name, size = Path(file.name).name, os.fstat(file.fileno()).st_size
    if size != layout.n_bytes:
        raise CorruptStoreError(
            f"Segment file {name} should have {layout.n_bytes} bytes, has {size}. {REMEDY}"
        )
    file.seek(0)
    found = file.read(len(layout.head))
    if found != layout.head:
        raise CorruptStoreError(
            f"Segment file {name} should begin with {layout.head[8:].decode().strip()}, "
            f"begins with {found[8:72]!r}. {REMEDY}"
        )


REMEDY = "Run `vicinal store verify --repair` to discard it, then index its documents again."


def read_blocks(
    path: Path, layout: Layout, column: str, ranges: Iterable[tuple[int, int]]
) -> Iterator[bytes]:
    """
    Read ranges of rows of a column, a few megabytes at a time.

    Reads rather than maps: the pages of a map would count as memory of this process.
    """
    (found,) = (c for c in layout.columns if c.name == column)
    begin = len(layout.head) + found.start
    with open(path, "rb") as file:
        check_file(file, layout)
        for lo, hi in ranges:
            file.seek(begin + lo * found.row_bytes)
            left = (hi - lo) * found.row_bytes
            while left:
                block = file.read(min(left, BLOCK_BYTES))
                if not block:
                    raise CorruptStoreError(f"Segment file {path.name} ended early. {REMEDY}")
                left -= len(block)
                yield block


def sha256_of(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
