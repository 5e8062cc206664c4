"""
Finding the parameters of a family of lines, and λ, that minimize an objective.

Two optimizers: the paper's Adam (from w = 1, b = 0, in the data's own units), and L-BFGS, which
takes a second. L-BFGS first finds its way on a few hundred positions, in units in which distances
have a spread of one; from the curvature it finds there it then needs few looks at all positions.
Knows nothing of the contextual calibration (`contextual`).
"""

import math
import time
from dataclasses import dataclass

import torch
from torch import Tensor

from vicinal.errors import CalibrationError
from vicinal.locality.adaptive import AdaptiveLam
from vicinal.locality.calibration import AbstractCalibration, LevelCalibration
from vicinal.locality.descent import Function, Vector, along, minimize, whitening
from vicinal.locality.families import Family, family
from vicinal.locality.objective import Loss, Objective, Observations

OPTIMIZERS = ("lbfgs", "adam")
PAPER_LAM = 0.25
START = math.log(PAPER_LAM / (1 - PAPER_LAM))  # of logit λ
STAGES = (500, 8000)  # positions of the first rounds of L-BFGS
VERY_FLAT = 1e-6  # where all positions are cheap
FLAT = 1e-3  # in whitened coordinates, a slope s is a loss of s*s/2 too much
TYPICAL = 500  # positions that tell how far distances are spread
MAX_LOGIT = 12.0  # λ stays inside (6e-6, 1 - 6e-6)


@dataclass(frozen=True)
class Recipe:
    """
    How to fit. *lam* is λ, or None to learn it.

    Under the objective ``knn``, which does not see λ, it is learned on the mixture afterwards.
    *epochs*, *learning_rate* and *batch* are Adam's; the defaults are the paper's and, for the
    batch, its released code's.
    """

    objective: str = "mixture"
    optimizer: str = "lbfgs"
    lam: float | None = None
    epochs: int = 200
    learning_rate: float = 1e-4
    batch: int = 2800
    seed: int = 0

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise CalibrationError(
                f"Expected an optimizer of {', '.join(OPTIMIZERS)}, found: {self.optimizer!r}."
            )
        if self.lam is not None and not 0 <= self.lam < 1:
            raise CalibrationError(f"λ must be in [0, 1), was: {self.lam}. Try 0.25.")


@dataclass(frozen=True)
class Fitted:
    """A calibration, its λ (and what moves it from query to query), and how they were found."""

    calibration: AbstractCalibration
    lam: float
    loss: float
    coverage: float
    n_positions: int
    evaluations: float
    seconds: float
    adaptive: AdaptiveLam | None = None


@dataclass(frozen=True)
class _Found:
    """Where a search ended; λ is None where the objective does not see it."""

    theta: Vector
    lam: float | None
    loss: float
    evaluations: float


def fit_lines(
    observations: Observations,
    name: str,
    recipe: Recipe = Recipe(),
    *,
    n_levels: int,
    start: LevelCalibration | None = None,
) -> Fitted:
    """Fit the family *name* from *start*, or from one weight for all where there is none."""
    began = time.perf_counter()
    chosen = family(name, n_levels)
    search = _adam if recipe.optimizer == "adam" else _lbfgs
    found = search(observations, chosen, recipe, start)
    if not math.isfinite(found.loss):
        raise CalibrationError(
            f"Fitting {name!r} ended at a loss of {found.loss}: the distances span too much for "
            "it. Fit with the optimizer lbfgs, or on more positions."
        )
    lam = found.lam
    if lam is None:
        lam = _learn_lam(observations, chosen.lines(found.theta))
    seconds = time.perf_counter() - began
    return Fitted(
        chosen.calibration(found.theta),
        lam,
        found.loss,
        observations.coverage,
        len(observations),
        found.evaluations,
        seconds,
    )


def spread(observations: Observations) -> float:
    """Give the typical difference between a position's farthest and nearest neighbor."""
    distances = observations.distances[:TYPICAL]
    farthest = distances.masked_fill(distances.isinf(), -math.inf).amax(1)
    typical = (farthest - distances.amin(1)).nan_to_num(0.0, 0.0, 0.0).median().item()
    return typical if typical > 0 else 1.0


def _lbfgs(
    observations: Observations, chosen: Family, recipe: Recipe, start: LevelCalibration | None
) -> "_Found":
    unit = spread(observations)
    units = torch.ones(chosen.n_parameters + 1, dtype=torch.float64)
    units[: chosen.n_weights] /= unit
    if start is None:
        n_levels = len(chosen.fixed)
        start = LevelCalibration(torch.full((n_levels,), 5 / unit), torch.zeros(n_levels))
    x = torch.cat([chosen.nearest(start), torch.tensor([START])]) / units
    order = torch.randperm(len(observations), generator=torch.Generator().manual_seed(recipe.seed))
    sizes = [s for s in STAGES if 16 * s <= len(observations)] + [len(observations)]
    evaluations, loss, flat = 0.0, math.nan, FLAT if len(sizes) > 1 else VERY_FLAT
    axes = torch.eye(len(x), dtype=torch.float64)
    for size in sizes:
        last = size == len(observations)
        some = observations if last else observations.rows(order[:size])
        if not last and some.coverage == 0:
            continue
        function = _function(Objective(some, recipe.objective), chosen, units, recipe)
        y, loss, asked = minimize(along(function, x, axes), torch.zeros_like(x), flat=flat)
        x = x + axes @ y
        evaluations += asked * size / len(observations)
        if not last:
            axes = whitening(function, x)
            evaluations += (len(x) + 1) * size / len(observations)
    theta = (x * units)[:-1]
    return _Found(theta, _lam_found(recipe, x[-1]), loss, evaluations)


def _adam(
    observations: Observations, chosen: Family, recipe: Recipe, start: LevelCalibration | None
) -> "_Found":
    identity = LevelCalibration.identity(len(chosen.fixed))
    x = torch.cat([chosen.nearest(start or identity), torch.tensor([START])])
    units = torch.ones_like(x)
    rows = torch.split(torch.arange(len(observations)), recipe.batch)
    batches = [observations.rows(r) for r in rows]
    functions = [
        _function(Objective(batch, recipe.objective), chosen, units, recipe)
        for batch in batches
        if recipe.objective == "mixture" or batch.coverage > 0
    ]
    optimizer = torch.optim.Adam([x], lr=recipe.learning_rate)
    for _ in range(recipe.epochs):
        for function in functions:
            _, x.grad = function(x.detach())
            optimizer.step()
    loss, _ = _function(Objective(observations, recipe.objective), chosen, units, recipe)(
        x.detach()
    )
    return _Found(x.detach()[:-1], _lam_found(recipe, x[-1]), loss, float(recipe.epochs))


def _function(objective: Objective, chosen: Family, units: Vector, recipe: Recipe) -> Function:
    learned = recipe.lam is None and objective.name == "mixture"

    def function(x: Vector) -> tuple[float, Vector]:
        parameters = x * units
        lam = _lam(parameters[-1]) if learned else _given(recipe)
        loss = objective(*chosen.lines(parameters[:-1]), lam)
        return loss.value, _chain(loss, chosen, learned=learned) * units

    return function


def _chain(loss: Loss, chosen: Family, *, learned: bool) -> Vector:
    slope = chosen.to_weights.T @ loss.weights + chosen.to_biases.T @ loss.biases
    return torch.cat([slope, torch.tensor([loss.logit_lam if learned else 0.0]).double()])


def _learn_lam(observations: Observations, lines: tuple[Vector, Vector]) -> float:
    """Fit λ alone on the mixture, the lines held fixed."""
    objective = Objective(observations, "mixture")

    def function(x: Vector) -> tuple[float, Vector]:
        loss = objective(*lines, _lam(x[0]))
        return loss.value, torch.tensor([loss.logit_lam], dtype=torch.float64)

    x, _, _ = minimize(function, torch.tensor([START]).double())
    return _lam(x[0])


def _lam_found(recipe: Recipe, logit: Tensor) -> float | None:
    if recipe.lam is not None:
        return recipe.lam
    return _lam(logit) if recipe.objective == "mixture" else None


def _given(recipe: Recipe) -> float:
    return PAPER_LAM if recipe.lam is None else recipe.lam


def _lam(logit: Tensor) -> float:
    return torch.sigmoid(logit.clamp(-MAX_LOGIT, MAX_LOGIT)).item()
