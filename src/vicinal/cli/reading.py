"""
From paths on the command line to a corpus, as a store's settings and its domain say.

Knows no model.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vicinal.cli import output
from vicinal.cli.parts import Settings
from vicinal.errors import SchemaError

SOURCES = {
    "file": {"file", "title", "column", "separator"},
    "wikidata": {"wikidata", "cache", "offline", "ancestors", "endpoint"},
}

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
        folder = Path(settings.corpus).parent
        options["categories"] = _categories(options["categories"], folder, paths)
    return read(domain.reader, paths, options)


def _categories(given: Mapping[str, Any], folder: Path, paths: Sequence[Path]) -> "Categories":
    """
    Read the categories that a domain's ``[options.categories]`` names, relative to its own file.

    They come from a table (*file*) or from Wikidata (*wikidata* says who asks, *cache* is where
    answers are kept; with *offline* the cache alone serves).
    """
    source = next((kind for kind in SOURCES if kind in given), None)
    if source is None or given.keys() - SOURCES[source]:
        known = " or ".join(f"{', '.join(sorted(keys))}" for keys in SOURCES.values())
        raise SchemaError(
            f"[options.categories] should have file or wikidata, and of its options only {known}; "
            f"found: {', '.join(sorted(given)) or 'nothing'}."
        )
    if source == "wikidata":
        return _from_wikidata(given, folder, paths)

    from vicinal.corpus import Categories

    columns = {name: value for name, value in given.items() if name != "file"}
    return Categories.from_tsv(folder / given["file"], **columns)


def _from_wikidata(given: Mapping[str, Any], folder: Path, paths: Sequence[Path]) -> "Categories":
    from vicinal.corpus import (
        Categories,
        MediaWikiSession,
        WikidataCache,
        WikidataClient,
        WikiText,
    )

    where = {"endpoint": given["endpoint"]} if "endpoint" in given else {}
    session = None if given.get("offline") else MediaWikiSession(given["wikidata"], **where)
    cache = WikidataCache(folder / given.get("cache", "wikidata.db"))
    client = WikidataClient(cache, session, ancestors=given.get("ancestors", 0))
    titles = [title for path in paths for title in WikiText(path).titles()]
    categories = Categories.from_wikidata(client, titles)
    output.note(f"categories: {categories.report}")
    return categories
