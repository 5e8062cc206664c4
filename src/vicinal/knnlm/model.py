"""
The kNN language model: a base model, a store, a schema and fitted parameters, joined.

The one place where all rooms above meet. It adds no arithmetic of its own.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float32
from torch import Tensor

from vicinal.datastore import Snapshot
from vicinal.knnlm.mixture import Mixture
from vicinal.knnlm.probability import interpolate, log_p_knn
from vicinal.knnlm.retrieval import Queries, Retrieved, Retriever
from vicinal.lm import AbstractLanguageModel

Values = tuple[str, ...]


class KNNLM:
    """Predicts the next token from the base model and from how the neighborhood went on."""

    def __init__(
        self, lm: AbstractLanguageModel, retriever: Retriever, mixture: Mixture, *, k: int
    ) -> None:
        self.lm = lm
        self.retriever = retriever
        self.mixture = mixture
        self.k = k

    def queries(
        self, text: str, attributes: Mapping[str, Values], *, name: str | None = None
    ) -> Queries:
        """
        Encode a text as queries, one for each of its tokens, all with the same *attributes*.

        If the store has a document of that *name*, its entries are left out.
        """
        ids = self.lm.tokenize(text).ids
        (encoding,) = self.lm.encode([ids])
        return Queries(
            torch.from_numpy(encoding.keys),
            torch.from_numpy(encoding.outputs),
            torch.from_numpy(ids).long(),
            torch.tensor([own_range(self.retriever.snapshot, name)]).expand(len(ids), 2),
            torch.zeros(len(ids), dtype=torch.int64),
            [attributes],
        )

    def retrieve(self, queries: Queries) -> Retrieved:
        """Find the neighbors of each query."""
        return self.retriever.retrieve(queries, self.k)

    def log_p(self, queries: Queries) -> Float32[Tensor, "queries vocab"]:
        """Give log p of every token of the vocabulary after each context (Eq. 3)."""
        log_p_lm = self.lm.log_p(queries.outputs)
        if self.mixture.lam == 0:
            return log_p_lm
        retrieved = self.retrieve(queries)
        distances = self.mixture.calibrated(retrieved)
        neighbors = log_p_knn(distances, retrieved.values, self.lm.vocab_size)
        return interpolate(neighbors, log_p_lm, self.mixture.lams(retrieved))


def own_range(snapshot: Snapshot, name: str | None) -> tuple[int, int]:
    """Give the entries of the stored document of that name; an empty range where there is none."""
    document = snapshot.document(name) if name else None
    return (document.lo, document.hi) if document else (0, 0)
