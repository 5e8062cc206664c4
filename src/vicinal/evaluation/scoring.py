"""
Scoring positions: what the base model and each rung of a ladder say of the gold token.

Goes through the positions in batches, so that memory does not grow with their number or with the
store. Knows nothing of files; a rung is a mixture, and the base model is the rung without one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from vicinal.evaluation.sampling import Sample
from vicinal.evaluation.subjects import Subject, vectors
from vicinal.knnlm import KNNLM, Mixture, Queries, Retrieved, log_weights, sums_of_runs
from vicinal.lm import AbstractLanguageModel
from vicinal.locality import Evidence, Observations

BATCH = 512
TOP = 20  # ranks above are not told apart

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Scores:
    """One rung's answer: log p of the gold token, and its rank, from 1, ``TOP + 1`` for beyond."""

    log_p: Float32[np.ndarray, " n"]
    rank: Int64[np.ndarray, " n"]


@dataclass(frozen=True)
class Scored:
    """All rungs' scores on the same positions; *covered* where the gold token was retrieved."""

    rungs: Mapping[str, Scores]
    covered: np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Predicted:
    """What the base model says of a batch: of the gold token, before it, and of its best."""

    gold: Float32[Tensor, " n"]
    evidence: Evidence
    top: Float32[Tensor, "n top"]
    top_ids: Int64[Tensor, "n top"]


def as_queries(subjects: Sequence[Subject], sample: Sample, model: KNNLM) -> Queries:
    """Make a query of every sampled position."""
    snapshot = model.retriever.snapshot
    keys, outputs = vectors(subjects, sample.rows(len(subjects)), snapshot, model.lm)
    first_span = np.cumsum([0, *(len(s.spans) for s in subjects)])
    span_lo = [np.array([span.lo for span in s.spans]) for s in subjects]
    pairs = list(zip(sample.subject.tolist(), sample.token.tolist(), strict=True))
    spans = [first_span[s] + np.searchsorted(span_lo[s], t, side="right") - 1 for s, t in pairs]
    return Queries(
        torch.from_numpy(keys),
        torch.from_numpy(outputs),
        torch.tensor([int(subjects[s].ids[t]) for s, t in pairs]),
        torch.tensor([subjects[s].own for s, _ in pairs]),
        torch.tensor(np.array(spans, dtype=np.int64)),
        [span.attributes for subject in subjects for span in subject.spans],
        torch.from_numpy(sample.subject),
    )


def observe(queries: Queries, model: KNNLM, progress: Progress = lambda n: None) -> Observations:
    """Retrieve for every query, and keep what fitting needs."""
    parts = []
    for batch in queries.batches(BATCH):
        retrieved = model.retrieve(batch)
        log_p_lm = model.lm.log_p(batch.outputs)
        parts.append(
            Observations(
                retrieved.distances,
                retrieved.levels,
                retrieved.values == batch.targets[:, None],
                log_p_lm.gather(1, batch.targets[:, None]).squeeze(1),
                batch.keys,
                batch.documents,
                Evidence.of(retrieved.values, log_p_lm),
            )
        )
        progress(len(batch))
    return Observations.joined(parts)


def score(
    queries: Queries,
    model: KNNLM,
    rungs: Mapping[str, Mixture | None],
    progress: Progress = lambda n: None,
) -> Scored:
    """Score every query by every rung, in place of the model's own mixture."""
    parts: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in rungs}
    covered = []
    for batch in queries.batches(BATCH):
        retrieved = model.retrieve(batch)
        predicted = predict(batch, retrieved, model.lm)
        for name, mixture in rungs.items():
            parts[name].append(_score(batch, retrieved, predicted, mixture))
        covered.append((retrieved.values == batch.targets[:, None]).any(1))
        progress(len(batch))
    scores = {
        name: Scores(*(torch.cat(column).numpy() for column in zip(*found, strict=True)))
        for name, found in parts.items()
    }
    return Scored(scores, torch.cat(covered).numpy())


def predict(batch: Queries, retrieved: Retrieved, lm: AbstractLanguageModel) -> Predicted:
    """Keep of the base model's prediction what any rung can ask for."""
    log_p = lm.log_p(batch.outputs)
    top, top_ids = log_p.topk(min(TOP + 1, lm.vocab_size), 1)
    return Predicted(
        log_p.gather(1, batch.targets[:, None]).squeeze(1),
        Evidence.of(retrieved.values, log_p),
        top,
        top_ids,
    )


def _score(
    batch: Queries, retrieved: Retrieved, predicted: Predicted, mixture: Mixture | None
) -> tuple[Float32[Tensor, " n"], Int64[Tensor, " n"]]:
    if mixture is None:
        above = (predicted.top > predicted.gold[:, None]).sum(1)
        return predicted.gold, (above + 1).clamp_max(TOP + 1)
    log_p = mixture.log_p_target(retrieved, batch.targets, predicted.gold, predicted.evidence)
    return log_p, _ranks(batch, retrieved, predicted, mixture)


def _ranks(
    batch: Queries, retrieved: Retrieved, predicted: Predicted, mixture: Mixture
) -> Int64[Tensor, " n"]:
    """
    Count the tokens more probable than the gold one, exactly up to ``TOP``.

    A token outside of the neighbors has ``(1−λ) p_LM``: of those only the base model's best count.
    """
    lams = mixture.lams(retrieved, predicted.evidence)[:, None]
    targets = batch.targets[:, None]
    values, order = retrieved.values.sort(dim=1)
    shares = log_weights(mixture.calibrated(retrieved)).exp().gather(1, order)
    total, last = sums_of_runs(values, shares)
    p = lams * total + (1 - lams) * predicted.evidence.log_p_values.gather(1, order).exp()
    # The gold token's own p must be the very number its rivals are compared with.
    gold = values == targets
    p_retrieved = torch.where(gold & last, p, 0).sum(1, keepdim=True)
    p_elsewhere = (1 - lams) * predicted.gold.exp()[:, None]
    p_gold = torch.where(gold.any(1, keepdim=True), p_retrieved, p_elsewhere)
    rivals = (p > p_gold) & last & ~gold & (values >= 0)
    others = ~_contains(values, predicted.top_ids) & (predicted.top_ids != targets)
    others &= (1 - lams) * predicted.top.exp() > p_gold
    return (1 + rivals.sum(1) + others.sum(1)).clamp_max(TOP + 1)


def _contains(rows: Tensor, wanted: Int64[Tensor, "n top"]) -> Bool[Tensor, "n top"]:
    """Say which of *wanted* are in the sorted row of the same number."""
    if not rows.shape[1]:
        return torch.zeros(wanted.shape, dtype=torch.bool)
    rows = rows.long()
    place = torch.searchsorted(rows, wanted).clamp_max(rows.shape[1] - 1)
    return rows.gather(1, place) == wanted
