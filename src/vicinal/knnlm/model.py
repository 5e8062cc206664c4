"""
The kNN language model: a base model, a store, a schema and fitted parameters, joined.

The one place where all rooms above meet. It adds no arithmetic of its own.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float32
from torch import Tensor

from vicinal.datastore import Datastore, Snapshot
from vicinal.errors import CalibrationError
from vicinal.index import open_index
from vicinal.knnlm.mixture import Mixture
from vicinal.knnlm.parameters import Parameters
from vicinal.knnlm.probability import interpolate, log_p_knn
from vicinal.knnlm.retrieval import Queries, Retrieved, Retriever
from vicinal.lm import AbstractLanguageModel
from vicinal.locality import Evidence, LocalitySchema

DEFAULT_K = 128
NAME_IN_STORE = "fitted"  # under this name a store keeps its parameters
PREFERRED = ("adaptive", "linear", "mlp", "temperature", "bias", "knn")
Values = tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """
    What a user may choose of a kNN language model; None leaves it to what was fitted.

    *rung* is a name in the parameters; by default the one with a λ that adapts, then the lines of
    each level, if there are such.
    """

    rung: str | None = None
    k: int | None = None
    index: str = "auto"


class KNNLM:
    """Predicts the next token from the base model and from how the neighborhood went on."""

    def __init__(
        self, lm: AbstractLanguageModel, retriever: Retriever, mixture: Mixture, *, k: int
    ) -> None:
        self.lm = lm
        self.retriever = retriever
        self.mixture = mixture
        self.k = k

    @classmethod
    def from_store(
        cls,
        store: Datastore,
        lm: AbstractLanguageModel,
        parameters: Parameters | None = None,
        choice: "Choice | None" = None,
    ) -> "KNNLM":
        """
        Join a store with the model that made it, and with *parameters* or those fitted to it.

        Without any parameters the kNN-LM is as published.
        """
        choice = choice or Choice()
        store.check_fingerprint(lm.fingerprint, lm.name)
        schema = LocalitySchema.from_dict(json.loads(store.identity.schema))
        parameters = parameters or stored_parameters(store)
        if parameters:
            parameters.check(lm.fingerprint, schema)
        snapshot = store.snapshot()
        found = open_index(snapshot, cache=store.files.index, kind=choice.index)
        mixture = _choose(parameters, choice.rung, schema.n_levels)
        k = choice.k or (parameters.k if parameters else DEFAULT_K)
        return cls(lm, Retriever(snapshot, found, schema), mixture, k=k)

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
        evidence = Evidence.of(retrieved.values, log_p_lm)
        return interpolate(neighbors, log_p_lm, self.mixture.lams(retrieved, evidence))


def stored_parameters(store: Datastore) -> Parameters | None:
    """Read the parameters that were fitted to a store, if any were."""
    text = store.parameters(NAME_IN_STORE)
    return Parameters.from_json(text) if text else None


def preferred(parameters: Parameters | None) -> str:
    """Name the rung to use where none was asked for."""
    known = parameters.rungs if parameters else {}
    return next(name for name in PREFERRED if name in known or name == "knn")


def _choose(parameters: Parameters | None, rung: str | None, n_levels: int) -> Mixture:
    known = {"knn": Mixture.published(n_levels), **(parameters.rungs if parameters else {})}
    rung = rung or preferred(parameters)
    if rung not in known:
        raise CalibrationError(
            f"There are no parameters for {rung!r}; fitted are: {', '.join(known)}. "
            "Fit it: `vicinal fit --ladder`."
        )
    return known[rung]


def own_range(snapshot: Snapshot, name: str | None) -> tuple[int, int]:
    """Give the entries of the stored document of that name; an empty range where there is none."""
    document = snapshot.document(name) if name else None
    return (document.lo, document.hi) if document else (0, 0)
