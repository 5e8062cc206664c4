"""``vicinal index``: read documents, encode them, and keep them in a store."""

from vicinal.cli.options import Paths


def index(paths: Paths) -> None:
    """
    Read documents, encode them with a language model, and keep them in a store.

    For example:

    \b
    $ vicinal index ~/code/my-project --store my-store
    """
