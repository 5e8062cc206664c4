"""
Fitting the ladder several times over, and measuring all of it in one pass.

Everything random varies with the seed: which positions are fitted on, and how a network begins and
forgets. Fitted parameters are kept in files, so that a run that is interrupted goes on.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from vicinal.evaluation import (
    FITTED,
    Examination,
    Result,
    Sample,
    Scored,
    fit_ladder,
    score,
    table,
)
from vicinal.knnlm import KNNLM, PUBLISHED_LAM, Mixture, Parameters
from vicinal.locality import Evidence, Observations, Recipe

PAPER, OURS = "paper", "ours"
RECIPES: Mapping[str, Recipe] = {
    PAPER: Recipe(objective="knn", lam=PUBLISHED_LAM),
    OURS: Recipe(objective="mixture"),
}
Rungs = Mapping[str, Mixture | None]


@dataclass(frozen=True)
class Fit:
    """What one recipe found with one seed."""

    recipe: str
    seed: int
    parameters: Parameters

    def name(self, rung: str) -> str:
        """Name a rung of this fit among those of all fits."""
        return f"{self.recipe} {self.seed} {rung}"


@dataclass(frozen=True)
class Ground:
    """Where to fit: positions, and what was found at each."""

    examination: Examination
    observations: Observations
    model: KNNLM


def fit_all(
    ground: Ground, seeds: Sequence[int], memory: Path, say: Callable[[str], None]
) -> list[Fit]:
    """Fit every rung by both recipes, once for each seed, or read what was fitted before."""
    digest = _digest(ground)
    found = []
    for name, recipe in RECIPES.items():
        for seed in seeds:
            path = memory / f"{name}-{seed}-{digest}.json"
            if not path.is_file():
                say(f"fitting, {name}, seed {seed}")
                _write(path, _fit(ground, recipe, seed).to_json())
            found.append(Fit(name, seed, Parameters.from_json(path.read_text("utf-8"))))
    return found


def measure_all(
    examination: Examination,
    model: KNNLM,
    fits: Sequence[Fit],
    how: "Measuring",
) -> dict[tuple[str, int], Result]:
    """Score every rung of every fit on the same positions, in one pass."""
    base: dict[str, Mixture | None] = {
        "lm": None,
        "knn": Mixture.published(model.retriever.schema.n_levels),
    }
    own = {fit.name(rung): m for fit in fits for rung, m in fit.parameters.rungs.items()}
    scored = score(examination.queries, model, {**base, **own}, how.progress)
    return {
        (fit.recipe, fit.seed): table(
            _part(scored, fit), examination.sample, examination.subjects, group=how.group, seed=0
        )
        for fit in fits
    }


@dataclass(frozen=True)
class Measuring:
    """The attribute that macro averages go by, and whom to tell of progress."""

    group: str
    progress: Callable[[int], None] = lambda n: None


def some_units(sample: Sample, share: float, seed: int) -> Int64[np.ndarray, " rows"]:
    """Draw a share of the full tokens of a sample; give their positions, in order."""
    n_units = len(sample.full_tokens)
    kept = np.zeros(n_units, np.bool_)
    order = np.random.default_rng([seed, n_units]).permutation(n_units)
    kept[order[: max(1, round(share * n_units))]] = True
    return np.flatnonzero(kept[sample.unit])


def _fit(ground: Ground, recipe: Recipe, seed: int) -> Parameters:
    rows = torch.from_numpy(some_units(ground.examination.sample, 0.5, seed))
    observations = ground.observations.rows(rows)
    schema = ground.model.retriever.schema
    seeded = replace(recipe, seed=seed)
    fitted = fit_ladder(observations, FITTED, seeded, n_levels=schema.n_levels)
    notes = {
        "objective": recipe.objective,
        "optimizer": recipe.optimizer,
        "positions": len(observations),
        "coverage": observations.coverage,
        "rungs": {name: {"loss": f.loss} for name, f in fitted.items()},
    }
    return Parameters(
        ground.model.lm.fingerprint,
        schema,
        ground.model.k,
        {name: Mixture.of(f) for name, f in fitted.items()},
        ground.examination.content_hashes,
        notes,
    )


def _part(scored: Scored, fit: Fit) -> Scored:
    """Take the rungs of one fit, and those that nothing was fitted for."""
    names = {"lm": "lm", "knn": "knn", **{r: fit.name(r) for r in fit.parameters.rungs}}
    return Scored({rung: scored.rungs[name] for rung, name in names.items()}, scored.covered)


def _digest(ground: Ground) -> str:
    """Hash all that a fit depends on: recipes, rungs, levels, positions, and what was found."""
    told = {
        "recipes": {name: asdict(recipe) for name, recipe in RECIPES.items()},
        "rungs": FITTED,
        "k": ground.model.k,
        "schema": ground.model.retriever.schema.to_dict(),
    }
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    digest.update(ground.examination.sample.unit.tobytes())
    for tensor in _tensors(ground.observations):
        digest.update(np.ascontiguousarray(tensor.numpy()).tobytes())
    return digest.hexdigest()[:16]


def _tensors(seen: Observations | Evidence) -> Iterator[Tensor]:
    """Walk all that was seen at the positions."""
    for field in fields(seen):
        found = getattr(seen, field.name)
        if isinstance(found, Evidence):
            yield from _tensors(found)
        elif found is not None:
            yield found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".tmp")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
