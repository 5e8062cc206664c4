"""
A look into any store: what its neighbors are worth, what was learned of them, what moved.

The paper's figures, tables of levels and parameters, and cases, for documents and a schema of any
kind. Knows nothing of how the parameters were found.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vicinal.analysis.curves import PUBLISHED, Curves, curves
from vicinal.analysis.describing import levels_table, movements_table, parameters_table
from vicinal.analysis.moved import Change, Movements, movements
from vicinal.analysis.page import Page, Section
from vicinal.analysis.tables import Table
from vicinal.analysis.writing import write_figures, write_page, write_tables
from vicinal.errors import CalibrationError
from vicinal.evaluation import Examination, observe
from vicinal.knnlm import KNNLM, Parameters
from vicinal.locality import LevelCalibration


@dataclass(frozen=True)
class Look:
    """What was seen in a store."""

    parameters: Parameters
    raw: Curves
    calibrated: Curves
    moved: Movements
    positions: int
    fitted_on: int = 0

    @property
    def tables(self) -> Sequence[Table]:
        """Tell levels, parameters and cases as tables."""
        schema = self.parameters.schema
        names = [attribute.name for attribute in schema.attributes]
        return [
            levels_table(schema),
            parameters_table(self.parameters),
            movements_table(self.moved, names),
        ]

    def write(self, name: str, settings: Mapping[str, str], folder: Path) -> Path:
        """Write the page, and its tables and figures as files; the answer is the page."""
        levels, parameters, cases = self.tables
        write_tables(self.tables, folder / "tables")
        drawings = write_figures(self.raw, self.calibrated, name, folder / "figures")
        schema = self.parameters.schema
        page = Page(
            f"A look into {name}",
            [
                f"{self.positions:,} positions, each document left out of its own search. "
                f"{self.fitted_on:,} of their documents are among those that were fitted on."
            ],
            [
                Section("Levels", tables=[levels]),
                Section("What was learned", tables=[parameters]),
                Section("Is a local neighbor more often right?", figures=drawings),
                Section("Positions that locality moved", [cases.note], moved=self.moved),
            ],
            settings,
            [attribute.name for attribute in schema.attributes],
            schema.n_levels,
        )
        return write_page(page, folder / "report.html")


@dataclass(frozen=True)
class Wanted:
    """Which rung is looked at, and how many positions of each kind are told, drawn by *seed*."""

    rung: str
    n: int = 3
    seed: int = 0


def look(
    examination: Examination,
    model: KNNLM,
    parameters: Parameters,
    wanted: Wanted,
    progress: Callable[[int], None] = lambda n: None,
) -> Look:
    """
    Look up the positions, and see what a rung's calibration does to them.

    What moves, moves from temperature only where that was fitted, else from the plain kNN-LM.
    """
    change = _change(parameters, wanted)
    observations = observe(examination.queries, model, progress)
    schema, documents = parameters.schema, examination.sample.subject
    return Look(
        parameters,
        curves(observations, schema.level_names, None, PUBLISHED, documents),
        curves(observations, schema.level_names, change.after, PUBLISHED, documents),
        movements(observations, examination, model, change),
        len(observations),
        len(examination.content_hashes & parameters.fitted_on),
    )


def _change(parameters: Parameters, wanted: Wanted) -> Change:
    known = parameters.rungs
    if wanted.rung not in known:
        raise CalibrationError(
            f"Expected a calibration that was fitted ({', '.join(known) or 'none is'}), found "
            f"{wanted.rung!r}. Fit it: `vicinal fit --ladder`."
        )
    temperature = known.get("temperature")
    plain = LevelCalibration.identity(parameters.schema.n_levels)
    before = temperature.calibration if temperature else plain
    return Change(before, known[wanted.rung].calibration, n=wanted.n, seed=wanted.seed)
