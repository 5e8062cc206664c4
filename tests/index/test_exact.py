import numpy as np
import pytest
import torch

from vicinal.errors import SearchError
from vicinal.index import ExactIndex, exact


def whole(seed, *shape, high=4):
    return np.random.default_rng(seed).integers(0, high, size=shape).astype(np.float16)


@pytest.fixture
def second_searches(monkeypatch):
    """Count the queries that had to be searched a second time."""
    counted = []
    original = ExactIndex._search_above

    def counting(self, queries, *rest, k):
        counted.append(len(queries))
        return original(self, queries, *rest, k=k)

    monkeypatch.setattr(ExactIndex, "_search_above", counting)
    return counted


def test_most_queries_are_proven_at_once(snapshot_of, all_allowed, second_searches):
    """Where distances differ, no query is searched twice."""
    rng = np.random.default_rng(0)
    queries = torch.tensor(rng.normal(size=(20, 16)), dtype=torch.float32)
    index = ExactIndex(snapshot_of(rng.normal(size=(5000, 16))))
    index.search(queries, 10, without=all_allowed(queries))
    assert second_searches == []


def test_only_what_is_tied_is_searched_twice(snapshot_of, all_allowed, second_searches):
    """A query with more equal neighbors than are kept cannot be proven; the others can."""
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(3000, 16)).astype(np.float16)
    keys[1000:1400] = keys[7]
    queries = torch.tensor(keys[[50, 7, 60]].astype(np.float32))
    found = ExactIndex(snapshot_of(keys)).search(queries, 10, without=all_allowed(queries))
    assert second_searches == [1]
    assert found.entries[1].tolist() == [7, *range(1000, 1009)]
    assert found.entries[:, 0].tolist() == [50, 7, 60]


def test_a_short_product_is_mistrusted(snapshot_of, oracle, second_searches, monkeypatch):
    """Scores as coarse as a bfloat16 product gives still lead to the exact neighbors."""
    rng = np.random.default_rng(0)
    snapshot = snapshot_of(rng.normal(size=(3000, 64)))
    queries = torch.tensor(rng.normal(size=(20, 64)), dtype=torch.float32)
    without = torch.zeros(20, 2, dtype=torch.long)
    without[3:] = torch.tensor([100, 2000])
    product = torch.addmm
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "medium")
    monkeypatch.setattr(
        torch,
        "addmm",
        lambda bias, keys, columns, out: product(
            bias, keys.bfloat16().float(), columns.bfloat16().float(), out=out
        ),
    )
    found = ExactIndex(snapshot).search(queries, 100, without=without)
    assert second_searches == [20]
    same = found.entries == oracle(snapshot, queries, 100, without)[0]
    assert same.double().mean() > 0.999  # float32 and float64 order a few differently
    distances = oracle(snapshot, queries, 100, without)[1]
    torch.testing.assert_close(found.distances.double(), distances, rtol=1e-5, atol=0)


@pytest.mark.parametrize("offset", [0.0, 3.0, 900.0])
def test_the_floor_is_below_every_score_that_counts(snapshot_of, offset):
    """No entry as near as the bound scores below the floor; the floor is near that score."""
    rng = np.random.default_rng(1)
    keys = (offset + rng.normal(size=(400, 64))).astype(np.float16)
    queries = torch.tensor(offset + rng.normal(size=(9, 64)), dtype=torch.float32)
    index = ExactIndex(snapshot_of(keys))
    distances = torch.cdist(queries.double(), torch.tensor(keys).double()).square()
    farthest = distances.sort(1).values[:, 30].float()
    floors = index._floors(queries, farthest)
    ((_, scores),) = index._blocks(queries, torch.zeros(9, 2, dtype=torch.long))
    scores = scores[:400].T
    near = distances <= farthest.double()[:, None]
    assert (near.sum(1) >= 30).all()
    assert (scores >= floors[:, None])[near].all()
    assert ((scores >= floors[:, None]).sum(1) < 35).all()


def test_two_documents_in_one_batch_leave_out_their_own(snapshot_of, all_allowed):
    """Neighboring queries with one range share a mask; others have theirs."""
    keys = whole(0, 40, 3)
    masks = exact._masks(torch.tensor([[0, 5], [0, 5], [0, 0], [7, 9], [0, 5]]))
    assert [(m.lo, m.hi, m.first, m.last) for m in masks] == [
        (0, 5, 0, 2),
        (7, 9, 3, 4),
        (0, 5, 4, 5),
    ]
    found = ExactIndex(snapshot_of(keys)).search(
        torch.tensor(keys[[0, 1, 8]].astype(np.float32)),
        40,
        without=torch.tensor([[0, 5], [0, 5], [7, 9]]),
    )
    assert sorted(found.entries[0].tolist())[:5] == [-1] * 5
    assert sorted(found.entries[0].tolist())[5:] == list(range(5, 40))
    assert sorted(found.entries[2].tolist())[2:] == [*range(7), *range(9, 40)]


@pytest.mark.parametrize(
    ("n_queries", "size"),
    [(0, 16384), (1, 16384), (512, 16384), (513, 16352), (1000, 8384), (4096, 2048), (9000, 1024)],
)
def test_blocks_shrink_as_batches_grow(n_queries, size):
    """A block and its scores have a bounded size, in whole groups of rows."""
    assert exact.block_size(n_queries) == size


def test_dead_blocks_are_not_multiplied(snapshot_of, all_allowed, monkeypatch):
    """Of four blocks the two that hold no live entry are skipped."""
    monkeypatch.setattr(exact, "MIN_BLOCK", 32)
    monkeypatch.setattr(exact, "MAX_BLOCK", 32)
    index = ExactIndex(snapshot_of(whole(0, 128, 3), dead=[(30, 96)]))
    queries = torch.ones(1, 3)
    assert [lo for lo, _ in index._blocks(queries, all_allowed(queries))] == [0, 96]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_refuses_keys_that_are_not_finite(snapshot_of, all_allowed, bad):
    """A key that is not finite is near nothing and must not be passed over in silence."""
    keys = whole(0, 40, 3)
    keys[[4, 33], 1] = bad
    with pytest.raises(SearchError, match="2 live keys"):
        ExactIndex(snapshot_of(keys)).search(torch.ones(1, 3), 1, without=all_allowed([0]))


def test_dead_keys_may_be_anything(snapshot_of, all_allowed):
    """What was removed cannot stand in the way."""
    keys = whole(0, 40, 3)
    keys[4, 1] = np.nan
    snapshot = snapshot_of(keys, dead=[(4, 5)])
    found = ExactIndex(snapshot).search(torch.ones(1, 3), 40, without=all_allowed([0]))
    assert sorted(found.entries[0].tolist()) == [-1, *(e for e in range(40) if e != 4)]
