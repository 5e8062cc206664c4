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

ROWS = 512  # positions whose features are taken at once
CONSTANT = 1e-6  # a feature of a smaller spread is the same everywhere


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
    """Positions to learn λ from: their features, log p of the gold token by both, the fixed λ."""

    names: tuple[str, ...]
    features: Float[Tensor, "n features"]
    log_p_knn: Float32[Tensor, " n"]
    log_p_lm: Float32[Tensor, " n"]
    lam: float

    def __len__(self) -> int:
        """Count the positions."""
        return len(self.log_p_lm)

    def rows(self, rows: Tensor) -> "Examples":
        """Take some of the positions."""
        columns = (self.features[rows], self.log_p_knn[rows], self.log_p_lm[rows])
        return Examples(self.names, *columns, self.lam)

    def loss(self, adaptive: AdaptiveLam) -> Float32[Tensor, ""]:
        """Give the mean of −log p."""
        logits = adaptive.logits(adaptive.standard(self.features), self.lam)
        neighbors = self.log_p_knn + logsigmoid(logits)
        return -torch.logaddexp(neighbors, self.log_p_lm + logsigmoid(-logits)).mean()


def fit_adaptive(
    observations: Observations, lines: Fitted, learning: Learning = Learning()
) -> Fitted:
    """Learn to move λ of each query away from the one that was fitted with the *lines*."""
    began = time.perf_counter()
    examples = _examples(observations, lines)
    n = len(examples)
    cut = _boundary(observations.documents, n - max(1, int(n * learning.held_out)))
    train, held_out = (examples.rows(rows) for rows in torch.arange(n).tensor_split([cut]))
    found, epochs = learn(train, held_out, learning)
    lams = found(examples.features, lines.lam)
    seen = (lams.min().item(), lams.mean().item(), lams.max().item())
    return replace(
        lines,
        loss=examples.loss(found).item(),
        evaluations=float(epochs),
        seconds=time.perf_counter() - began,
        adaptive=replace(found, seen=seen),
    )


def learn(train: Examples, held_out: Examples, learning: Learning) -> tuple[AdaptiveLam, int]:
    """Learn from some examples, and choose by others; give the network and the epochs it took."""
    generator = torch.Generator().manual_seed(learning.seed)
    start = _initial(train if len(train) else held_out, learning.hidden, generator)
    hidden, out = (tensor.clone().requires_grad_() for tensor in (start.hidden, start.out))
    moving = replace(start, hidden=hidden, out=out)
    optimizer = torch.optim.Adam([hidden, out], lr=learning.learning_rate)
    best, best_loss, waited, epochs = start, held_out.loss(start).item(), 0, 0
    while epochs < learning.epochs and waited < learning.patience:
        epochs += 1
        order = torch.randperm(len(train), generator=generator)
        for rows in torch.split(order, learning.batch):
            optimizer.zero_grad()
            train.rows(rows).loss(moving).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        loss = held_out.loss(moving).item()
        waited += 1
        if loss < best_loss:
            best = replace(start, hidden=hidden.detach().clone(), out=out.detach().clone())
            best_loss, waited = loss, 0
    return best, epochs


def _examples(observations: Observations, lines: Fitted) -> Examples:
    if observations.evidence is None:
        raise CalibrationError(
            "A λ that adapts is learned from what the base model says of each position, found "
            "nothing. Take observations that `observe` made."
        )
    rows = torch.split(torch.arange(len(observations)), ROWS)
    parts = [_some_examples(observations.rows(r), lines) for r in rows]
    return Examples(
        NAMES,
        torch.cat([part.features for part in parts]),
        torch.cat([part.log_p_knn for part in parts]),
        torch.cat([part.log_p_lm for part in parts]),
        lines.lam,
    )


def _some_examples(observations: Observations, lines: Fitted) -> Examples:
    assert observations.evidence is not None
    calibrated = lines.calibration(observations.distances, observations.levels, observations.keys)
    hits = log_weights(calibrated).masked_fill(~observations.hits, -math.inf)
    # Without a neighbor p is the base model's, whatever λ.
    none = calibrated.isinf().all(1)
    return Examples(
        NAMES,
        features(observations.distances, calibrated, observations.evidence),
        torch.where(none, observations.log_p_lm, torch.logsumexp(hits, 1)),
        observations.log_p_lm,
        lines.lam,
    )


def _boundary(documents: Int64[Tensor, " n"] | None, wanted: int) -> int:
    """Move a cut to the nearest place where a document begins, if there is one."""
    if documents is None:
        return wanted
    begins = 1 + (documents[1:] != documents[:-1]).nonzero()[:, 0]
    return int(begins[(begins - wanted).abs().argmin()]) if len(begins) else wanted


def _initial(train: Examples, n_hidden: int, generator: torch.Generator) -> AdaptiveLam:
    scale = train.features.std(0, correction=0)
    n_features = len(scale)
    hidden = torch.randn(n_hidden, n_features + 1, generator=generator) / math.sqrt(n_features)
    hidden[:, -1] = 0
    return AdaptiveLam(
        names=train.names,
        mean=train.features.mean(0),
        # Were it divided by its spread, a feature that was constant would cry out when it is not.
        scale=scale.masked_fill(scale < CONSTANT, 1.0),
        hidden=hidden,
        out=torch.zeros(n_hidden + 1),
        seen=(0.0, 0.0, 0.0),
    )
