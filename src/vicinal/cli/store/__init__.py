"""``vicinal store``: look after a store. One file per command."""

import typer

from vicinal.cli.store.compact import compact
from vicinal.cli.store.export import export
from vicinal.cli.store.info import info
from vicinal.cli.store.remove import remove
from vicinal.cli.store.verify import verify

__all__ = ["compact", "export", "info", "remove", "store", "verify"]

store = typer.Typer(name="store", help="Look after a store.", no_args_is_help=True)
store.command()(info)
store.command()(verify)
store.command()(compact)
store.command()(remove)
store.command()(export)
