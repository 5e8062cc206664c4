"""Measuring a kNN language model: leave-own-document-out, every rung on the same positions."""

from vicinal.evaluation.examination import Examination
from vicinal.evaluation.full_tokens import Units, full_token_ends, units
from vicinal.evaluation.ladder import FITTED, LINES, RUNGS, fit_ladder
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
from vicinal.evaluation.runs import Watcher, fit_parameters, measure, rungs_of
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
    "Examination",
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
    "Watcher",
    "as_queries",
    "bootstrap",
    "corpus_subjects",
    "draw",
    "fit_ladder",
    "fit_parameters",
    "full_token_ends",
    "measure",
    "observe",
    "outcomes",
    "predict",
    "rungs_of",
    "score",
    "stored_subjects",
    "table",
    "units",
    "vectors",
]
