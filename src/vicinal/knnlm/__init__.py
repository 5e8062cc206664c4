"""The kNN language model: neighbors to probabilities, and their mixture with the base model."""

from vicinal.knnlm.mixture import PUBLISHED_LAM, Mixture
from vicinal.knnlm.model import KNNLM, own_range
from vicinal.knnlm.parameters import Parameters
from vicinal.knnlm.probability import interpolate, log_p_knn, log_p_target, log_weights
from vicinal.knnlm.retrieval import Queries, Retrieved, Retriever

__all__ = [
    "KNNLM",
    "PUBLISHED_LAM",
    "Mixture",
    "Parameters",
    "Queries",
    "Retrieved",
    "Retriever",
    "interpolate",
    "log_p_knn",
    "log_p_target",
    "log_weights",
    "own_range",
]
