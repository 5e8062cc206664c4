"""Fitted parameters as a table: a row for each rung and level."""

from typing import TYPE_CHECKING

from vicinal.cli import output

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.knnlm import Parameters

COLUMNS = ("calibration", "lam", "level", "w", "b")


def show(parameters: "Parameters", *, as_json: bool) -> None:
    """Print the fitted parameters; of a contextual calibration the lines it starts from."""
    if as_json:
        output.print_json({"parameters": rows(parameters), "k": parameters.k, **parameters.notes})
        return
    output.print_table(["calibration", "λ", "level", "w", "b"], table(parameters))
    output.print_facts(
        {
            "positions": parameters.notes["positions"],
            "documents": len(parameters.fitted_on),
            "k": parameters.k,
            "coverage": parameters.notes["coverage"],
        }
    )


def rows(parameters: "Parameters") -> list[dict[str, object]]:
    """
    List the table for machines, with numbers for λ.

    Of one that adapts it is the mean, and *lams* has the smallest, the mean and the largest.
    """
    found = []
    for row in table(parameters):
        mixture = parameters.rungs[row[0]]
        told: dict[str, object] = {**dict(zip(COLUMNS, row, strict=True)), "lam": mixture.lam}
        if mixture.adaptive:
            told |= {"lam": mixture.adaptive.seen[1], "lams": list(mixture.adaptive.seen)}
        found.append(told)
    return found


def table(parameters: "Parameters") -> list[tuple[str, str, str, float, float]]:
    """List calibration, λ, level, weight and bias as a person reads them."""
    rows = []
    for name, mixture in parameters.rungs.items():
        lines = mixture.calibration.lines
        pairs = zip(lines.weights.tolist(), lines.biases.tolist(), strict=True)
        for level, (w, b) in zip(parameters.schema.level_names, pairs, strict=True):
            rows.append((name, mixture.lam_told, level, w, b))
    return rows
