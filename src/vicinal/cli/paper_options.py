"""Options of ``vicinal paper``, which its commands share."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path,
    typer.Option(
        "--data",
        help="Folder of the corpus, as 'vicinal corpus fetch' writes it.",
        metavar="DIR",
        show_default=False,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        help="Folder for the report and all it is made from; an interrupted run goes on there.",
        metavar="DIR",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        help="About how many kilobytes of text each store gets, for a laptop: whole directories "
        "evenly over projects, or whole articles. By default everything.",
        metavar="KB",
        min=1,
    ),
]
Sample = Annotated[
    int,
    typer.Option("--sample", help="Positions to fit on, and as many to test.", metavar="N", min=1),
]
Seeds = Annotated[
    int, typer.Option("--seeds", help="How often everything random is done.", metavar="N", min=1)
]
Departures = Annotated[
    int,
    typer.Option(
        "--departures",
        help="Positions to measure each departure of the released code on; 0 leaves them out.",
        metavar="N",
        min=0,
    ),
]
AsReleased = Annotated[
    bool,
    typer.Option(
        "--as-released", help="Do as the paper's released code did, wherever that is feasible."
    ),
]
Baselines = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="Another model to show by itself, as NAME=FOLDER (give it again for more).",
        metavar="NAME=MODEL",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="First seed of all that is random.")]
K = Annotated[int, typer.Option("--k", help="Neighbors of each position.", min=1, metavar="K")]
Index = Annotated[
    str, typer.Option("--index", help="How to search: auto, exact, flat or ivf.", metavar="KIND")
]
Categories = Annotated[
    Path | None,
    typer.Option(
        "--categories",
        help="Table (TSV) of titles and categories. By default categories.tsv in DIR.",
        metavar="FILE",
        show_default=False,
    ),
]
Title = Annotated[
    list[str] | None,
    typer.Option("--title", help="Column of titles (again for more).", metavar="COLUMN"),
]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="Column of categories (again for more).", metavar="COLUMN"),
]
Articles = Annotated[
    bool,
    typer.Option(
        "--articles/--no-articles",
        help="Also read whole articles as context, which encodes everything once more.",
    ),
]
