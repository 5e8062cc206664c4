"""
From scores to the rows that a person reads: measures and differences of every rung.

Knows nothing of how anything is printed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal.evaluation.measures import MEASURES, Difference, Outcome, Perplexity, bootstrap
from vicinal.evaluation.sampling import Sample
from vicinal.evaluation.scoring import Scored
from vicinal.evaluation.subjects import Subject


@dataclass(frozen=True)
class Row:
    """
    A rung's measures, and its difference in perplexity to the row above.

    *over_temperature* is its difference to temperature only: what locality has to be claimed
    against.
    """

    name: str
    measures: dict[str, float]
    difference: Difference | None
    over_temperature: Difference | None = None

    def to_dict(self) -> dict[str, Any]:
        """Write the row as plain data."""
        return {
            "name": self.name,
            **self.measures,
            "difference": self.difference.difference if self.difference else None,
            "interval": list(self.difference.interval) if self.difference else None,
            "over_temperature": self.over_temperature.to_dict() if self.over_temperature else None,
        }


@dataclass(frozen=True)
class Result:
    """A table of rungs over the same positions."""

    rows: tuple[Row, ...]
    positions: int
    documents: int

    def to_dict(self) -> dict[str, Any]:
        """Write the table as plain data."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "positions": self.positions,
            "documents": self.documents,
        }


def outcomes(
    scored: Scored, sample: Sample, subjects: Sequence[Subject], group: str
) -> dict[str, Outcome]:
    """Join each rung's scores with where its positions are."""
    _, groups = np.unique([subject.group(group) for subject in subjects], return_inverse=True)
    log_p_lm = scored.rungs["lm"].log_p
    return {
        name: Outcome(scores, log_p_lm, scored.covered, sample, groups.astype(np.int64))
        for name, scores in scored.rungs.items()
    }


def table(
    scored: Scored, sample: Sample, subjects: Sequence[Subject], *, group: str, seed: int
) -> Result:
    """Measure every rung, and compare each with the one above it and with temperature only."""
    rows: list[Row] = []
    before: Outcome | None = None
    temperature: Outcome | None = None
    for name, outcome in outcomes(scored, sample, subjects, group).items():
        measures = {measure.name: measure(outcome) for measure in MEASURES}
        compared = [
            bootstrap(Perplexity(), outcome, other, seed=seed) if other else None
            for other in (before, temperature)
        ]
        rows.append(Row(name, measures, *compared))
        before = outcome
        temperature = outcome if name == "temperature" else temperature
    return Result(tuple(rows), len(sample), len(np.unique(sample.subject)))
