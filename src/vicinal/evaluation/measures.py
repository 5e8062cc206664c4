"""
Measures as values: each has parameters, a name, and one sentence of what it counts.

All are sums over positions divided by sums over positions, so that a bootstrap over documents
needs no more than each document's two sums. Knows nothing of how scores came about.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from vicinal.evaluation.sampling import Sample
from vicinal.evaluation.scoring import Scores

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Outcome:
    """One rung's scores, the base model's, and where the positions are."""

    scores: Scores
    log_p_lm: Float32[np.ndarray, " n"]
    covered: Bools
    sample: Sample
    groups: Int64[np.ndarray, " subjects"]

    @cached_property
    def unit_subject(self) -> Int64[np.ndarray, " units"]:
        """Give the subject of each unit."""
        subject = np.zeros(len(self.sample.full_tokens), np.int64)
        subject[self.sample.unit] = self.sample.subject
        return subject

    def per_subject(self, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> "Sums":
        """Sum something that every position has by subject."""
        return np.bincount(self.sample.subject, values, len(self.groups)).astype(np.float64)

    def units_per_subject(self, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> "Sums":
        """Sum something that every unit has by subject."""
        return np.bincount(self.unit_subject, values, len(self.groups)).astype(np.float64)


Sums = np.ndarray[tuple[int], np.dtype[np.float64]]


class AbstractMeasure(ABC):
    """A number that says how good a rung is."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name the measure as tables and JSON do."""

    @abstractmethod
    def sums(self, outcome: Outcome) -> tuple[Sums, Sums]:
        """Give, for each subject, what is added up and what it is divided by."""

    def value(self, total: float, count: float) -> float:
        """Turn the two sums into the measure."""
        return total / count if count else math.nan

    def __call__(self, outcome: Outcome) -> float:
        """Measure a rung."""
        totals, counts = self.sums(outcome)
        return float(self.value(float(totals.sum()), float(counts.sum())))


@dataclass(frozen=True)
class Perplexity(AbstractMeasure):
    """
    ``exp(−Σ log p / count)``, the count being of model tokens, full tokens or bytes.

    The sum is always over all model tokens: subtokens are added up, none is left out.
    """

    per: str = "token"

    @property
    def name(self) -> str:
        """Name the measure as tables and JSON do."""
        return {"token": "ppl", "full_token": "ppl_full_token", "byte": "ppl_byte"}[self.per]

    def sums(self, outcome: Outcome) -> tuple[Sums, Sums]:
        """Give, for each subject, its −Σ log p and its count."""
        losses = outcome.per_subject(-outcome.scores.log_p.astype(np.float64))
        if self.per == "token":
            return losses, outcome.per_subject(np.ones(len(outcome.sample)))
        weights = outcome.sample.full_tokens if self.per == "full_token" else outcome.sample.n_bytes
        return losses, outcome.units_per_subject(weights.astype(np.float64))

    def value(self, total: float, count: float) -> float:
        """Turn the two sums into a perplexity."""
        return math.exp(total / count) if count else math.nan


@dataclass(frozen=True)
class Top(AbstractMeasure):
    """
    Share of tokens whose gold token is among the *n* most probable, given the gold prefix.

    A full token counts as right only if each of its model tokens is.
    """

    n: int
    full_token: bool = False

    @property
    def name(self) -> str:
        """Name the measure as tables and JSON do."""
        return f"top{self.n}" + ("_full_token" if self.full_token else "")

    def sums(self, outcome: Outcome) -> tuple[Sums, Sums]:
        """Give, for each subject, how many are right and how many there are."""
        right = (outcome.scores.rank <= self.n).astype(np.float64)
        if not self.full_token:
            return outcome.per_subject(right), outcome.per_subject(np.ones(len(right)))
        sample = outcome.sample
        wrong = np.bincount(sample.unit, 1 - right, len(sample.full_tokens)) > 0
        counts = sample.full_tokens.astype(np.float64)
        return outcome.units_per_subject(counts * ~wrong), outcome.units_per_subject(counts)


@dataclass(frozen=True)
class Coverage(AbstractMeasure):
    """Share of positions whose gold token is among the neighbors."""

    @property
    def name(self) -> str:
        """Name the measure as tables and JSON do."""
        return "coverage"

    def sums(self, outcome: Outcome) -> tuple[Sums, Sums]:
        """Give, for each subject, how many are covered and how many there are."""
        covered = outcome.covered.astype(np.float64)
        return outcome.per_subject(covered), outcome.per_subject(np.ones(len(covered)))


@dataclass(frozen=True)
class Share(AbstractMeasure):
    """Share of positions to which the rung gives a higher (or lower) p than the base model."""

    helped: bool = True

    @property
    def name(self) -> str:
        """Name the measure as tables and JSON do."""
        return "helped" if self.helped else "hurt"

    def sums(self, outcome: Outcome) -> tuple[Sums, Sums]:
        """Give, for each subject, how many are helped (or hurt) and how many there are."""
        gain = outcome.scores.log_p - outcome.log_p_lm
        counted = (gain > 0 if self.helped else gain < 0).astype(np.float64)
        return outcome.per_subject(counted), outcome.per_subject(np.ones(len(counted)))


@dataclass(frozen=True)
class Macro(AbstractMeasure):
    """The mean of another measure over groups (projects, articles), each counting the same."""

    measure: AbstractMeasure

    @property
    def name(self) -> str:
        """Name the measure as tables and JSON do."""
        return f"{self.measure.name}_macro"

    def sums(self, outcome: Outcome) -> tuple[Sums, Sums]:
        """Give, for each group, its measure, and one for each group that has any."""
        totals, counts = (
            np.bincount(outcome.groups, column) for column in self.measure.sums(outcome)
        )
        values = [self.measure.value(t, c) for t, c in zip(totals, counts, strict=True) if c]
        return np.array(values, np.float64), np.ones(len(values))


MEASURES: tuple[AbstractMeasure, ...] = (
    Perplexity(),
    Perplexity("full_token"),
    Perplexity("byte"),
    *(Top(n) for n in (1, 5, 10, 20)),
    *(Top(n, full_token=True) for n in (1, 5, 10, 20)),
    Coverage(),
    Share(helped=True),
    Share(helped=False),
    Macro(Perplexity()),
    Macro(Perplexity("full_token")),
)


@dataclass(frozen=True)
class Difference:
    """How much a measure changes from one rung to another, with a 95 % interval."""

    difference: float
    interval: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """Write the difference as plain data."""
        return {"difference": self.difference, "interval": list(self.interval)}

    def __str__(self) -> str:
        """Write the difference as a person reads it."""
        low, high = self.interval
        return f"{self.difference:+.4f} [{low:+.4f}, {high:+.4f}]"


def bootstrap(
    measure: AbstractMeasure, outcome: Outcome, before: Outcome, *, seed: int, draws: int = 2000
) -> Difference:
    """
    Compare two rungs by a paired bootstrap: documents are drawn with replacement, both rungs alike.

    The interval is the middle 95 % of the differences.
    """
    sums = np.stack([*measure.sums(outcome), *measure.sums(before)])
    present = sums[:, sums[1] > 0]
    n = present.shape[1]
    random = np.random.default_rng(seed)
    drawn = random.multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64) @ present.T
    differences = [
        measure.value(total, count) - measure.value(total_before, count_before)
        for total, count, total_before, count_before in drawn.tolist()
    ]
    low, high = np.quantile(differences, [0.025, 0.975])
    return Difference(measure(outcome) - measure(before), (float(low), float(high)))
