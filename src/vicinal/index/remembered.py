"""
Answers that were given before: an index whose searches are kept in files.

Searching is most of what a study costs and none of what it varies: parameters, levels and measures
all look at the same neighbors. A file is named by a hash of everything its answer depends on, so
one that belongs to another store or question is never read. Deleting the folder loses only time.
"""

import hashlib
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

import torch
from jaxtyping import Float, Int64
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from vicinal.datastore.snapshot import Snapshot
from vicinal.index.neighbors import AbstractIndex, Neighbors
from vicinal.index.rescoring import moved


class RememberedIndex(AbstractIndex):
    """
    Asks *index* over *snapshot* once for each batch of queries; the answers lie in *folder*.

    *label* tells indexes of one class apart that answer differently.
    """

    def __init__(
        self, index: AbstractIndex, snapshot: Snapshot, folder: Path, label: str = ""
    ) -> None:
        self._index = index
        self._folder = folder
        self._store = _digest(snapshot) + label.encode()

    def search(
        self,
        queries: Float[Tensor, "queries d"],
        k: int,
        *,
        without: Int64[Tensor, "queries 2"],
    ) -> Neighbors:
        """Find the k nearest entries of each query outside of its range, or remember them."""
        path = self._folder / f"{self._name(queries, k, without)}.safetensors"
        known = _read(path, (len(queries), k))
        if known is not None:
            return moved(known, queries.device)
        found = self._index.search(queries, k, without=without)
        _write(path, found)
        return found

    def _name(
        self, queries: Float[Tensor, "queries d"], k: int, without: Int64[Tensor, "queries 2"]
    ) -> str:
        told = f"{type(self._index).__name__} {k} {list(queries.shape)} {queries.dtype}"
        digest = hashlib.sha256(self._store + told.encode())
        digest.update(queries.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        digest.update(without.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:32]


def _digest(snapshot: Snapshot) -> bytes:
    """Hash what decides which entries there are and how they are numbered."""
    segments = " ".join(f"{segment.id}:{len(segment)}" for segment in snapshot.segments)
    return hashlib.sha256(segments.encode() + snapshot.dead.tobytes()).digest()


def _read(path: Path, shape: tuple[int, int]) -> Neighbors | None:
    try:
        tensors = load_file(path)
        found = Neighbors(tensors["entries"].long(), tensors["distances"])
    except (OSError, SafetensorError, KeyError):
        return None
    return found if tuple(found.entries.shape) == shape else None


def _write(path: Path, found: Neighbors) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed: a killed run leaves no half an answer under the name of a whole.
    with NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        tensors = {"entries": found.entries.cpu().int(), "distances": found.distances.cpu()}
        file.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    os.replace(file.name, path)
