"""``vicinal models``: fetch and list the language models that have a short name."""

from typing import Annotated

import typer

from vicinal.cli import options, output
from vicinal.cli.fetching import fetched

models = typer.Typer(name="models", help="Fetch and list language models.", no_args_is_help=True)


@models.command("list")
def list_models(json: options.Json = False) -> None:
    """
    List the models that have a short name, and where those lie that were pulled.

    For example:

    \b
    $ vicinal models list
    """
    from vicinal.lm import models as known_models

    entries = [
        {
            "name": entry.name,
            "about": entry.about,
            "folder": str(entry.folder) if entry.folder else None,
            "bytes": entry.n_bytes,
        }
        for entry in known_models()
    ]
    if json:
        output.print_json({"models": entries})
    else:
        rows = [(e["name"], e["about"], e["folder"] or "not pulled yet") for e in entries]
        output.print_table(["name", "what it is", "where it lies"], rows)


@models.command("pull")
def pull_model(
    name: Annotated[str, typer.Argument(help="A name from 'vicinal models list'.")],
    json: options.Json = False,
) -> None:
    """
    Fetch a model once, check it, and keep it in the cache folder.

    Interrupted, it goes on where it stopped when it is run again.

    For example:

    \b
    $ vicinal models pull smollm2-135m
    """
    folder = fetched(name)
    if json:
        output.print_json({"name": name, "folder": str(folder)})
    else:
        output.print_facts({"model": name, "lies in": folder})
