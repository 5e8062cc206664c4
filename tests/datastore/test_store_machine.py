"""A store behaves like a dictionary of documents, whatever is done to it in whatever order."""

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from stores import IDENTITY, content_of, contents, encoded
from vicinal.datastore import Datastore, info, verify

NAMES = st.sampled_from(["a", "b", "c", "d", "e", "bad \udcff name", "ü\0"])


class StoreMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.directory = tempfile.mkdtemp()
        self.store = Datastore.create(Path(self.directory, "store"), IDENTITY)
        self.model = {}
        self.kept = []

    def teardown(self):
        shutil.rmtree(self.directory)

    @rule(names=st.lists(NAMES, unique=True, max_size=4), n=st.integers(1, 6), seed=st.integers())
    def add(self, names, n, seed):
        documents = [encoded("x", n + i, abs(seed)) for i in range(len(names))]
        documents = [
            type(d)(**{**vars(d), "name": name}) for d, name in zip(documents, names, strict=True)
        ]
        with self.store.writer() as writer:
            writer.add(documents)
        self.model |= {document.name: content_of(document) for document in documents}

    @rule(names=st.lists(NAMES, max_size=3))
    def remove(self, names):
        with self.store.writer() as writer:
            assert writer.remove(names) == len(set(names) & set(self.model))
        for name in names:
            self.model.pop(name, None)

    @rule(max_entries=st.integers(1, 60), lazy=st.booleans())
    def compact(self, max_entries, lazy):
        with self.store.writer() as writer:
            writer.compact(max_entries=max_entries, lazy=lazy)
        snapshot = self.store.snapshot()
        if not lazy:
            assert snapshot.n_entries == snapshot.n_live
        largest = max((d.hi - d.lo for d in snapshot.documents), default=0)
        assert len(snapshot.segments) <= 1 or max_entries < 10**6
        assert all(len(segment) <= 60 + largest for segment in snapshot.segments)

    @rule()
    def reopen(self):
        self.store = Datastore.open(self.store.files.root)

    @rule()
    def keep_a_snapshot(self):
        self.kept.append((self.store.snapshot(), dict(self.model)))

    @invariant()
    def shows_the_dictionary(self):
        snapshot = self.store.snapshot()
        assert contents(snapshot) == self.model
        live = sum(len(content.values) for content in self.model.values())
        assert (snapshot.n_live, info(self.store).live) == (live, live)
        assert info(self.store).spans == len(snapshot.spans)
        assert snapshot.n_entries == info(self.store).entries

    @invariant()
    def kept_snapshots_stay(self):
        assert all(contents(snapshot) == model for snapshot, model in self.kept[-2:])

    @invariant()
    def is_clean(self):
        found = verify(self.store)
        assert found.clean
        assert not found.orphans


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=20, stateful_step_count=15)
