"""Tables of findings made by hand: every number is one of the results', every verdict follows."""

from dataclasses import replace
from statistics import fmean, stdev

import numpy as np
import pytest
import torch

from vicinal.analysis import Curve, Curves, Movements, Number, Odds, Table
from vicinal.evaluation import MEASURES, Difference, Result, Row
from vicinal.knnlm import Mixture, Parameters
from vicinal.locality import LevelCalibration, load_domain
from vicinal.paper import Baseline, Findings, tables
from vicinal.paper.departures import Departure
from vicinal.paper.effects import Effect, Measured
from vicinal.paper.fitting import OURS, PAPER, Fit
from vicinal.paper.scene import Facts
from vicinal.paper.study import Ladders, Whole

SCHEMA = load_domain("code").schema
FITTED = ("temperature", "bias", "linear", "mlp", "adaptive")
RUNGS = ("lm", "knn", *FITTED)
FULL = "ppl_full_token"
NAMES = {
    "lm": "base LM",
    "knn": "+ kNN (T = 1, λ = .25)",
    "temperature": "+ kNN, temperature only",
    "linear": "+ kNN + locality (direct)",
    "adaptive": "+ kNN + locality, λ by position",
}
WORSE, BETTER, OPEN = (0.1, 0.3), (-0.3, -0.1), (-0.1, 0.2)


def measures(seed: int, rung: str) -> dict[str, float]:
    """Make up a number for every measure; what is not fitted does not vary with the seed."""
    n, shake = RUNGS.index(rung), seed * 0.01 if rung in FITTED else 0.0
    found = {}
    for i, measure in enumerate(MEASURES):
        is_ppl = measure.name.startswith("ppl")
        found[measure.name] = 9.0 + i - n + shake if is_ppl else 0.05 * i + 0.03 * n + shake / 10
    return found


def result(recipe: str, seed: int, split: str, interval=OPEN, mlp=OPEN, rungs=RUNGS) -> Result:
    """Make a table of rungs; dev is a little better, ours too."""
    rows = []
    for rung in rungs:
        told = measures(seed, rung)
        shift = (0.5 if split == "valid" else 0.0) + (0.25 if recipe == OURS else 0.0)
        if rung in FITTED or split == "valid":
            told = {k: v - shift if k.startswith("ppl") else v for k, v in told.items()}
        change = Difference(sum(mlp) / 2, mlp) if rung == "mlp" else Difference(-0.5, (-1.0, -0.2))
        over = (
            Difference(sum(interval) / 2, interval)
            if rung in ("bias", "linear", "mlp", "adaptive")
            else None
        )
        rows.append(Row(rung, told, None if rung == "lm" else change, over))
    return Result(tuple(rows), 1234, 56)


def parameters(recipe: str, seed: int, rungs=FITTED) -> Parameters:
    """Make up lines that vary with the seed."""
    lines = {
        rung: LevelCalibration(
            torch.tensor([0.5, 0.25, 1.0]) + 0.125 * seed,
            torch.tensor([0.0, -1.0 - seed, -2.0]),
        )
        for rung in rungs
    }
    lam = 0.25 if recipe == PAPER else 0.5 + 0.125 * seed
    return Parameters("f", SCHEMA, 8, {rung: Mixture(line, lam) for rung, line in lines.items()})


def ladders(n_seeds: int = 3, **intervals) -> Ladders:
    pairs = [(recipe, seed) for recipe in (PAPER, OURS) for seed in range(n_seeds)]
    return Ladders(
        [Fit(recipe, seed, parameters(recipe, seed)) for recipe, seed in pairs],
        {(r, s): result(r, s, "valid", **intervals) for r, s in pairs},
        {(r, s): result(r, s, "test", **intervals) for r, s in pairs},
    )


def curve(level: str, points: dict[float, tuple[float, int]]) -> Curve:
    x, told = np.array(list(points), np.float64), list(points.values())
    y, count = np.array([t[0] for t in told], np.float64), np.array([t[1] for t in told], np.int64)
    return Curve(level, x, y, y - 0.1, y + 0.1, count)


def findings(**changes) -> Findings:
    """Make up all that a report tells, of which some things may be given."""
    none = curve("not local", {1.0: (0.5, 100), 2.0: (0.4, 100), 3.0: (0.3, 100)})
    project = curve("project", {1.0: (0.6, 30), 2.0: (0.3, 10), 4.0: (0.9, 99)})
    several = (none, project)
    raw = Curves(several, several, several)
    odds = (Odds("project", 1.5, (1.2, 1.9), 321),)
    facts = Facts(12, 3456, 2345, 7890, {"project": 1.0, "directory": 0.5})
    moved = Movements((), (), (), 7, 5, 90)
    made = Findings(
        SCHEMA,
        {"valid": facts, "test": facts},
        ladders(),
        raw,
        {"all": odds, "hard": ()},
        raw,
        moved,
        None,
        (),
    )
    return replace(made, **changes)


def table(name: str, found: Findings, *baselines: Baseline) -> Table:
    return {t.name: t for t in tables(found, baselines)}[name]


def column(made: Table, name: str, nth: int = 0) -> list[str]:
    places = [i for i, title in enumerate(made.columns) if title == name]
    return [row[places[nth]] for row in made.cells]


def spread(values: list[float], digits: int, unit: str = "") -> str:
    if len(set(values)) == 1:
        return f"{values[0]:.{digits}f}{unit}"
    return f"{fmean(values):.{digits}f} ± {stdev(values):.{digits}f}{unit}"


def chain() -> list[tuple[str, str]]:
    papers = [(PAPER, rung) for rung in ("lm", "knn", "temperature", "linear")]
    return [*papers, (OURS, "temperature"), (OURS, "linear"), (OURS, "adaptive")]


def values(found: Ladders, recipe: str, split: str, rung: str, name: str) -> list[float]:
    several = found.results(recipe, split)
    return [row.measures[name] for r in several for row in r.rows if row.name == rung]


def test_every_table_of_the_paper_is_there():
    """The tables come in the paper's order, each once, the claims last; the lost ablation too."""
    names = [t.name for t in tables(findings())]
    assert names == [
        *("levels", "data", "table2", "table2-more", "table3", "cases"),
        *("table5", "table7", "table8", "claims"),
    ]
    assert all(len(set(map(len, [t.columns, *t.rows]))) == 1 for t in tables(findings()))


@pytest.mark.parametrize("name", ["table2", "table2-more", "table5"])
def test_temperature_only_is_always_among_the_rows(name):
    """Whatever is claimed of locality stands below temperature only, for both recipes."""
    labels = table(name, findings()).cells
    labels = [row[0] for row in labels]
    for mark in ("", "beyond the paper: "):
        first = labels.index(mark + NAMES["temperature"])
        assert first < labels.index(mark + NAMES["linear"])
    assert labels[0] == NAMES["lm"]
    assert labels[1] == NAMES["knn"]


def test_the_numbers_of_table_2_are_the_results():
    """Perplexities and accuracies are those of the seeds; the paper's rows come first."""
    found = findings()
    made = table("table2", found)
    marks = {PAPER: "", OURS: "beyond the paper: "}
    assert column(made, "model") == [marks[recipe] + NAMES[rung] for recipe, rung in chain()]
    for i, (recipe, rung) in enumerate(chain()):
        dev = values(found.ladders, recipe, "valid", rung, FULL)
        test = values(found.ladders, recipe, "test", rung, FULL)
        assert column(made, "dev PPL")[i] == spread(dev, 3)
        assert column(made, "test PPL")[i] == spread(test, 3)
        for top in (1, 5):
            shares = values(found.ladders, recipe, "test", rung, f"top{top}_full_token")
            expected = spread([100 * share for share in shares], 2, "%")
            assert column(made, f"top-{top}")[i] == expected
    assert "1,234 test positions of 56 documents" in made.note
    assert "over 3 seeds" in made.note


def test_gains_are_against_what_they_say():
    """Of + kNN against the base LM, of all below against + kNN; the base LM has none."""
    found = findings()
    made = table("table2", found)
    for i, (recipe, rung) in enumerate(chain()):
        if rung == "lm":
            cells = (made.cells[i][n] for n in (3, 5, 7))
            assert list(cells) == [""] * 3
            continue
        before = "lm" if rung == "knn" else "knn"

        def mean(name, which, recipe=recipe):
            return fmean(values(found.ladders, recipe, "test", which, name))

        gain = 1 - mean(FULL, rung) / mean(FULL, before)
        assert column(made, "rel. gain")[i] == f"{100 * gain:+.2f}%"
        for nth, top in enumerate(("top1_full_token", "top5_full_token")):
            errors = 1 - mean(top, before)
            expected = (mean(top, rung) - mean(top, before)) / errors
            assert column(made, "RER", nth)[i] == f"{100 * expected:+.2f}%"


def test_what_locality_adds_stands_with_its_interval():
    """The last column is the first seed's change over temperature only."""
    made = table("table2", findings(ladders=ladders(interval=BETTER)))
    told = column(made, "Δ over temperature")
    change = "-0.2000 [-0.3000, -0.1000]"
    assert told == ["", "", "", change, "", change, change]


def test_one_seed_has_no_spread():
    """With a single seed nothing is said of a deviation."""
    made = tables(findings(ladders=ladders(1)))
    assert not [cell for t in made for row in t.cells for cell in row if "±" in cell]
    assert "over 1 seeds" in next(t for t in made if t.name == "table2").note


def test_an_error_of_zero_cannot_be_reduced():
    """Where everything was right before, no reduction is told."""
    one = ladders(1)
    perfect = {
        key: replace(
            found,
            rows=tuple(
                replace(row, measures={**row.measures, "top1_full_token": 1.0})
                for row in found.rows
            ),
        )
        for key, found in one.test.items()
    }
    made = table("table2", findings(ladders=replace(one, test=perfect)))
    assert column(made, "RER") == [""] * 7
    assert column(made, "top-1") == ["100.00%"] * 7


def test_baselines_stand_first():
    """Another model's row has its name and its perplexity on the test split."""
    told = {measure.name: 0.5 for measure in MEASURES} | {FULL: 77.125}
    made = table("table2", findings(), Baseline("recurrent", told), Baseline("plain", told))
    assert column(made, "model")[:3] == ["recurrent", "plain", NAMES["lm"]]
    assert made.cells[0][1:4] == ["", "77.125", ""]


def test_more_results_have_every_calibration():
    """Every rung that was fitted is a row, with measures by every denominator."""
    found = findings()
    made = table("table2-more", found)
    assert len(made.rows) == 2 + 4 + 5
    names = ("ppl", FULL, "ppl_byte", "ppl_macro", "top1", "top5", "coverage", "helped", "hurt")
    rows = [*((PAPER, r) for r in RUNGS[:-1]), *((OURS, r) for r in FITTED)]
    for (recipe, rung), cells in zip(rows, made.cells, strict=True):
        for name, cell in zip(names, cells[1:], strict=False):
            told = values(found.ladders, recipe, "test", rung, name)
            is_ppl = name.startswith("ppl")
            scaled = told if is_ppl else [100 * value for value in told]
            assert cell == spread(scaled, 3 if is_ppl else 2, "" if is_ppl else "%"), name


def test_accuracies_at_10_and_20():
    """Table 5 has both, with their reductions of error."""
    found = findings()
    made = table("table5", found)
    for i, (recipe, rung) in enumerate(chain()):
        for top in (10, 20):
            shares = values(found.ladders, recipe, "test", rung, f"top{top}_full_token")
            expected = spread([100 * share for share in shares], 2, "%")
            assert column(made, f"top-{top}")[i] == expected


def test_the_network_is_compared_with_the_lines():
    """Table 7 has the published kNN-LM once, and for each recipe the MLP and the direct lines."""
    made = table("table7", findings(ladders=ladders(mlp=WORSE)))
    mlp, beyond = "+ kNN + locality (MLP contextualized)", "beyond the paper: "
    assert column(made, "model") == [
        *(NAMES["knn"], mlp, NAMES["linear"]),
        *(beyond + mlp, beyond + NAMES["linear"]),
    ]
    change = "+0.2000 [+0.1000, +0.3000]"
    assert column(made, "Δ over direct") == ["", change, "", change, ""]


@pytest.mark.parametrize("name", ["table3", "table8"])
def test_parameters_are_told_for_each_level(name):
    """Means and deviations over seeds; the bias of level 0 is none."""
    made = table(name, findings())
    assert column(made, "level") == ["g0 not local", "g1 project", "g2 directory"] * 2
    w = [[start + 0.125 * seed for seed in range(3)] for start in (0.5, 0.25, 1.0)]
    assert column(made, "w") == [spread(several, 4) for several in w] * 2
    b = ["--", f"{-2:.3f} ± {1:.3f}", f"{-2:.3f} ± {0:.3f}"]
    assert column(made, "b") == b * 2
    assert column(made, "λ") == ["0.250 ± 0.000"] * 3 + [spread([0.5, 0.625, 0.75], 3)] * 3
    assert ("weights above level 0 fixed to 1" in made.title) == (name == "table8")


def test_table_8_is_of_the_biases_alone():
    """Tables 3 and 8 take their own rungs."""
    found = ladders(1)
    fits = [
        Fit(f.recipe, f.seed, replace(f.parameters, rungs={
            **f.parameters.rungs,
            "bias": Mixture(LevelCalibration(torch.ones(3), torch.tensor([0.0, 7.0, 8.0])), 0.5),
        }))
        for f in found.fits
    ]  # fmt: skip
    made = findings(ladders=replace(found, fits=fits))
    assert column(table("table8", made), "b") == ["--", "7.000", "8.000"] * 2
    assert column(table("table3", made), "b") == ["--", "-1.000", "-2.000"] * 2


def test_what_was_read_is_counted():
    """A row for each split, with how often each attribute is known."""
    made = table("data", findings())
    assert made.cells == [
        [split, "12", "3456", "2345", "7890", "100.0%", "50.0%"] for split in ("valid", "test")
    ]
    assert made.columns[-2:] == ("project known", "directory known")


def test_whole_articles_stand_beside_sections():
    """Article by article, each rung's perplexity and how it changes, base and kNN once."""
    kinds = ("lm", "knn", "temperature", "linear")
    section = findings(ladders=ladders(1))
    halved = {
        recipe: replace(
            found := result(recipe, 0, "test", rungs=kinds),
            rows=tuple(
                replace(row, measures={k: v / 2 for k, v in row.measures.items()})
                for row in found.rows
            ),
        )
        for recipe in (PAPER, OURS)
    }
    facts = Facts(60, 1, 1, 1, {})
    made = table("articles", replace(section, whole=Whole({"test": facts}, halved)))
    assert [row[0] for row in made.rows] == [
        *(NAMES[kind] for kind in kinds),
        *("beyond the paper: " + NAMES[kind] for kind in kinds[2:]),
    ]
    assert [row[-1] for row in made.cells] == ["-50.0%"] * 6
    sections = [row[1] for row in made.cells]
    rungs = [pair for pair in chain() if pair[1] != "adaptive"]
    expected = [values(section.ladders, recipe, "test", rung, FULL)[0] for recipe, rung in rungs]
    assert sections == [f"{value:.3f}" for value in expected]
    assert "60 articles" in made.note


def measured(ppl: dict[str, float]) -> Measured:
    rows = [Row(name, measures(0, name) | {FULL: value}, None) for name, value in ppl.items()]
    return Measured(Result(tuple(rows), 99, 9), parameters(PAPER, 0))


def test_departures_are_told_with_their_effect():
    """What was measured stands in numbers against ours, what was not in words."""
    base = measured({"lm": 20.0, "temperature": 10.0, "linear": 9.0})
    other = measured({"lm": 30.0, "temperature": 10.0, "linear": 9.9})
    effects = [
        Effect(Departure("one", "p", "r", "o"), other),
        Effect(Departure("two", "p2", "r2", "o2"), words="at 3 % of the positions"),
    ]
    made = table("departures", findings(base=base, effects=effects))
    ours, one, two = made.cells
    assert ours[:7] == ["ours, for comparison", "", "", "", "9.000", "20.000", "+10.00%"]
    assert one[:4] == ["one", "p", "r", "o"]
    assert one[4:7] == ["9.900 (+10.00%)", "30.000 (+50.00%)", "+1.00%"]
    tops = [100 * base.measure("lm", f"top{n}_full_token") for n in (1, 5, 20)]
    assert ours[7] == f"top-1, 5, 20: {tops[0]:.2f}%, {tops[1]:.2f}%, {tops[2]:.2f}%"
    assert two == ["two", "p2", "r2", "o2", "", "", "", "at 3 % of the positions"]
    assert "99 test positions" in made.note
    without = [t.name for t in tables(findings(base=None, effects=()))]
    assert "departures" not in without


def claims(found: Findings) -> dict[str, str]:
    return dict(row for row in table("claims", found).rows)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        (BETTER, "yes"),
        (WORSE, "no, it is worse"),
        (OPEN, "not decided"),
        ((-0.2, 0.0), "not decided"),
        ((0.0, 0.2), "not decided"),
    ],
)
def test_the_gain_survives_if_its_interval_says_so(interval, verdict):
    """Only an interval below zero is a yes, and only one above it a no."""
    told = claims(findings(ladders=ladders(interval=interval)))
    change = str(Difference(sum(interval) / 2, interval))
    expected = f"{verdict}, Δ PPL {change}"
    assert told["(c) the gain survives temperature tuning"] == (
        f"paper: {expected}; ours: {expected}"
    )


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [(BETTER, "it is better"), (WORSE, "it is worse"), (OPEN, "no difference")],
)
def test_the_network_is_no_better_if_its_interval_says_so(interval, verdict):
    """The verdict is of the MLP against the lines, not against temperature."""
    told = claims(findings(ladders=ladders(mlp=interval, interval=BETTER)))
    assert told["(d) an MLP is no better than direct lines"].count(f": {verdict}, Δ PPL") == 2


def test_the_signs_of_b_are_those_found():
    """Every level above 0 is told with its mean over seeds, for both recipes."""
    told = claims(findings())["(b) local levels get a negative b"]
    assert told == "; ".join(
        f"{recipe}, {level}"
        for recipe in (PAPER, OURS)
        for level in ("project: -2.00 ± 1.00", "directory: -2.00 ± 0.00")
    )


def test_levels_are_compared_in_the_bins_they_share():
    """Of the bins that both have, those where the level is more accurate, and their neighbors."""
    told = claims(findings())
    expected = "project: more accurate in 1 of 2 bins (which hold 75% of its neighbors)"
    assert told["(a) locality is informative at equal rank"] == expected
    assert told["(a) locality is informative at equal distance"] == expected


def test_bins_are_the_same_whatever_a_sum_rounds_to():
    """A bin whose bound came out of a mean differs in its last digit, and is still the bin."""
    bounds = {0.1 * n: (0.5, 40) for n in range(1, 30)}
    off = {x * (1 + 1e-15 * (-1) ** i): (0.6, 40) for i, x in enumerate(bounds)}
    several = (curve("not local", bounds), curve("project", off))
    found = findings(raw=Curves(several, several, several))
    assert (
        "more accurate in 29 of 29 bins"
        in claims(found)["(a) locality is informative at equal distance"]
    )


def test_no_neighbors_no_claim():
    """Where nothing was retrieved, that is said; odds are told as they were found."""
    told = claims(findings(raw=Curves((), (), ())))
    assert told["(a) locality is informative at equal rank"] == "nothing was retrieved"
    odds = [text for claim, text in told.items() if "odds" in claim or "less than" in claim]
    assert odds == ["project: 1.50 [1.20, 1.90] over 321 strata", "nothing was retrieved"]


def test_numbers_know_what_they_are():
    """Columns of numbers alone are set to the right; made-up results are no exception."""
    made = table("data", findings())
    assert [made.numeric(i) for i in range(len(made.columns))] == [False] + [True] * 6
    assert isinstance(made.rows[0][1], Number)
