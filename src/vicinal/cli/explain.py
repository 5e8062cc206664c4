"""``vicinal explain``: why the model says what it says, token by token."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from vicinal.cli import examining, options, output, parts

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.analysis import Explanation

COLUMNS = ("token", "p(LM)", "p(kNN)", "λ", "p", "instead of", "where", "level", "d", "g", "share")
WORDS = {"token", "instead of", "where", "level"}
# From far to near; the last color stands for all deeper levels.
COLORS = ("red", "yellow", "green", "cyan", "blue", "magenta")
File = Annotated[Path, typer.Option("--file", help="The file.", metavar="F", show_default=False)]
Line = Annotated[
    int, typer.Option("--line", help="Its line, from 1.", metavar="L", show_default=False)
]
Top = Annotated[
    int, typer.Option("--top", help="Neighbors to show of each token.", metavar="N", min=0)
]
Rung = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        help="Which fitted calibration to use. By default adaptive or linear, if it was fitted.",
        metavar="NAME",
    ),
]


def explain(
    store: options.Store,
    file: File,
    line: Line,
    top: Top = 4,
    calibration: Rung = None,
    k: examining.K = None,
    json: options.Json = False,
) -> None:
    """
    Show for each token of a line what the models gave it, and which neighbors decided.

    The file is read as it is now; what the store has of it is left out. p(LM) is the base model's,
    p(kNN) the neighbors', λ their share in the mixture p; d is the distance, g the calibrated one,
    and share the neighbor's part of p(kNN).

    For example:

    \b
    $ vicinal explain --store my-store --file src/app.py --line 42
    """
    from vicinal.analysis import explain_line, find_document
    from vicinal.knnlm import KNNLM, Choice

    opened, _, lm = parts.open_with_model(store)
    model = KNNLM.from_store(opened, lm, choice=Choice(rung=calibration, k=k))
    document = find_document(model.retriever.snapshot, file)
    found = explain_line(model, document, line, top=top)
    if json:
        fixed = None if model.mixture.adaptive else model.mixture.lam
        settings = {"lam": fixed, "k": model.k, "document": document.name}
        output.print_json({**settings, "tokens": [asdict(token) for token in found]})
        return
    names = model.retriever.schema.level_names
    output.results().print(_table(found, names))
    output.print_facts({"document": document.name, "λ": model.mixture.lam_told, "k": model.k})


def _table(found: "list[Explanation]", levels: tuple[str, ...]) -> Table:
    table = Table()
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in WORDS else "right", overflow="fold")
    for token in found:
        helped = "green" if token.p > token.p_lm else "red"
        head = [
            Text(repr(token.token)[1:-1]),
            Text(f"{token.p_lm:.3f}"),
            Text(f"{token.p_knn:.3f}"),
            Text(f"{token.lam:.2f}"),
            Text(f"{token.p:.3f}", style=helped),
            Text("" if token.guess == token.token else repr(token.guess)[1:-1], style="dim"),
        ]
        rows = [_neighbor_cells(neighbor, levels) for neighbor in token.neighbors] or [[]]
        for i, cells in enumerate(rows):
            table.add_row(*(head if i == 0 else [Text("")] * len(head)), *cells)
        table.add_section()
    return table


def _neighbor_cells(neighbor: object, levels: tuple[str, ...]) -> list[Text]:
    from vicinal.analysis import Neighbor

    assert isinstance(neighbor, Neighbor)
    place = neighbor.place
    color = COLORS[min(levels.index(neighbor.level), len(COLORS) - 1)]
    return [
        Text(f"{place.document}:{place.line} → {place.token!r}"),
        Text(neighbor.level, style=color),
        Text(f"{neighbor.distance:.1f}"),
        Text(f"{neighbor.calibrated:.1f}"),
        Text(f"{neighbor.share:.2f}"),
    ]
