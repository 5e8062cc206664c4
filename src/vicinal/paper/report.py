"""
The findings of a study as files: one HTML page, tables and figures in the formats that are asked.

Tables as CSV, Markdown and LaTeX; figures as PNG, SVG and PDF, with their numbers as CSV. The same
findings give the same bytes. Knows nothing of how anything was found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vicinal.analysis import (
    Drawing,
    Page,
    Section,
    Table,
    write_figures,
    write_page,
    write_tables,
)
from vicinal.paper.study import Findings

SECTIONS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "claims": ("What it says of the paper's claims", "", ("claims",)),
    "setting": ("Levels and data (Table 1)", "", ("levels", "data")),
    "results": ("Results (Tables 2 and 5)", "", ("table2", "table2-more", "table5")),
    "parameters": (
        "What was learned (Tables 3 and 8)",
        "At equal distance, a neighbor of a level counts e^(-b) times as much as one of level 0, "
        "where the weights are equal.",
        ("table3", "table8"),
    ),
    "mlp": ("Contextualized against direct (Table 7)", "", ("table7",)),
    "articles": ("Article by article", "", ("articles",)),
    "departures": (
        "Departures",
        "Where the paper's text, its released code and vicinal differ, and what each difference "
        "comes to on these data.",
        ("departures",),
    ),
}
BEFORE_FIGURES = ("claims", "setting", "results", "parameters", "mlp")


@dataclass(frozen=True)
class PaperReport:
    """
    What a report is made from.

    *name* is the experiment's; *lead* is said first, *settings* last.
    """

    name: str
    findings: Findings
    tables: Sequence[Table]
    lead: Sequence[str]
    settings: Mapping[str, str]

    def write(self, folder: Path) -> Path:
        """Write all files; the answer is the page."""
        write_tables(self.tables, folder / "tables")
        raw, calibrated = self.findings.raw, self.findings.calibrated
        drawings = write_figures(raw, calibrated, self.name, folder / "figures")
        return write_page(self._page(drawings), folder / "report.html")

    def _page(self, drawings: Sequence[Drawing]) -> Page:
        by_name = {table.name: table for table in self.tables}
        first = [self._section(key, by_name) for key in BEFORE_FIGURES]
        last = [self._section(key, by_name) for key in ("articles", "departures")]
        figures = Section(
            "Is a local neighbor more often right? (Figures 2 and 3)", (), (), drawings
        )
        return Page(
            f"Capturing structural locality: {self.name}",
            self.lead,
            [s for s in (*first, figures, _cases(by_name, self.findings), *last) if s],
            self.settings,
            [attribute.name for attribute in self.findings.schema.attributes],
            self.findings.schema.n_levels,
        )

    def _section(self, key: str, tables: Mapping[str, Table]) -> Section | None:
        title, words, names = SECTIONS[key]
        found = [tables[name] for name in names if name in tables]
        return Section(title, (words,) if words else (), found) if found else None


def _cases(tables: Mapping[str, Table], findings: Findings) -> Section:
    """Show positions that moved, with their neighbors (Tables 4 and 6)."""
    words = (tables["cases"].note, "What moves is log p_kNN of the gold token, from temperature "
             "only to a line for each level.")  # fmt: skip
    return Section("Positions that locality moved (Tables 4 and 6)", words, moved=findings.moved)
