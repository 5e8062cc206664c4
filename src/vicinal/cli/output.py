"""
How commands speak: results on stdout (tables, or JSON for machines), progress on stderr.

Knows nothing of what is printed. Progress is shown only where someone can see it move.
"""

import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

# Of a table in a file or a pipe: lines are not folded where no one set a width.
PIPE_WIDTH = 200


def print_json(result: Any) -> None:
    """Print a result for machines: one JSON value."""
    typer.echo(json.dumps(result, ensure_ascii=False, indent=2))


def print_facts(facts: Mapping[str, object]) -> None:
    """Print named values one below the other, the names aligned."""
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        table.add_row(Text(name, style="dim"), Text(formatted(value)))
    results().print(table)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print rows below their column names; a column of numbers is set to the right."""
    rows = list(rows)
    table = Table(title=title or None, title_justify="left")
    for i, column in enumerate(columns):
        is_number = rows and all(isinstance(row[i], int | float) for row in rows)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(formatted(value)) for value in row))
    results().print(table)


def formatted(value: object) -> str:
    """Write a value as a person would: grouped integers, four digits, no ``None``."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
        case _:
            return str(value)


def as_bytes(n: float | int) -> str:
    """Write a size in the unit that suits it."""
    size, units = float(n), ["B", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{size:.3g} {units[0]}"


def note(message: str) -> None:
    """Say something on stderr that is not the result."""
    typer.echo(message, err=True)


def progress() -> Progress:
    """Make a progress display on stderr with bar, what was done, elapsed and remaining time."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )


def results() -> Console:
    """Make the console results go to."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def quieten() -> None:
    """Keep the libraries below from warning, drawing bars, and reporting to their makers."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    # Read by the libraries when they are imported, which is when a command runs.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_VERBOSITY", "critical")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("DATASETS_VERBOSITY", "critical")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
