"""
The door of every index: what is asked is checked and brought into one form.

Knows nothing of how the answer is found.
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vicinal.errors import SearchError

LARGEST = 1e15  # squares of larger numbers, summed over a key, leave float32


def admit(
    queries: Float[Tensor, "..."],
    k: int,
    without: Int64[Tensor, "..."],
    *,
    dim: int,
) -> Float[Tensor, "queries d"]:
    """Return *queries* as contiguous float32 on the CPU, or say why they cannot be searched."""
    if k < 1:
        raise SearchError(f"The number of neighbors k must be at least 1, was: {k}.")
    if queries.ndim != 2 or queries.shape[1] != dim:
        raise SearchError(
            f"Queries must be of shape [n, {dim}] like the keys of the store, "
            f"were: {list(queries.shape)}. Do query and store come from the same model?"
        )
    _refuse_bad_ranges(without, len(queries))
    queries = queries.detach().to("cpu", torch.float32).contiguous()
    _refuse_unbounded(queries)
    return queries


def _refuse_bad_ranges(without: Int64[Tensor, "..."], n_queries: int) -> None:
    if without.shape != (n_queries, 2):
        raise SearchError(
            f"`without` must hold one range [lo, hi) per query, shape {[n_queries, 2]}, "
            f"was: {list(without.shape)}. Use (0, 0) to leave nothing out."
        )
    wrong = (without[:, 0] > without[:, 1]) | (without[:, 0] < 0)
    if wrong.any():
        at = int(wrong.nonzero()[0, 0])
        raise SearchError(
            f"Each range of `without` must have 0 <= lo <= hi, "
            f"was: {without[at].tolist()} for query {at}. Use (0, 0) to leave nothing out."
        )


def _refuse_unbounded(queries: Float[Tensor, "queries d"]) -> None:
    bounded = (queries.abs() <= LARGEST).all(1)
    if not bounded.all():
        at = int((~bounded).nonzero()[0, 0])
        raise SearchError(
            f"Queries must be finite and below {LARGEST:g}; {int((~bounded).sum())} of "
            f"{len(queries)} are not, the first is query {at}. "
            "Was the model run in a precision that overflows?"
        )
