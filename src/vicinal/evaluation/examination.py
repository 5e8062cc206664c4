"""
An examination: documents, the positions drawn from them, and a query for each.

What both fitting and measuring start from. Knows nothing of rungs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vicinal.errors import EvaluationError
from vicinal.evaluation.sampling import Sample, draw
from vicinal.evaluation.scoring import as_queries
from vicinal.evaluation.subjects import Subject
from vicinal.knnlm import KNNLM, Queries


@dataclass(frozen=True)
class Examination:
    """Positions of some documents, ready to be looked up."""

    subjects: Sequence[Subject]
    sample: Sample
    queries: Queries

    @classmethod
    def from_subjects(
        cls, subjects: Sequence[Subject], model: KNNLM, *, size: int | None, seed: int
    ) -> "Examination":
        """Draw *size* positions (all if None), and encode them where the store has not."""
        sample = draw(subjects, size, seed)
        return cls(subjects, sample, as_queries(subjects, sample, model))

    @property
    def content_hashes(self) -> frozenset[str]:
        """Give the content hashes of the documents that positions were drawn from."""
        return frozenset(self.subjects[i].content_hash for i in np.unique(self.sample.subject))

    def refuse_fitted(self, fitted_on: frozenset[str]) -> None:
        """Refuse to measure on a document that parameters were fitted on."""
        both = self.content_hashes & fitted_on
        if both:
            names = sorted(s.name for s in self.subjects if s.content_hash in both)
            raise EvaluationError(
                f"The parameters were fitted on {len(both)} of these documents "
                f"({', '.join(names[:3])}{', ...' if len(names) > 3 else ''}). Measure on others "
                "(--documents, --on), or say --allow-fitted to do it anyway."
            )
