"""
Another language model on the same documents, by itself: for rows beside the ladder.

It cuts text in its own way, so that only what is counted per full token or byte can be compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from vicinal.datastore import Snapshot
from vicinal.evaluation import MEASURES, Outcome, Scores, corpus_subjects, draw, vectors
from vicinal.lm import AbstractLanguageModel
from vicinal.paper.protocol import TEST, Protocol

BATCH = 512


@dataclass(frozen=True)
class Baseline:
    """A name, and every measure of the test split."""

    name: str
    measures: Mapping[str, float]


def baseline(
    name: str, lm: AbstractLanguageModel, protocol: Protocol, size: int, seed: int
) -> Baseline:
    """Measure a model alone on positions of the test split."""
    nothing = Snapshot((), (), (), np.zeros((0, 2), np.int64), lm.key_dim)
    subjects = corpus_subjects(protocol.splits[TEST], nothing, lm)
    sample = draw(subjects, size, seed)
    rows = sample.rows(len(subjects))
    _, outputs = vectors(subjects, rows, nothing, lm)
    chosen = [s.ids[r] for s, r in zip(subjects, rows, strict=True)]
    targets = torch.from_numpy(np.concatenate(chosen)).long()
    scores = _scores(lm, torch.from_numpy(outputs), targets)
    groups = np.zeros(len(subjects), np.int64)
    covered = np.zeros(len(sample), np.bool_)
    outcome = Outcome(scores, scores.log_p, covered, sample, groups)
    return Baseline(name, {measure.name: measure(outcome) for measure in MEASURES})


def _scores(lm: AbstractLanguageModel, outputs: torch.Tensor, targets: torch.Tensor) -> Scores:
    log_p, ranks = [], []
    for some, gold in zip(torch.split(outputs, BATCH), torch.split(targets, BATCH), strict=True):
        found = lm.log_p(some)
        own = found.gather(1, gold[:, None])
        log_p.append(own.squeeze(1))
        ranks.append(1 + (found > own).sum(1))
    return Scores(torch.cat(log_p).numpy(), torch.cat(ranks).numpy())
