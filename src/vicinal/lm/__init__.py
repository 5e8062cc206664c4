"""Models: text to ids, ids to keys and to the model's own predictions."""

from vicinal.lm.catalog import DEFAULT_MODEL, KNOWN, ModelEntry, cache_folder, models, pull, pulled
from vicinal.lm.hugging_face import HuggingFaceModel
from vicinal.lm.language_model import AbstractLanguageModel, Encoding, Tokens

__all__ = [
    "DEFAULT_MODEL",
    "KNOWN",
    "AbstractLanguageModel",
    "Encoding",
    "HuggingFaceModel",
    "ModelEntry",
    "Tokens",
    "cache_folder",
    "models",
    "pull",
    "pulled",
]
