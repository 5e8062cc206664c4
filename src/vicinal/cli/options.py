"""Arguments and options that several commands share, so that each is spelled and explained once."""

from pathlib import Path
from typing import Annotated

import typer

Paths = Annotated[
    list[Path],
    typer.Argument(help="Files or folders to read.", metavar="PATH", show_default=False),
]
Store = Annotated[
    Path,
    typer.Option("--store", help="Folder of the store.", metavar="DIR", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        help="Language model: a name from 'vicinal models list', a folder, a GGUF file, "
        "or a name on the Hugging Face hub.",
        metavar="NAME",
    ),
]
KeyLayer = Annotated[
    str | None,
    typer.Option(
        "--key-layer",
        help="Module whose input is the key, by its dotted name in the model; "
        "by default the feed-forward of the last block, found and checked.",
        metavar="MODULE",
        show_default=False,
    ),
]
Corpus = Annotated[
    str,
    typer.Option(
        "--corpus",
        help="Domain of the files: code, markdown, wikitext, jsonl, or a TOML file of your own.",
        metavar="DOMAIN",
    ),
]
ProjectsAreFolders = Annotated[
    bool,
    typer.Option(
        "--projects-are-folders",
        help="Every folder directly below PATH is a project, whatever files mark its root.",
    ),
]
