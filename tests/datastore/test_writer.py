"""What may go into a store, and what a compaction makes of it."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from jaxtyping import config

from stores import IDENTITY, content_of, contents, encoded
from vicinal.corpus.document import Document, Span
from vicinal.datastore import Datastore, StoredSpan, encoded_document, verify
from vicinal.datastore.compaction import plan_merges
from vicinal.datastore.encoded import entry_spans
from vicinal.datastore.manifest import DocumentRow, SegmentRow, State
from vicinal.errors import CorruptStoreError, StoreError

GOOD = encoded("a", 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keys": np.full((4, 4), np.nan, np.float16)}, "keys should be finite.* in 4 rows"),
        ({"outputs": np.float16([[1], [-np.inf], [1], [1]])}, "outputs .* 1 rows, the first is 1"),
        ({"values": np.int32([1, -2, 3, 4])}, "token ids from 0 on, found -2"),
        ({"values": np.int64([1, 2, 3, 4])}, r"values should be int32 .* found int64 \(4,\)"),
        ({"offsets": np.int32([0, 3, 2, 4])}, "never go back"),
        ({"offsets": np.int32([-1, 3, 3, 4])}, "characters from 0 on"),
        ({"keys": GOOD.keys[:3]}, r"keys should be float16 with 2 axes and 4 rows, .*\(3, 4\)"),
        ({"keys": GOOD.keys.astype(np.float32)}, "keys should be float16.*found float32"),
        ({"spans": (StoredSpan(0, 3, {}),)}, r"spans should cover its 4 entries, .*\(0, 3\)"),
        ({"spans": (StoredSpan(0, 4, {}), StoredSpan(4, 4, {}))}, "spans should cover"),
        ({"spans": ()}, "spans should cover"),
    ],
)
def test_documents_are_checked_at_the_door(monkeypatch, change, words):
    """The error names the document and what is wrong with it."""
    # The shape checks of the tests would come first and are not there in real life.
    monkeypatch.setattr(config, "jaxtyping_disable", True)
    with pytest.raises(StoreError, match=f"'a' cannot be stored: .*{words}"):
        replace(GOOD, **change)


def test_the_largest_numbers_are_stored():
    """Finite extremes of float16 are keys like others."""
    keys = np.full((4, 4), np.finfo(np.float16).max, np.float16)
    assert replace(GOOD, keys=-keys).keys.min() == -65504


def test_documents_must_fit_the_store_and_each_other(store):
    """Several faults are told at once, and nothing is stored."""
    wide = replace(GOOD, name="wide", keys=np.zeros((4, 5), np.float16))
    with store.writer() as writer:
        with pytest.raises(StoreError, match=r"'wide' has keys of 5 numbers, the store 4; 'a' is"):
            writer.add([GOOD, wide, GOOD])
        with pytest.raises(StoreError, match="'a' has outputs of None numbers, the store 3"):
            writer.add([encoded("a", 4, outputs=False)])
        writer.add([])
    assert store.snapshot().segments == ()


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    tokens=st.lists(st.integers(1, 5), min_size=1, max_size=20),
)
def test_a_token_belongs_to_the_span_in_which_it_starts(lengths, tokens):
    """Spans without a token vanish; all entries are covered, in order."""
    text = "x" * sum(lengths)
    ends = np.cumsum(lengths).tolist()
    spans = tuple(
        Span(end - n, end, {"i": (str(i),)})
        for i, (n, end) in enumerate(zip(lengths, ends, strict=True))
    )
    starts = np.cumsum([0, *tokens[:-1]])
    offsets = starts[starts < len(text)].astype(np.int32)
    found = entry_spans(Document("a", text, spans), offsets)
    one_by_one = [next(s for s in spans if s.start <= o < s.end).attributes for o in offsets]
    assert [s.attributes for s in found for _ in range(s.lo, s.hi)] == one_by_one
    assert len({id(s.attributes) for s in found}) == len(found)


def test_a_document_of_a_model_is_stored_as_it_is(model, tmp_path):
    """Text, tokens and encoding come together."""
    document = Document.whole("a", "one two", {"p": ("q",)}, language="java", path="x/A.java")
    tokens = model.tokenize(document.text)
    (encoding,) = model.encode([tokens.ids])
    made = encoded_document(document, tokens, encoding)
    assert (made.language, made.path, made.offsets.tolist()) == ("java", "x/A.java", [0, 3, 4])
    assert made.spans == (StoredSpan(0, 3, {"p": ("q",)}),)
    assert made.content_hash == document.content_hash
    assert np.array_equal(made.keys, encoding.keys)
    assert encoded_document(document, tokens, encoding, keep_outputs=False).outputs is None


def test_compaction_keeps_the_living_and_drops_the_dead(filled):
    """One segment with every live document, old files gone."""
    before = contents(filled.snapshot())
    with filled.writer() as writer:
        assert writer.compact() == 3
        assert writer.compact() == 0
    snapshot = filled.snapshot()
    assert contents(snapshot) == before
    assert (len(snapshot.segments), snapshot.n_entries, snapshot.n_live) == (1, 22, 22)


def test_a_store_of_which_everything_died_becomes_empty(filled):
    """No segment is left over."""
    with filled.writer() as writer:
        assert writer.remove(["a", "b", "e"]) == 3
        writer.compact()
    assert filled.snapshot().segments == ()
    assert list(filled.files.segments.iterdir()) == []


def test_outputs_can_be_dropped(filled):
    """Smaller by the outputs, otherwise the same; later segments have theirs."""
    before = contents(filled.snapshot())
    with filled.writer() as writer:
        writer.compact(drop_outputs=True)
        assert contents(filled.snapshot()) == {
            n: replace(c, outputs=None) for n, c in before.items()
        }
        assert writer.compact(drop_outputs=True) == 0
        writer.add([encoded("new", 3), encoded("old", 2)])
        writer.remove(["old"])
        assert writer.compact() == 1
    found = contents(filled.snapshot())
    assert found["new"] == content_of(encoded("new", 3))
    assert found["a"].outputs is None
    assert verify(filled).clean


def test_compaction_refuses_to_copy_what_is_damaged(filled):
    """A copy of a flipped bit would get a valid checksum."""
    path = filled.files.entries(filled.snapshot().segments[0].id)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with filled.writer() as writer, pytest.raises(CorruptStoreError, match="SHA-256"):
        writer.compact()
    assert len(filled.snapshot().segments) == 3


def state_of(*sizes, dead=(), outputs=True):
    """Imagine segments of one document each; the *dead* ones have another of the same size."""
    digest = "x" if outputs else None
    segments = [
        SegmentRow(f"s{i}", n * (2 if i in dead else 1), "x", digest) for i, n in enumerate(sizes)
    ]
    documents = [DocumentRow(i, f"d{i}", "", "", "", f"s{i}", 0, n) for i, n in enumerate(sizes)]
    return State(tuple(segments), tuple(documents), (), ())


@pytest.mark.parametrize(
    ("state", "lazy", "plan"),
    [
        (state_of(10, 20, 30), False, [["s0", "s1", "s2"]]),
        (state_of(40, 40, 40), False, [["s0", "s1"], ["s2"]][:1]),
        (state_of(60, 10, 70, 10), False, [["s1", "s3"]]),
        (state_of(60, dead=[0]), False, [["s0"]]),
        (state_of(60, 55), False, []),
        (state_of(200, dead=[0]), False, [["s0"]]),
        (state_of(45, 1, 1, 1), True, [["s1", "s2", "s3"]]),
        (state_of(45, 1, 1, 1), False, [["s0", "s1", "s2", "s3"]]),
        (state_of(3, 2, 2), True, [["s0", "s1", "s2"]]),
        (state_of(5), True, []),
        (state_of(), False, []),
    ],
)
def test_what_is_merged(state, lazy, plan):
    """Small ones in order up to 100 entries; lazily, no giant is copied for a few crumbs."""
    groups = plan_merges(state, max_entries=100, drop_outputs=False, lazy=lazy)
    assert [[row.id for row in group.segments] for group in groups] == plan


def test_a_damaged_segment_can_be_forgotten(filled):
    """Its documents are named, the others stay."""
    before = contents(filled.snapshot())
    segment = filled.snapshot().segments[0].id
    with filled.writer() as writer:
        assert writer.discard([segment]) == ["b"]
    assert contents(filled.snapshot()) == {n: c for n, c in before.items() if n != "b"}
    assert Datastore.open(filled.files.root).identity == IDENTITY
