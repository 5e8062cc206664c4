"""
What the released code computed otherwise: rough distances, too few neighbors, lost probabilities.

Indexes and models that wrap ours. Written from notes on what that code does; nothing of it is
copied.
"""

from collections.abc import Callable, Sequence

import faiss
import numpy as np
import torch
from jaxtyping import Float, Float32, Int32, Int64
from torch import Tensor

from vicinal.datastore import Snapshot, with_keys
from vicinal.index import AbstractIndex, Neighbors
from vicinal.lm import AbstractLanguageModel, Encoding, Tokens
from vicinal.paper.scene import Search

SPARE = 2048  # entries searched beyond k, to drop the query's own document afterwards
CODE_BYTES = 64  # of the product quantizer
TRAINED_ON = 16_384  # keys; FAISS asks for 39 of each of its 256 centers
FLOOR = -1e4
Keys = np.ndarray[tuple[int, int], np.dtype[np.float16]]


def quantized(search: Search) -> Search:
    """
    Take the distances to keys as a product quantizer remembers them, and never the true ones.

    The released code searched inverted lists too; here every key is looked at, so that what is
    measured is the error of the distances alone.
    """
    return lambda snapshot: search(with_keys(snapshot, "pq", _quantizer(snapshot)))


def dropped_afterwards(search: Search) -> Search:
    """Search with the query's own document in the store, and drop it from what is found."""
    return lambda snapshot: DroppingIndex(search(snapshot))


def _quantizer(snapshot: Snapshot) -> Callable[[Keys], Keys]:
    """Train a product quantizer on keys drawn from all segments."""
    width = snapshot.key_dim
    pieces = next(m for m in range(min(CODE_BYTES, width), 0, -1) if width % m == 0)
    chosen = np.random.default_rng(0).permutation(snapshot.n_entries)[:TRAINED_ON]
    # 8 bits where there are keys enough to tell 256 centers apart.
    bits = max(1, min(8, int(np.log2(max(2, len(chosen) / 4)))))
    quantizer = faiss.IndexPQ(width, pieces, bits)
    quantizer.train(snapshot.keys(np.sort(chosen)).astype(np.float32))

    def approximate(keys: Keys) -> Keys:
        codes = quantizer.sa_encode(np.ascontiguousarray(keys, dtype=np.float32))
        found: Keys = quantizer.sa_decode(codes).astype(np.float16)
        return found

    return approximate


class DroppingIndex(AbstractIndex):
    """Finds k + *spare* entries anywhere; what is left without the query's own document counts."""

    def __init__(self, index: AbstractIndex, spare: int = SPARE) -> None:
        self._index, self._spare = index, spare

    def search(
        self,
        queries: Float[Tensor, "queries d"],
        k: int,
        *,
        without: Int64[Tensor, "queries 2"],
    ) -> Neighbors:
        """Find up to k entries of each query outside of its range."""
        found = self._index.search(queries, k + self._spare, without=torch.zeros_like(without))
        own = (found.entries >= without[:, :1]) & (found.entries < without[:, 1:])
        distances, order = found.distances.masked_fill(own, torch.inf).sort(dim=1, stable=True)
        entries = found.entries.gather(1, order).masked_fill(distances.isinf(), -1)
        return Neighbors(entries[:, :k], distances[:, :k])


class AbstractReading(AbstractLanguageModel):
    """A model whose log-probabilities are read in another way."""

    def __init__(self, lm: AbstractLanguageModel) -> None:
        self.lm = lm
        self.name, self.fingerprint = lm.name, lm.fingerprint
        self.key_dim, self.output_dim, self.vocab_size = lm.key_dim, lm.output_dim, lm.vocab_size
        self.boundary_id = lm.boundary_id

    def tokenize(self, text: str) -> Tokens:
        """Cut a text as the model does."""
        return self.lm.tokenize(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Join token ids as the model does."""
        return self.lm.decode(ids)

    def encode(
        self,
        documents: Sequence[Int32[np.ndarray, " _"]],
        progress: Callable[[int], None] = lambda n_tokens: None,
    ) -> list[Encoding]:
        """Encode documents as the model does."""
        return self.lm.encode(documents, progress)


class HalfPrecision(AbstractReading):
    """Log-probabilities rounded to half precision before they are mixed."""

    def log_p(self, outputs: Float[Tensor, "n d_out"]) -> Float32[Tensor, "n vocab"]:
        """Give log p rounded to half precision."""
        return self.lm.log_p(outputs).half().float()


class CertainIsLost(AbstractReading):
    """A log-probability of exactly zero taken for one that was not computed: −10,000."""

    def log_p(self, outputs: Float[Tensor, "n d_out"]) -> Float32[Tensor, "n vocab"]:
        """Give log p, and the floor where it is zero."""
        log_p = self.lm.log_p(outputs)
        return log_p.masked_fill(log_p == 0, FLOOR)
