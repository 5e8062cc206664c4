import numpy as np
import pytest
import torch

from vicinal.datastore.snapshot import Segment, Snapshot


def make_snapshot(*parts, dead=(), ids=None):
    """Put arrays of keys into the segments of one snapshot."""
    segments, base = [], 0
    for number, keys in enumerate(parts):
        zeros = np.zeros(len(keys), np.int32)
        name = ids[number] if ids else f"s{number}"
        segments.append(Segment(name, base, keys.astype(np.float16), zeros, zeros, outputs=None))
        base += len(keys)
    return Snapshot(
        segments=tuple(segments),
        documents=(),
        spans=(),
        dead=np.array(dead, np.int64).reshape(-1, 2),
        key_dim=parts[0].shape[1] if parts else 4,
    )


def slow_search(snapshot, queries, k, without):
    """Compare every pair in float64, round, sort by (distance, entry), cut and pad."""
    dead = {entry for lo, hi in snapshot.dead.tolist() for entry in range(lo, hi)}
    entries, distances = [], []
    for query, (lo, hi) in zip(queries.double().numpy(), without.tolist(), strict=True):
        found = []
        for segment in snapshot.segments:
            for row, key in enumerate(segment.keys.astype(np.float64)):
                entry = segment.base + row
                if entry not in dead and not lo <= entry < hi:
                    found.append((float(np.float32(((query - key) ** 2).sum())), entry))
        found = (sorted(found) + [(float("inf"), -1)] * k)[:k]
        distances.append([d for d, _ in found])
        entries.append([e for _, e in found])
    return (
        torch.tensor(entries, dtype=torch.long).view(-1, k),
        torch.tensor(distances, dtype=torch.float64).view(-1, k),
    )


def nothing_left_out(queries):
    return torch.zeros(len(queries), 2, dtype=torch.long)


@pytest.fixture(scope="session")
def snapshot_of():
    return make_snapshot


@pytest.fixture(scope="session")
def oracle():
    return slow_search


@pytest.fixture(scope="session")
def all_allowed():
    return nothing_left_out
