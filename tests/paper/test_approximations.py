"""Rough distances, too few neighbors, lost probabilities: against plain exact search."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from fake_models import FakeLanguageModel
from strategies import snapshot, stores
from vicinal.datastore import Segment, Snapshot
from vicinal.index import AbstractIndex, ExactIndex
from vicinal.paper.approximations import (
    FLOOR,
    CertainIsLost,
    DroppingIndex,
    HalfPrecision,
    dropped_afterwards,
    quantized,
)


def keys_snapshot(n: int = 600, dim: int = 16, seed: int = 0) -> Snapshot:
    """Make a store of normal keys in two segments, without documents."""
    keys = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float16)
    cut, segments = n // 3, []
    for number, part in enumerate((keys[:cut], keys[cut:])):
        zeros = np.zeros(len(part), np.int32)
        segments.append(Segment(f"s{number}", number * cut, part, zeros, zeros, None))
    return Snapshot(tuple(segments), (), (), np.zeros((0, 2), np.int64), dim)


def all_keys(seen: Snapshot) -> torch.Tensor:
    return torch.from_numpy(seen.keys(np.arange(seen.n_entries))).float()


@settings(max_examples=30)
@given(stores(2), st.integers(1, 8), st.data())
def test_dropping_is_exclusion_where_the_document_is_short(drawn, k, data):
    """With as much to spare as the own document has, the answer is that of leaving it out."""
    seen = snapshot(drawn)
    document = data.draw(st.sampled_from(seen.documents))
    queries = all_keys(seen)[document.lo : document.hi]
    without = torch.tensor([[document.lo, document.hi]]).expand(len(queries), 2)
    index = DroppingIndex(ExactIndex(seen), spare=document.hi - document.lo)
    found, expected = (i.search(queries, k, without=without) for i in (index, ExactIndex(seen)))
    assert torch.equal(found.entries, expected.entries)
    assert torch.equal(found.distances, expected.distances)
    for row, query in enumerate(queries.tolist()):
        slow = oracles.search(seen, query, k, (document.lo, document.hi))
        entries = [e for e in found.entries[row].tolist() if e >= 0]
        assert entries == [entry for _, entry in slow]


@pytest.mark.parametrize("spare", [0, 3, 8, 9, 20])
def test_a_long_document_takes_neighbors_away(spare):
    """Where the nearest entries are the query's own, as many are missing as spare is short."""
    keys = np.arange(30, dtype=np.float16)[:, None]
    zeros = np.zeros(30, np.int32)
    seen = Snapshot((Segment("s", 0, keys, zeros, zeros, None),), (), (), np.zeros((0, 2), int), 1)
    # The own entries 0 to 8 are the nine nearest.
    queries, without = torch.zeros(1, 1), torch.tensor([[0, 9]])
    found = DroppingIndex(ExactIndex(seen), spare).search(queries, 4, without=without)
    n = min(4, max(0, 4 + spare - 9))
    assert found.entries.tolist() == [[*range(9, 9 + n), *[-1] * (4 - n)]]
    assert found.distances.isinf().sum() == 4 - n
    exact = ExactIndex(seen).search(queries, 4, without=without)
    assert exact.entries.tolist() == [[9, 10, 11, 12]]


@settings(max_examples=20)
@given(stores(2), st.integers(1, 6), st.integers(0, 12), st.data())
def test_an_own_entry_is_never_found(drawn, k, spare, data):
    """Whatever is to spare, no neighbor is the query's own, and none is found twice."""
    seen = snapshot(drawn)
    document = data.draw(st.sampled_from(seen.documents))
    without = torch.tensor([[document.lo, document.hi]])
    queries = all_keys(seen)[[document.lo]]
    (entries,) = DroppingIndex(ExactIndex(seen), spare).search(queries, k, without=without).entries
    entries = [e for e in entries.tolist() if e >= 0]
    assert not set(entries) & set(range(document.lo, document.hi))
    assert len(set(entries)) == len(entries) <= k
    # What is found is the beginning of what exact search finds.
    expected = ExactIndex(seen).search(queries, k, without=without).entries[0].tolist()
    assert entries == expected[: len(entries)]


def test_dropping_wraps_any_search():
    """The variation searches as before, by an index that drops."""
    seen = keys_snapshot(40)
    index = dropped_afterwards(ExactIndex)(seen)
    assert isinstance(index, DroppingIndex)
    queries, without = all_keys(seen)[:3], torch.tensor([[0, 5], [0, 0], [2, 30]])
    found, expected = (i.search(queries, 6, without=without) for i in (index, ExactIndex(seen)))
    assert torch.equal(found.entries, expected.entries)


class Watched(AbstractIndex):
    """Exact search that remembers what it was asked, and over which keys."""

    def __init__(self, seen: Snapshot) -> None:
        self.seen, self.asked = seen, []

    def search(self, queries, k, *, without):
        self.asked.append(queries)
        return ExactIndex(self.seen).search(queries, k, without=without)


def test_quantized_distances_are_rough_and_queries_exact():
    """Distances are to other keys than the true ones, which they go with; queries are not moved."""
    seen = keys_snapshot()
    queries = all_keys(seen)[:50]
    without = torch.tensor([[i, i + 1] for i in range(50)])
    index = quantized(Watched)(seen)
    found = index.search(queries, 20, without=without)
    assert torch.equal(index.asked[0], queries)
    true = (all_keys(seen)[found.entries] - queries[:, None]).square().sum(2)
    rough = (all_keys(index.seen)[found.entries] - queries[:, None]).square().sum(2)
    assert torch.allclose(found.distances, rough, rtol=1e-4)
    assert not torch.allclose(found.distances, true, rtol=0.01)
    everything = torch.cdist(queries, all_keys(seen)), torch.cdist(queries, all_keys(index.seen))
    pairs = torch.stack([table.flatten() for table in everything])
    assert 0.5 < torch.corrcoef(pairs)[0, 1] < 0.999
    exact = ExactIndex(seen).search(queries, 20, without=without)
    assert not torch.equal(found.entries, exact.entries)


def test_quantizing_leaves_the_store_as_it_is():
    """Only keys change, in shape and type the same; segments get another name."""
    seen = keys_snapshot()
    index = quantized(Watched)(seen)
    for before, after in zip(seen.segments, index.seen.segments, strict=True):
        assert after.id == f"{before.id}+pq"
        assert (after.keys.shape, after.keys.dtype) == (before.keys.shape, before.keys.dtype)
        assert not np.array_equal(after.keys, before.keys)
        assert after.values is before.values
    assert np.array_equal(all_keys(seen), all_keys(keys_snapshot()))


def test_quantizing_is_the_same_each_time():
    """The same keys are remembered as the same codes."""
    one, other = (all_keys(quantized(Watched)(keys_snapshot()).seen) for _ in range(2))
    assert torch.equal(one, other)


@pytest.mark.parametrize(("n", "dim"), [(2, 4), (5, 3), (40, 7), (300, 100)])
def test_few_keys_and_odd_widths_can_be_quantized(n, dim):
    """Pieces divide the width, and there are never more centers than keys."""
    index = quantized(Watched)(keys_snapshot(n, dim))
    assert all_keys(index.seen).shape == (n, dim)
    assert all_keys(index.seen).isfinite().all()


def test_a_finer_memory_is_nearer():
    """With the eight bits that more keys allow, the error is smaller than with fewer."""
    errors = []
    for n in (40, 2000):
        seen = keys_snapshot(n)
        moved = all_keys(quantized(Watched)(seen).seen) - all_keys(seen)
        errors.append(moved.square().mean().item())
    assert 0 < errors[1] < errors[0] / 2


OUTPUTS = torch.randn(5, 8, generator=torch.Generator().manual_seed(3))


def test_half_precision_rounds():
    """Log-probabilities are those of the model, to half precision and no better."""
    lm = FakeLanguageModel()
    exact, rounded = lm.log_p(OUTPUTS), HalfPrecision(lm).log_p(OUTPUTS)
    assert torch.equal(rounded, exact.to(torch.float16).to(torch.float32))
    assert torch.allclose(rounded, exact, rtol=2**-11, atol=0)
    assert not torch.equal(rounded, exact)
    assert rounded.dtype == torch.float32


class Certain(FakeLanguageModel):
    """A model that is sure of its first token at the first position."""

    def log_p(self, outputs):
        log_p = super().log_p(outputs)
        log_p[0], log_p[0, 0] = -torch.inf, 0.0
        log_p[1, 3] = -1e-30
        return log_p


def test_only_exact_zeros_are_lost():
    """What is certain becomes the floor; whatever is less than certain stays, bit for bit."""
    lm = Certain()
    before, after = lm.log_p(OUTPUTS), CertainIsLost(lm).log_p(OUTPUTS)
    assert after[0, 0].item() == FLOOR == -1e4
    changed = before != after
    assert changed.nonzero().tolist() == [[0, 0]]
    plain = FakeLanguageModel()
    assert torch.equal(CertainIsLost(plain).log_p(OUTPUTS), plain.log_p(OUTPUTS))


@pytest.mark.parametrize("reading", [HalfPrecision, CertainIsLost])
def test_a_reading_is_otherwise_the_model(reading):
    """Tokens, keys, sizes and the fingerprint are the model's own."""
    lm = FakeLanguageModel(fingerprint="fake-7")
    lm.boundary_id = 11
    read = reading(lm)
    for name in ("name", "fingerprint", "key_dim", "output_dim", "vocab_size", "boundary_id"):
        assert getattr(read, name) == getattr(lm, name), name
    ids = read.tokenize("the cat sat").ids
    assert np.array_equal(ids, lm.tokenize("the cat sat").ids)
    assert read.decode(ids.tolist()) == "the cat sat"
    told = []
    (encoding,) = read.encode([ids], told.append)
    assert np.array_equal(encoding.keys, lm.encode([ids])[0].keys)
    assert told == [len(ids)]


def test_the_readings_can_be_joined():
    """Lost certainty and half precision one after the other: the outer one reads the inner."""
    read = HalfPrecision(CertainIsLost(Certain()))
    assert read.log_p(OUTPUTS)[0, 0].item() == -1e4
    # What rounds to zero is not certain yet where certainty is asked first.
    assert read.log_p(OUTPUTS)[1, 3].item() == 0
    assert CertainIsLost(HalfPrecision(Certain())).log_p(OUTPUTS)[1, 3].item() == -1e4
