import numpy as np
import pytest
import torch

from vicinal.datastore.snapshot import Segment, Snapshot


def make_snapshot(*parts, dead=()):
    """Put arrays of float16 keys into the segments of one snapshot."""
    segments, base = [], 0
    for number, keys in enumerate(parts):
        n = len(keys)
        zeros = np.zeros(n, np.int32)
        segments.append(
            Segment(f"s{number}", base, keys.astype(np.float16), zeros, zeros, outputs=None)
        )
        base += n
    return Snapshot(
        segments=tuple(segments),
        documents=(),
        spans=(),
        dead=np.array(dead, np.int64).reshape(-1, 2),
        key_dim=parts[0].shape[1],
    )


def slow_search(snapshot, queries, k, without):
    """Compare every pair in float64, sort by (distance, entry), cut and pad."""
    dead = {e for lo, hi in snapshot.dead.tolist() for e in range(lo, hi)}
    entries, distances = [], []
    for query, (lo, hi) in zip(queries.double().numpy(), without.tolist(), strict=True):
        found = []
        for segment in snapshot.segments:
            for row, key in enumerate(segment.keys.astype(np.float64)):
                entry = segment.base + row
                if entry not in dead and not lo <= entry < hi:
                    found.append((float(((query - key) ** 2).sum()), entry))
        found = (sorted(found) + [(float("inf"), -1)] * k)[:k]
        distances.append([d for d, _ in found])
        entries.append([e for _, e in found])
    return torch.tensor(entries).view(-1, k), torch.tensor(distances, dtype=torch.float64).view(
        -1, k
    )


@pytest.fixture
def snapshot_of():
    return make_snapshot


@pytest.fixture
def oracle():
    return slow_search
