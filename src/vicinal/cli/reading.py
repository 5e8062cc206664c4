"""
From paths on the command line to a corpus, as a store's settings and its domain say.

Knows no model.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vicinal.cli.parts import Settings
from vicinal.errors import SchemaError

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.corpus import AbstractCorpus, Categories


def read_corpus(settings: Settings, paths: Sequence[Path]) -> "AbstractCorpus":
    """Read files as the domain says."""
    from vicinal.corpus import read
    from vicinal.locality import load_domain

    domain = load_domain(settings.corpus)
    options = dict(domain.options)
    if settings.projects_are_folders:
        options["projects_are_folders"] = True
    if "categories" in options:
        options["categories"] = _categories(options["categories"], Path(settings.corpus).parent)
    return read(domain.reader, paths, options)


def _categories(given: Mapping[str, Any], folder: Path) -> "Categories":
    """Read the table that a domain's ``[options.categories]`` names, relative to its own file."""
    from vicinal.corpus import Categories

    known = {"file", "title", "column", "separator"}
    if "file" not in given or given.keys() - known:
        raise SchemaError(
            f"[options.categories] should have file and may have title, column and separator, "
            f"found: {', '.join(sorted(given)) or 'nothing'}."
        )
    columns = {name: value for name, value in given.items() if name != "file"}
    return Categories.from_tsv(folder / given["file"], **columns)
