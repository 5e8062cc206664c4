"""Subjects: the same documents, from the store or from files, never finding themselves."""

import numpy as np
import pytest

from vicinal.errors import EvaluationError
from vicinal.evaluation import corpus_subjects, stored_subjects, vectors


def test_stored_and_read_subjects_are_the_same(store, lm, documents):
    """Ids, spans, units, hash and own entries agree, whether from the store or from the files."""
    snapshot = store.snapshot()
    stored = stored_subjects(snapshot, lm)
    read = corpus_subjects(documents, snapshot, lm)
    assert [s.name for s in stored] == [s.name for s in read] == [d.name for d in documents]
    for a, b in zip(stored, read, strict=True):
        assert a.ids.tolist() == b.ids.tolist()
        assert (a.content_hash, a.spans, a.own) == (b.content_hash, b.spans, b.own)
        for name in ("of_token", "full_tokens", "n_bytes"):
            assert np.array_equal(getattr(a.units, name), getattr(b.units, name)), name
        assert (a.stored, b.stored) == (True, False)
        assert a.spans[0].lo == 0
        assert a.spans[-1].hi == len(a.ids) == a.own[1] - a.own[0]


def test_a_copy_under_another_name_knows_its_own(store, lm, make_document, documents):
    """A file that the store has by name or by content is left out of its own search."""
    snapshot = store.snapshot()
    first = snapshot.documents[0]
    renamed = make_document("kettle/app/copy.py", documents[0].text)
    same_content = type(renamed)("x/y/z.py", documents[0].text, documents[0].spans, "python")
    changed = make_document(documents[0].name, "a = 1\nb = 2\n")
    new = make_document("other/app/new.py", "a = 1\nb = 2\n")
    own = [s.own for s in corpus_subjects([same_content, changed, new, renamed], snapshot, lm)]
    mine = (first.lo, first.hi)
    assert own == [mine, mine, (0, 0), mine]


def test_patterns_choose_by_name(store, lm, documents):
    """A document is taken if its name matches any of the patterns."""
    snapshot = store.snapshot()
    for found in (
        stored_subjects(snapshot, lm, ["lantern/*", "*heat*"]),
        corpus_subjects(documents, snapshot, lm, ["lantern/*", "*heat*"]),
    ):
        assert [s.name for s in found] == ["kettle/core/heat.py", "lantern/core/glow.py"]
    with pytest.raises(EvaluationError, match=r"No document matches \*\.java, nothing"):
        stored_subjects(snapshot, lm, ["*.java", "nothing"])
    with pytest.raises(EvaluationError, match="No document matches"):
        corpus_subjects([], snapshot, lm)


@pytest.mark.parametrize("keep_outputs", [True, False])
def test_stored_vectors_are_the_encoded_ones(make_store, lm, documents, keep_outputs):
    """Keys and outputs read from the store equal those encoded anew, row by row."""
    snapshot = make_store(keep_outputs=keep_outputs).snapshot()
    stored = stored_subjects(snapshot, lm)
    rows = [np.array(r, np.int64) for r in ([0, 3, 5], [], [2], [1, 2, 4])]
    before = lm.encoded_tokens
    keys, outputs = vectors(stored, rows, snapshot, lm)
    assert (lm.encoded_tokens == before) == keep_outputs
    again = vectors(corpus_subjects(documents, snapshot, lm), rows, snapshot, lm)
    assert np.array_equal(keys, again[0])
    assert np.array_equal(outputs, again[1])
    expected = lm.encode([s.ids for s in stored])
    chosen = [(s, r) for s, row in enumerate(rows) for r in row]
    assert np.array_equal(keys, np.stack([expected[s].keys[r] for s, r in chosen]))
    assert np.array_equal(outputs, np.stack([expected[s].outputs[r] for s, r in chosen]))


def test_many_documents_are_encoded_a_few_at_a_time(store, lm, make_document, monkeypatch):
    """Documents go to the model in batches of some tens of thousands of tokens."""
    long = [make_document(f"p/d/{i}.py", "a\n" + "b = 1\n" * 3000) for i in range(4)]
    subjects = corpus_subjects(long, store.snapshot(), lm)
    asked, encode = [], lm.encode
    monkeypatch.setattr(lm, "encode", lambda ids: asked.append(len(ids)) or encode(ids))
    rows = [np.array([i], np.int64) for i in range(4)]
    keys, _ = vectors(subjects, rows, store.snapshot(), lm)
    assert asked == [2, 2]
    assert len(keys) == 4


def test_groups_are_the_first_spans(store, lm, subject):
    """Averages go by an attribute of the first span; several values are joined."""
    found = stored_subjects(store.snapshot(), lm)
    assert [s.group("project") for s in found] == ["kettle"] * 3 + ["lantern"]
    assert found[0].group("directory") == "kettle/head"
    assert subject([1]).group("nothing") == "(none)"
