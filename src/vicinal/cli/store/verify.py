"""``vicinal store verify``: whether every byte is what was written."""

from typing import Annotated

import typer

from vicinal.cli import options, output


def verify(
    store: options.Store,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Forget damaged segments; index again to bring their documents back."
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """
    Read everything in a store and compare it with its checksums; exit 1 if something is damaged.

    For example:

    \b
    $ vicinal store verify --store my-store
    """
    from vicinal import datastore

    opened = datastore.Datastore.open(store)
    found = datastore.verify(opened)
    lost = datastore.repair(opened) if repair and found.damaged_segments else []
    damaged = [(file.name, file.problem) for file in found.files if file.problem]
    if json:
        result = {"clean": found.clean, "files": len(found.files), "damaged": dict(damaged)}
        output.print_json(
            result | {"problems": found.problems, "orphans": found.orphans, "lost": lost}
        )
    elif found.clean:
        output.print_facts({"files": len(found.files), "all as written": True})
    else:
        rows = [*damaged, *(("manifest", problem) for problem in found.problems)]
        output.print_table(["where", "what"], rows)
    if lost and not json:
        output.print_table(["documents lost with the damaged segments"], [[n] for n in lost])
    if not found.clean:
        raise typer.Exit(1)
