"""
Learning λ as a function of the features of each query, over a calibration that is held fixed.

What is minimized is −log(λ p_kNN + (1−λ) p_LM) of the gold tokens, whatever the calibration was
fitted on: p_kNN alone does not see λ. A network begins by answering the fixed λ everywhere, learns
by Adam in shuffled batches, and the state is kept that did best on whole documents held out of
the fit.
"""

import math
import time
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor
from torch.nn.functional import logsigmoid

from vicinal.errors import CalibrationError
from vicinal.knnlm.features import NAMES, features
from vicinal.knnlm.probability import log_weights
from vicinal.locality import AdaptiveLam, Fitted, Observations

ROWS = 512  # looked at together while features are taken
TINY = 1e-6


@dataclass(frozen=True)
class Learning:
    """The size of the network and how it learns."""

    hidden: int = 32
    seed: int = 0
    learning_rate: float = 3e-3
    epochs: int = 100
    patience: int = 10
    batch: int = 256
    held_out: float = 0.2


@dataclass(frozen=True)
class Examples:
    """Positions to learn λ from: their features, and log p of the gold token by either model."""

    features: Float[Tensor, "n features"]
    log_p_knn: Float32[Tensor, " n"]
    log_p_lm: Float32[Tensor, " n"]

    def rows(self, chosen: Tensor) -> "Examples":
        """Take some of the positions."""
        return Examples(self.features[chosen], self.log_p_knn[chosen], self.log_p_lm[chosen])


def fit_adaptive(
    observations: Observations,
    lines: Fitted,
    learning: Learning = Learning(),
) -> Fitted:
    """Learn to move λ of each query away from the one that was fitted with the *lines*."""
    began = time.perf_counter()
    examples = _examples(observations, lines)
    n = len(observations)
    first_held_out = _boundary(observations.documents, n - max(1, int(n * learning.held_out)))
    train = examples.rows(torch.arange(first_held_out))
    held_out = examples.rows(torch.arange(first_held_out, n))
    generator = torch.Generator().manual_seed(learning.seed)
    start = _initial(train, learning.hidden, generator)
    adaptive, epochs = _descend(train, held_out, start, lines.lam, (learning, generator))
    lams = adaptive(examples.features, lines.lam)
    return replace(
        lines,
        loss=_loss(adaptive, examples, lines.lam).item(),
        evaluations=float(epochs),
        seconds=time.perf_counter() - began,
        adaptive=replace(adaptive, seen=(lams.min().item(), lams.mean().item(), lams.max().item())),
    )


def _examples(observations: Observations, lines: Fitted) -> Examples:
    if observations.evidence is None:
        raise CalibrationError(
            "A λ that adapts is learned from what the base model says of each position, found "
            "nothing. Take observations that `observe` made."
        )
    several = torch.arange(len(observations)).split(ROWS)
    parts = [_some_examples(observations.rows(rows), lines) for rows in several]
    names = ("features", "log_p_knn", "log_p_lm")
    return Examples(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def _some_examples(observations: Observations, lines: Fitted) -> Examples:
    assert observations.evidence is not None
    calibrated = lines.calibration(observations.distances, observations.levels, observations.keys)
    hits = log_weights(calibrated).masked_fill(~observations.hits, -math.inf)
    # Without a neighbor p is the base model's, whatever λ.
    found = calibrated.isfinite().any(1)
    return Examples(
        features(observations.distances, calibrated, observations.evidence),
        torch.where(found, torch.logsumexp(hits, 1), observations.log_p_lm),
        observations.log_p_lm,
    )


def _boundary(documents: Int64[Tensor, " n"] | None, wanted: int) -> int:
    """Move a cut to the nearest place where a document begins, if there is one."""
    if documents is None:
        return wanted
    begins = 1 + (documents[1:] != documents[:-1]).nonzero()[:, 0]
    return int(begins[(begins - wanted).abs().argmin()]) if len(begins) else wanted


def _initial(train: Examples, n_hidden: int, generator: torch.Generator) -> AdaptiveLam:
    n_features = train.features.shape[1]
    hidden = torch.randn(n_hidden, n_features + 1, generator=generator) / math.sqrt(n_features)
    hidden[:, -1] = 0
    scale = train.features.std(0, correction=0)
    return AdaptiveLam(
        names=NAMES,
        mean=train.features.mean(0),
        # What never differs says nothing; a scale near zero would make it shout.
        scale=scale.masked_fill(scale < TINY, 1.0),
        hidden=hidden,
        out=torch.zeros(n_hidden + 1),
        seen=(0.0, 0.0, 0.0),
    )


def _descend(
    train: Examples,
    held_out: Examples,
    start: AdaptiveLam,
    lam: float,
    how: tuple[Learning, torch.Generator],
) -> tuple[AdaptiveLam, int]:
    learning, generator = how
    parameters = [start.hidden.clone().requires_grad_(), start.out.clone().requires_grad_()]
    current = replace(start, hidden=parameters[0], out=parameters[1])
    optimizer = torch.optim.Adam(parameters, lr=learning.learning_rate)
    best, best_loss, waited, epochs = start, _loss(start, held_out, lam).item(), 0, 0
    while epochs < learning.epochs and waited < learning.patience:
        epochs += 1
        order = torch.randperm(len(train.log_p_lm), generator=generator)
        for rows in order.split(learning.batch):
            optimizer.zero_grad()
            loss = _loss(current, train.rows(rows), lam)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        found = replace(start, hidden=parameters[0].detach(), out=parameters[1].detach())
        loss_held_out = _loss(found, held_out, lam).item()
        waited += 1
        if loss_held_out < best_loss:
            kept = {"hidden": found.hidden.clone(), "out": found.out.clone()}
            best, best_loss, waited = replace(start, **kept), loss_held_out, 0
    return best, epochs


def _loss(adaptive: AdaptiveLam, examples: Examples, lam: float) -> Float32[Tensor, ""]:
    logits = adaptive.logits(adaptive.standard(examples.features), lam)
    neighbors = examples.log_p_knn + logsigmoid(logits)
    return -torch.logaddexp(neighbors, examples.log_p_lm + logsigmoid(-logits)).mean()
