"""
Fitting lines whose parameters depend on the context: the MLP of the paper's appendix.

Two layers, 64 hidden units, ReLU, dropout .3 between them while training. It begins as the fitted
lines, learns by Adam in shuffled batches, and keeps the state that did best on positions held out
of the fit (the released code chose on the test set; we must not).
"""

import math
import time
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Float32
from torch import Tensor

from vicinal.locality.calibration import LevelCalibration, MLPCalibration
from vicinal.locality.fitting import Fitted, Recipe, spread
from vicinal.locality.objective import Observations

FLOOR = -1e30


@dataclass(frozen=True)
class Network:
    """The size of the network and how it learns; the first three are the paper's."""

    hidden: int = 64
    dropout: float = 0.3
    seed: int = 0
    learning_rate: float = 1e-3
    epochs: int = 30
    patience: int = 4
    batch: int = 512
    held_out: float = 0.2


def fit_mlp(
    observations: Observations,
    lines: Fitted,
    recipe: Recipe = Recipe(),  # noqa: B008  (frozen)
    network: Network = Network(),
    judge: Observations | None = None,
) -> Fitted:
    """
    Fit an MLP calibration that starts as the fitted *lines* and takes over their λ.

    *judge* are positions to choose the best state by, in place of the held-out ones. To choose by
    what one tests on is what the released code did; it is here so that its effect can be measured.
    """
    began = time.perf_counter()
    generator = torch.Generator().manual_seed(network.seed)
    if recipe.objective == "knn":
        observations = observations.rows(observations.covered)
    # Held-out positions are the last ones: neighboring positions of one document stay together.
    n_held_out = max(1, int(len(observations) * network.held_out))
    train = observations.rows(torch.arange(len(observations) - n_held_out))
    held_out = observations.rows(torch.arange(len(observations) - n_held_out, len(observations)))
    start = _initial(observations, lines, network, generator)
    goal = _Goal(recipe.objective, lines.lam, generator)
    best, epochs = _descend(train, _judging(judge, recipe) or held_out, start, goal, network)
    return Fitted(
        best,
        lines.lam,
        goal.loss(best, observations).item(),
        lines.coverage,
        lines.n_positions,
        float(epochs),
        time.perf_counter() - began,
    )


def _judging(judge: Observations | None, recipe: Recipe) -> Observations | None:
    if judge is None or recipe.objective != "knn":
        return judge
    return judge.rows(judge.covered)


def _initial(
    observations: Observations, lines: Fitted, network: Network, generator: torch.Generator
) -> MLPCalibration:
    assert isinstance(lines.calibration, LevelCalibration)
    keys = observations.keys.float()
    d, n_levels = keys.shape[1], lines.calibration.n_levels
    hidden = torch.randn(network.hidden, d + 1, generator=generator) / math.sqrt(d)
    hidden[:, -1] = 0
    return MLPCalibration(
        mean=keys.mean(0),
        scale=keys.std(0, correction=0) + 1e-6,
        hidden=hidden,
        out=torch.zeros(2 * n_levels - 1, network.hidden + 1),
        start=lines.calibration,
        unit=spread(observations),
    )


@dataclass(frozen=True)
class _Goal:
    """The objective, the λ it holds fixed, and what shuffles and drops."""

    objective: str
    lam: float
    generator: torch.Generator

    def loss(
        self, calibration: MLPCalibration, observations: Observations, dropped: float = 0.0
    ) -> Float32[Tensor, ""]:
        features = calibration.features(observations.keys)
        if dropped:
            kept = torch.rand(features.shape, generator=self.generator) >= dropped
            features = features * kept / (1 - dropped)
        log_p_knn = _log_p_knn(calibration, features, observations)
        if self.objective == "knn":
            return -log_p_knn.mean()
        neighbors = log_p_knn + (math.log(self.lam) if self.lam else -math.inf)
        return -torch.logaddexp(neighbors, observations.log_p_lm + math.log1p(-self.lam)).mean()


def _descend(
    train: Observations,
    held_out: Observations,
    start: MLPCalibration,
    goal: _Goal,
    network: Network,
) -> tuple[MLPCalibration, int]:
    parameters = [start.hidden.clone().requires_grad_(), start.out.clone().requires_grad_()]
    optimizer = torch.optim.Adam(parameters, lr=network.learning_rate)
    best, best_loss, waited, epochs = start, goal.loss(start, held_out).item(), 0, 0
    while epochs < network.epochs and waited < network.patience:
        epochs += 1
        order = torch.randperm(len(train), generator=goal.generator)
        for rows in torch.split(order, network.batch):
            optimizer.zero_grad()
            current = replace(start, hidden=parameters[0], out=parameters[1])
            loss = goal.loss(current, train.rows(rows), network.dropout)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        hidden, out = (p.detach().clone() for p in parameters)
        current = replace(start, hidden=hidden, out=out)
        loss_held_out = goal.loss(current, held_out).item()
        waited += 1
        if loss_held_out < best_loss:
            best, best_loss, waited = current, loss_held_out, 0
    return best, epochs


def _log_p_knn(
    calibration: MLPCalibration,
    features: Float[Tensor, "queries hidden"],
    observations: Observations,
) -> Float32[Tensor, " queries"]:
    weights, biases = calibration.parameters(features)
    chosen = observations.levels.long()
    absent = observations.distances.isinf()
    distances = observations.distances.masked_fill(absent, 0)
    z = -(weights.gather(1, chosen) * distances + biases.gather(1, chosen))
    # A finite floor keeps the gradient of rows without a hit at zero rather than undefined.
    z = z.masked_fill(absent, FLOOR)
    hits = z.masked_fill(~observations.hits, FLOOR)
    return torch.logsumexp(hits, 1) - torch.logsumexp(z, 1)
