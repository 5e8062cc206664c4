"""
True distances of the entries that a search brought up, and their one order.

Whatever an index computed on its way (products, half floats), what leaves the room is
``sum((q - k)**2)`` in float32 over the stored keys, sorted by distance and then by entry.
"""

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from vicinal.index.neighbors import Neighbors
from vicinal.index.stored_keys import StoredKeys

ROWS_AT_A_TIME = 4096  # more leave the cache, fewer start more parallel loops
NO_ENTRY = -1
MIN_SPARE = 16


def over_fetched(k: int) -> int:
    """Choose how many entries to bring up for *k*, as what an index computes is not quite true."""
    return k + max(MIN_SPARE, k // 8)


def rescore(
    keys: StoredKeys,
    queries: Float32[Tensor, "queries d"],
    entries: Int64[Tensor, "queries w"],
    k: int,
) -> Neighbors:
    """Order the *entries* of each query by true distance and keep *k*; -1 is no entry."""
    owners, columns = (entries != NO_ENTRY).nonzero(as_tuple=True)
    distances = torch.full(entries.shape, torch.inf)
    distances[owners, columns] = pair_distances(keys, queries, owners, entries[owners, columns])
    return nearest(entries, distances, k)


def pair_distances(
    keys: StoredKeys,
    queries: Float32[Tensor, "queries d"],
    owners: Int64[Tensor, " pairs"],
    entries: Int64[Tensor, " pairs"],
) -> Float32[Tensor, " pairs"]:
    """Compute the squared l2 distance between query ``owners[i]`` and the key ``entries[i]``."""
    distances = torch.empty(len(entries))
    for lo in range(0, len(entries), ROWS_AT_A_TIME):
        some = slice(lo, lo + ROWS_AT_A_TIME)
        differences = keys.take(entries[some]).sub_(queries.index_select(0, owners[some]))
        torch.sum(differences.square_(), dim=1, out=distances[some])
    return distances


def nearest(
    entries: Int64[Tensor, "queries w"], distances: Float32[Tensor, "queries w"], k: int
) -> Neighbors:
    """Keep the *k* nearest per query, equal distances by entry; pad with -1 at infinity."""
    # Stable sorts, the least important key first. An entry of -1 is at infinity and stays last.
    entries, order = entries.sort(dim=1, stable=True)
    distances, order = distances.gather(1, order).sort(dim=1, stable=True)
    entries, distances = entries.gather(1, order)[:, :k], distances[:, :k]
    missing = (0, k - entries.shape[1])
    return Neighbors(
        torch.nn.functional.pad(entries, missing, value=NO_ENTRY),
        torch.nn.functional.pad(distances, missing, value=torch.inf),
    )


def moved(neighbors: Neighbors, device: torch.device) -> Neighbors:
    """Move both tensors to *device*."""
    return Neighbors(neighbors.entries.to(device), neighbors.distances.to(device))
