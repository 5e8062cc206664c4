"""``vicinal paper``: an experiment of the paper, every table and figure, with one command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli import options, output
from vicinal.cli.study import Asked, run

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.corpus import Categories

paper = typer.Typer(
    name="paper",
    help="Run the paper's experiments: every table and figure with one command.",
    no_args_is_help=True,
)
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


@paper.command("java")
def java(
    data: Data,
    out: Out,
    limit: Limit = None,
    sample: Sample = 10_000,
    seeds: Seeds = 5,
    seed: Seed = 0,
    k: K = 1024,
    index: Index = "auto",
    departures: Departures = 4_000,
    as_released: AsReleased = False,
    baseline: Baselines = None,
    model: options.Model = None,
    dtype: options.Dtype = None,
    json: options.Json = False,
) -> None:
    """
    Run the experiment on Java projects.

    DIR has valid/ and test/, each with a folder for every project (or valid.jsonl and test.jsonl).
    Lines are fitted on valid and tested on test; every file is left out of its own search.

    For example:

    \b
    $ vicinal paper java --data corpora/java --out java-report --limit 3000
    $ vicinal paper java --data corpora/java --out released --as-released
    """
    from vicinal import paper as room

    how = Asked(out, limit, sample, seeds, seed, k, index, departures, as_released, baseline or [])
    protocol = room.java(data, limit=how.n_bytes, seed=seed)
    run(how, {"file": protocol}, model=model, dtype=dtype, as_json=json)


@paper.command("wikitext")
def wikitext(
    data: Data,
    out: Out,
    categories: Annotated[
        Path | None,
        typer.Option(
            "--categories",
            help="Table (TSV) of titles and categories. By default categories.tsv in DIR.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        list[str] | None,
        typer.Option("--title", help="Column of titles (again for more).", metavar="COLUMN"),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="Column of categories (again for more).", metavar="COLUMN"),
    ] = None,
    articles: Annotated[
        bool,
        typer.Option(
            "--articles/--no-articles",
            help="Also read whole articles as context, which encodes everything once more.",
        ),
    ] = True,
    limit: Limit = None,
    sample: Sample = 10_000,
    seeds: Seeds = 5,
    seed: Seed = 0,
    k: K = 1024,
    index: Index = "auto",
    departures: Departures = 4_000,
    as_released: AsReleased = False,
    baseline: Baselines = None,
    model: options.Model = None,
    dtype: options.Dtype = None,
    json: options.Json = False,
) -> None:
    """
    Run the experiment on WikiText.

    DIR has wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens (or folders wikitext-103 and
    wikitext-2 that have). A document is a section; a split's store is the split and train.

    For example:

    \b
    $ vicinal paper wikitext --data wikitext-103 --categories wikidata.tsv --out wiki-report
    $ vicinal paper wikitext --data corpora/wikitext --categories articles.tsv \\
        --title wikitext_title --column ga_subtopic --limit 2400 --out small
    """
    from vicinal import paper as room

    how = Asked(out, limit, sample, seeds, seed, k, index, departures, as_released, baseline or [])
    known = _categories(categories or data / "categories.tsv", title, column)
    found = room.Encyclopedia(data, known, limit=how.n_bytes, seed=seed)
    units = ("section", "article") if articles else ("section",)
    protocols = {unit: room.wikitext(found, unit=unit) for unit in units}
    run(how, protocols, model=model, dtype=dtype, as_json=json)


def _categories(file: Path, title: list[str] | None, column: list[str] | None) -> "Categories":
    from vicinal.corpus import Categories
    from vicinal.errors import CorpusError

    if not file.is_file():
        raise CorpusError(
            f"Expected a table of categories, found nothing at {file}. Name one with --categories, "
            "or ask Wikidata for them with a domain of your own (see `vicinal index --help`)."
        )
    output.note(f"categories from {file}")
    titles, columns = title or ["title"], column or ["categories"]
    return Categories.from_tsv(file, title=titles, column=columns)
