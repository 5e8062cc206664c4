"""The kNN language model: base model, store, schema and parameters joined, nothing added."""

import json

import numpy as np
import pytest
import torch

import oracles
from fake_models import FakeLanguageModel
from vicinal.corpus import Document
from vicinal.datastore import Datastore, StoreIdentity, build
from vicinal.errors import CalibrationError, FingerprintError, SearchError
from vicinal.index import FlatFaissIndex
from vicinal.knnlm import (
    DEFAULT_K,
    KNNLM,
    NAME_IN_STORE,
    Choice,
    Mixture,
    Parameters,
    preferred,
    stored_parameters,
)
from vicinal.locality import LevelCalibration, LocalitySchema, Same

NAME = "kettle/app/boil.py"
TEXT = "the kettle boils the water and the lid of the kettle sings"
HERE = {"project": ("kettle",), "directory": ("kettle/app",)}
LINES = LevelCalibration(torch.tensor([0.2, 0.15, 0.1]), torch.tensor([0.0, -0.5, -1.0]))


def parameters(lm, schema, *names, k=5) -> Parameters:
    rungs = {n: Mixture(LINES, 0.5 + i / 8) for i, n in enumerate(names or ("linear",))}
    return Parameters(lm.fingerprint, schema, k, rungs)


def expected_p(model, queries, row):
    """Compose one query's distribution from the oracles."""
    snapshot, schema = model.retriever.snapshot, model.retriever.schema
    query = queries.attributes[int(queries.spans[row])]
    without = queries.without[row].tolist()
    found = oracles.search(snapshot, queries.keys[row].tolist(), model.k, without)
    lines = model.mixture.calibration.lines
    distances, values = [], []
    for distance, entry in found:
        level = oracles.level(schema, query, oracles.span_of(snapshot, entry))
        calibrated = lines.weights.tolist(), lines.biases.tolist()
        distances.append(oracles.calibrate(distance, level, *calibrated))
        values.append(oracles.value_of(snapshot, entry))
    p_lm = model.lm.log_p(queries.outputs[row : row + 1])[0].exp().tolist()
    return oracles.mixed(oracles.p_knn(distances, values), p_lm, model.mixture.lam)


@pytest.mark.parametrize("name", [NAME, None, "new.py"])
def test_log_p_is_the_oracles_composition(store, lm, schema, name):
    """Search, levels, lines, softmax and mixture together are those of the loops."""
    model = KNNLM.from_store(store, lm, parameters(lm, schema))
    queries = model.queries(TEXT, HERE, name=name)
    p = model.log_p(queries).exp()
    for row in range(len(queries)):
        assert p[row].tolist() == pytest.approx(expected_p(model, queries, row), abs=1e-5)
    assert p.sum(1).tolist() == pytest.approx([1.0] * len(queries), abs=1e-4)


def test_the_own_document_is_left_out_by_name(store, lm, schema):
    """Asked under its own name a document never finds itself; under a new name it does."""
    model = KNNLM.from_store(store, lm, parameters(lm, schema))
    document = store.snapshot().document(NAME)
    own = set(range(document.lo, document.hi))
    named = model.retrieve(model.queries(TEXT, HERE, name=NAME))
    assert not own & set(named.entries.flatten().tolist())
    other = model.retrieve(model.queries(TEXT, HERE, name="copy.py"))
    assert other.distances[:, 0].tolist() == [0.0] * len(other.entries)
    assert own & set(other.entries.flatten().tolist())


def test_queries_are_the_texts_tokens_in_context(store, lm, schema):
    """One query per token: its key, its output, the token itself as target, the attributes."""
    model = KNNLM.from_store(store, lm, parameters(lm, schema))
    queries = model.queries(TEXT, HERE)
    ids = lm.tokenize(TEXT).ids
    (encoding,) = lm.encode([ids])
    assert queries.targets.tolist() == ids.tolist()
    assert np.array_equal(queries.keys.numpy(), encoding.keys)
    assert np.array_equal(queries.outputs.numpy(), encoding.outputs)
    assert queries.attributes == [HERE]
    assert queries.spans.tolist() == [0] * len(ids)
    assert queries.without.tolist() == [[0, 0]] * len(ids)


def test_without_the_knn_it_is_the_language_model(store, lm, schema, monkeypatch):
    """At λ = 0 log p is the base model's bit for bit, and nothing is even looked up."""
    rungs = {"linear": Mixture(LINES, 0.0)}
    model = KNNLM.from_store(store, lm, Parameters(lm.fingerprint, schema, 5, rungs))
    queries = model.queries(TEXT, HERE)
    monkeypatch.setattr(model.retriever, "retrieve", None)
    assert torch.equal(model.log_p(queries), lm.log_p(queries.outputs))


def test_in_an_empty_store_it_is_the_language_model(tmp_path, lm, schema):
    """With nothing to find, the mixture is the base model bit for bit."""
    identity = StoreIdentity.of_model(lm, schema=json.dumps(schema.to_dict()))
    model = KNNLM.from_store(Datastore.create(tmp_path / "empty", identity), lm)
    queries = model.queries(TEXT, HERE)
    assert torch.equal(model.log_p(queries), lm.log_p(queries.outputs))


def test_a_document_alone_is_the_language_model(tmp_path, lm, schema):
    """A store's only document finds nothing but itself, so its own queries are the base model's."""
    identity = StoreIdentity.of_model(lm, schema=json.dumps(schema.to_dict()))
    store = Datastore.create(tmp_path / "one", identity)
    build(store, [Document.whole(NAME, TEXT, HERE)], lm)
    model = KNNLM.from_store(store, lm)
    queries = model.queries(TEXT, HERE, name=NAME)
    assert torch.equal(model.log_p(queries), lm.log_p(queries.outputs))
    unnamed = model.queries(TEXT, HERE)
    assert not torch.allclose(model.log_p(unnamed), lm.log_p(unnamed.outputs))


def test_without_parameters_it_is_as_published(store, lm):
    """A store to which nothing was fitted gives T = 1, λ = .25 and the default k."""
    model = KNNLM.from_store(store, lm)
    assert stored_parameters(store) is None
    assert (model.k, model.mixture.lam) == (DEFAULT_K, 0.25)
    assert model.mixture.calibration.lines.weights.tolist() == [1.0] * 3
    assert model.retriever.schema.level_names == ("not local", "project", "directory")


def test_parameters_come_from_the_store(store, lm, schema):
    """What was saved in the store is used unless other parameters are given; k is theirs."""
    store.save_parameters(NAME_IN_STORE, parameters(lm, schema, "linear", k=3).to_json())
    model = KNNLM.from_store(store, lm)
    assert (model.k, model.mixture.lam) == (3, 0.5)
    given = KNNLM.from_store(store, lm, parameters(lm, schema, "x", "linear", k=4))
    assert (given.k, given.mixture.lam) == (4, 0.625)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("temperature", "linear", "mlp", "adaptive"), "adaptive"),
        (("temperature", "bias", "linear", "mlp"), "linear"),
        (("temperature", "bias", "mlp"), "mlp"),
        (("bias", "temperature"), "temperature"),
        (("bias",), "bias"),
        (("other",), "knn"),
    ],
)
def test_prefers_lines_of_each_level(store, lm, schema, names, expected):
    """Of the rungs fitted, adaptive is first, then linear, mlp, temperature, bias, published."""
    fitted = parameters(lm, schema, *names)
    assert preferred(fitted) == expected
    lam = {**{n: m.lam for n, m in fitted.rungs.items()}, "knn": 0.25}[expected]
    assert KNNLM.from_store(store, lm, fitted).mixture.lam == lam
    assert preferred(None) == "knn"


def test_a_choice_goes_before_what_was_fitted(store, lm, schema):
    """Rung, k and index that the user names are taken."""
    fitted = parameters(lm, schema, "temperature", "linear", k=5)
    choice = Choice(rung="temperature", k=2, index="flat")
    model = KNNLM.from_store(store, lm, fitted, choice)
    assert (model.mixture.lam, model.k) == (0.5, 2)
    assert isinstance(model.retriever._index, FlatFaissIndex)
    assert list(store.files.index.glob("*.flat.faiss"))
    assert KNNLM.from_store(store, lm, fitted, Choice(rung="knn")).mixture.lam == 0.25
    assert KNNLM.from_store(store, lm, choice=Choice(k=7)).k == 7


def test_an_unknown_rung_is_answered_with_the_known(store, lm, schema):
    """The message lists what there is, and says how to have more."""
    with pytest.raises(CalibrationError, match=r"'mlp'; fitted are: knn, linear\. Fit it"):
        KNNLM.from_store(store, lm, parameters(lm, schema), Choice(rung="mlp"))
    with pytest.raises(SearchError, match="was: magic"):
        KNNLM.from_store(store, lm, choice=Choice(index="magic"))


def test_another_model_or_schema_is_refused(store, lm, schema):
    """The store refuses another model; parameters of another model or schema are refused too."""
    with pytest.raises(FingerprintError, match="this is fake with fingerprint fake-2"):
        KNNLM.from_store(store, FakeLanguageModel(fingerprint="fake-2"))
    stranger = FakeLanguageModel(fingerprint="fake-2")
    with pytest.raises(FingerprintError, match=r"fitted for model fake-2"):
        KNNLM.from_store(store, lm, parameters(stranger, schema))
    other = LocalitySchema.nested("code", [Same("directory")])
    with pytest.raises(CalibrationError, match="fitted for the levels not local, directory;"):
        KNNLM.from_store(store, lm, parameters(lm, other))
