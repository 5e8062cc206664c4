"""What is found for each query: values and levels as the store's spans say, none of its own."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from strategies import DIM, attributes, schema, schemas, snapshot, stores
from vicinal.datastore import Snapshot
from vicinal.index import ExactIndex
from vicinal.knnlm import Queries, Retriever, own_range
from vicinal.locality import Same

SEEN = settings(max_examples=40)
NESTED = ("nested", [Same] * 3, [])


def queries_over(store, asked, own) -> Queries:
    """Ask a query for each attribute set drawn, from the document of that number, or from none."""
    n = len(asked)
    ranges = [(d.lo, d.hi) for d in store.documents] + [(0, 0)]
    generator = torch.Generator().manual_seed(n)
    return Queries(
        torch.randint(-2, 3, (n, DIM), generator=generator).half(),
        torch.zeros(n, DIM),
        torch.arange(n),
        torch.tensor([ranges[o % len(ranges)] for o in own]).long().view(n, 2),
        torch.arange(n),
        asked,
    )


ASKED = st.lists(st.tuples(attributes(), st.integers(0, 9)), min_size=1, max_size=4)


@SEEN
@given(stores(), schemas(), ASKED, st.integers(1, 9))
def test_retrieves_what_the_oracle_does(drawn, drawn_schema, asked, k):
    """Entries, distances, values and levels are those of comparing each query with each entry."""
    store, made = snapshot(drawn), schema(drawn_schema)
    queries = queries_over(store, [a for a, _ in asked], [o for _, o in asked])
    found = Retriever(store, ExactIndex(store), made).retrieve(queries, k)
    for row, (query, _) in enumerate(asked):
        key, without = queries.keys[row].tolist(), queries.without[row].tolist()
        expected = oracles.search(store, key, k, without)
        entries = [entry for _, entry in expected]
        missing = k - len(entries)
        assert found.entries[row].tolist() == entries + [-1] * missing
        assert found.distances[row].tolist() == [d for d, _ in expected] + [float("inf")] * missing
        values = [oracles.value_of(store, entry) for entry in entries]
        assert found.values[row].tolist() == values + [-1] * missing
        levels = [oracles.level(made, query, oracles.span_of(store, entry)) for entry in entries]
        assert found.levels[row].tolist() == levels + [0] * missing
    assert torch.equal(found.keys, queries.keys)


@SEEN
@given(stores(min_documents=2), schemas(), st.integers(1, 30))
def test_nothing_of_the_own_document_is_found(drawn, drawn_schema, k):
    """Asked with every stored key itself, no neighbor ever is of the query's own document."""
    store = snapshot(drawn)
    rows = np.concatenate([np.arange(d.lo, d.hi) for d in store.documents])
    own = store.document_of(rows)
    queries = Queries(
        torch.from_numpy(store.keys(rows)),
        torch.zeros(len(rows), DIM),
        torch.from_numpy(store.values(rows)).long(),
        torch.tensor([(store.documents[d].lo, store.documents[d].hi) for d in own]),
        torch.from_numpy(store.span_of(rows)).long(),
        [span.attributes for span in store.spans],
    )
    found = Retriever(store, ExactIndex(store), schema(drawn_schema)).retrieve(queries, k)
    documents = store.document_of(found.entries.numpy())
    leaks = (documents == own[:, None]) & (found.entries.numpy() >= 0)
    assert leaks.sum() == 0
    live = sum(d.hi - d.lo for d in store.documents)
    others = [min(k, live - (store.documents[d].hi - store.documents[d].lo)) for d in own]
    assert (found.entries >= 0).sum(1).tolist() == others


@given(stores(), ASKED, st.integers(1, 3))
def test_batches_are_the_queries_in_order(drawn, asked, size):
    """Cut into batches and joined again, every column is what it was."""
    store = snapshot(drawn)
    queries = queries_over(store, [a for a, _ in asked], [o for _, o in asked])
    batches = list(queries.batches(size))
    assert all(len(b) == size for b in batches[:-1])
    assert 0 < len(batches[-1]) <= size
    for name in ("keys", "outputs", "targets", "without", "spans"):
        joined = torch.cat([getattr(b, name) for b in batches])
        assert torch.equal(joined, getattr(queries, name)), name
    assert all(b.attributes is queries.attributes for b in batches)


def test_queries_of_one_span_are_compared_once(monkeypatch):
    """A level is computed per distinct query span, and each query gets its own span's."""
    drawn = [(False, 2, 0, [{"one": ("a",)}, {}]), (False, 2, 0, [{"one": ("b",)}, {}])], 1
    store, made = snapshot(drawn), schema(NESTED)
    retriever = Retriever(store, ExactIndex(store), made)
    asked = [{"one": ("a",)}, {"one": ("b",)}, {"one": ("c",)}]
    spans = torch.tensor([1, 0, 1, 1, 2])
    queries = Queries(
        torch.zeros(5, DIM),
        torch.zeros(5, DIM),
        torch.zeros(5).long(),
        torch.zeros(5, 2).long(),
        spans,
        asked,
    )
    compared = []
    kind = type(retriever._bound)
    levels = kind.levels
    monkeypatch.setattr(kind, "levels", lambda self, a: compared.append(a) or levels(self, a))
    found = retriever.retrieve(queries, 4)
    assert compared == asked
    local = {1: [2, 3], 0: [0, 1], 2: []}
    for row, span in enumerate(spans.tolist()):
        pairs = zip(found.entries[row].tolist(), found.levels[row].tolist(), strict=True)
        assert sorted(e for e, level in pairs if level) == local[span]


def test_an_empty_store_gives_only_absent_neighbors():
    """Without a document every neighbor is absent: entry -1, value -1, level 0, at infinity."""
    empty = Snapshot((), (), (), np.zeros((0, 2), np.int64), DIM)
    made = schema(NESTED)
    queries = queries_over(empty, [{"one": ("a",)}], [0])
    found = Retriever(empty, ExactIndex(empty), made).retrieve(queries, 2)
    assert found.entries.tolist() == found.values.tolist() == [[-1, -1]]
    assert found.levels.tolist() == [[0, 0]]
    assert found.levels.dtype == torch.uint8
    assert bool(found.distances.isinf().all())


@given(stores(min_documents=2))
def test_a_documents_own_range_is_found_by_its_name(drawn):
    """The range of a stored name is that document's entries; any other name has none."""
    store = snapshot(drawn)
    for document in store.documents:
        assert own_range(store, document.name) == (document.lo, document.hi)
    assert own_range(store, "elsewhere") == own_range(store, None) == (0, 0)


def test_no_queries_find_nothing():
    """No queries are answered with no rows."""
    store = snapshot(([(False, 3, 1, [{}, {}])], 0))
    queries = queries_over(store, [], [])
    found = Retriever(store, ExactIndex(store), schema(NESTED))
    assert found.retrieve(queries, 2).entries.shape == (0, 2)
