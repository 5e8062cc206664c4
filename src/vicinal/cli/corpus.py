"""``vicinal corpus``: fetch the data of the paper by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from vicinal.cli import options, output
from vicinal.cli.fetching import showing

corpus = typer.Typer(name="corpus", help="Fetch the data of the paper.", no_args_is_help=True)


Name = Annotated[str, typer.Argument(help="A name from 'vicinal corpus list'.")]
Out = Annotated[
    Path, typer.Option("--out", help="Folder to fetch into.", metavar="DIR", show_default=False)
]
Split = Annotated[
    list[str] | None,
    typer.Option(
        "--split",
        help="Fetch only this split (train, valid or test); may be repeated. By default all three.",
        metavar="SPLIT",
    ),
]
Lists = Annotated[
    list[str] | None,
    typer.Option(
        "--paths",
        help="For java-github: the paths of a split's source files, a line such as "
        "project/dir/File.java for each line of the published file; may be repeated. "
        "By default there are none, and the documents have neither project nor directory.",
        metavar="SPLIT=FILE",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Fetch again what is there; overwrite it.")]
Zenodo = Annotated[
    str | None,
    typer.Option(
        "--zenodo",
        help="For java-github: another address of Zenodo. (The hub's is in $HF_ENDPOINT.)",
        metavar="URL",
        envvar="VICINAL_ZENODO",
    ),
]


@corpus.command("list")
def list_corpora(json: options.Json = False) -> None:
    """
    List the corpora that can be fetched by name.

    For example:

    \b
    $ vicinal corpus list
    """
    from vicinal.corpus import SOURCES

    entries = [{"name": source.name, "about": source.about} for source in SOURCES.values()]
    if json:
        output.print_json({"corpora": entries})
    else:
        output.print_table(["name", "what it is"], [(e["name"], e["about"]) for e in entries])


@corpus.command("fetch")
def fetch_corpus(
    name: Name,
    out: Out,
    split: Split = None,
    paths: Lists = None,
    force: Force = False,
    zenodo: Zenodo = None,
    json: options.Json = False,
) -> None:
    """
    Fetch a corpus once, check it, and write it as the readers read it.

    WikiText comes from the Hugging Face hub, and is read with --corpus wikitext. The paper's Java
    comes from Zenodo, and is read with --corpus java-github. Beside the data, about.json says what
    it is. Interrupted, it goes on where it stopped when it is run again.

    For example:

    \b
    $ vicinal corpus fetch wikitext-103 --out data/wikitext-103
    $ vicinal corpus fetch java-github --out data/java --split valid --split test
    """
    from vicinal.corpus import ZENODO, fetch, find_source

    lists = _lists(paths or ())
    source = find_source(name, splits=split or (), paths=lists, zenodo=zenodo or ZENODO)
    with showing() as show:
        about = fetch(source, out, force=force, progress=show)
    for note in about["notes"]:
        output.note(f"note: {note}")
    if json:
        output.print_json({"folder": str(out), **about})
    else:
        _print(about, out)


def _lists(given: Sequence[str]) -> dict[str, Path]:
    pairs = [one.partition("=") for one in given]
    files = {split: Path(file) for split, _, file in pairs if split and file}
    if len(files) < len(given):
        raise typer.BadParameter(f"expected SPLIT=FILE, each split once, found {', '.join(given)}")
    return files


def _print(about: Mapping[str, Any], out: Path) -> None:
    output.print_facts({"corpus": about["name"], "lies in": out})
    columns = ["split", "file", "documents", "lines", "size"]
    rows = [
        (name, s["name"], s["n_documents"], s["n_lines"], output.as_bytes(s["n_bytes"]))
        for name, s in about["splits"].items()
    ]
    output.print_table(columns, rows)
