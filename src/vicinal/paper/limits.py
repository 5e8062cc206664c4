"""
A small part of each corpus of the paper, in which locality keeps its meaning.

Code is limited evenly over projects, in whole directories; an encyclopedia in whole articles,
every other training article one that shares a category with the split under evaluation. The draw
depends on the seed alone, not on the machine. Knows nothing of tokens.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest

from vicinal.corpus import AbstractCorpus, Decision, Document, Sampled
from vicinal.corpus.splits import place

FILES_PER_DIRECTORY = 25
WHOLE = 10**9  # characters: files are not cut


@dataclass(frozen=True)
class Chosen(AbstractCorpus):
    """The documents of *corpus* whose *attribute* has one of some values."""

    corpus: AbstractCorpus
    attribute: str
    values: frozenset[str]

    def __iter__(self) -> Iterator[Document]:
        """Read the documents that were chosen, in the order of the corpus."""
        return (d for d in self.corpus if place(d, self.attribute) in self.values)

    def decisions(self) -> Iterator[Decision]:
        """Say of every file whether it is read; which documents of it are, is not said."""
        return self.corpus.decisions()


def limited_code(corpus: AbstractCorpus, n_bytes: int | None, seed: int) -> AbstractCorpus:
    """Take about *n_bytes* of a code tree, evenly over projects, in whole directories."""
    if n_bytes is None:
        return corpus
    cap = even_cap(sizes(corpus, "project"), n_bytes)
    return Sampled(
        corpus,
        seed=seed,
        files_per_directory=FILES_PER_DIRECTORY,
        bytes_per_project=max(1, cap),
        characters=WHOLE,
    )


def limited_articles(
    corpus: AbstractCorpus, n_bytes: int | None, seed: int, near: frozenset[str] = frozenset()
) -> AbstractCorpus:
    """
    Take whole articles up to *n_bytes*, in an order drawn by *seed*.

    With *near*, a set of categories, every other article has one of them while there are such.
    """
    if n_bytes is None:
        return corpus
    found = sizes(corpus, "article")
    order = drawn(found, seed)
    if near:
        local = {place(d, "article") for d in corpus if near & set(categories_of(d))}
        first = [name for name in order if name in local]
        other = [name for name in order if name not in local]
        order = [n for n in chain.from_iterable(zip_longest(first, other)) if n is not None]
    chosen, left = set(), n_bytes
    for name in order:
        if left < found[name]:
            break
        chosen.add(name)
        left -= found[name]
    return Chosen(corpus, "article", frozenset(chosen))


def categories_of(document: Document) -> tuple[str, ...]:
    """Give the categories of an article or section."""
    return document.spans[0].attributes.get("categories", ())


def sizes(corpus: AbstractCorpus, attribute: str) -> Mapping[str, int]:
    """Add up the bytes of the documents of each value of an attribute."""
    found: dict[str, int] = defaultdict(int)
    for document in corpus:
        found[place(document, attribute)] += len(document.text.encode("utf-8", "surrogatepass"))
    return found


def even_cap(found: Mapping[str, int], total: int) -> int:
    """Find the largest cap for which ``Σ min(size, cap)`` is at most *total*."""
    left, ordered = total, sorted(found.values())
    for i, size in enumerate(ordered):
        share = left // (len(ordered) - i)
        if size > share:
            return share
        left -= size
    return ordered[-1] if ordered else 0


def drawn(names: Iterable[str], seed: int) -> list[str]:
    """Order names by a hash of the seed and each, the same on every machine."""
    return sorted(names, key=lambda n: hashlib.sha256(f"{seed}\0{n}".encode()).digest())
