"""Stores of the paper's two kinds, a few pages long, made by a fake model; studies of them."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fake_models import FakeLanguageModel
from small_corpora import TOPICS, write_java, write_wikitext
from vicinal.corpus import Categories
from vicinal.datastore import Datastore, StoreIdentity, build
from vicinal.evaluation import bootstrap, results
from vicinal.paper import Encyclopedia, How, Material, Plan, Protocol, Watch, java, study, wikitext

SMALL = Plan(sample=150, seeds=2, departures=100, cases=2, how=How(k=12, index="exact"))


def categories() -> Categories:
    """Give an article the category of the first word of its title."""
    splits = ("train", "valid", "test")
    known = {f"{title} {split}": [topic] for title, topic in TOPICS.items() for split in splits}
    return Categories(known, "made up")


def make_material(protocol: Protocol, folder: Path, lm: FakeLanguageModel) -> Material:
    """Encode a protocol's documents into a store."""
    schema = json.dumps(protocol.domain.schema.to_dict(), sort_keys=True)
    identity = StoreIdentity.of_model(lm, schema=schema, keep_outputs=True)
    store = Datastore.create(folder / "store", identity)
    build(store, protocol, lm)
    return Material(protocol, store, lm)


@pytest.fixture(scope="session", autouse=True)
def _few_draws():
    """Draw documents a hundred times only: what intervals are worth is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "bootstrap", partial(bootstrap, draws=100))
        yield


@pytest.fixture(scope="session")
def java_data(tmp_path_factory) -> Path:
    return write_java(tmp_path_factory.mktemp("java-data"))


@pytest.fixture(scope="session")
def wiki_data(tmp_path_factory) -> Path:
    return write_wikitext(tmp_path_factory.mktemp("wiki-data"))


@pytest.fixture(scope="session")
def encyclopedia(wiki_data) -> Encyclopedia:
    return Encyclopedia(wiki_data, categories())


@pytest.fixture(scope="session")
def lm(java_data, encyclopedia) -> FakeLanguageModel:
    """A fake model whose ids are never shared by two pieces of the texts."""
    model = FakeLanguageModel(vocab_size=49_999)
    for document in (*java(java_data), *wikitext(encyclopedia)):
        assert model.decode(model.tokenize(document.text).ids.tolist()) == document.text
    return model


@pytest.fixture(scope="session")
def material_of():
    return make_material


@pytest.fixture(scope="session")
def java_material(java_data, lm, tmp_path_factory) -> Material:
    return make_material(java(java_data), tmp_path_factory.mktemp("java"), lm)


@pytest.fixture(scope="session")
def wiki_material(encyclopedia, lm, tmp_path_factory) -> Material:
    return make_material(wikitext(encyclopedia), tmp_path_factory.mktemp("wiki"), lm)


@pytest.fixture(scope="session")
def plan() -> Plan:
    return SMALL


@pytest.fixture(scope="session")
def java_findings(java_material):
    """Study the Java projects once for all tests that look at findings."""
    return study(java_material, SMALL, Watch())


@pytest.fixture(scope="session")
def wiki_findings(wiki_material):
    """Study the encyclopedia once, with one seed and without departures."""
    return study(wiki_material, replace(SMALL, seeds=1, departures=0), Watch())
