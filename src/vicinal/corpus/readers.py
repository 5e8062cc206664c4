"""
Readers by name, and several paths read as one corpus.

Knows which readers there are, and how documents of several roots are kept apart by their names.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from vicinal.corpus.code import CodeTree
from vicinal.corpus.document import AbstractCorpus, Decision, Document
from vicinal.corpus.jsonl import JsonLines
from vicinal.corpus.markdown import MarkdownTree
from vicinal.corpus.wikitext import WikiText
from vicinal.errors import CorpusError

READERS: Mapping[str, Callable[..., AbstractCorpus]] = MappingProxyType(
    {"code": CodeTree, "jsonl": JsonLines, "markdown": MarkdownTree, "wikitext": WikiText}
)


@dataclass(frozen=True)
class Joined(AbstractCorpus):
    """Several corpora, read one after the other."""

    corpora: tuple[AbstractCorpus, ...]

    def __iter__(self) -> Iterator[Document]:
        """Read the documents of the first corpus, then those of the next."""
        return chain.from_iterable(self.corpora)

    def decisions(self) -> Iterator[Decision]:
        """Say of the files of each corpus whether they are read."""
        return chain.from_iterable(corpus.decisions() for corpus in self.corpora)


def read(
    reader: str, paths: Sequence[str | PathLike[str]], options: Mapping[str, Any] | None = None
) -> AbstractCorpus:
    """
    Read *paths* as one corpus with the reader of that name and its own *options*.

    Several paths are kept apart by the prefixes of `distinct_names`; a single one keeps the names
    that its reader gives.
    """
    check_known(reader, READERS, "reader")
    make, options = READERS[reader], dict(options or {})
    for option in options:
        check_known(option, options_of(make), f"option of the reader {reader!r}")
    if not paths:
        raise CorpusError("Expected a path to read, found none. Name a file or a folder.")
    if len(paths) == 1:
        return make(paths[0], **options)
    names = distinct_names(paths)
    return Joined(
        tuple(
            make(path, **{**options, "name_prefix": name})
            for path, name in zip(paths, names, strict=True)
        )
    )


def options_of(make: Callable[..., AbstractCorpus]) -> list[str]:
    """List what a reader can be told beside its path."""
    parameters = inspect.signature(make).parameters.values()
    return sorted(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def check_known(name: str, names: Iterable[str], what: str) -> None:
    """Refuse a name that is none of *names*, and list them."""
    if name not in names:
        raise CorpusError(f"Unknown {what}: {name!r}. Use one of: {', '.join(sorted(names))}.")


def distinct_names(paths: Sequence[str | PathLike[str]]) -> list[str]:
    """
    Name each path by as many of its last parts as tell it from the others.

    >>> distinct_names(["/home/a/src", "/home/b/src", "/home/lib"])
    ['a/src', 'b/src', 'lib']
    """
    resolved = [Path(path).expanduser().resolve() for path in paths]
    check_apart(resolved)
    names = [path.name for path in resolved]
    for depth in range(2, max(len(path.parts) for path in resolved) + 1):
        counts = Counter(names)
        if max(counts.values()) == 1:
            break
        tails = ["/".join(path.parts[1:][-depth:]) for path in resolved]
        names = [
            tail if counts[name] > 1 else name for name, tail in zip(names, tails, strict=True)
        ]
    return names


def check_apart(resolved: Sequence[Path]) -> None:
    """Refuse two paths of which one holds the other: its files would be read twice."""
    for i, one in enumerate(resolved):
        for other in resolved[:i]:
            if one.is_relative_to(other) or other.is_relative_to(one):
                raise CorpusError(
                    f"Expected paths that do not overlap, found: {str(other)!r} and {str(one)!r}. "
                    "Leave out one of them."
                )
