"""One contract for every index: ids and distances against a search that compares every pair."""

import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal.errors import SearchError
from vicinal.index import (
    ExactIndex,
    FlatFaissIndex,
    IVFIndex,
    RecallTarget,
    RememberedIndex,
    exact,
    rescoring,
)


class InSmallBlocks:
    """Exact search that needs many blocks, batches and chunks even for a small store."""

    def __init__(self, snapshot):
        self.index = ExactIndex(snapshot)

    def search(self, queries, k, *, without):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact, "MIN_BLOCK", 32)
            patch.setattr(exact, "MAX_BLOCK", 32)
            patch.setattr(exact, "MAX_QUERIES", 3)
            patch.setattr(rescoring, "ROWS_AT_A_TIME", 5)
            return self.index.search(queries, k, without=without)


class AskedTwice:
    """Exact search whose answers come out of files."""

    def __init__(self, snapshot):
        self.index, self.snapshot = ExactIndex(snapshot), snapshot

    def search(self, queries, k, *, without):
        with TemporaryDirectory() as folder:
            index = RememberedIndex(self.index, self.snapshot, Path(folder))
            index.search(queries, k, without=without)
            return index.search(queries, k, without=without)


def probing_all(snapshot):
    """Inverted lists, all of them probed: what is left to be wrong is everything but the recall."""
    index = IVFIndex.from_snapshot(
        snapshot, target=RecallTarget(k=1, n_queries=1, around=0), flat_below=5
    )
    return IVFIndex(index._parts, replace(index.report, n_probes=100_000))


INDEXES = {
    "exact": ExactIndex,
    "exact in small blocks": InSmallBlocks,
    "exact remembered": AskedTwice,
    "flat": FlatFaissIndex.from_snapshot,
    "ivf": probing_all,
}


@pytest.fixture(params=INDEXES, scope="module")
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def opened(kind):
    return INDEXES[kind]


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float16)


def whole(seed, *shape, high=4):
    """Draw small whole numbers: all distances are exact in float32, and many are equal."""
    return np.random.default_rng(seed).integers(0, high, size=shape).astype(np.float16)


def as_queries(keys):
    return torch.tensor(keys.astype(np.float32))


def assert_same(kind, found, expected):
    """Distances are equal, ids are equal; FAISS may choose among those tied for the last place."""
    entries, distances = expected
    assert torch.equal(found.distances.double(), distances)
    if kind.startswith("exact"):
        assert torch.equal(found.entries, entries)
        return
    surely = (distances < distances[:, -1:]) | (distances == math.inf)
    assert torch.equal(found.entries[surely], entries[surely])


def assert_true_distances(snapshot, found, queries):
    """Every distance is that of its entry, and no entry is found twice."""
    keys = np.concatenate([segment.keys for segment in snapshot.segments]).astype(np.float64)
    rows = zip(queries.double(), found.entries.tolist(), found.distances.tolist(), strict=True)
    for query, entries, distances in rows:
        real = [e for e in entries if e != -1]
        assert len(set(real)) == len(real)
        expected = ((torch.from_numpy(keys[real]) - query) ** 2).sum(1).tolist()
        assert distances[: len(real)] == pytest.approx(expected, rel=1e-5)


class TestContract:
    def test_finds_the_nearest(self, opened, snapshot_of, oracle, all_allowed):
        """Over normal keys in several segments, ids and distances are those of the oracle."""
        snapshot = snapshot_of(normal(0, 150, 8), normal(1, 1, 8), normal(2, 60, 8))
        queries = as_queries(normal(3, 11, 8))
        found = opened(snapshot).search(queries, 7, without=all_allowed(queries))
        entries, distances = oracle(snapshot, queries, 7, all_allowed(queries))
        assert torch.equal(found.entries, entries)
        torch.testing.assert_close(found.distances.double(), distances, rtol=1e-5, atol=0)

    @given(seed=st.integers(0, 99), k=st.integers(1, 40), data=st.data())
    @settings(max_examples=25)
    def test_law_any_store_any_ranges(self, kind, opened, snapshot_of, oracle, seed, k, data):
        """Whatever is dead, left out or equally near: distances are exact and ties go by entry."""
        sizes = data.draw(st.lists(st.integers(0, 70), min_size=1, max_size=3))
        parts = [whole(seed + i, n, 3) for i, n in enumerate(sizes)]
        n = sum(sizes)
        dead = data.draw(st.lists(st.integers(0, n), max_size=4, unique=True).map(in_pairs))
        snapshot = snapshot_of(*parts, dead=dead)
        bounds = st.tuples(st.integers(0, n + 3), st.integers(0, n + 3)).map(sorted)
        without = torch.tensor(data.draw(st.lists(bounds, min_size=4, max_size=4)))
        queries = as_queries(whole(seed + 50, 4, 3))
        found = opened(snapshot).search(queries, k, without=without)
        assert_same(kind, found, oracle(snapshot, queries, k, without))
        assert_true_distances(snapshot, found, queries)

    def test_ties_go_to_the_smallest_entries(self, kind, opened, snapshot_of, all_allowed):
        """Of more equal keys than k, exact search gives the first; FAISS gives equal ones."""
        keys = np.ones((300, 4), np.float16)
        keys[10:20] = 7
        snapshot = snapshot_of(keys[:130], keys[130:])
        queries = torch.ones(2, 4) * torch.tensor([[1.0], [2.0]])
        found = opened(snapshot).search(queries, 15, without=all_allowed(queries))
        assert found.distances.tolist() == [[0.0] * 15, [4.0] * 15]
        if kind.startswith("exact"):
            assert found.entries.tolist() == [[*range(10), *range(20, 25)]] * 2

    def test_pads_when_there_are_fewer_than_k(self, opened, snapshot_of, oracle):
        """Missing neighbors are entry -1 at infinity, after all real ones."""
        snapshot = snapshot_of(whole(0, 20, 3), whole(1, 20, 3), dead=[(5, 12), (18, 22)])
        queries = as_queries(whole(2, 3, 3))
        without = torch.tensor([[0, 0], [3, 30], [0, 40]])
        found = opened(snapshot).search(queries, 50, without=without)
        entries, distances = oracle(snapshot, queries, 50, without)
        assert torch.equal(found.entries, entries)
        assert torch.equal(found.distances.double(), distances)
        assert (found.entries != -1).sum(1).tolist() == [29, 13, 0]

    @pytest.mark.parametrize("sizes", [(), (0,), (0, 0)])
    def test_an_empty_store_answers_with_nothing(self, opened, snapshot_of, all_allowed, sizes):
        """Without entries every neighbor is -1 at infinity."""
        snapshot = snapshot_of(*(np.zeros((n, 4)) for n in sizes))
        found = opened(snapshot).search(torch.ones(2, 4), 3, without=all_allowed([0, 0]))
        assert found.entries.tolist() == [[-1] * 3] * 2
        assert found.distances.tolist() == [[math.inf] * 3] * 2

    def test_a_dead_store_answers_with_nothing(self, opened, snapshot_of, all_allowed):
        """Where all entries are dead none is found."""
        snapshot = snapshot_of(whole(0, 30, 4), whole(1, 9, 4), dead=[(0, 39)])
        found = opened(snapshot).search(torch.ones(1, 4), 2, without=all_allowed([0]))
        assert found.entries.tolist() == [[-1, -1]]

    def test_no_queries_no_answers(self, opened, snapshot_of):
        """An empty batch gives an empty answer of the right shape."""
        queries, without = torch.zeros(0, 4), torch.zeros(0, 2, dtype=torch.long)
        found = opened(snapshot_of(whole(0, 9, 4))).search(queries, 5, without=without)
        assert found.entries.shape == found.distances.shape == (0, 5)

    def test_a_document_larger_than_k_hides_only_itself(self, opened, snapshot_of, all_allowed):
        """The query's own document holds the nearest 60 entries; the next ones are found."""
        keys = np.zeros((200, 2), np.float16)
        keys[:, 0] = np.arange(200)
        snapshot = snapshot_of(keys[:90], keys[90:])
        queries = as_queries(keys[[100, 100, 100]])
        without = torch.tensor([[70, 130], [0, 100], [99, 101]])
        found = opened(snapshot).search(queries, 4, without=without)
        assert found.entries.tolist() == [
            [130, 69, 131, 68],
            [100, 101, 102, 103],
            [101, 98, 102, 97],
        ]
        assert found.distances[0].tolist() == [900.0, 961.0, 961.0, 1024.0]

    def test_a_large_common_offset_costs_no_digits(self, kind, opened, snapshot_of, oracle):
        """Keys and queries far from the origin and near each other are told apart exactly."""
        offset = np.float16(1500)
        snapshot = snapshot_of(offset + whole(0, 400, 24), offset + whole(1, 100, 24))
        queries = as_queries(offset + whole(2, 6, 24)) + 0.25
        without = torch.tensor([[0, 0], [0, 0], [10, 50], [380, 420], [0, 0], [0, 0]])
        for k in (1, 9, 100):
            found = opened(snapshot).search(queries, k, without=without)
            assert_same(kind, found, oracle(snapshot, queries, k, without))

    def test_the_ends_of_float16(self, opened, snapshot_of, oracle, all_allowed):
        """The largest and the smallest half floats are keys like others."""
        big, tiny = np.float16(65504), np.float16(6e-8)
        keys = np.array([[big, big], [-big, big], [tiny, 0], [0, tiny], [0, 0]], np.float16)
        snapshot = snapshot_of(keys)
        queries = as_queries(keys)
        found = opened(snapshot).search(queries, 3, without=all_allowed(queries))
        entries, distances = oracle(snapshot, queries, 3, all_allowed(queries))
        assert torch.equal(found.entries, entries)
        torch.testing.assert_close(found.distances.double(), distances, rtol=1e-6, atol=0)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
    def test_queries_may_be_of_any_float(self, opened, snapshot_of, all_allowed, dtype):
        """A query in another precision is the same query."""
        snapshot, queries = snapshot_of(whole(0, 50, 4)), as_queries(whole(1, 5, 4))
        index = opened(snapshot)
        found = index.search(queries.to(dtype), 4, without=all_allowed(queries))
        same = index.search(queries, 4, without=all_allowed(queries))
        assert found.distances.dtype == torch.float32
        assert torch.equal(found.distances, same.distances)

    def test_refuses_what_it_cannot_search(self, opened, snapshot_of, all_allowed):
        """The door is the same for every index."""
        index = opened(snapshot_of(whole(0, 9, 4)))
        with pytest.raises(SearchError, match=r"k must be at least 1, was: 0"):
            index.search(torch.ones(1, 4), 0, without=all_allowed([0]))
        with pytest.raises(SearchError, match=r"shape \[n, 4\].*were: \[1, 3\]"):
            index.search(torch.ones(1, 3), 1, without=all_allowed([0]))

    def test_queries_are_left_as_they_are(self, opened, snapshot_of, all_allowed):
        """Searching changes neither the queries nor the ranges."""
        queries, without = torch.ones(2, 4), all_allowed([0, 0])
        opened(snapshot_of(whole(0, 9, 4))).search(queries, 1, without=without)
        assert torch.equal(queries, torch.ones(2, 4))
        assert without.tolist() == [[0, 0], [0, 0]]


def in_pairs(bounds):
    """Turn sorted bounds into ranges, an odd one left over."""
    bounds = sorted(bounds)
    return list(zip(bounds[::2], bounds[1::2], strict=False))
