"""
The findings of a study as the paper's tables, and as answers to its claims.

One function a table, named as in the paper where it has one. A number that varies with the seed
is a mean with its standard deviation. Knows nothing of files.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev

from vicinal.analysis import Cell, Curve, Number, Table, levels_table, movements_table
from vicinal.evaluation import Result, Row
from vicinal.knnlm import Parameters
from vicinal.paper.baselines import Baseline
from vicinal.paper.effects import Measured
from vicinal.paper.fitting import OURS, PAPER
from vicinal.paper.protocol import TEST, VALID
from vicinal.paper.study import Findings, Ladders, Whole

FULL = "ppl_full_token"
NAMES = {
    "lm": "base LM",
    "knn": "+ kNN (T = 1, λ = .25)",
    "temperature": "+ kNN, temperature only",
    "bias": "+ kNN, biases, weights fixed to 1",
    "linear": "+ kNN + locality (direct)",
    "mlp": "+ kNN + locality (MLP contextualized)",
    "adaptive": "+ kNN + locality, λ by position",
}
BEYOND = "beyond the paper: "
PAPERS = ("temperature", "bias", "linear", "mlp")
Measure = Callable[[Row], float]


def tables(findings: Findings, baselines: Sequence[Baseline] = ()) -> list[Table]:
    """Make every table of the report, in the paper's order."""
    ladders = findings.ladders
    names = findings.schema.level_names
    attributes = [attribute.name for attribute in findings.schema.attributes]
    made = [
        levels_table(findings.schema),
        data_table(findings),
        results_table(ladders, baselines),
        more_results_table(ladders),
        parameters_table("table3", "linear", ladders, names),
        movements_table(findings.moved, attributes),
        accuracy_table(ladders),
        mlp_table(ladders),
        parameters_table("table8", "bias", ladders, names),
    ]
    if findings.whole:
        made.append(whole_table(findings.whole, ladders))
    if findings.effects and findings.base:
        made.append(departures_table(findings))
    return [*made, claims_table(findings)]


def results_table(ladders: Ladders, baselines: Sequence[Baseline] = ()) -> Table:
    """Compare perplexities and accuracies (Table 2), temperature only always among the rows."""
    rows: list[Sequence[Cell]] = [
        (b.name, None, Number(b.measures[FULL]), *(None,) * 6) for b in baselines
    ]
    for recipe, rung in _chain(ladders):
        dev, test = (_rows(ladders, recipe, split, rung) for split in (VALID, TEST))
        before = _rows(ladders, recipe, TEST, "lm" if rung == "knn" else "knn")
        label = (BEYOND if recipe == OURS else "") + NAMES[rung]
        cells: list[Cell] = [label, _spread(dev, _of(FULL)), _spread(test, _of(FULL))]
        cells.append(None if rung == "lm" else _gain(before, test, FULL))
        for top in ("top1_full_token", "top5_full_token"):
            cells.append(_spread(test, _of(top), percent=True))
            cells.append(None if rung == "lm" else _reduction(before, test, top))
        over = test[0].over_temperature
        rows.append((*cells, str(over) if over else None))
    n = ladders.results(PAPER, TEST)[0]
    note = (
        f"PPL per full token: the log-probabilities of its subtokens are added up; "
        f"{n.positions:,} test positions of {n.documents:,} documents. Dev is what was fitted on. "
        "A full token is right only if all its subtokens are, given the gold prefix. Rel. gain "
        "and RER (relative error reduction): of + kNN against the base LM, of all below against "
        f"+ kNN. Mean ± standard deviation over {len(ladders.results(PAPER, TEST))} seeds where "
        "anything is random. Last column: change of PPL per model token against temperature only, "
        "with the middle 95 % of a paired bootstrap over documents (first seed). Rows without a "
        "mark are fitted as in the paper (p_kNN, λ = .25), the others on the mixture, λ included."
    )
    columns = ("model", "dev PPL", "test PPL", "rel. gain", "top-1", "RER", "top-5", "RER")
    title = "Perplexity and token prediction accuracy (Table 2)"
    return Table("table2", title, (*columns, "Δ over temperature"), rows, note)


def more_results_table(ladders: Ladders) -> Table:
    """Give what the paper's table leaves out: other denominators, macro, helped and hurt."""
    names = ("ppl", FULL, "ppl_byte", "ppl_macro", "top1", "top5", "coverage", "helped", "hurt")
    rows = []
    for recipe, rung in _chain(ladders, every=True):
        test = _rows(ladders, recipe, TEST, rung)
        label = (BEYOND if recipe == OURS else "") + NAMES[rung]
        shown = [_spread(test, _of(n), percent=not n.startswith("ppl")) for n in names]
        rows.append((label, *shown, str(test[0].difference) if test[0].difference else None))
    columns = ("model", "PPL token", "PPL full token", "PPL byte", "PPL macro", "top-1 token")
    more = ("top-5 token", "coverage", "helped", "hurt", "Δ to the row before")
    note = (
        "Test split. Macro: the mean over projects or articles. Coverage: positions whose gold "
        "token is among the neighbors. Helped and hurt: positions where p rose or fell against "
        "the base LM. Δ: change of PPL per model token against the calibration before it in the "
        "order of the rows' own ladder, with the middle 95 % of a paired bootstrap over documents."
    )
    title = "All calibrations, by every denominator"
    return Table("table2-more", title, (*columns, *more), rows, note)


def accuracy_table(ladders: Ladders) -> Table:
    """Compare accuracies at 10 and 20 (Table 5)."""
    rows = []
    for recipe, rung in _chain(ladders):
        test = _rows(ladders, recipe, TEST, rung)
        before = _rows(ladders, recipe, TEST, "lm" if rung == "knn" else "knn")
        cells: list[Cell] = [(BEYOND if recipe == OURS else "") + NAMES[rung]]
        for top in ("top10_full_token", "top20_full_token"):
            cells.append(_spread(test, _of(top), percent=True))
            cells.append(None if rung == "lm" else _reduction(before, test, top))
        rows.append(cells)
    columns = ("model", "top-10", "RER", "top-20", "RER")
    return Table("table5", "Accuracy at 10 and 20 (Table 5)", columns, rows, "As in Table 2.")


def mlp_table(ladders: Ladders) -> Table:
    """Compare lines that depend on the context with direct ones (Table 7)."""
    rows = []
    for recipe, rungs in ((PAPER, ("knn", "mlp", "linear")), (OURS, ("mlp", "linear"))):
        for rung in rungs:
            label = (BEYOND if recipe == OURS else "") + NAMES[rung]
            cells = [_spread(_rows(ladders, recipe, s, rung), _of(FULL)) for s in (VALID, TEST)]
            change = _rows(ladders, recipe, TEST, "mlp")[0].difference
            rows.append((label, *cells, str(change) if rung == "mlp" and change else None))
    note = (
        "PPL per full token. The network starts from the direct lines and keeps the state that "
        "does best on held-out documents of the fitted split; where no state does better, it stays "
        "what it was. Δ: change of PPL per model token, MLP against direct."
    )
    columns = ("model", "dev PPL", "test PPL", "Δ over direct")
    return Table("table7", "Contextualized parameters (Table 7)", columns, rows, note)


def parameters_table(name: str, rung: str, ladders: Ladders, levels: Sequence[str]) -> Table:
    """List what was learned for each level (Tables 3 and 8)."""
    rows: list[Sequence[Cell]] = []
    for recipe in (PAPER, OURS):
        several = ladders.parameters(recipe)
        lines = [p.rungs[rung].calibration.lines for p in several]
        for level, title in enumerate(levels):
            w = [float(line.weights[level]) for line in lines]
            b = [float(line.biases[level]) for line in lines]
            kind = "as in the paper" if recipe == PAPER else "beyond: on the mixture"
            told = _pm(w, 4), _pm(b, 3) if level else "--", _lams(several, rung)
            rows.append((kind, f"g{level} {title}", *told))
    note = "Calibrated distance g = w d + b, smaller is closer: a negative b brings a level nearer."
    title = f"Learned parameters (Table {name[-1]})" + (
        ", weights above level 0 fixed to 1" if rung == "bias" else ""
    )
    return Table(name, title, ("fitted", "level", "w", "b", "λ"), rows, note)


def data_table(findings: Findings) -> Table:
    """Count what each split has."""
    attributes = [attribute.name for attribute in findings.schema.attributes]
    rows: list[Sequence[Cell]] = [
        (
            split,
            *(Number(float(n), 0) for n in (f.documents, f.tokens, f.full_tokens, f.stored)),
            *(Number(f.known[name], 1, percent=True) for name in attributes),
        )
        for split, f in findings.facts.items()
    ]
    columns = ("split", "documents", "model tokens", "full tokens", "entries in the store")
    known = [f"{name} known" for name in attributes]
    return Table("data", "What was read", (*columns, *known), rows)


def whole_table(whole: Whole, ladders: Ladders) -> Table:
    """Compare sections as documents with whole articles as context."""
    rows: list[Sequence[Cell]] = []
    for recipe in (PAPER, OURS):
        label = BEYOND if recipe == OURS else ""
        for rung in ("lm", "knn", "temperature", "linear"):
            if recipe == OURS and rung in ("lm", "knn"):
                continue
            section = _rows(ladders, recipe, TEST, rung)[0].measures
            article = next(r for r in whole.results[recipe].rows if r.name == rung).measures
            change = Number(article[FULL] / section[FULL] - 1, 1, signed=True, percent=True)
            shown = [Number(m[n]) for m in (section, article) for n in (FULL, "ppl_byte")]
            rows.append((label + NAMES[rung], *shown, change))
    note = (
        "The same test text. By sections, each is a document without what stands before it, and "
        "the other sections of its article are in the store. By articles, the context reaches "
        "back to the article's start, each section keeps its own level, and the whole article is "
        f"left out of its own search. {whole.facts[TEST].documents:,} articles; positions are "
        "drawn anew, so the two columns are not paired."
    )
    columns = ("model", "sections: PPL", "per byte", "articles: PPL", "per byte", "change of PPL")
    return Table("articles", "Article by article", columns, rows, note)


def departures_table(findings: Findings) -> Table:
    """Say where paper, released code and vicinal differ, and what each comes to here."""
    base = findings.base
    assert base is not None
    rows: list[Sequence[Cell]] = [
        ("ours, for comparison", "", "", "", *_measured(base, None), _tops(base)),
    ]
    for effect in findings.effects:
        d, m = effect.departure, effect.measured
        numbers = (*_measured(m, base), _tops(m)) if m else (None, None, None, effect.words)
        rows.append((d.name, d.paper, d.released, d.ours, *numbers))
    note = (
        "Each row does one thing as the released code did, all else as we do; fitted and tested "
        f"anew by the paper's recipe on {base.result.positions:,} test positions. PPL per full "
        "token, with its change against our own; locality's gain is the fall from temperature "
        "only to a line for each level. Departures that change which tokens are scored (lost or "
        "cut text) change the base LM's PPL too."
    )
    columns = ("departure", "paper", "released code", "vicinal", "PPL with locality")
    more = ("PPL base LM", "gain of locality", "base LM's accuracy, or effect")
    return Table("departures", "Departures", (*columns, *more), rows, note)


def claims_table(findings: Findings) -> Table:
    """Set the paper's claims beside what was found here."""
    claims: Mapping[str, str] = {
        "(a) locality is informative at equal distance": _at_equal(findings.raw.by_distance),
        "(a) locality is informative at equal rank": _at_equal(findings.raw.by_rank),
        "(a) within one position, at equal distance: odds of being right": _odds(findings, "all"),
        "(a) the same where the base LM gives the gold token less than .1": _odds(findings, "hard"),
        "(b) local levels get a negative b": _signs(findings),
        "(c) the gain survives temperature tuning": _survives(findings),
        "(d) an MLP is no better than direct lines": _no_better(findings),
    }
    note = (
        "Verdicts follow from the numbers: an interval that has zero in it decides nothing. Over "
        "all positions, easy and hard ones are mixed, and levels are not spread alike over them; "
        "within one position they are not. The odds are against a neighbor that is not local: a "
        "ratio above 1 says that the level is informative; its interval is a bootstrap over "
        "documents."
    )
    columns = ("claim", "here")
    return Table("claims", "The paper's claims", columns, list(claims.items()), note)


def _at_equal(several: Sequence[Curve]) -> str:
    """Compare each level's accuracy with level 0's, bin by bin."""
    if not several:
        return "nothing was retrieved"
    base = _by_bin(several[0])
    told = []
    for curve in several[1:]:
        own = _by_bin(curve)
        both = [x for x in own if x in base]
        higher = [x for x in both if own[x][0] > base[x][0]]
        counted, of = (sum(own[x][1] for x in bins) for bins in (higher, both))
        share = f" (which hold {counted / of:.0%} of its neighbors)" if of else ""
        told.append(f"{curve.level}: more accurate in {len(higher)} of {len(both)} bins{share}")
    return "; ".join(told)


def _odds(findings: Findings, which: str) -> str:
    return "; ".join(map(str, findings.odds[which])) or "nothing was retrieved"


def _by_bin(curve: Curve) -> dict[float, tuple[float, int]]:
    """Give accuracy and number of neighbors of each bin of a curve."""
    columns = (curve.x.tolist(), curve.y.tolist(), curve.count.tolist())
    return {round(x, 6): (y, n) for x, y, n in zip(*columns, strict=True)}


def _signs(findings: Findings) -> str:
    told = []
    for recipe in (PAPER, OURS):
        lines = [p.rungs["linear"].calibration.lines for p in findings.ladders.parameters(recipe)]
        for level, name in enumerate(findings.schema.level_names[1:], 1):
            b = [float(line.biases[level]) for line in lines]
            told.append(f"{recipe}, {name}: {_pm(b, 2)}")
    return "; ".join(told)


def _survives(findings: Findings) -> str:
    told = []
    for recipe in (PAPER, OURS):
        row = _rows(findings.ladders, recipe, TEST, "linear")[0]
        change = row.over_temperature
        if change is None:
            continue
        low, high = change.interval
        verdict = "yes" if high < 0 else "no, it is worse" if low > 0 else "not decided"
        told.append(f"{recipe}: {verdict}, Δ PPL {change}")
    return "; ".join(told)


def _no_better(findings: Findings) -> str:
    told = []
    for recipe in (PAPER, OURS):
        change = _rows(findings.ladders, recipe, TEST, "mlp")[0].difference
        if change is None:
            continue
        low, high = change.interval
        verdict = "it is better" if high < 0 else "it is worse" if low > 0 else "no difference"
        told.append(f"{recipe}: {verdict}, Δ PPL {change}")
    return "; ".join(told)


def _chain(ladders: Ladders, *, every: bool = False) -> list[tuple[str, str]]:
    """List the rows of the main tables: the paper's chain, then what goes beyond it."""
    fitted = list(ladders.parameters(OURS)[0].rungs)
    wanted = fitted if every else [r for r in fitted if r not in ("bias", "mlp")]
    papers = [r for r in wanted if r in PAPERS]
    return [*((PAPER, r) for r in ("lm", "knn", *papers)), *((OURS, r) for r in wanted)]


def _rows(ladders: Ladders, recipe: str, split: str, rung: str) -> list[Row]:
    """Give a rung's row for every seed."""
    results: list[Result] = ladders.results(recipe, split)
    return [row for result in results for row in result.rows if row.name == rung]


def _of(name: str) -> Measure:
    return lambda row: row.measures[name]


def _spread(rows: Sequence[Row], measure: Measure, *, percent: bool = False) -> Cell:
    """Write a mean with its standard deviation; one number where the seeds agree."""
    values = [measure(row) for row in rows]
    if len(set(values)) == 1:
        return Number(values[0], 2 if percent else 3, percent=percent)
    scaled = [100 * value for value in values] if percent else values
    return _pm(scaled, 2 if percent else 3) + ("%" if percent else "")


def _pm(values: Sequence[float], digits: int) -> str:
    spread = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{fmean(values):.{digits}f}{spread}"


def _gain(before: Sequence[Row], after: Sequence[Row], name: str) -> Cell:
    old, new = (fmean(row.measures[name] for row in rows) for rows in (before, after))
    return Number(1 - new / old, 2, signed=True, percent=True)


def _reduction(before: Sequence[Row], after: Sequence[Row], name: str) -> Cell:
    old, new = (fmean(row.measures[name] for row in rows) for rows in (before, after))
    return Number((new - old) / (1 - old), 2, signed=True, percent=True) if old < 1 else None


def _lams(parameters: Sequence[Parameters], rung: str) -> str:
    return _pm([p.rungs[rung].lam for p in parameters], 3)


def _measured(measured: Measured, base: Measured | None) -> tuple[Cell, Cell, Cell]:
    """Give the PPL of the lines and of the base model, with their change, and locality's gain."""
    told: list[Cell] = []
    for rung in ("linear", "lm"):
        change = f" ({measured.ppl(rung) / base.ppl(rung) - 1:+.2%})" if base else ""
        told.append(f"{measured.ppl(rung):.3f}{change}")
    return told[0], told[1], Number(measured.locality, 2, signed=True, percent=True)


def _tops(measured: Measured) -> str:
    tops = (measured.measure("lm", f"top{n}_full_token") for n in (1, 5, 20))
    return "top-1, 5, 20: " + ", ".join(f"{100 * top:.2f}%" for top in tops)
