"""
Answers that were given before: an index whose searches are kept in files.

Searching is most of what a study costs and none of what it varies: parameters, levels and measures
all look at the same neighbors. A file is named by a hash of everything its answer depends on, so
one that belongs to another store or question is never read. Deleting the folder loses only time.
"""

import hashlib
from pathlib import Path

import torch
from jaxtyping import Float, Int64
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from vicinal.datastore.snapshot import Snapshot
from vicinal.index.faiss_files import write_whole
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
        # An approximate index answers otherwise after it was measured otherwise.
        kind = f"{type(self._index).__name__}{getattr(self._index, 'report', '')}"
        told = f"{kind} {k} {list(queries.shape)} {queries.dtype}"
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
        entries, distances = tensors["entries"], tensors["distances"]
    except (OSError, SafetensorError, KeyError):
        return None
    is_whole = entries.shape == distances.shape == shape
    return Neighbors(entries.long(), distances) if is_whole else None


def _write(path: Path, found: Neighbors) -> None:
    tensors = {"entries": found.entries.cpu().int(), "distances": found.distances.cpu()}
    whole = save({name: tensor.contiguous() for name, tensor in tensors.items()})
    write_whole(path, lambda part: part.write_bytes(whole))
