"""Finding the nearest stored contexts: exact search, FAISS, rescoring."""

from vicinal.index.exact import ExactIndex
from vicinal.index.flat import FlatFaissIndex
from vicinal.index.inverted import IVFIndex
from vicinal.index.neighbors import AbstractIndex, Neighbors
from vicinal.index.opening import open_index
from vicinal.index.recall import RecallReport, RecallTarget
from vicinal.index.remembered import RememberedIndex

__all__ = [
    "AbstractIndex",
    "ExactIndex",
    "FlatFaissIndex",
    "IVFIndex",
    "Neighbors",
    "RecallReport",
    "RecallTarget",
    "RememberedIndex",
    "open_index",
]
