"""Looking into a store: where neighbors come from, when locality helps, and a report of both."""

from vicinal.analysis.cases import Case, CaseNeighbor, Guess, Told, cases, tell, turned_right
from vicinal.analysis.curves import PUBLISHED, Binning, Curve, Curves, curves
from vicinal.analysis.describing import (
    accuracy_table,
    ladder_table,
    levels_table,
    movements_table,
    parameters_table,
)
from vicinal.analysis.explaining import Explanation, Neighbor, explain_line, find_document
from vicinal.analysis.figures import FORMATS, draw_calibrated, draw_published, image, numbers
from vicinal.analysis.looking import Look, Wanted, look
from vicinal.analysis.moved import Change, Moved, MovedNeighbor, Movements, log_p_gold, movements
from vicinal.analysis.page import Drawing, Page, Section
from vicinal.analysis.plots import plot_curves, plot_lines
from vicinal.analysis.provenance import Place, Provenance
from vicinal.analysis.report import Report
from vicinal.analysis.tables import Cell, Number, Table
from vicinal.analysis.templating import missing_packages, visible
from vicinal.analysis.within import Odds, odds_within
from vicinal.analysis.writing import write_figures, write_page, write_tables

__all__ = [
    "FORMATS",
    "PUBLISHED",
    "Binning",
    "Case",
    "CaseNeighbor",
    "Cell",
    "Change",
    "Curve",
    "Curves",
    "Drawing",
    "Explanation",
    "Guess",
    "Look",
    "Moved",
    "MovedNeighbor",
    "Movements",
    "Neighbor",
    "Number",
    "Odds",
    "Page",
    "Place",
    "Provenance",
    "Report",
    "Section",
    "Table",
    "Told",
    "Wanted",
    "accuracy_table",
    "cases",
    "curves",
    "draw_calibrated",
    "draw_published",
    "explain_line",
    "find_document",
    "image",
    "ladder_table",
    "levels_table",
    "log_p_gold",
    "look",
    "missing_packages",
    "movements",
    "movements_table",
    "numbers",
    "odds_within",
    "parameters_table",
    "plot_curves",
    "plot_lines",
    "tell",
    "turned_right",
    "visible",
    "write_figures",
    "write_page",
    "write_tables",
]
