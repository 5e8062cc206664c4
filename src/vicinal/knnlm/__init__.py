"""The kNN language model: neighbors to probabilities, and their mixture with the base model."""

from vicinal.knnlm.adapting import Learning, fit_adaptive
from vicinal.knnlm.features import features
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
from vicinal.knnlm.probability import (
    interpolate,
    log_p_knn,
    log_p_target,
    log_weights,
    sums_of_runs,
)
from vicinal.knnlm.retrieval import Queries, Retrieved, Retriever

__all__ = [
    "DEFAULT_K",
    "KNNLM",
    "NAME_IN_STORE",
    "PUBLISHED_LAM",
    "Choice",
    "Learning",
    "Mixture",
    "Parameters",
    "Queries",
    "Retrieved",
    "Retriever",
    "features",
    "fit_adaptive",
    "interpolate",
    "log_p_knn",
    "log_p_target",
    "log_weights",
    "own_range",
    "preferred",
    "stored_parameters",
    "sums_of_runs",
]
