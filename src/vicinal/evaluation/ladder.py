"""
The ladder: every calibration that a claim about locality has to be measured against.

    lm            the base model
    knn           the kNN-LM as published: T = 1, λ = .25
    temperature   one fitted weight for all levels
    bias          fitted biases and w_0, the other weights 1 (the paper's Table 8)
    linear        a fitted line for each level: the paper's method
    mlp           lines that depend on the context: the paper's appendix
    adaptive      the lines of linear, and a λ that depends on what was retrieved and on how sure
                  the base model is: beyond the paper

Each rung is fitted by the same recipe, λ included, and starts from the rung it generalizes. Only
the λ of adaptive is always learned on the mixture, whatever the recipe says: p_kNN, the paper's
objective, does not have it, and a fixed λ is where it starts.
"""

from collections.abc import Callable, Mapping, Sequence

from vicinal.errors import CalibrationError
from vicinal.knnlm import Learning, fit_adaptive
from vicinal.locality import (
    Fitted,
    LevelCalibration,
    Network,
    Observations,
    Recipe,
    fit_lines,
    fit_mlp,
)

LINES = ("temperature", "bias", "linear")
FITTED = (*LINES, "mlp", "adaptive")
RUNGS = ("lm", "knn", *FITTED)


def fit_ladder(
    observations: Observations,
    names: Sequence[str],
    recipe: Recipe,
    *,
    n_levels: int,
    progress: Callable[[str], None] = lambda name: None,
) -> dict[str, Fitted]:
    """Fit the rungs named, in the ladder's order."""
    unknown = sorted(set(names) - set(FITTED))
    if unknown:
        raise CalibrationError(
            f"Expected calibrations of {', '.join(FITTED)}, found: {', '.join(unknown)}."
        )
    fitted: dict[str, Fitted] = {}
    for name in _needed(names):
        progress(name)
        fitted[name] = _fit(name, observations, recipe, fitted, n_levels)
    return {name: fitted[name] for name in FITTED if name in names}


def _needed(names: Sequence[str]) -> list[str]:
    """Add the rungs that others start from."""
    lines = {"temperature", "linear"}
    below = {"linear": {"temperature"}, "mlp": lines, "adaptive": lines}
    wanted = set(names).union(*(below.get(name, set()) for name in names))
    return [name for name in FITTED if name in wanted]


def _fit(
    name: str,
    observations: Observations,
    recipe: Recipe,
    fitted: Mapping[str, Fitted],
    n_levels: int,
) -> Fitted:
    if name == "mlp":
        return fit_mlp(observations, fitted["linear"], recipe, Network(seed=recipe.seed))
    if name == "adaptive":
        return fit_adaptive(observations, fitted["linear"], Learning(seed=recipe.seed))
    if recipe.optimizer == "adam":
        return fit_lines(observations, name, recipe, n_levels=n_levels)
    starts: list[LevelCalibration | None] = [None]
    if name == "linear" and isinstance(fitted["temperature"].calibration, LevelCalibration):
        starts = [fitted["temperature"].calibration]
    if name == "bias":
        # With weights fixed at one there are two valleys: level 0 sharp as well, or level 0 flat.
        starts.append(LevelCalibration.identity(n_levels))
    tries = [
        fit_lines(observations, name, recipe, n_levels=n_levels, start=start) for start in starts
    ]
    return min(tries, key=lambda found: found.loss)
