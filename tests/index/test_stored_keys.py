from dataclasses import replace

import numpy as np
import pytest
import torch

from vicinal.errors import SearchError
from vicinal.index.stored_keys import StoredKeys


def counted(n, d=2):
    return np.arange(n * d).reshape(n, d).astype(np.float16)


def three(snapshot_of, **settings):
    keys = counted(20)
    return keys, snapshot_of(keys[:7], keys[7:8], keys[7:7], keys[8:], **settings)


@pytest.mark.parametrize(("lo", "hi"), [(0, 20), (5, 10), (7, 8), (6, 7), (8, 20), (19, 20)])
def test_blocks_cross_segments(snapshot_of, lo, hi):
    """A block holds the keys of its entries, whatever segments they lie in."""
    keys, snapshot = three(snapshot_of)
    out = torch.full((hi - lo, 2), -1.0)
    StoredKeys(snapshot).fill(lo, out)
    assert torch.equal(out, torch.tensor(keys[lo:hi]).float())


def test_rows_come_in_the_order_asked(snapshot_of):
    """Entries of all segments, some of them twice."""
    keys, snapshot = three(snapshot_of)
    entries = torch.tensor([19, 0, 7, 6, 8, 7])
    taken = StoredKeys(snapshot).take(entries)
    assert taken.dtype == torch.float32
    assert torch.equal(taken, torch.tensor(keys[entries.numpy()]).float())
    assert StoredKeys(snapshot).take(entries[:0]).shape == (0, 2)


def test_read_only_maps_are_read_without_a_warning(snapshot_of, tmp_path):
    """Keys are mapped read-only, which torch would warn of."""
    keys = np.memmap(tmp_path / "keys", np.float16, "w+", shape=(5, 2))
    keys[:] = counted(5)
    keys.flush()
    keys = np.memmap(tmp_path / "keys", np.float16, "r", shape=(5, 2))
    snapshot = snapshot_of(counted(5))
    snapshot = replace(snapshot, segments=(replace(snapshot.segments[0], keys=keys),))
    assert StoredKeys(snapshot).take(torch.tensor([4])).tolist() == [[8.0, 9.0]]


def test_live_are_all_but_the_dead(snapshot_of):
    _, snapshot = three(snapshot_of, dead=[(2, 4), (6, 9)])
    live = StoredKeys(snapshot).live
    assert (~live).nonzero()[:, 0].tolist() == [2, 3, 6, 7, 8]


def test_the_center_lies_amid_the_keys(snapshot_of):
    """All keys are averaged in a small store; in a larger one, some from everywhere."""
    keys, snapshot = three(snapshot_of)
    assert StoredKeys(snapshot).center.tolist() == keys.mean(0, dtype=np.float64).tolist()
    large = np.arange(20_000)[:, None] / 10
    assert abs(float(StoredKeys(snapshot_of(large)).center) - 1000) < 2


def test_the_center_is_finite_whatever_the_keys(snapshot_of):
    keys = counted(4)
    keys[:, 0] = np.nan
    keys[0, 1] = np.inf
    assert StoredKeys(snapshot_of(keys)).center.tolist() == [0.0, 0.0]


def test_refuses_gaps_between_segments(snapshot_of):
    """Entries would be attributed to the wrong rows."""
    snapshot = snapshot_of(counted(5), counted(4))
    moved = replace(snapshot.segments[1], base=6)
    with pytest.raises(SearchError, match=r"s1 should begin at entry 5.* begins at 6"):
        StoredKeys(replace(snapshot, segments=(snapshot.segments[0], moved)))


def test_refuses_keys_of_another_width(snapshot_of):
    snapshot = replace(snapshot_of(counted(5)), key_dim=3)
    with pytest.raises(SearchError, match=r"s0 should hold keys of shape \(5, 3\), found \(5, 2\)"):
        StoredKeys(snapshot)


def test_segments_may_be_listed_in_any_order(snapshot_of):
    keys, snapshot = three(snapshot_of)
    stored = StoredKeys(replace(snapshot, segments=snapshot.segments[::-1]))
    assert torch.equal(stored.take(torch.arange(20)), torch.tensor(keys).float())
