"""Building encodes what is new, once, and goes on where it was stopped."""

import pytest

from fake_models import FakeLanguageModel
from stores import contents
from vicinal.corpus.document import Document
from vicinal.datastore import BuildOptions, Built, Datastore, StoreIdentity, build
from vicinal.errors import FingerprintError, StoreError

SMALL = BuildOptions(chunk_tokens=40)


def documents(n, word="word"):
    return [
        Document.whole(f"d{i}", f"{word} {i} of many " * 3, {"p": (f"{i % 2}",)}) for i in range(n)
    ]


@pytest.fixture
def store(tmp_path, model):
    return Datastore.create(tmp_path / "store", StoreIdentity.of_model(model))


def test_a_corpus_becomes_a_store(store, model):
    """Keys, values and offsets are those of the model, one segment for each chunk."""
    corpus = documents(5)
    built = build(store, corpus, model, options=SMALL)
    assert built == Built(added=5, tokens=5 * 24)
    snapshot = store.snapshot()
    assert [len(segment) for segment in snapshot.segments] == [48, 48, 24]
    found = contents(snapshot)
    for document in corpus:
        tokens = model.tokenize(document.text)
        (encoding,) = model.encode([tokens.ids])
        assert found[document.name].keys == encoding.keys.tobytes()
        assert found[document.name].outputs == encoding.outputs.tobytes()
        assert found[document.name].values == tuple(tokens.ids.tolist())
        assert found[document.name].spans == ((0, 24, tuple(document.spans[0].attributes.items())),)


def test_only_what_changed_is_encoded(store, model):
    """Unchanged documents cost nothing; changed ones are replaced, vanished ones stay or go."""
    build(store, documents(4), model)
    model.encoded_tokens = 0
    corpus = [*documents(2), *documents(3, "other")[2:]]
    assert build(store, corpus, model) == Built(unchanged=2, replaced=1, tokens=24)
    assert model.encoded_tokens == 24
    assert set(contents(store.snapshot())) == {"d0", "d1", "d2", "d3"}
    pruned = build(store, corpus, model, options=BuildOptions(prune=True))
    assert pruned == Built(unchanged=3, removed=1)
    assert set(contents(store.snapshot())) == {"d0", "d1", "d2"}
    assert model.encoded_tokens == 24


def test_documents_without_tokens_are_skipped(store, model, monkeypatch):
    """They are counted, and an older version of them goes."""
    build(store, documents(3), model)
    tokenize = model.tokenize
    monkeypatch.setattr(model, "tokenize", lambda text: tokenize("" if "blank" in text else text))
    corpus = [*documents(2), Document.whole("d2", "blank", {}), Document.whole("new", "blank", {})]
    assert build(store, corpus, model) == Built(unchanged=2, skipped=2, removed=1)
    assert set(contents(store.snapshot())) == {"d0", "d1"}


def test_an_interrupted_build_goes_on_where_it_was(store, model):
    """What was committed stays, the message says how much, and nothing is encoded twice."""

    def impatient(documents, tokens):
        if documents == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"4 documents \(96 tokens\) were stored"):
        build(store, documents(9), model, options=SMALL, progress=impatient)
    assert len(contents(store.snapshot())) == 4
    model.encoded_tokens = 0
    assert build(store, documents(9), model) == Built(added=5, unchanged=4, tokens=120)
    assert model.encoded_tokens == 120


def test_progress_never_counts_what_is_not_on_disk(store, model):
    """Documents are told when committed, tokens as they are encoded."""
    told = []

    def progress(documents, tokens):
        assert len(store.content_hashes()) == documents
        told.append((documents, tokens))

    build(store, documents(3), model, options=SMALL, progress=progress)
    assert told == [(0, 24), (0, 48), (2, 48), (2, 72), (3, 72)]


def test_many_segments_are_merged_at_the_end(store, model):
    """A store does not fall apart into hundreds of files."""
    build(store, documents(40), model, options=BuildOptions(chunk_tokens=1))
    assert len(store.snapshot().segments) == 1
    assert len(contents(store.snapshot())) == 40


def test_outputs_are_kept_only_where_the_store_wants_them(tmp_path, model):
    """Half the disk space for those who will not fit on the store itself."""
    identity = StoreIdentity.of_model(model, keep_outputs=False)
    store = Datastore.create(tmp_path / "store", identity)
    build(store, documents(2), model)
    assert {content.outputs for content in contents(store.snapshot()).values()} == {None}


def test_another_model_builds_nothing(store):
    """Refused before anything is encoded."""
    other = FakeLanguageModel(fingerprint="fake-2")
    with pytest.raises(FingerprintError, match=r"fingerprint fake-1, this is fake with .* fake-2"):
        build(store, documents(1), other)
    assert other.encoded_tokens == 0


def test_two_documents_of_one_name_are_refused(store, model):
    """Else each build would replace one by the other."""
    with pytest.raises(StoreError, match="its own name, found 'd0' twice"):
        build(store, [*documents(1), *documents(1)], model)


def test_a_failing_corpus_prunes_nothing(store, model):
    """Documents that were not reached have not vanished."""
    build(store, documents(4), model)

    def broken():
        yield from documents(1)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        build(store, broken(), model, options=BuildOptions(prune=True))
    assert len(contents(store.snapshot())) == 4


def test_the_fake_model_is_a_model(model):
    """Equal contexts have equal keys, and probabilities sum to one."""
    import torch

    ids = model.tokenize("a b c a b d").ids
    (encoding,) = model.encode([ids])
    assert (encoding.keys[4] == encoding.keys[10]).all()
    assert not (encoding.keys[4] == encoding.keys[5]).all()
    total = model.log_p(torch.from_numpy(encoding.outputs)).exp().sum(-1)
    assert torch.allclose(total, torch.ones(len(ids)))
    assert model.decode(ids.tolist()) == "a b c a b d"
