"""Gathers against rows looked up one by one."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from stores import DIM, OUTPUT_DIM, encoded
from vicinal.datastore import Datastore, StoreIdentity
from vicinal.errors import StoreError


def row_of(snapshot, entry):
    """Find one entry's segment and row by counting."""
    for segment in snapshot.segments:
        if entry < len(segment):
            return segment, entry
        entry -= len(segment)
    raise AssertionError("no such entry")


def holder(ranges, entry):
    """Find the range an entry lies in, by looking at each."""
    return next((i for i, r in enumerate(ranges) if r.lo <= entry < r.hi), -1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_gathers_are_row_by_row_lookups(filled, data):
    """Over several segments, dead entries and -1, in any shape."""
    snapshot = filled.snapshot()
    n = snapshot.n_entries
    shape = data.draw(st.sampled_from([(7,), (2, 3), (0,), (1, 2, 2)]))
    size = int(np.prod(shape))
    drawn = data.draw(st.lists(st.integers(-1, n - 1), min_size=size, max_size=size))
    entries = np.array(drawn, np.int64).reshape(shape)
    gathered = [
        snapshot.values(entries).reshape(-1),
        snapshot.offsets(entries).reshape(-1),
        snapshot.keys(entries).reshape(-1, DIM),
        snapshot.outputs(entries).reshape(-1, OUTPUT_DIM),
        snapshot.span_of(entries).reshape(-1),
        snapshot.document_of(entries).reshape(-1),
    ]
    assert snapshot.keys(entries).shape == (*shape, DIM)
    for i, entry in enumerate(drawn):
        found = [column[i].tolist() for column in gathered]
        if entry == -1:
            assert found == [-1, -1, [0.0] * DIM, [0.0] * OUTPUT_DIM, -1, -1]
            continue
        segment, row = row_of(snapshot, entry)
        columns = (segment.values, segment.offsets, segment.keys, segment.outputs)
        assert found[:4] == [column[row].tolist() for column in columns]
        assert found[4] == holder(snapshot.spans, entry)
        assert found[5] == holder(snapshot.documents, entry)


def test_documents_and_dead_ranges_share_the_entries(filled):
    """Every entry is in one live document or dead; ranges that touch are one."""
    snapshot = filled.snapshot()
    assert [(d.name, d.lo, d.hi) for d in snapshot.documents] == [
        ("b", 5, 12),
        ("e", 19, 25),
        ("a", 25, 34),
    ]
    assert snapshot.dead.tolist() == [[0, 5], [12, 19]]
    assert (snapshot.n_entries, snapshot.n_live) == (34, 22)
    assert snapshot.document("a") == snapshot.documents[2]
    assert snapshot.document("c") is None


def test_a_document_finds_its_spans(filled):
    """The spans of each document follow one another and cover it."""
    snapshot = filled.snapshot()
    for d in snapshot.documents:
        spans = snapshot.spans[d.first_span : d.last_span]
        assert [d.lo, *(s.hi for s in spans)] == [*(s.lo for s in spans), d.hi]
    last = snapshot.spans[snapshot.documents[2].last_span - 1]
    assert last.attributes == {"project": ("p1",), "tags": ("a", "b")}


@pytest.mark.parametrize("entry", [-2, 34])
def test_rows_of_another_snapshot_are_refused(filled, entry):
    """An entry outside of the store is an error, never another entry."""
    snapshot = filled.snapshot()
    for gather in (snapshot.values, snapshot.keys, snapshot.span_of, snapshot.document_of):
        with pytest.raises(StoreError, match=rf"in \[-1, 34\), found .*{entry}"):
            gather(np.array([entry, 0]))


def test_an_empty_store_has_an_empty_snapshot(store):
    """No entry, and a gather of nothing or of -1 still works."""
    snapshot = store.snapshot()
    assert (snapshot.n_entries, snapshot.n_live, snapshot.dead.shape) == (0, 0, (0, 2))
    assert snapshot.values(np.array([-1])).tolist() == [-1]
    assert snapshot.span_of(np.array([-1])).tolist() == [-1]
    assert snapshot.keys(np.array([], np.int64)).shape == (0, DIM)


def test_outputs_that_were_not_kept_cannot_be_read(tmp_path):
    """The error says how to get them."""
    store = Datastore.create(tmp_path / "store", StoreIdentity("print-1", DIM))
    with store.writer() as writer:
        writer.add([encoded("a", 2, outputs=False)])
    with pytest.raises(StoreError, match=r"found them in 0 of 1 segments. Index again"):
        store.snapshot().outputs(np.array([0]))


def test_maps_cannot_be_written_to(filled):
    """A reader cannot change the store by mistake, and what it gathers is its own."""
    snapshot = filled.snapshot()
    with pytest.raises(ValueError, match="read-only"):
        snapshot.segments[0].keys[0] = 1
    gathered = snapshot.keys(np.arange(3))
    gathered[:] = 1
    assert not np.array_equal(snapshot.keys(np.arange(3)), gathered)
