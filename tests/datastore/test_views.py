"""Views: what a snapshot shows with documents hidden, cut, relabeled, or under other keys."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stores import contents
from strategies import DIM, attributes, snapshot, stores
from vicinal.datastore import Segment, Snapshot, StoredSpan, clipped, relabeled, visible, with_keys
from vicinal.errors import StoreError
from vicinal.index import ExactIndex

LENGTHS = st.lists(st.integers(-1, 7), min_size=5, max_size=5)


def by_name(lengths):
    """Say how long each document of `strategies.snapshot` may stay, by the number in its name."""
    return lambda document: lengths[int(document.name[1:])]


def share_of(view: Snapshot) -> list[tuple[int, str]]:
    """List, for each entry, in how many documents and dead ranges it lies, and in which."""
    told = []
    for entry in range(view.n_entries):
        homes = [d.name for d in view.documents if d.lo <= entry < d.hi]
        homes += ["dead" for lo, hi in view.dead.tolist() if lo <= entry < hi]
        told.append((len(homes), "".join(homes)))
    return told


@given(stores(min_documents=0), LENGTHS)
def test_every_entry_is_in_one_document_or_dead(drawn, lengths):
    """Of each document the first entries stay, as many as asked; all others are dead."""
    whole = snapshot(drawn)
    view = clipped(whole, by_name(lengths))
    told = share_of(view)
    assert {n for n, _ in told} <= {1}
    for document in whole.documents:
        n = max(0, min(lengths[int(document.name[1:])], document.hi - document.lo))
        homes = [home for _, home in told[document.lo : document.hi]]
        assert homes == [document.name] * n + ["dead"] * (len(homes) - n)
    assert view.n_live == sum(home != "dead" for _, home in told)
    assert view.n_entries == whole.n_entries
    assert view.segments is whole.segments


@given(stores(min_documents=0), LENGTHS)
def test_dead_ranges_are_ordered_and_do_not_touch(drawn, lengths):
    """As a snapshot of a store has them."""
    view = clipped(snapshot(drawn), by_name(lengths))
    ranges = view.dead.tolist()
    assert view.dead.dtype == np.int64
    assert all(lo < hi for lo, hi in ranges)
    assert all(a[1] < b[0] for a, b in pairwise(ranges))


@given(stores(), LENGTHS)
def test_spans_still_cover_their_documents(drawn, lengths):
    """They follow one another from a document's first entry to its last; none is left over."""
    whole = snapshot(drawn)
    view = clipped(whole, by_name(lengths))
    n_spans = 0
    for d in view.documents:
        spans = view.spans[d.first_span : d.last_span]
        assert [d.lo, *(s.hi for s in spans)] == [*(s.lo for s in spans), d.hi]
        assert all(s.lo < s.hi for s in spans)
        n_spans += len(spans)
    assert n_spans == len(view.spans)
    live = np.array([e for e, (_, home) in enumerate(share_of(view)) if home != "dead"], np.int64)
    for entry, span in zip(live, view.span_of(live), strict=True):
        before = whole.spans[int(whole.span_of(np.array([entry]))[0])]
        assert view.spans[span].attributes == before.attributes


def test_all_visible_is_the_snapshot(filled):
    """Nothing hidden, nothing changed; all hidden, nothing found."""
    whole = filled.snapshot()
    view = visible(whole, lambda document: True)
    assert (view.documents, view.spans) == (whole.documents, whole.spans)
    assert np.array_equal(view.dead, whole.dead)
    assert contents(view) == contents(whole) != {}
    nothing = visible(whole, lambda document: False)
    assert (nothing.documents, nothing.spans, nothing.n_live) == ((), (), 0)
    assert nothing.dead.tolist() == [[0, whole.n_entries]]
    assert whole.dead.tolist() == [[0, 5], [12, 19]], "the snapshot itself is as it was"


def test_what_is_hidden_is_as_if_removed(filled):
    """A view without a document is the snapshot after its removal."""
    view = visible(filled.snapshot(), lambda document: document.name != "e")
    with filled.writer() as writer:
        writer.remove(["e"])
    removed = filled.snapshot()
    assert (view.documents, view.spans) == (removed.documents, removed.spans)
    assert np.array_equal(view.dead, removed.dead)
    assert contents(view) == contents(removed)
    assert view.document("e") is None


def never_had(whole: Snapshot, lengths) -> tuple[Snapshot, list[int]]:
    """Build a store of what is left only, entry by entry; and say which entry each was."""
    parts, documents, spans, origin = [], [], [], []
    for d in whole.documents:
        kept = range(d.lo, min(d.hi, d.lo + max(0, by_name(lengths)(d))))
        if not kept:
            continue
        base, first = len(origin), len(spans)
        moved = base - d.lo
        for span in whole.spans[d.first_span : d.last_span]:
            if span.lo < kept.stop:
                ends = (span.lo + moved, min(span.hi, kept.stop) + moved)
                spans.append(StoredSpan(*ends, span.attributes))
        rows = np.array(kept)
        columns = (whole.keys(rows), whole.values(rows), whole.offsets(rows), whole.outputs(rows))
        parts.append(Segment(f"only-{d.name}", base, *columns))
        own = {"lo": base, "hi": base + len(kept), "first_span": first, "last_span": len(spans)}
        documents.append(replace(d, **own))
        origin += kept
    dead = np.empty((0, 2), np.int64)
    made = Snapshot(tuple(parts), tuple(documents), tuple(spans), dead, whole.key_dim)
    return made, origin


@settings(max_examples=40)
@given(stores(), LENGTHS, st.integers(1, 9), st.integers(0, 99))
def test_search_finds_what_a_store_without_the_hidden_would(drawn, lengths, k, seed):
    """The same neighbors at the same distances, each with its value and attributes."""
    whole = snapshot(drawn)
    lengths = [*lengths[1:], max(1, lengths[0])]
    view = clipped(whole, by_name(lengths))
    small, origin = never_had(whole, lengths)
    assert small.n_live == view.n_live == len(origin)
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randint(-2, 3, (4, DIM), generator=generator).float()
    chosen = torch.randint(0, len(view.documents) + 1, (4,), generator=generator).tolist()
    own = [torch.tensor([(d.lo, d.hi) for d in s.documents] + [(0, 0)]) for s in (view, small)]
    found = ExactIndex(view).search(queries, k, without=own[0][chosen])
    expected = ExactIndex(small).search(queries, k, without=own[1][chosen])
    assert torch.equal(found.distances, expected.distances)
    back = torch.tensor([*origin, -1])[expected.entries]
    assert torch.equal(found.entries, back)
    ours, theirs = found.entries.numpy(), expected.entries.numpy()
    assert np.array_equal(view.values(ours), small.values(theirs))
    assert np.array_equal(view.span_of(ours), small.span_of(theirs))
    assert np.array_equal(view.document_of(ours), small.document_of(theirs))
    assert [s.attributes for s in view.spans] == [s.attributes for s in small.spans]


@given(stores(), st.data())
def test_labels_change_and_nothing_else(drawn, data):
    """Every span has what the function says of it and of its document."""
    whole = snapshot(drawn)
    new = data.draw(st.lists(attributes(), min_size=len(whole.spans), max_size=len(whole.spans)))
    asked = []

    def label(document, span):
        asked.append((document.name, span))
        return new[len(asked) - 1] | {"old": (document.name, *map(str, sorted(span.attributes)))}

    view = relabeled(whole, label)
    assert [span for _, span in asked] == list(whole.spans)
    for (name, old), given_now, span in zip(asked, new, view.spans, strict=True):
        assert (span.lo, span.hi) == (old.lo, old.hi)
        assert span.attributes == given_now | {"old": (name, *map(str, sorted(old.attributes)))}
        (home,) = [d.name for d in whole.documents if d.lo <= span.lo < d.hi]
        assert home == name
    assert replace(view, spans=whole.spans) == whole


def test_the_same_labels_change_nothing(filled):
    """What every span has already may be said again."""
    whole = filled.snapshot()
    assert relabeled(whole, lambda document, span: span.attributes) == whole


@given(stores())
def test_other_keys_have_other_names(drawn):
    """Keys are what the function makes of them, segment by segment; all else is as it was."""
    whole = snapshot(drawn)
    view = with_keys(whole, "half", lambda keys: (keys / 2).astype(np.float16))
    rows = np.arange(whole.n_entries)
    assert np.array_equal(view.keys(rows), whole.keys(rows) / 2)
    assert np.array_equal(view.values(rows), whole.values(rows))
    assert np.array_equal(view.outputs(rows), whole.outputs(rows))
    assert [s.id for s in view.segments] == [f"{s.id}+half" for s in whole.segments]
    assert [s.base for s in view.segments] == [s.base for s in whole.segments]
    assert replace(view, segments=whole.segments) == whole


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda keys: keys[1:], r"stay float16\[5, 4\], found float16\[4, 4\]"),
        (lambda keys: keys[:, :3], r"found float16\[5, 3\]"),
        (lambda keys: keys.astype(np.float32), r"found float32\[5, 4\]"),
    ],
)
def test_keys_of_another_shape_or_kind_are_refused(filled, change, words):
    """The error says what they should be; the first segment has 15 entries of 4 numbers."""
    words = words.replace("5, 4", "15, 4").replace("4, 4", "14, 4").replace("5, 3", "15, 3")
    with pytest.raises(StoreError, match=words):
        with_keys(filled.snapshot(), "wrong", change)


@given(stores(), LENGTHS, LENGTHS)
def test_views_of_views_are_views(drawn, first, second):
    """Cut twice is cut at the shorter; labels, keys and cuts do not care who is first."""
    whole = snapshot(drawn)
    both = [max(0, min(a, b)) for a, b in zip(first, second, strict=True)]
    once = clipped(whole, by_name(both))
    assert same(clipped(clipped(whole, by_name(first)), by_name(second)), once)

    def label(document, span):
        return {"name": (document.name, str(span.lo))}

    def double(keys):
        return keys * np.float16(2)

    one = with_keys(relabeled(once, label), "double", double)
    other = clipped(relabeled(with_keys(whole, "double", double), label), by_name(both))
    assert same(one, other)
    twice = with_keys(with_keys(whole, "a", double), "b", double)
    assert {s.id[-4:] for s in twice.segments} == {"+a+b"}
    assert np.array_equal(
        twice.keys(np.arange(whole.n_entries)), 4 * whole.keys(np.arange(whole.n_entries))
    )


def same(one: Snapshot, other: Snapshot) -> bool:
    """Compare all that a snapshot shows."""
    rows = np.arange(one.n_entries)
    return (
        (one.documents, one.spans) == (other.documents, other.spans)
        and np.array_equal(one.dead, other.dead)
        and np.array_equal(one.keys(rows), other.keys(rows))
        and [s.id for s in one.segments] == [s.id for s in other.segments]
    )
