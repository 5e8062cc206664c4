"""
Arguments and options that several commands share, so that each is spelled and explained once.

Where a store remembers an answer, the default is None: what was not asked for is as it was.
"""

from pathlib import Path
from typing import Annotated

import typer

Paths = Annotated[
    list[Path],
    typer.Argument(
        help="Files or folders to read; '-' for JSON lines on the standard input.",
        metavar="PATH",
        show_default=False,
    ),
]
Store = Annotated[
    Path, typer.Option("--store", help="Folder of the store.", metavar="DIR", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="Language model: a name from 'vicinal models list', a folder, a GGUF file, "
        "or a name on the Hugging Face hub. By default the store's own, at first smollm2-135m.",
        metavar="NAME",
    ),
]
KeyLayer = Annotated[
    str | None,
    typer.Option(
        "--key-layer",
        help="Module whose input is the key, by its dotted name in the model. "
        "By default the feed-forward of the last block, which is found and checked.",
        metavar="MODULE",
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        help="Number format to compute in: float32, bfloat16, float16, or auto, which measures "
        "and takes the faster of the first two. By default the store's own, at first auto.",
        metavar="FORMAT",
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        "--window",
        help="Tokens the model reads at once; every position has at least half of them to its "
        "left. By default what the model can read, at most 2048.",
        metavar="N",
        min=2,
    ),
]
Corpus = Annotated[
    str | None,
    typer.Option(
        "--corpus",
        help="Domain of the files: code, markdown, wikitext; books, papers, manuals, discussions, "
        "java-github (JSON lines); or a TOML file of your own. "
        "By default the store's own, at first code.",
        metavar="DOMAIN",
    ),
]
ProjectsAreFolders = Annotated[
    bool | None,
    typer.Option(
        "--projects-are-folders",
        help="Every folder directly below PATH is a project, whatever files mark its root.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say which files would be read, and why not.")
]
Prune = Annotated[
    bool, typer.Option("--prune", help="Forget stored documents that are not below PATH.")
]
NoOutputs = Annotated[
    bool,
    typer.Option(
        "--no-outputs",
        help="Make the store without the model's outputs: half the size, but to fit or "
        "evaluate it on itself, everything has to be encoded again.",
    ),
]
