"""``vicinal store export``: the entries as a table for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vicinal.cli import options, output


class Format(StrEnum):
    """What other programs read."""

    parquet = "parquet"
    arrow = "arrow"


def export(
    file: Annotated[Path, typer.Argument(help="File to write.")],
    store: options.Store,
    format: Annotated[
        Format, typer.Option(help="Format of the file.", metavar="parquet|arrow")
    ] = Format.parquet,
    json: options.Json = False,
) -> None:
    """
    Write all entries with their keys, next tokens, places and attributes to a file.

    For example:

    \b
    $ vicinal store export entries.parquet --store my-store
    """
    from vicinal.datastore import Datastore
    from vicinal.datastore import export as write
    from vicinal.errors import StoreError

    if file.exists():
        raise StoreError(f"{file} exists already; it is not overwritten. Name another file.")
    n_rows = write(Datastore.open(store).snapshot(), file, format.value)
    if json:
        output.print_json({"rows": n_rows, "file": str(file)})
    else:
        output.print_facts({"rows": n_rows, "file": file})
