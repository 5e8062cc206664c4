"""The rung with a λ of each position: fitted, kept, and scored like any other."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from fake_models import FakeLanguageModel
from strategies import DIM, lines, schema, snapshot, stores
from vicinal.evaluation import (
    Examination,
    as_queries,
    draw,
    fit_parameters,
    measure,
    observe,
    predict,
    rungs_of,
    score,
    stored_subjects,
)
from vicinal.index import ExactIndex
from vicinal.knnlm import KNNLM, Choice, Mixture, Parameters, Queries, Retriever
from vicinal.knnlm.features import NAMES
from vicinal.locality import AdaptiveLam, LevelCalibration, Recipe, Same

VOCAB, NEAR = 30, 1e-5
SCHEMA = schema(("lattice", [Same] * 3, []))
LM = FakeLanguageModel(DIM, VOCAB)
NETWORK = AdaptiveLam(
    names=NAMES,
    mean=torch.zeros(len(NAMES)),
    scale=torch.linspace(1, 2, len(NAMES)),
    hidden=torch.randn(4, len(NAMES) + 1, generator=torch.Generator().manual_seed(1)),
    out=torch.tensor([1.5, -2.0, 1.0, 0.5, -0.2]),
    seen=(0.1, 0.2, 0.3),
)


def asked_of(store, seed, n=6) -> Queries:
    """Ask for random tokens from random documents' spans."""
    generator = torch.Generator().manual_seed(seed)
    spans = torch.randint(0, len(store.spans), (n,), generator=generator)
    owners = [
        next(d for d in store.documents if d.first_span <= s < d.last_span) for s in spans.tolist()
    ]
    return Queries(
        torch.randint(-2, 3, (n, DIM), generator=generator).half(),
        torch.randn(n, DIM, generator=generator),
        torch.randint(0, VOCAB, (n,), generator=generator),
        torch.tensor([(d.lo, d.hi) for d in owners]),
        spans,
        [span.attributes for span in store.spans],
    )


def dense(store, queries, row, k, mixture):
    """Give p of every token after one context, λ included, from the oracles."""
    log_p_lm = LM.log_p(queries.outputs[row : row + 1])[0].tolist()
    found = oracles.search(store, queries.keys[row].tolist(), k, queries.without[row].tolist())
    query = queries.attributes[int(queries.spans[row])]
    weights = mixture.calibration.weights.tolist()
    biases = mixture.calibration.biases.tolist()
    values = [oracles.value_of(store, e) for _, e in found]
    levels = [oracles.level(SCHEMA, query, oracles.span_of(store, e)) for _, e in found]
    pairs = zip(found, levels, strict=True)
    distances = [oracles.calibrate(d, n, weights, biases) for (d, _), n in pairs]
    entropy = -sum(math.exp(x) * x for x in log_p_lm)
    told = oracles.features(
        [d for d, _ in found], distances, values, [log_p_lm[v] for v in values], entropy
    )
    lam = oracles.adaptive_lam(mixture.adaptive, list(told.values()), mixture.lam)
    return oracles.mixed(oracles.p_knn(distances, values), [math.exp(x) for x in log_p_lm], lam)


def ranks_allowed(p, gold):
    """Give the ranks that rounding leaves open: ties may fall either way, 21 is all beyond 20."""
    best = 1 + sum(x > p[gold] * (1 + NEAR) for t, x in enumerate(p) if t != gold)
    worst = 1 + sum(x >= p[gold] * (1 - NEAR) for t, x in enumerate(p) if t != gold)
    return range(min(best, 21), min(worst, 21) + 1)


@settings(max_examples=30)
@given(stores(), lines(8, low=0.0), st.floats(0.05, 0.95), st.integers(1, 20), st.integers(0, 99))
def test_scores_match_the_dense_mixture(drawn, calibration, lam, k, seed):
    """log p and rank are those of the mixture over the whole vocabulary with the oracle's λ."""
    store = snapshot(drawn, vocab=VOCAB)
    queries, mixture = asked_of(store, seed), Mixture(calibration, lam, NETWORK)
    model = KNNLM(LM, Retriever(store, ExactIndex(store), SCHEMA), mixture, k=k)
    scores = score(queries, model, {"lm": None, "adaptive": mixture}).rungs["adaptive"]
    for row in range(len(queries)):
        gold = int(queries.targets[row])
        p = dense(store, queries, row, k, mixture)
        assert np.exp(scores.log_p[row]) == pytest.approx(p[gold], rel=2e-3, abs=1e-6)
        assert scores.rank[row] in ranks_allowed(p, gold)


@settings(max_examples=20)
@given(stores(), st.integers(1, 9), st.integers(0, 99))
def test_the_gold_token_is_no_part_of_lam(drawn, k, seed):
    """Whatever comes next, what λ depends on is the same, and so is λ."""
    store = snapshot(drawn, vocab=VOCAB)
    queries = asked_of(store, seed)
    mixture = Mixture(LevelCalibration.identity(8), 0.4, NETWORK)
    model = KNNLM(LM, Retriever(store, ExactIndex(store), SCHEMA), mixture, k=k)
    found = model.retrieve(queries)
    others = Queries(
        queries.keys,
        queries.outputs,
        queries.targets.roll(1),
        queries.without,
        queries.spans,
        queries.attributes,
    )
    one, other = (
        mixture.lams(found, predict(asked, found, LM).evidence) for asked in (queries, others)
    )
    assert torch.equal(one, other)


@pytest.fixture(scope="module")
def model(store, lm):
    return KNNLM.from_store(store, lm, choice=Choice(k=6))


def examined(store, lm, model, *patterns) -> Examination:
    subjects = stored_subjects(store.snapshot(), lm, patterns or ("*",))
    return Examination.from_subjects(subjects, model, size=None, seed=0)


@pytest.mark.parametrize("objective", ["mixture", "knn"])
def test_it_is_fitted_on_the_mixture_whatever_the_objective(store, lm, model, objective):
    """The loss told is that of the mixture: exp of it is the perplexity measured there."""
    examination = examined(store, lm, model)
    recipe = Recipe(objective=objective)
    fitted = fit_parameters(examination, model, ["linear", "adaptive"], recipe)
    assert list(fitted.rungs) == ["linear", "adaptive"]
    again = Parameters.from_json(fitted.to_json())
    rows = {
        row.name: row.measures["ppl"]
        for row in measure(examination, model, rungs_of(again, 3), group="project", seed=0).rows
    }
    loss = fitted.notes["rungs"]["adaptive"]["loss"]
    assert rows["adaptive"] == pytest.approx(math.exp(loss), rel=1e-3)
    assert rows["adaptive"] <= rows["linear"] * 1.001
    assert fitted.rungs["adaptive"].lam == fitted.rungs["linear"].lam


def test_alone_it_brings_what_it_needs(store, lm, model):
    """Asked for by name it is fitted over lines that are not listed, from the λ that was fixed."""
    fitted = fit_parameters(
        examined(store, lm, model), model, ["adaptive"], Recipe(lam=0.3, seed=5)
    )
    assert list(fitted.rungs) == ["adaptive"]
    assert fitted.rungs["adaptive"].lam == 0.3
    other = fit_parameters(examined(store, lm, model), model, ["adaptive"], Recipe(lam=0.3, seed=6))
    first, second = (f.rungs["adaptive"].adaptive.hidden for f in (fitted, other))
    assert not torch.equal(first, second)


def test_observations_have_what_it_is_learned_from(store, lm, model):
    """Of each position its document, the neighbors' tokens, and what the base model says."""
    subjects = stored_subjects(store.snapshot(), lm)
    sample = draw(subjects, 40, 0)
    queries = as_queries(subjects, sample, model)
    seen = observe(queries, model)
    assert seen.documents.tolist() == sample.subject.tolist()
    assert len(set(seen.documents.tolist())) > 1
    found = model.retrieve(queries)
    log_p = lm.log_p(queries.outputs)
    assert torch.equal(seen.evidence.values, found.values)
    assert torch.equal(seen.evidence.best, log_p.argmax(1))
    assert seen.evidence.entropy.tolist() == pytest.approx(
        (-(log_p.exp() * log_p).sum(1)).tolist(), rel=1e-4
    )


def test_batches_keep_positions_and_documents_together(store, lm, model, monkeypatch):
    """Looked up a few at a time or all at once, every position has its own document."""
    subjects = stored_subjects(store.snapshot(), lm)
    queries = as_queries(subjects, draw(subjects, 40, 0), model)
    whole = observe(queries, model)
    monkeypatch.setattr("vicinal.evaluation.scoring.BATCH", 7)
    parts = observe(queries, model)
    assert torch.equal(parts.documents, whole.documents)
    assert torch.equal(parts.evidence.values, whole.evidence.values)
    assert parts.evidence.entropy.tolist() == pytest.approx(whole.evidence.entropy.tolist())
