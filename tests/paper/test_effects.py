"""Departures: each varies something, is measured otherwise, or says why not."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from vicinal.evaluation import (
    Examination,
    fit_parameters,
    measure,
    rungs_of,
)
from vicinal.paper import How, approximations, effects, relabeling
from vicinal.paper.departures import Departure, as_released, departures
from vicinal.paper.effects import RUNGS, SPECIAL, Pair
from vicinal.paper.fitting import PAPER, RECIPES, Measuring
from vicinal.paper.scene import Scene, Variation

SIZE, SEED = 60, 3


def pair_of(material) -> Pair:
    valid, test = (
        Scene.of(material.protocol, material.store, material.lm, How(100, "exact"), split)
        for split in ("valid", "test")
    )
    return Pair(valid, test, SIZE, SEED, Measuring(material.protocol.domain.group))


@pytest.fixture(scope="module")
def pairs(java_material, wiki_material):
    return {"java": pair_of(java_material), "wikitext": pair_of(wiki_material)}


@pytest.fixture(scope="module", params=["java", "wikitext"])
def protocol(request):
    return request.param


@pytest.fixture(scope="module")
def pair(pairs, protocol):
    return pairs[protocol]


@pytest.fixture(scope="module")
def small():
    """Make what the released code did at thousands of tokens show at a hundred."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approximations, "TRAINED_ON", 100)
        patch.setattr(effects, "PAPER_EPOCHS", 2)
        yield


@pytest.fixture(scope="module")
def base(pair, small):
    return pair.measured()


@pytest.fixture(scope="module")
def found(pair, protocol, base):
    said = []
    return effects.effects(protocol, pair, base, said.append), said


def test_every_departure_says_what_the_three_do(pair, protocol):
    """The paper, the released code and vicinal each have a word, and the name is its own."""
    listed = departures(protocol, pair.test)
    assert len({d.name for d in listed}) == len(listed) > 10
    for departure in listed:
        assert all((departure.paper, departure.released, departure.ours)), departure.name
        ways = bool(departure.variation), bool(departure.measured), bool(departure.why_not)
        assert sum(ways) == 1, departure.name
    assert {d.measured for d in listed if d.measured} == set(SPECIAL)


def test_what_only_one_corpus_has_is_told_of_it_alone(pairs):
    """Paths are guessed for Java; titles, categories and codes belong to WikiText."""
    java, wiki = ({d.name for d in departures(p, pairs[p].test)} for p in ("java", "wikitext"))
    assert java - wiki == {"paths of files", "base model"}
    assert wiki - java == {
        *("section titles", "depth of titles", "articles without a category"),
        *("distances", "categories"),
    }


def test_every_departure_has_an_effect_or_says_why_not(pair, protocol, found):
    """Whatever is listed has numbers or words, in its order; all together come last."""
    several, said = found
    listed = departures(protocol, pair.test)
    assert [e.departure.name for e in several[:-1]] == [d.name for d in listed]
    for effect in several:
        assert bool(effect.measured) != bool(effect.words), effect.departure.name
        if effect.departure.variation:
            assert effect.measured
        if effect.departure.why_not:
            assert effect.words == f"not measured: {effect.departure.why_not}"
    assert several[-1].departure.name == "all variations above together"
    assert several[-1].measured
    assert said == [
        *(f"measuring: {d.name}" for d in listed),
        "measuring: all of these together",
    ]


def plainly_measured(pair: Pair):
    """Do with the rooms below what a pair does."""
    scored = []
    for scene in (pair.valid, pair.test):
        model = scene.model()
        scored.append((scene.examine(model, SIZE, SEED), model))
    (fit_on, fit_model), (test_on, model) = scored
    parameters = fit_parameters(fit_on, fit_model, RUNGS, RECIPES[PAPER])
    rungs = rungs_of(parameters, pair.test.schema.n_levels)
    return parameters, measure(test_on, model, rungs, group=pair.how.group, seed=0)


def test_ours_is_a_plain_measurement(pair, base):
    """The comparison is what fitting and measuring by themselves come to."""
    parameters, result = plainly_measured(pair)
    assert base.result == result
    assert list(base.parameters.rungs) == list(RUNGS)
    for rung in RUNGS:
        assert base.parameters.rungs[rung].to_dict() == parameters.rungs[rung].to_dict()
    rows = {row.name: row.measures for row in result.rows}
    assert base.ppl("linear") == rows["linear"]["ppl_full_token"]
    assert base.measure("lm", "top5_full_token") == rows["lm"]["top5_full_token"]
    linear, temperature = (rows[name]["ppl_full_token"] for name in ("linear", "temperature"))
    assert base.locality == pytest.approx(1 - linear / temperature)


def test_a_variation_is_fitted_and_tested_like_ours(pair, protocol, found):
    """Each effect is the plain measurement of the varied scenes."""
    several, _ = found
    varied = [e for e in several if e.departure.variation]
    for effect in (varied[0], varied[-1]):
        _, result = plainly_measured(pair.varied([effect.departure.variation]))
        assert effect.measured.result == result
    _, together = plainly_measured(pair.varied(as_released(protocol, pair.test)))
    assert several[-1].measured.result == together


def test_variations_change_what_they_say(found, base, protocol):
    """Readings change the base model, distances the neighbors, lost text what is scored."""
    by_name = {e.departure.name: e.measured for e in found[0]}
    half = by_name["precision of log p"]
    assert half.ppl("lm") != base.ppl("lm")
    assert half.ppl("lm") == pytest.approx(base.ppl("lm"), rel=1e-2)
    # No position is certain, no document long, here: nothing may change then.
    for name in ("certain tokens", "long documents", "own document"):
        assert by_name[name].result == base.result
    if protocol == "wikitext":
        rough, shifted = by_name["distances"], by_name["section titles"]
        assert rough.ppl("lm") == base.ppl("lm")
        assert rough.ppl("knn") != base.ppl("knn")
        assert shifted.ppl("lm") != base.ppl("lm")
        # Each title is at one depth in all articles, so its signs tell nothing.
        for rung in ("temperature", "linear"):
            assert by_name["depth of titles"].ppl(rung) == base.ppl(rung)
        shared = by_name["articles without a category"]
        assert shared.ppl("temperature") == base.ppl("temperature")
        assert shared.ppl("linear") != base.ppl("linear")


def test_all_that_varies_is_as_released(pair, protocol):
    """Every variation of the list is among those applied together, in its order."""
    listed = [d.variation for d in departures(protocol, pair.test) if d.variation]
    together = as_released(protocol, pair.test)
    assert len(together) == len(listed) >= 5
    assert [(v.search, v.reading) for v in together] == [(v.search, v.reading) for v in listed]
    varied = pair.test.varied(together)
    assert isinstance(varied.lm, approximations.CertainIsLost)
    assert isinstance(varied.lm.lm, approximations.HalfPrecision)


def words(found, name: str) -> str:
    return next(e.words for e in found[0] if e.departure.name == name)


def test_tokens_without_a_gold_are_counted(found, pair):
    """The share of positions is one less the coverage; the constant weighs with it."""
    told = words(found, "tokens without a retrieved gold")
    examination, model = pair.examined(pair.valid)
    covered = fit_parameters(examination, model, ["linear"], RECIPES[PAPER]).notes["coverage"]
    assert told.startswith(f"at {1 - covered:.1%} of the positions; the loss reads ")
    reads = float(told.split("reads ")[1].split(" in")[0].replace(",", ""))
    assert reads == pytest.approx((1 - covered) * 1e4, abs=5)


def test_the_optimizer_and_the_choice_are_told_in_numbers(found, base):
    """Adam from the start the paper gives it, and the MLP chosen in both ways, beside ours."""
    adam = words(found, "optimizer")
    assert "after 2 epochs" in adam
    assert f"linear {base.ppl('linear'):.3f} →" in adam
    # Two steps of 1e-4 go nowhere.
    assert "b has come to +0.00, +0.00" in adam.replace("-", "+")
    choice = words(found, "choice of the MLP")
    assert "chosen on held-out documents" in choice
    assert f"of the lines {base.ppl('linear'):.3f}" in choice


def test_a_model_without_a_boundary_ends_no_document(found):
    """Where there is no token between documents, no end can be scored, and that is said."""
    assert words(found, "end of a document").startswith("not measured: the model has no token")


def test_an_end_counts_as_one_more_full_token(pairs, monkeypatch, java_material):
    """The perplexity with ends is that of all tokens and one more for each document."""
    pair = pairs["java"]
    base = pair.measured()
    monkeypatch.setattr(java_material.lm, "boundary_id", 7, raising=False)
    told = SPECIAL["end of document"](pair, base)
    lm, examination = java_material.lm, pair.examined(pair.test)[0]
    losses, n_full = [], 0
    for subject in examination.subjects:
        (encoding,) = lm.encode([np.append(subject.ids, 7).astype(np.int32)])
        log_p = lm.log_p(torch.from_numpy(encoding.outputs[-1:]))
        losses.append(-log_p[0, 7].item())
        n_full += int(subject.units.full_tokens.sum())
    share = len(losses) / n_full
    assert told.startswith(f"one more full token per document, {share:.2%} more;")
    total = np.log(base.ppl("lm")) * n_full + sum(losses)
    after = np.exp(total / (n_full + len(losses)))
    assert float(told.split("→ ")[1]) == pytest.approx(after, rel=1e-4)
    assert f"{np.mean(losses):.2f} nats on average (8 documents)" in told


def test_a_share_of_ends_stands_for_all(pairs, monkeypatch, java_material):
    """Of many documents a few are encoded again, and said to be."""
    monkeypatch.setattr(java_material.lm, "boundary_id", 7, raising=False)
    monkeypatch.setattr(effects, "ENDS", 3)
    told = SPECIAL["end of document"](pairs["java"], pairs["java"].measured())
    assert "(3 documents)" in told


def test_a_pair_draws_the_same_positions_for_each(pair):
    """What a variation leaves in place is drawn alike."""
    (one, _), (other, _) = (
        p.examined(p.test)
        for p in (pair, pair.varied([Variation(search=approximations.quantized)]))
    )
    assert isinstance(one, Examination)
    assert np.array_equal(one.sample.token, other.sample.token)
    assert np.array_equal(one.sample.subject, other.sample.subject)


def test_a_variation_is_of_both_splits(pair):
    """What is fitted on is varied like what is tested on."""
    cut = Variation(view=relabeling.truncated(pair.test.lm, 30))
    varied = pair.varied([cut])
    for scene, other in ((pair.valid, varied.valid), (pair.test, varied.test)):
        assert other.snapshot.n_live < scene.snapshot.n_live
    assert replace(varied, valid=pair.valid, test=pair.test) == pair


def test_a_departure_alone_is_nothing_measured():
    """A departure needs no more than its words."""
    assert Departure("a", "b", "c", "d").variation is None
