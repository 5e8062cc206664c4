"""Finding the nearest stored contexts: exact search, FAISS, rescoring."""

from vicinal.index.exact import ExactIndex
from vicinal.index.neighbors import AbstractIndex, Neighbors

__all__ = ["AbstractIndex", "ExactIndex", "Neighbors"]
