"""``vicinal paper``: an experiment of the paper, every table and figure, with one command."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vicinal.cli import options, output
from vicinal.cli import paper_options as its
from vicinal.cli.asked import Asked
from vicinal.cli.study import run

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.corpus import Categories

paper = typer.Typer(
    name="paper",
    help="Run the paper's experiments: every table and figure with one command.",
    no_args_is_help=True,
)


@paper.command("java")
def java(
    data: its.Data,
    out: its.Out,
    limit: its.Limit = None,
    sample: its.Sample = 10_000,
    seeds: its.Seeds = 5,
    seed: its.Seed = 0,
    k: its.K = 1024,
    index: its.Index = "auto",
    departures: its.Departures = 4_000,
    as_released: its.AsReleased = False,
    baseline: its.Baselines = None,
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

    asked = (limit, sample, seeds, seed, k, index, departures, as_released, baseline or [])
    how = Asked(data, out, model, dtype, *asked)
    protocol = room.java(data, limit=how.n_bytes, seed=seed)
    run(how, {"file": protocol}, as_json=json)


@paper.command("wikitext")
def wikitext(
    data: its.Data,
    out: its.Out,
    categories: its.Categories = None,
    title: its.Title = None,
    column: its.Column = None,
    articles: its.Articles = True,
    limit: its.Limit = None,
    sample: its.Sample = 10_000,
    seeds: its.Seeds = 5,
    seed: its.Seed = 0,
    k: its.K = 1024,
    index: its.Index = "auto",
    departures: its.Departures = 4_000,
    as_released: its.AsReleased = False,
    baseline: its.Baselines = None,
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

    asked = (limit, sample, seeds, seed, k, index, departures, as_released, baseline or [])
    how = Asked(data, out, model, dtype, *asked)
    file = categories or data / "categories.tsv"
    titles, columns = title or ["title"], column or ["categories"]
    found = room.Encyclopedia(
        data, _categories(file, titles, columns), limit=how.n_bytes, seed=seed
    )
    units = ("section", "article") if articles else ("section",)
    protocols = {unit: room.wikitext(found, unit=unit) for unit in units}
    own = {"categories": str(file), "title": titles, "column": columns, "articles": articles}
    run(replace(how, own=own), protocols, as_json=json)


def _categories(file: Path, titles: list[str], columns: list[str]) -> "Categories":
    from vicinal.corpus import Categories
    from vicinal.errors import CorpusError

    if not file.is_file():
        raise CorpusError(
            f"Expected a table of categories, found nothing at {file}. Name one with --categories, "
            "or ask Wikidata for them with a domain of your own (see `vicinal index --help`)."
        )
    output.note(f"categories from {file}")
    return Categories.from_tsv(file, title=titles, column=columns)
