"""Scores against the whole mixture over the whole vocabulary, summed by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from fake_models import FakeLanguageModel
from strategies import DIM, lines, schema, snapshot, stores
from vicinal.evaluation import as_queries, corpus_subjects, draw, observe, score, stored_subjects
from vicinal.index import ExactIndex
from vicinal.knnlm import KNNLM, Choice, Mixture, Queries, Retriever
from vicinal.locality import LevelCalibration, Same

VOCAB, NEAR = 30, 1e-5
SCHEMA = schema(("lattice", [Same] * 3, []))
LM = FakeLanguageModel(DIM, VOCAB)


def asked_of(store, seed, n=6) -> Queries:
    """Ask for random tokens from random places, each from a span of one of the documents."""
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
    """Give p of every token after one context, from the oracles; and what was retrieved."""
    p_lm = LM.log_p(queries.outputs[row : row + 1])[0].exp().tolist()
    key, without = queries.keys[row].tolist(), queries.without[row].tolist()
    found = oracles.search(store, key, k, without)
    values = [oracles.value_of(store, e) for _, e in found]
    if mixture is None:
        return p_lm, values
    query = queries.attributes[int(queries.spans[row])]
    weights = mixture.calibration.lines.weights.tolist()
    biases = mixture.calibration.lines.biases.tolist()
    levels = [oracles.level(SCHEMA, query, oracles.span_of(store, e)) for _, e in found]
    pairs = zip(found, levels, strict=True)
    distances = [oracles.calibrate(d, n, weights, biases) for (d, _), n in pairs]
    return oracles.mixed(oracles.p_knn(distances, values), p_lm, mixture.lam), values


def ranks_allowed(p, gold):
    """Give the ranks that rounding leaves open: ties may fall either way, 21 is all beyond 20."""
    best = 1 + sum(x > p[gold] * (1 + NEAR) for t, x in enumerate(p) if t != gold)
    worst = 1 + sum(x >= p[gold] * (1 - NEAR) for t, x in enumerate(p) if t != gold)
    return range(min(best, 21), min(worst, 21) + 1)


@settings(max_examples=40)
@given(stores(), lines(8, low=0.0), st.floats(0, 0.95), st.integers(1, 9), st.integers(0, 99))
def test_scores_match_the_dense_mixture(drawn, calibration, lam, k, seed):
    """log p and rank of every rung are those of the mixture over the whole vocabulary."""
    store = snapshot(drawn, vocab=VOCAB)
    queries, mixture = asked_of(store, seed), Mixture(calibration, lam)
    model = KNNLM(LM, Retriever(store, ExactIndex(store), SCHEMA), mixture, k=k)
    rungs = {"lm": None, "linear": mixture}
    scored = score(queries, model, rungs)
    assert list(scored.rungs) == ["lm", "linear"]
    for row in range(len(queries)):
        gold = int(queries.targets[row])
        for name, rung in rungs.items():
            p, values = dense(store, queries, row, k, rung)
            scores = scored.rungs[name]
            assert np.exp(scores.log_p[row]) == pytest.approx(p[gold], rel=1e-3, abs=1e-7)
            assert scores.rank[row] in ranks_allowed(p, gold), (name, row)
        assert scored.covered[row] == (gold in values)


def test_ranks_are_exact_to_twenty_and_beyond_is_one():
    """Asked for every token in turn, ranks 1 to 20 occur once each and 21 for all the others."""
    drawn = ([(False, 6, 2, [{"one": ("a",)}, {}]), (False, 6, 0, [{"one": ("a",)}, {}])], 3)
    store = snapshot(drawn, vocab=VOCAB)
    one = asked_of(store, 1, n=1)
    queries = Queries(
        one.keys.expand(VOCAB, DIM),
        one.outputs.expand(VOCAB, DIM),
        torch.arange(VOCAB),
        one.without.expand(VOCAB, 2),
        one.spans.expand(VOCAB),
        one.attributes,
    )
    mixture = Mixture(LevelCalibration.identity(8), 0.3)
    for k in (4, 40):
        model = KNNLM(LM, Retriever(store, ExactIndex(store), SCHEMA), mixture, k=k)
        scored = score(queries, model, {"lm": None, "knn": mixture})
        for scores in scored.rungs.values():
            assert sorted(scores.rank.tolist()) == [*range(1, 21), *[21] * (VOCAB - 20)]
            order = np.argsort(-scores.log_p)
            assert scores.rank[order].tolist() == [*range(1, 21), *[21] * (VOCAB - 20)]


def test_a_small_vocabulary_has_its_ranks():
    """Where there are fewer than 21 tokens, ranks go to the last of them."""
    small = FakeLanguageModel(DIM, 5)
    store = snapshot(([(False, 6, 2, [{}, {}]), (False, 3, 0, [{}, {}])], 4), vocab=5)
    queries = asked_of(store, 2, n=5)
    queries = Queries(
        queries.keys[:1].expand(5, DIM),
        queries.outputs[:1].expand(5, DIM),
        torch.arange(5),
        torch.zeros(5, 2).long(),
        queries.spans[:1].expand(5),
        queries.attributes,
    )
    mixture = Mixture(LevelCalibration.identity(8), 0.5)
    model = KNNLM(small, Retriever(store, ExactIndex(store), SCHEMA), mixture, k=4)
    for scores in score(queries, model, {"lm": None, "knn": mixture}).rungs.values():
        assert sorted(scores.rank.tolist()) == [1, 2, 3, 4, 5]


@settings(max_examples=20)
@given(stores(min_documents=2), st.integers(1, 9), st.integers(0, 99))
def test_observations_are_what_was_retrieved(drawn, k, seed):
    """Distances, levels, hits and log p_LM of each query are those of the loops."""
    store = snapshot(drawn, vocab=VOCAB)
    queries = asked_of(store, seed)
    mixture = Mixture(LevelCalibration.identity(8), 0.2)
    model = KNNLM(LM, Retriever(store, ExactIndex(store), SCHEMA), mixture, k=k)
    told = []
    seen = observe(queries, model, told.append)
    assert (len(seen), sum(told)) == (len(queries), len(queries))
    for row in range(len(queries)):
        gold = int(queries.targets[row])
        p_lm, values = dense(store, queries, row, k, None)
        missing = k - len(values)
        assert seen.hits[row].tolist() == [v == gold for v in values] + [False] * missing
        assert seen.distances[row].isinf().tolist() == [False] * len(values) + [True] * missing
        assert seen.log_p_lm[row].exp().item() == pytest.approx(p_lm[gold], rel=1e-4)
    assert torch.equal(seen.keys, queries.keys)
    retrieved = model.retrieve(queries)
    assert torch.equal(seen.levels, retrieved.levels)
    assert torch.equal(seen.distances, retrieved.distances)


def test_batches_make_no_difference(monkeypatch):
    """Scored in small batches or in one, every position has the same score, in order."""
    store = snapshot(([(False, 6, 2, [{}, {}]), (False, 5, 0, [{}, {}])], 4), vocab=VOCAB)
    queries, mixture = asked_of(store, 5, n=10), Mixture(LevelCalibration.identity(8), 0.2)
    model = KNNLM(LM, Retriever(store, ExactIndex(store), SCHEMA), mixture, k=3)
    whole, seen = score(queries, model, {"a": mixture}), observe(queries, model)
    monkeypatch.setattr("vicinal.evaluation.scoring.BATCH", 3)
    told = []
    parts = score(queries, model, {"a": mixture}, told.append)
    assert told == [3, 3, 3, 1]
    assert parts.rungs["a"].log_p.tolist() == pytest.approx(whole.rungs["a"].log_p.tolist())
    assert parts.rungs["a"].rank.tolist() == whole.rungs["a"].rank.tolist()
    assert parts.covered.tolist() == whole.covered.tolist()
    again = observe(queries, model)
    assert torch.equal(again.hits, seen.hits)
    assert torch.equal(again.levels, seen.levels)


@pytest.mark.parametrize("size", [None, 20])
def test_a_query_for_every_sampled_position(store, lm, documents, size):
    """Target, key, own range and span attributes are those of the position, stored or read."""
    model = KNNLM.from_store(store, lm, choice=Choice(k=3))
    kept = store.snapshot()
    for subjects in (stored_subjects(kept, lm), corpus_subjects(documents, kept, lm)):
        sample = draw(subjects, size, 0)
        queries = as_queries(subjects, sample, model)
        assert len(queries) == len(sample)
        for row, (s, t) in enumerate(zip(sample.subject, sample.token, strict=True)):
            subject = subjects[s]
            assert queries.targets[row] == subject.ids[t]
            assert tuple(queries.without[row].tolist()) == subject.own
            span = next(span for span in subject.spans if span.lo <= t < span.hi)
            assert queries.attributes[int(queries.spans[row])] == span.attributes
            entry = np.array([subject.own[0] + t])
            assert np.array_equal(queries.keys[row].numpy(), kept.keys(entry)[0])
            assert np.array_equal(queries.outputs[row].numpy(), kept.outputs(entry)[0])
