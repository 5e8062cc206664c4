"""Looking into a store: where neighbors come from, when locality helps, and a report of both."""

from vicinal.analysis.cases import Case, CaseNeighbor, Guess, Told, cases, tell, turned_right
from vicinal.analysis.curves import Curve, Curves, curves
from vicinal.analysis.explaining import Explanation, Neighbor, explain_line, find_document
from vicinal.analysis.plots import plot_curves, plot_lines
from vicinal.analysis.provenance import Place, Provenance
from vicinal.analysis.report import Report, missing_packages, visible

__all__ = [
    "Case",
    "CaseNeighbor",
    "Curve",
    "Curves",
    "Explanation",
    "Guess",
    "Neighbor",
    "Place",
    "Provenance",
    "Report",
    "Told",
    "cases",
    "curves",
    "explain_line",
    "find_document",
    "missing_packages",
    "plot_curves",
    "plot_lines",
    "tell",
    "turned_right",
    "visible",
]
