"""Looking into a store: where neighbors come from, when locality helps, and a report of both."""

from vicinal.analysis.explaining import Explanation, Neighbor, explain_line, find_document
from vicinal.analysis.provenance import Place, Provenance

__all__ = [
    "Explanation",
    "Neighbor",
    "Place",
    "Provenance",
    "explain_line",
    "find_document",
]
