"""
Results as tables: levels, the ladder, accuracies, learned lines, and the positions that moved.

One function a table; whatever is claimed of locality stands beside temperature only. Knows nothing
of files.
"""

from collections.abc import Iterator, Mapping, Sequence

from vicinal.analysis.moved import Moved, MovedNeighbor, Movements
from vicinal.analysis.tables import Cell, Number, Table
from vicinal.evaluation import Result, Row
from vicinal.knnlm import Parameters
from vicinal.locality import LevelCalibration, LocalitySchema

WORDS = {"Same": "equal {}", "Overlap": "a common value of {}"}
NOTE = (
    "lm: base model; knn: as published (T = 1, λ = .25); temperature: one weight for all levels; "
    "bias: biases and w0, other weights 1; linear: a line for each level; mlp: lines that depend "
    "on the context; adaptive: linear with a λ for each position, beyond the paper. Each document "
    "is left out of its own search."
)


def levels_table(schema: LocalitySchema) -> Table:
    """Describe the levels (Table 1): what must match for each, and that the last match wins."""
    words = {a.name: WORDS[type(a).__name__].format(a.name) for a in schema.attributes}
    rows: list[Sequence[Cell]] = [("0", schema.level_names[0], "none of those below")]
    for number, level in enumerate(schema.levels, 1):
        matches = " and ".join(words[a.name] for a in schema.attributes if a.name in level.requires)
        rows.append((str(number), level.name, matches))
    note = "A pair has the last level whose attributes all match. An unknown value matches nothing."
    return Table("levels", "Levels of locality", ("level", "name", "the pair has"), rows, note)


def ladder_table(result: Result) -> Table:
    """Compare perplexities (Table 2): each row with the one above it and with temperature only."""
    columns = ("", "PPL", "PPL full token", "PPL byte", "PPL macro", "rel. gain", "Δ above")
    rows = []
    for before, row in zip([None, *result.rows], result.rows, strict=False):
        ppl = [Number(row.measures[n]) for n in ("ppl", "ppl_full_token", "ppl_byte", "ppl_macro")]
        gain = _relative(before, row, "ppl_full_token")
        over = row.over_temperature
        rows.append((row.name, *ppl, gain, _told(row.difference), _told(over)))
    note = (
        f"{result.positions:,} positions of {result.documents:,} documents. rel. gain: fall of PPL "
        "per full token against the row above; Δ: change of PPL per token, with the middle 95 % of "
        f"a paired bootstrap over documents. {NOTE}"
    )
    return Table("ladder", "Perplexity", (*columns, "Δ temperature"), rows, note)


def accuracy_table(result: Result) -> Table:
    """Compare accuracies at 1, 5, 10 and 20 (Tables 2 and 5) with relative error reductions."""
    names = [f"top{n}" for n in (1, 5, 10, 20)]
    rows = []
    for before, row in zip([None, *result.rows], result.rows, strict=False):
        cells: list[Cell] = [row.name]
        for name in (*names, *(f"{name}_full_token" for name in names)):
            cells.append(Number(row.measures[name], 2, percent=True))
            if name.endswith("full_token"):
                cells.append(_error_reduction(before, row, name))
        rows.append(cells)
    full = [c for n in (1, 5, 10, 20) for c in (f"top-{n} full", "RER")]
    note = (
        "Share of positions whose gold token is among the n most probable, given the gold prefix; "
        "a full token counts as right only if all of its subtokens are. RER: relative error "
        "reduction against the row above, on full tokens."
    )
    columns = ("", *(f"top-{n}" for n in (1, 5, 10, 20)), *full)
    return Table("accuracy", "Token prediction accuracy", columns, rows, note)


def parameters_table(parameters: Parameters) -> Table:
    """List what was learned for each level (Tables 3 and 8)."""
    rows = []
    for name, mixture in parameters.rungs.items():
        lines = mixture.calibration.lines
        lam = mixture.lam_told if mixture.adaptive else Number(mixture.lam)
        for level, (w, b) in zip(parameters.schema.level_names, _pairs(lines), strict=True):
            rows.append((name, lam, level, Number(w, 4), Number(b, 3, signed=True)))
    columns = ("calibration", "λ", "level", "w", "b")
    note = (
        "Calibrated distance g = w d + b, smaller is closer; b of level 0 is 0. Of mlp, the lines "
        "it starts from; of adaptive, smallest, largest and mean λ of the positions it was fitted "
        f"on. Objective: {parameters.notes.get('objective', 'unknown')}."
    )
    return Table("parameters", "Learned parameters", columns, rows, note)


def movements_table(found: Movements, attributes: Sequence[str]) -> Table:
    """Tell positions that moved (Tables 4 and 6), each with the neighbors that decided."""
    columns = ("case", "what", "where", *attributes, "level", "context", "target", "log p", "Δ")
    rows: list[Sequence[Cell]] = []
    for kind, several in found.kinds.items():
        for number, case in enumerate(several, 1):
            rows += _case(f"{kind} {number}", case, attributes)
    note = (
        f"log p_kNN of the gold token rose at {found.n_helped:,} and fell at {found.n_hurt:,} of "
        f"{found.n_covered:,} positions whose gold token was retrieved. 'most helped' are the "
        "largest gains, the others were drawn by lot. Of a neighbor: the logarithm of its share."
    )
    return Table("cases", "Positions that locality moved", columns, rows, note)


def _case(name: str, case: Moved, attributes: Sequence[str]) -> Iterator[Sequence[Cell]]:
    numbers = (Number(case.log_p, 2), Number(case.change, 2, signed=True))
    yield (name, "test", *_where(case, attributes), "", *_text(case), *numbers)
    for neighbor in case.neighbors:
        numbers = (Number(neighbor.log_share, 2), Number(neighbor.change, 2, signed=True))
        level = neighbor.level_name
        yield (name, "neighbor", *_where(neighbor, attributes), level, *_text(neighbor), *numbers)


def _where(told: Moved | MovedNeighbor, attributes: Sequence[str]) -> list[str]:
    values: Mapping[str, tuple[str, ...]] = told.attributes
    place = f"{told.place.document}:{told.place.line}"
    return [place, *("; ".join(values.get(name, ())) for name in attributes)]


def _text(told: Moved | MovedNeighbor) -> list[str]:
    return [" ".join(told.place.before.split()), told.place.token.strip()]


def _pairs(lines: LevelCalibration) -> list[tuple[float, float]]:
    return list(zip(lines.weights.tolist(), lines.biases.tolist(), strict=True))


def _told(difference: object | None) -> str | None:
    return str(difference) if difference else None


def _relative(before: Row | None, row: Row, name: str) -> Cell:
    if before is None:
        return None
    return Number(1 - row.measures[name] / before.measures[name], 2, signed=True, percent=True)


def _error_reduction(before: Row | None, row: Row, name: str) -> Cell:
    if before is None or before.measures[name] == 1:
        return None
    gain = row.measures[name] - before.measures[name]
    return Number(gain / (1 - before.measures[name]), 2, signed=True, percent=True)
