"""``vicinal store info``: what a store holds, and to whom it belongs."""

from dataclasses import asdict

from vicinal.cli import options, output


def info(store: options.Store, json: options.Json = False) -> None:
    """
    Show what a store holds, which model made it, and what was fitted to it.

    For example:

    \b
    $ vicinal store info --store my-store
    """
    from vicinal.datastore import Datastore
    from vicinal.datastore import info as info_of

    found = info_of(Datastore.open(store))
    if json:
        output.print_json(asdict(found) | {"dead": found.dead})
        return
    output.print_facts(
        {
            "documents": found.documents,
            "spans": found.spans,
            "entries": found.live,
            "removed, not yet compacted": found.dead,
            "segments": found.segments,
            "with the model's outputs": found.segments_with_outputs,
            "size": output.as_bytes(found.bytes_on_disk),
            "model": found.identity.model,
            "fingerprint": found.identity.fingerprint,
            "numbers per key": found.identity.key_dim,
            "fitted parameters": ", ".join(found.parameters) or None,
            "format": found.format_version,
        }
    )
