"""
Which positions are scored: all of them, or a seeded sample of whole units.

A sample is of units, not of model tokens, so that full tokens are always scored whole; every
model token still has the same chance to be in it. Knows nothing of models.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from vicinal.evaluation.subjects import Subject


@dataclass(frozen=True)
class Sample:
    """
    Positions in the order of their documents, a row each, and the units they make up.

    *subject* and *token* say where a position is; *unit* numbers the units of the sample.
    """

    subject: Int64[np.ndarray, " n"]
    token: Int64[np.ndarray, " n"]
    unit: Int64[np.ndarray, " n"]
    full_tokens: Int64[np.ndarray, " units"]
    n_bytes: Int64[np.ndarray, " units"]

    def __len__(self) -> int:
        """Count the positions."""
        return len(self.token)

    def rows(self, n_subjects: int) -> list[Int64[np.ndarray, " _"]]:
        """Give the sampled tokens of each subject."""
        cuts = np.searchsorted(self.subject, np.arange(1, n_subjects))
        return np.split(self.token, cuts)


def draw(subjects: Sequence[Subject], size: int | None, seed: int) -> Sample:
    """Draw units at random, without replacement, until *size* positions are had."""
    first_unit = np.cumsum([0, *(len(s.units.full_tokens) for s in subjects)])
    unit = np.concatenate(
        [s.units.of_token + f for s, f in zip(subjects, first_unit, strict=False)]
    )
    if size is not None and size < len(unit):
        unit_kept = _kept(np.bincount(unit, minlength=first_unit[-1]), size, seed)
        chosen = np.flatnonzero(unit_kept[unit])
    else:
        chosen = np.arange(len(unit))
    first_token = np.cumsum([0, *(len(s.ids) for s in subjects)])
    subject = np.searchsorted(first_token, chosen, side="right") - 1
    units, renumbered = np.unique(unit[chosen], return_inverse=True)
    return Sample(
        subject,
        chosen - first_token[subject],
        renumbered.astype(np.int64),
        np.concatenate([s.units.full_tokens for s in subjects])[units].astype(np.int64),
        np.concatenate([s.units.n_bytes for s in subjects])[units],
    )


def _kept(
    tokens_of_unit: Int64[np.ndarray, " units"], size: int, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    order = np.random.default_rng(seed).permutation(len(tokens_of_unit))
    before = np.cumsum(tokens_of_unit[order]) - tokens_of_unit[order]
    kept = np.zeros(len(tokens_of_unit), dtype=np.bool_)
    kept[order[before < size]] = True
    return kept
