"""``vicinal models``: fetch and list language models that have a name."""

import typer

models = typer.Typer(name="models", help="Fetch and list language models.", no_args_is_help=True)
