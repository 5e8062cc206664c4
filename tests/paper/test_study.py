"""A whole experiment on a few pages: complete, repeatable, and interrupted at any point."""

import math
from dataclasses import replace

import numpy as np
import pytest

from vicinal.analysis import numbers
from vicinal.errors import EvaluationError
from vicinal.evaluation import FITTED, observe
from vicinal.index import ExactIndex
from vicinal.paper import (
    Encyclopedia,
    How,
    Plan,
    Watch,
    approximations,
    java,
    read_whole,
    study,
    tables,
    wikitext,
)
from vicinal.paper.approximations import CertainIsLost, DroppingIndex
from vicinal.paper.fitting import OURS, PAPER
from vicinal.paper.scene import facts


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Train quantizers on few keys."""
    monkeypatch.setattr(approximations, "TRAINED_ON", 100)


def texts(findings) -> dict[str, str]:
    """Write all tables and the numbers of all figures."""
    found = {}
    for table in tables(findings):
        found[f"{table.name}.csv"] = table.to_csv()
        found[f"{table.name}.md"] = table.to_markdown()
        found[f"{table.name}.tex"] = table.to_latex()
    for name, curves in (("figure2", findings.raw), ("figure3", findings.calibrated)):
        found[name] = numbers(name, curves, "").to_csv()
    return found


@pytest.fixture(scope="module")
def expected(java_findings):
    return texts(java_findings)


def test_findings_are_complete(java_findings, plan):
    """Both splits, both recipes, every seed and rung; curves, cases, odds and departures."""
    found = java_findings
    assert set(found.facts) == {"valid", "test"}
    keys = [(recipe, seed) for recipe in (PAPER, OURS) for seed in range(plan.seeds)]
    assert list(found.ladders.dev) == list(found.ladders.test) == keys
    assert [(fit.recipe, fit.seed) for fit in found.ladders.fits] == keys
    for result in (*found.ladders.dev.values(), *found.ladders.test.values()):
        assert [row.name for row in result.rows] == ["lm", "knn", *FITTED]
    sizes = [
        {r.positions for r in part.values()} for part in (found.ladders.dev, found.ladders.test)
    ]
    assert 2 * plan.sample <= min(sizes[0]) < 2 * plan.sample + 10
    assert plan.sample <= min(sizes[1]) < plan.sample + 10
    for curves in (found.raw, found.calibrated):
        for several in (curves.by_rank, curves.by_distance, curves.distance_by_rank):
            assert [curve.level for curve in several] == ["not local", "project", "directory"]
            assert sum(len(curve.x) for curve in several)
    assert max(found.raw.by_rank[0].x) <= plan.how.k
    assert set(found.odds) == {"all", "hard"}
    assert [odds.level for odds in found.odds["all"]] == ["project", "directory"]
    assert found.moved.n_covered > found.moved.n_helped + found.moved.n_hurt > 0
    assert all(len(cases) <= plan.cases for cases in found.moved.kinds.values())
    assert found.base
    assert len(found.effects) == 12
    assert found.whole is None


def test_calibration_moves_figure_3_alone(java_findings):
    """The figure as found is of the distances, the other of the first seed's lines."""
    raw, calibrated = java_findings.raw, java_findings.calibrated
    assert all((curve.y <= 0).all() for curve in raw.distance_by_rank)
    lines = java_findings.ladders.parameters(PAPER)[0].rungs["linear"].calibration
    assert lines.biases[1:].abs().max() > 0.1
    pairs = zip(raw.distance_by_rank, calibrated.distance_by_rank, strict=True)
    assert any(not np.array_equal(one.y, other.y) for one, other in pairs)


def test_hard_positions_are_those_the_base_model_finds_hard(java_findings, java_material, plan):
    """The fake model gives every gold token less than a tenth: all positions are hard."""
    scene = java_material.scene("test", plan)
    model = scene.model()
    seen = observe(scene.examine(model, plan.sample, plan.seed + 1).queries, model)
    assert seen.log_p_lm.max() < math.log(0.1)
    assert list(map(str, java_findings.odds["hard"])) == list(map(str, java_findings.odds["all"]))


def test_nothing_of_the_test_split_is_fitted_on(java_findings, java_material):
    """Parameters come from documents of the other split, all of which are named."""
    hashes = java_material.store.content_hashes()
    by_split = {
        split: {value for name, value in hashes.items() if name.startswith(f"{split}/")}
        for split in ("valid", "test")
    }
    for fit in java_findings.ladders.fits:
        assert fit.parameters.fitted_on
        assert fit.parameters.fitted_on <= by_split["valid"]
        assert not fit.parameters.fitted_on & by_split["test"]


def test_an_article_in_both_splits_stops_the_study(encyclopedia, lm, material_of, tmp_path):
    """What was fitted on is never measured on, not even under another name."""
    for split in ("train", "valid", "test"):
        text = (encyclopedia.data / "wiki.valid.tokens").read_text("utf-8")
        (tmp_path / f"wiki.{split}.tokens").write_text(text, "utf-8")
    protocol = wikitext(Encyclopedia(tmp_path, encyclopedia.categories))
    material = material_of(protocol, tmp_path / "out", lm)
    plan = Plan(sample=40, seeds=1, departures=0, how=How(4, "exact"))
    with pytest.raises(EvaluationError, match=r"were fitted on \d+ of these documents \(test/"):
        study(material, plan, Watch())


def test_the_same_seed_gives_the_same_bytes(java_data, lm, material_of, tmp_path, plan, expected):
    """A second run in another folder writes the same tables and figures, to the byte."""
    again = study(material_of(java(java_data), tmp_path, lm), plan, Watch())
    assert texts(again) == expected


def test_another_seed_gives_other_numbers(java_material, plan, expected):
    """What is random is drawn by the seed."""
    other = texts(study(java_material, replace(plan, seed=7, seeds=1, departures=0), Watch()))
    for name in ("table2.csv", "table3.csv", "figure2"):
        assert other[name] != expected[name]


class UnpluggedError(Exception):
    """Someone pulled the plug."""


def stop_at(words: str) -> Watch:
    """Stop where something is said, or where the first positions of a count are done."""

    def say(told: str) -> None:
        if told == words:
            raise UnpluggedError

    class Counting:
        def __init__(self, told: str, total: int) -> None:
            self.told, self.total = told, total

        def __enter__(self):
            return lambda done: say(self.told)

        def __exit__(self, *error: object) -> None:
            return None

    return Watch(say, Counting)


def test_interrupted_anywhere_it_goes_on(java_data, lm, material_of, tmp_path, plan, expected):
    """Stopped at every kind of step and run again, a study finds what it would have found."""
    material = material_of(java(java_data), tmp_path, lm)
    points = [
        *("looking up, test", "fitting, paper, seed 1", "measuring, test"),
        *("looking at single positions", "measuring: own document"),
        "measuring: all of these together",
    ]
    for point in points:
        with pytest.raises(UnpluggedError):
            study(material, plan, stop_at(point))
    assert texts(study(material, plan, Watch())) == expected


def test_what_was_found_is_not_looked_up_or_fitted_again(
    java_material, java_findings, plan, expected, monkeypatch
):
    """A second run asks no index and fits nothing of the ladder."""

    def refuse(*arguments, **options):
        raise AssertionError("searched again")

    monkeypatch.setattr(ExactIndex, "search", refuse)
    said = []
    again = study(java_material, replace(plan, departures=0), Watch(said.append))
    assert said == ["looking at single positions"]
    told = texts(again)
    assert {name: told[name] for name in told if "claims" not in name} == {
        name: text for name, text in expected.items() if name in told and "claims" not in name
    }


def test_progress_is_counted_in_positions(java_material, java_findings, plan):
    """Every count is told its total first and comes to it; steps are said in order."""
    counted, said = {}, []

    class Counting:
        def __init__(self, words, total):
            counted[words] = [total, 0]
            self.words = words

        def __enter__(self):
            def advance(done):
                counted[self.words][1] += done

            return advance

        def __exit__(self, *error):
            return None

    study(java_material, plan, Watch(said.append, Counting))
    assert list(counted) == [
        *("looking up, valid", "looking up, test", "measuring, valid", "measuring, test")
    ]
    assert all(total == done > 0 for total, done in counted.values())
    assert said[0] == "looking at single positions"
    assert said[1] == "measuring departures: ours first"


def test_an_encyclopedia_has_four_levels(wiki_findings):
    """Category, section and both; some sections have neither, and departures were left out."""
    names = wiki_findings.schema.level_names
    assert names == ("not local", "categories", "section", "categories & section")
    assert wiki_findings.base is None
    assert not wiki_findings.effects
    assert wiki_findings.facts["test"].known == {"categories": 0.8, "section": 0.75}
    made = [table.name for table in tables(wiki_findings)]
    assert "departures" not in made
    assert len(wiki_findings.ladders.fits) == 2


def test_whole_articles_are_one_more_ladder(
    wiki_findings, encyclopedia, lm, material_of, tmp_path, plan
):
    """The same text with articles as documents: one seed, both recipes, a row for each rung."""
    protocol = wikitext(encyclopedia, unit="article")
    material = material_of(protocol, tmp_path, lm)
    whole = read_whole(material, plan, Watch())
    assert whole.facts["test"].documents == 5
    assert set(whole.results) == {PAPER, OURS}
    assert [row.name for row in whole.results[OURS].rows] == ["lm", "knn", *FITTED]
    found = replace(wiki_findings, whole=whole)
    by_name = {table.name: table for table in tables(found)}
    assert "5 articles" in by_name["articles"].note
    assert len(by_name["articles"].rows) == 6
    # What the released code did to sections is not done to articles.
    again = read_whole(material, replace(plan, as_released=True), Watch())
    assert again.results == whole.results


def test_the_facts_of_sections_and_articles_agree(
    wiki_material, encyclopedia, lm, material_of, tmp_path
):
    """Both cut the same text into the same tokens."""
    whole = material_of(wikitext(encyclopedia, unit="article"), tmp_path, lm)
    one, other = (facts(m.scene("test", Plan())) for m in (wiki_material, whole))
    assert (one.tokens, one.full_tokens, one.stored) == (
        other.tokens,
        other.full_tokens,
        other.stored,
    )
    assert (one.documents, other.documents) == (20, 5)


@pytest.mark.parametrize("experiment", ["java", "wikitext"])
def test_as_released_varies_the_whole_study(request, experiment, plan):
    """With the switch both splits are as the released code had them; departures stay ours."""
    name = {"java": "java", "wikitext": "wiki"}[experiment]
    material = request.getfixturevalue(f"{name}_material")
    ours = request.getfixturevalue(f"{name}_findings")
    small = replace(plan, as_released=True, seeds=1)
    for split in ("valid", "test"):
        scene = material.scene(split, small)
        assert isinstance(scene.lm, CertainIsLost)
        assert isinstance(scene.search(scene.snapshot), DroppingIndex)
    found = study(material, replace(small, departures=100 * (experiment == "java")), Watch())
    before, after = (f.ladders.results(PAPER, "test")[0] for f in (ours, found))
    assert before.rows[0].measures["ppl"] != after.rows[0].measures["ppl"]
    if experiment == "java":
        assert found.base.result == ours.base.result
        assert [e.measured and e.measured.result for e in found.effects] == [
            e.measured and e.measured.result for e in ours.effects
        ]
    else:
        # Two sections of each article carry the title of another, the last is lost.
        assert found.facts["test"].documents == 15
        assert found.facts["test"].known == {"categories": 1.0, "section": 1.0}


@pytest.mark.parametrize(
    ("name", "value"), [("sample", 0), ("seeds", 0), ("cases", 0), ("departures", -1)]
)
def test_a_plan_of_nothing_is_refused(name, value):
    """What cannot be done is said before anything is."""
    with pytest.raises(EvaluationError, match=rf"at least 1.*{value}"):
        Plan(**{name: value})


def test_a_plan_is_the_papers_by_default():
    """1,024 neighbors, and five seeds of everything random."""
    plan = Plan()
    assert (plan.how.k, plan.seeds, plan.as_released) == (1024, 5, False)
