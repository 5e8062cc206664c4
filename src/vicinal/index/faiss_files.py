"""
FAISS indexes on disk: a cache that may be deleted, cut short or overwritten at any time.

An index file counts only if the note beside it names its size, its checksum and how it was made;
otherwise it is built again. Knows nothing of what an index holds or how it is searched.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import faiss

from vicinal.errors import SearchError


@dataclass(frozen=True)
class _Note:
    """What an index file must be to be trusted."""

    recipe: str
    size: int
    sha256: str


def load_or_build(path: Path | None, recipe: str, build: Callable[[], Any]) -> Any:
    """
    Map the index at *path* into memory if it is whole and was made by *recipe*, else build it.

    Without a *path*, build it in memory only.
    """
    if path is None:
        return build()
    recipe = f"{recipe} faiss {faiss.__version__}"
    if not _is_trusted(path, recipe):
        _keep(path, recipe, build())
    return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let *write* fill a file beside *path*, then give it that name."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        os.close(handle)
        try:
            write(Path(name))
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise SearchError(
            f"The index cache {path} should be writable, found: {error}. "
            "Make its folder writable, or search without a cache."
        ) from error


def write_text_whole(path: Path, text: str) -> None:
    """Replace the file at *path* by one that holds *text*."""
    write_whole(path, lambda part: part.write_bytes(text.encode()))


def _is_trusted(path: Path, recipe: str) -> bool:
    try:
        note = json.loads(_note_beside(path).read_text())
        if not isinstance(note, dict) or path.stat().st_size != note.get("size"):
            return False  # told apart before the whole file is read
        return note == asdict(_describe(path, recipe))
    except (OSError, ValueError):
        return False


def _keep(path: Path, recipe: str, index: Any) -> None:
    write_whole(path, lambda part: faiss.write_index(index, str(part)))
    note = json.dumps(asdict(_describe(path, recipe)), indent=1)
    write_text_whole(_note_beside(path), note)


def _describe(path: Path, recipe: str) -> _Note:
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return _Note(recipe, path.stat().st_size, checksum)


def _note_beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")
