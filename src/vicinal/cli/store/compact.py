"""``vicinal store compact``: give back the space of what was removed or replaced."""

from typing import Annotated

import typer

from vicinal.cli import options, output


def compact(
    store: options.Store,
    drop_outputs: Annotated[
        bool,
        typer.Option(
            "--drop-outputs",
            help="Forget the model's outputs too: a smaller store, "
            "whose own documents cannot be evaluated without encoding them again.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """
    Merge small segments and drop entries that were removed or replaced.

    For example:

    \b
    $ vicinal store compact --store my-store
    """
    from vicinal.datastore import Datastore
    from vicinal.datastore import info as info_of

    opened = Datastore.open(store)
    before = info_of(opened)
    with opened.writer() as writer:
        n_rewritten = writer.compact(drop_outputs=drop_outputs)
    after = info_of(opened)
    if json:
        output.print_json(
            {
                "segments_rewritten": n_rewritten,
                "segments": after.segments,
                "entries_dropped": before.entries - after.entries,
                "bytes_freed": before.bytes_on_disk - after.bytes_on_disk,
            }
        )
        return
    output.print_facts(
        {
            "segments rewritten": n_rewritten,
            "segments now": after.segments,
            "entries dropped": before.entries - after.entries,
            "size before": output.as_bytes(before.bytes_on_disk),
            "size now": output.as_bytes(after.bytes_on_disk),
        }
    )
