"""Fitted parameters as a table: a row for each rung and level."""

from typing import TYPE_CHECKING

from vicinal.cli import output

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.knnlm import Parameters

COLUMNS = ("calibration", "lam", "level", "w", "b")


def show(parameters: "Parameters", *, as_json: bool) -> None:
    """Print the fitted parameters; of a contextual calibration the lines it starts from."""
    rows = table(parameters)
    if as_json:
        found = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        output.print_json({"parameters": found, "k": parameters.k, **parameters.notes})
        return
    output.print_table(["calibration", "λ", "level", "w", "b"], rows)
    output.print_facts(
        {
            "positions": parameters.notes["positions"],
            "documents": len(parameters.fitted_on),
            "k": parameters.k,
            "coverage": parameters.notes["coverage"],
        }
    )


def table(parameters: "Parameters") -> list[tuple[str, float, str, float, float]]:
    """List calibration, λ, level, weight and bias."""
    rows = []
    for name, mixture in parameters.rungs.items():
        lines = mixture.calibration.lines
        pairs = zip(lines.weights.tolist(), lines.biases.tolist(), strict=True)
        for level, (w, b) in zip(parameters.schema.level_names, pairs, strict=True):
            rows.append((name, mixture.lam, level, w, b))
    return rows
