"""The ladder and the runs over it: fit on some documents, measure on others."""

import math

import numpy as np
import pytest
import torch

from vicinal.errors import CalibrationError, EvaluationError
from vicinal.evaluation import (
    FITTED,
    RUNGS,
    Examination,
    Subject,
    Watcher,
    corpus_subjects,
    fit_ladder,
    fit_parameters,
    measure,
    rungs_of,
    score,
    stored_subjects,
    table,
)
from vicinal.knnlm import KNNLM, Choice
from vicinal.locality import (
    Evidence,
    LevelCalibration,
    MLPCalibration,
    Observations,
    Recipe,
    fit_lines,
)


@pytest.fixture(scope="module")
def seen() -> Observations:
    generator = torch.Generator().manual_seed(0)
    n, k = 400, 6
    distances = torch.rand(n, k, generator=generator) * 10
    levels = torch.randint(0, 3, (n, k), generator=generator)
    biases = torch.tensor([0.0, -1.0, -2.0])
    gold = torch.multinomial(
        (-(0.4 * distances + biases[levels])).softmax(1), 1, generator=generator
    )
    hits = torch.zeros(n, k, dtype=torch.bool).scatter(1, gold, 1)
    log_p_lm = -3 * torch.rand(n, generator=generator)
    values = torch.randint(1, 9, (n, k), generator=generator).masked_fill(hits, 0).int()
    log_p = torch.randn(n, 9, generator=generator).log_softmax(1)
    documents, evidence = torch.arange(n) // 20, Evidence.of(values, log_p)
    keys = torch.randn(n, 4, generator=generator)
    return Observations(distances, levels.byte(), hits, log_p_lm, keys, documents, evidence)


@pytest.fixture(scope="module")
def model(store, lm):
    return KNNLM.from_store(store, lm, choice=Choice(k=6))


def examined(store, lm, model, *patterns, size=None) -> Examination:
    subjects = stored_subjects(store.snapshot(), lm, patterns or ("*",))
    return Examination.from_subjects(subjects, model, size=size, seed=0)


def test_the_rungs_are_named_in_order():
    """The rows are the paper's and its baselines, the base model first, what is beyond it last."""
    assert RUNGS == ("lm", "knn", "temperature", "bias", "linear", "mlp", "adaptive")
    assert RUNGS[2:] == FITTED


def test_each_rung_is_at_least_as_good_as_those_it_generalizes(seen):
    """Linear beats temperature and biases, and the network begins where linear ends."""
    told = []
    found = fit_ladder(seen, [*reversed(FITTED)], Recipe(), n_levels=3, progress=told.append)
    assert list(found) == told == list(FITTED)
    assert found["linear"].loss <= found["temperature"].loss + 1e-6
    assert found["linear"].loss <= found["bias"].loss + 1e-6
    assert isinstance(found["mlp"].calibration, MLPCalibration)
    assert torch.equal(found["mlp"].calibration.lines.weights, found["linear"].calibration.weights)
    assert found["mlp"].lam == found["linear"].lam
    assert found["adaptive"].calibration is found["linear"].calibration
    assert found["adaptive"].lam == found["linear"].lam
    assert found["adaptive"].loss <= found["linear"].loss + 1e-6
    assert [name for name, f in found.items() if f.adaptive] == ["adaptive"]
    assert found["temperature"].calibration.biases.tolist() == [0.0] * 3
    assert found["bias"].calibration.weights[1:].tolist() == [1.0, 1.0]


def test_only_what_was_asked_for_is_given(seen):
    """A rung that another starts from is fitted on the way, and not listed."""
    told = []
    found = fit_ladder(seen, ["mlp"], Recipe(), n_levels=3, progress=told.append)
    assert told == ["temperature", "linear", "mlp"]
    assert list(found) == ["mlp"]
    assert list(fit_ladder(seen, ["bias"], Recipe(), n_levels=3)) == ["bias"]
    told.clear()
    found = fit_ladder(seen, ["adaptive"], Recipe(), n_levels=3, progress=told.append)
    assert told == ["temperature", "linear", "adaptive"]
    assert list(found) == ["adaptive"]


def test_adam_climbs_the_ladder_too(seen):
    """With the paper's optimizer each rung starts from the identity and gets better."""
    recipe = Recipe(optimizer="adam", epochs=3, learning_rate=0.05, lam=0.3)
    found = fit_ladder(seen, ["temperature", "linear"], recipe, n_levels=3)
    assert [f.evaluations for f in found.values()] == [3, 3]
    assert all(f.lam == 0.3 for f in found.values())
    assert all(isinstance(f.calibration, LevelCalibration) for f in found.values())


def test_biases_are_searched_from_both_valleys(seen):
    """With all weights one the fit is no worse than from the identity, nor from a flat start."""
    (found,) = fit_ladder(seen, ["bias"], Recipe(), n_levels=3).values()
    for start in (None, LevelCalibration.identity(3)):
        assert found.loss <= fit_lines(seen, "bias", Recipe(), n_levels=3, start=start).loss


def test_unknown_rungs_are_answered_with_the_known(seen):
    """All that is unknown is named, and what there is."""
    with pytest.raises(CalibrationError, match="linear, mlp, adaptive, found: cubic, lm"):
        fit_ladder(seen, ["lm", "linear", "cubic"], Recipe(), n_levels=3)


def test_a_fit_knows_where_it_comes_from(store, lm, model):
    """Fingerprint, schema, k, documents and how it went are written beside the parameters."""
    examination = examined(store, lm, model, "kettle/*")
    looked_up, fitting = [], []
    watcher = Watcher(looked_up.append, fitting.append)
    fitted = fit_parameters(examination, model, ["linear"], Recipe(), watcher)
    assert sum(looked_up) == len(examination.sample) == fitted.notes["positions"]
    assert fitting == ["temperature", "linear"]
    assert (fitted.fingerprint, fitted.k) == (lm.fingerprint, 6)
    assert fitted.schema == model.retriever.schema
    assert list(fitted.rungs) == list(fitted.notes["rungs"]) == ["linear"]
    assert (fitted.notes["objective"], fitted.notes["optimizer"]) == ("mixture", "lbfgs")
    assert 0 < fitted.notes["coverage"] < 1
    assert set(fitted.notes["rungs"]["linear"]) == {"loss", "evaluations", "seconds"}
    kettle = stored_subjects(store.snapshot(), lm, ["kettle/*"])
    assert fitted.fitted_on == {s.content_hash for s in kettle}


def test_the_loss_of_a_fit_is_the_perplexity_measured(store, lm, model):
    """Measured on what it was fitted on, a rung's perplexity is exp of the loss it ended at."""
    examination = examined(store, lm, model)
    fitted = fit_parameters(examination, model, FITTED, Recipe())
    rungs = rungs_of(fitted, model.retriever.schema.n_levels)
    result = measure(examination, model, rungs, group="project", seed=0)
    rows = {row.name: row for row in result.rows}
    assert list(rows) == list(RUNGS)
    for name in FITTED:
        expected = math.exp(fitted.notes["rungs"][name]["loss"])
        assert rows[name].measures["ppl"] == pytest.approx(expected, rel=1e-3), name
    assert rows["linear"].measures["ppl"] <= rows["temperature"].measures["ppl"] * (1 + 1e-5)
    assert rows["lm"].measures["helped"] == rows["lm"].measures["hurt"] == 0


def test_the_table_has_the_keys_promised(store, lm, model):
    """As plain data: rows, positions, documents; each row all measures and its difference."""
    examination = examined(store, lm, model, "kettle/*", size=30)
    rungs = rungs_of(None, model.retriever.schema.n_levels)
    told = []
    result = measure(examination, model, rungs, Watcher(told.append), group="project", seed=0)
    data = result.to_dict()
    assert list(data) == ["rows", "positions", "documents"]
    assert (data["positions"], data["documents"]) == (len(examination.sample), 3)
    assert sum(told) == len(examination.sample)
    promised = {
        "name", "ppl", "ppl_full_token", "ppl_byte", "top1", "top5", "top10", "top20",
        "coverage", "difference", "interval", "over_temperature",
    }  # fmt: skip
    lm_row, knn_row = data["rows"]
    for row in (lm_row, knn_row):
        assert promised <= set(row)
    assert (lm_row["name"], lm_row["difference"], lm_row["interval"]) == ("lm", None, None)
    assert knn_row["difference"] == pytest.approx(knn_row["ppl"] - lm_row["ppl"])
    low, high = knn_row["interval"]
    assert low <= knn_row["difference"] <= high


def test_each_row_is_compared_with_the_row_above(store, lm, model):
    """Differences add up from the first row to the last."""
    examination = examined(store, lm, model)
    fitted = fit_parameters(examination, model, ["temperature", "linear"], Recipe())
    rungs = rungs_of(fitted, 3)
    scored = score(examination.queries, model, rungs)
    rows = table(scored, examination.sample, examination.subjects, group="project", seed=0).rows
    ppl = [row.measures["ppl"] for row in rows]
    total = sum(row.difference.difference for row in rows[1:])
    assert total == pytest.approx(ppl[-1] - ppl[0])
    assert rows[1].difference.difference == pytest.approx(ppl[1] - ppl[0])


def test_rows_above_temperature_are_compared_with_it(store, lm, model):
    """Temperature only is what locality is claimed against; below it there is nothing to claim."""
    examination = examined(store, lm, model)
    fitted = fit_parameters(examination, model, ["temperature", "bias", "linear"], Recipe())
    scored = score(examination.queries, model, rungs_of(fitted, 3))
    rows = table(scored, examination.sample, examination.subjects, group="project", seed=0).rows
    row = {row.name: row for row in rows}
    assert [row[name].over_temperature for name in ("lm", "knn", "temperature")] == [None] * 3
    assert row["bias"].over_temperature == row["bias"].difference
    expected = row["linear"].measures["ppl"] - row["temperature"].measures["ppl"]
    told = row["linear"].to_dict()["over_temperature"]
    assert told["difference"] == pytest.approx(expected)
    assert told["interval"] == list(row["linear"].over_temperature.interval)
    low, high = told["interval"]
    assert str(row["linear"].over_temperature) == (
        f"{told['difference']:+.4f} [{low:+.4f}, {high:+.4f}]"
    )


def test_groups_decide_the_macro_average(store, lm, model):
    """The macro average goes by the attribute asked for; with one group it is the micro one."""
    examination = examined(store, lm, model)
    rungs = rungs_of(None, 3)
    scored = score(examination.queries, model, rungs)
    by_project, by_none = (
        table(scored, examination.sample, examination.subjects, group=g, seed=0).rows[0].measures
        for g in ("project", "nothing")
    )
    assert by_none["ppl_macro"] == pytest.approx(by_none["ppl"])
    losses = {"kettle": [], "lantern": []}
    for subject, log_p in zip(examination.sample.subject, scored.rungs["lm"].log_p, strict=True):
        losses[examination.subjects[subject].group("project")].append(-log_p)
    expected = np.mean([np.exp(np.mean(values)) for values in losses.values()])
    assert by_project["ppl_macro"] == pytest.approx(expected, rel=1e-4)
    assert by_project["ppl_macro"] != pytest.approx(by_project["ppl"], rel=1e-3)


def test_rungs_are_listed_in_the_ladders_order(store, lm, model):
    """The base model, the published kNN-LM, then those fitted and wanted."""
    fitted = fit_parameters(examined(store, lm, model), model, ["linear", "bias"], Recipe())
    assert list(rungs_of(fitted, 3)) == ["lm", "knn", "bias", "linear"]
    assert list(rungs_of(fitted, 3, ["linear", "mlp"])) == ["lm", "knn", "linear"]
    assert rungs_of(fitted, 3)["linear"] is fitted.rungs["linear"]
    assert rungs_of(None, 3)["lm"] is None
    assert rungs_of(None, 3)["knn"].lam == 0.25


def test_what_was_fitted_on_is_not_measured_on(store, lm, model):
    """Documents that parameters were fitted on are refused by name, others are taken."""
    fitted = fit_parameters(examined(store, lm, model, "kettle/app/*"), model, ["bias"], Recipe())
    examined(store, lm, model, "lantern/*").refuse_fitted(fitted.fitted_on)
    examined(store, lm, model).refuse_fitted(frozenset())
    with pytest.raises(EvaluationError) as caught:
        examined(store, lm, model).refuse_fitted(fitted.fitted_on)
    message = str(caught.value)
    assert "on 2 of these documents (kettle/app/boil.py, kettle/app/pour.py)." in message
    assert "--allow-fitted" in message
    everything = examined(store, lm, model).content_hashes
    with pytest.raises(EvaluationError, match=r"on 4 of .*boil.py, .*pour.py, .*heat.py, \.\.\.\)"):
        examined(store, lm, model).refuse_fitted(everything)


def test_a_copy_of_a_fitted_document_is_refused_too(store, lm, model, documents):
    """What counts is the content, not where it lies."""
    fitted_on = frozenset([documents[0].content_hash])
    copy = type(documents[0])("x/y.py", documents[0].text, documents[0].spans, "python")
    subjects = corpus_subjects([copy], store.snapshot(), lm)
    with pytest.raises(EvaluationError, match=r"\(x/y\.py\)"):
        Examination.from_subjects(subjects, model, size=5, seed=0).refuse_fitted(fitted_on)


def test_only_documents_with_positions_count(store, lm, model):
    """A document of which nothing was drawn is none that was fitted on."""
    subjects: list[Subject] = stored_subjects(store.snapshot(), lm)
    one = Examination.from_subjects(subjects, model, size=1, seed=0)
    assert len(one.content_hashes) == 1
    drawn = subjects[int(one.sample.subject[0])]
    assert one.content_hashes == {drawn.content_hash}
