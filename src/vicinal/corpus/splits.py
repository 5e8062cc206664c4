"""
A small part of a large corpus, the same on every machine: for runs on a laptop.

Whole directories are taken, since locality lives in them. Knows the attributes *project* and
*directory*, and no tokens.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace

from vicinal.corpus.document import AbstractCorpus, Decision, Document, Span
from vicinal.errors import CorpusError


@dataclass(frozen=True)
class Sampled(AbstractCorpus):
    """
    Whole directories in an order drawn by *seed*, until each project has its *bytes_per_project*.

    Of a directory at most *files_per_directory* files are taken, drawn too; of a file at most its
    first *characters*. What is drawn in one project depends on nothing in another. The corpus is
    read twice, once to choose; its texts are never held together.
    """

    corpus: AbstractCorpus
    _: KW_ONLY
    seed: int = 0
    files_per_directory: int = 25
    bytes_per_project: int = 90_000
    characters: int = 9_000

    def __post_init__(self) -> None:
        least = min(self.files_per_directory, self.bytes_per_project, self.characters)
        if least < 1:
            raise CorpusError(
                f"A sample's limits must be at least 1, found: {least}. Give a larger number."
            )

    def __iter__(self) -> Iterator[Document]:
        """Read the chosen documents, cut, in the order of the corpus."""
        chosen = self._chosen()
        for document in self.corpus:
            if document.name in chosen:
                yield cut(document, self.characters)

    def decisions(self) -> Iterator[Decision]:
        """Say of every file whether it is read; those not drawn are left out for that."""
        chosen = self._chosen()
        paths = {d.path: d.name in chosen for d in self.corpus if d.path}
        for decision in self.corpus.decisions():
            if decision.kept and not paths.get(decision.path, True):
                yield replace(decision, kept=False, reason=f"not in the sample of seed {self.seed}")
            else:
                yield decision

    def _chosen(self) -> frozenset[str]:
        """Draw the names of the documents."""
        projects: dict[str, dict[str, list[tuple[str, int]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for document in self.corpus:
            size = len(document.text[: self.characters].encode("utf-8", "surrogatepass"))
            projects[place(document, "project")][place(document, "directory")].append(
                (document.name, size)
            )
        return frozenset(
            name for directories in projects.values() for name in self._drawn(directories)
        )

    def _drawn(self, directories: dict[str, list[tuple[str, int]]]) -> Iterator[str]:
        """Draw the documents of one project."""
        left = self.bytes_per_project
        for directory in self._shuffled(directories):
            if left <= 0:
                return
            sizes = dict(directories[directory])
            for name in self._shuffled(sizes)[: self.files_per_directory]:
                left -= sizes[name]
                yield name

    def _shuffled(self, names: Iterable[str]) -> list[str]:
        """Order names by a hash of the seed and each, the same on every machine."""
        return sorted(names, key=lambda n: hashlib.sha256(f"{self.seed}\0{n}".encode()).digest())


def place(document: Document, attribute: str) -> str:
    """Give the value that a document starts with, or nothing."""
    return "/".join(document.spans[0].attributes.get(attribute, ()))


def cut(document: Document, characters: int) -> Document:
    """Keep the first characters of a document, and their spans."""
    if len(document.text) <= characters:
        return document
    spans = tuple(
        Span(span.start, min(span.end, characters), span.attributes)
        for span in document.spans
        if span.start < characters
    )
    return replace(document, text=document.text[:characters], spans=spans)
