import json

import numpy as np
import pytest

from fake_models import FakeLanguageModel
from vicinal.corpus import Document, Span
from vicinal.datastore import Datastore, StoredSpan, StoreIdentity, build
from vicinal.evaluation import Subject, Units
from vicinal.locality import LocalitySchema, Same

SCHEMA = LocalitySchema.nested("code", [Same("project"), Same("directory")])
TEXTS = {
    "kettle/app/boil.py": "def boil(water):\n    return water * heat  # the lid sings\n",
    "kettle/app/pour.py": "def pour(water):\n    return water * cup  # the cup fills\n",
    "kettle/core/heat.py": "def heat(water):\n    return water * 3\n",
    "lantern/core/glow.py": "def glow(oil):\n    return oil * wick  # the wick sings\n",
}


def document(name: str, text: str) -> Document:
    """Make a document of two spans: its first line lies in a folder of its own."""
    project, folder, _ = name.split("/")
    cut = text.index("\n") + 1
    spans = (
        Span(0, cut, {"project": (project,), "directory": (f"{project}/head",)}),
        Span(cut, len(text), {"project": (project,), "directory": (f"{project}/{folder}",)}),
    )
    return Document(name, text, spans, language="python")


@pytest.fixture(scope="session")
def documents():
    return [document(name, text) for name, text in TEXTS.items()]


@pytest.fixture(scope="session")
def make_document():
    return document


@pytest.fixture(scope="session")
def lm(documents):
    """A fake model whose ids are never shared by two pieces of the texts."""
    model = FakeLanguageModel(vocab_size=4999)
    assert all(model.decode(model.tokenize(d.text).ids.tolist()) == d.text for d in documents)
    return model


@pytest.fixture(scope="session")
def make_store(tmp_path_factory, lm, documents):
    """Build a store of the four files, with or without the model's outputs."""

    def make(*, keep_outputs=True):
        schema = json.dumps(SCHEMA.to_dict())
        identity = StoreIdentity.of_model(lm, schema=schema, keep_outputs=keep_outputs)
        store = Datastore.create(tmp_path_factory.mktemp("made") / "store", identity)
        build(store, documents, lm)
        return store

    return make


@pytest.fixture(scope="session")
def store(make_store):
    return make_store()


@pytest.fixture(scope="session")
def subject():
    """Make a subject of units of given sizes, one full token and three bytes for each token."""

    def make(sizes, name="s", group="g"):
        n = sum(sizes)
        of_token = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        counts = np.array(sizes, np.int32)
        cut = Units(of_token, counts, 3 * counts.astype(np.int64))
        spans = (StoredSpan(0, n, {"project": (group,)}),)
        return Subject(name, f"h-{name}", np.arange(n, dtype=np.int32), spans, cut, (0, 0), False)

    return make
