"""``vicinal store``: look after a store."""

import typer

store = typer.Typer(name="store", help="Look after a store.", no_args_is_help=True)
