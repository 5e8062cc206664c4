"""The kNN language model: neighbors to probabilities, and their mixture with the base model."""

from vicinal.knnlm.mixture import PUBLISHED_LAM, Mixture
from vicinal.knnlm.model import (
    DEFAULT_K,
    KNNLM,
    NAME_IN_STORE,
    Choice,
    own_range,
    preferred,
    stored_parameters,
)
from vicinal.knnlm.parameters import Parameters
from vicinal.knnlm.probability import interpolate, log_p_knn, log_p_target, log_weights
from vicinal.knnlm.retrieval import Queries, Retrieved, Retriever

__all__ = [
    "DEFAULT_K",
    "KNNLM",
    "NAME_IN_STORE",
    "PUBLISHED_LAM",
    "Choice",
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
    "preferred",
    "stored_parameters",
]
