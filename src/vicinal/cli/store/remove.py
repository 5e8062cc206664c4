"""``vicinal store remove``: forget documents."""

import difflib
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import Annotated

import typer

from vicinal.cli import options, output
from vicinal.errors import StoreError


def remove(
    names: Annotated[
        list[str],
        typer.Argument(help="Names of documents, or patterns such as 'old/*'.", metavar="NAME"),
    ],
    store: options.Store,
    json: options.Json = False,
) -> None:
    """
    Forget documents: no search finds them from now on.

    Their space comes back with 'vicinal store compact'.

    For example:

    \b
    $ vicinal store remove 'my-project/vendored/*' --store my-store
    """
    from vicinal.datastore import Datastore

    opened = Datastore.open(store)
    found = matching(names, opened.content_hashes())
    with opened.writer() as writer:
        n_removed = writer.remove(found)
    if json:
        output.print_json({"removed": n_removed, "documents": found})
    else:
        output.print_facts({"documents removed": n_removed})


def matching(patterns: Sequence[str], known: Collection[str]) -> list[str]:
    """Find the documents meant; a pattern that means none is an error before anything is done."""
    found: set[str] = set()
    for pattern in patterns:
        meant = {pattern} & set(known) or {name for name in known if fnmatchcase(name, pattern)}
        if not meant:
            close = difflib.get_close_matches(pattern, known, n=3, cutoff=0.5)
            raise StoreError(
                f"There is no document {pattern!r} among the {len(known)} of the store."
                + (f" Did you mean {' or '.join(map(repr, close))}?" if close else "")
            )
        found |= meant
    return sorted(found)
