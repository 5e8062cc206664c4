"""
The two things one does with an examination: fit a ladder on it, or measure a ladder on it.

Knows nothing of where the parameters are kept or how results are shown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vicinal.evaluation.examination import Examination
from vicinal.evaluation.ladder import FITTED, fit_ladder
from vicinal.evaluation.results import Result, table
from vicinal.evaluation.scoring import observe, score
from vicinal.knnlm import KNNLM, Mixture, Parameters
from vicinal.locality import Recipe


@dataclass(frozen=True)
class Watcher:
    """Whom to tell of progress: of positions looked up, and of the rung being fitted."""

    positions: Callable[[int], None] = lambda n: None
    rung: Callable[[str], None] = lambda name: None


def fit_parameters(
    examination: Examination,
    model: KNNLM,
    names: Sequence[str],
    recipe: Recipe,
    watcher: Watcher = Watcher(),
) -> Parameters:
    """Look the positions up once, and fit the rungs named on what was found."""
    observations = observe(examination.queries, model, watcher.positions)
    schema = model.retriever.schema
    fitted = fit_ladder(
        observations, names, recipe, n_levels=schema.n_levels, progress=watcher.rung
    )
    notes = {
        "objective": recipe.objective,
        "optimizer": recipe.optimizer,
        "positions": len(observations),
        "coverage": observations.coverage,
        "rungs": {
            name: {"loss": f.loss, "evaluations": f.evaluations, "seconds": f.seconds}
            for name, f in fitted.items()
        },
    }
    mixtures = {name: Mixture.of(found) for name, found in fitted.items()}
    return Parameters(
        model.lm.fingerprint, schema, model.k, mixtures, examination.content_hashes, notes
    )


def rungs_of(
    parameters: Parameters | None, n_levels: int, only: Sequence[str] = FITTED
) -> dict[str, Mixture | None]:
    """List the rungs to measure: the base model, the published kNN-LM, and those fitted."""
    fitted: Mapping[str, Mixture] = parameters.rungs if parameters else {}
    chosen = {name: fitted[name] for name in FITTED if name in fitted and name in only}
    return {"lm": None, "knn": Mixture.published(n_levels), **chosen}


def measure(
    examination: Examination,
    model: KNNLM,
    rungs: Mapping[str, Mixture | None],
    watcher: Watcher = Watcher(),
    **how: Any,
) -> Result:
    """Score every rung on the positions; *how* has the *group* and the *seed* of `table`."""
    scored = score(examination.queries, model, rungs, watcher.positions)
    return table(scored, examination.sample, examination.subjects, **how)
