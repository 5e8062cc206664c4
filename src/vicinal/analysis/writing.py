"""
Tables, figures and pages as files, in every format that is asked for.

The same tables and curves give the same bytes. Knows nothing of what they show.
"""

from collections.abc import Sequence
from pathlib import Path

from vicinal.analysis.curves import Curves
from vicinal.analysis.figures import FORMATS, draw_calibrated, draw_published, image, numbers
from vicinal.analysis.page import Drawing, Page
from vicinal.analysis.tables import Table


def write_tables(tables: Sequence[Table], folder: Path) -> None:
    """Write each table as CSV, Markdown and LaTeX."""
    for table in tables:
        _write(folder / f"{table.name}.csv", table.to_csv())
        _write(folder / f"{table.name}.md", table.to_markdown())
        _write(folder / f"{table.name}.tex", table.to_latex())


def write_figures(raw: Curves, calibrated: Curves, name: str, folder: Path) -> list[Drawing]:
    """Draw what neighbors are worth as found and as calibrated, in every format, with numbers."""
    captions = {
        "figure2": "Figure 2. Left: negative distance, by the upper bound of its bin, against "
        "the share of neighbors that carry the gold token. Middle: rank against that share. "
        "Right: rank against the mean negative distance. The 200 nearest of each position; bands "
        "are 95 % intervals over documents.",
        "figure3": "Figure 3. Rank against the mean negative calibrated distance; where the "
        "levels' curves lie together, a distance means the same at every level.",
    }
    figures = {
        "figure2": (draw_published(raw, f"As found: {name}"), raw),
        "figure3": (draw_calibrated(calibrated, f"Calibrated: {name}"), calibrated),
    }
    drawings = []
    for key, (figure, curves) in figures.items():
        for kind in FORMATS:
            _write_bytes(folder / f"{key}.{kind}", image(figure, kind))
        _write(folder / f"{key}.csv", numbers(key, curves, captions[key]).to_csv())
        drawings.append(Drawing((folder / f"{key}.svg").read_bytes(), captions[key]))
    return drawings


def write_page(page: Page, file: Path) -> Path:
    """Write a page; the answer is its file."""
    _write(file, page.to_html())
    return file


def _write(path: Path, text: str) -> None:
    _write_bytes(path, text.encode("utf-8"))


def _write_bytes(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
