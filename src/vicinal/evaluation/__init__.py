"""Measuring a kNN language model: leave-own-document-out, every rung on the same positions."""

from vicinal.evaluation.full_tokens import Units, full_token_ends, units
from vicinal.evaluation.ladder import FITTED, LINES, RUNGS, fit_ladder, with_published
from vicinal.evaluation.measures import (
    MEASURES,
    AbstractMeasure,
    Coverage,
    Difference,
    Macro,
    Outcome,
    Perplexity,
    Share,
    Top,
    bootstrap,
)
from vicinal.evaluation.results import Result, Row, outcomes, table
from vicinal.evaluation.sampling import Sample, draw
from vicinal.evaluation.scoring import (
    Predicted,
    Scored,
    Scores,
    as_queries,
    observe,
    predict,
    score,
)
from vicinal.evaluation.subjects import Subject, corpus_subjects, stored_subjects, vectors

__all__ = [
    "FITTED",
    "LINES",
    "MEASURES",
    "RUNGS",
    "AbstractMeasure",
    "Coverage",
    "Difference",
    "Macro",
    "Outcome",
    "Perplexity",
    "Predicted",
    "Result",
    "Row",
    "Sample",
    "Scored",
    "Scores",
    "Share",
    "Subject",
    "Top",
    "Units",
    "as_queries",
    "bootstrap",
    "corpus_subjects",
    "draw",
    "fit_ladder",
    "full_token_ends",
    "observe",
    "outcomes",
    "predict",
    "score",
    "stored_subjects",
    "table",
    "units",
    "vectors",
    "with_published",
]
