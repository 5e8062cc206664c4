"""
What every reader gives: documents, their spans, and the attributes of each span.

Knows nothing of files on disk, tokens or models.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from vicinal.errors import CorpusError

# Several values where an attribute compares by overlap (categories), one where it compares by
# equality (a section title), none where it is unknown; values are sorted.
Attributes = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Span:
    """A run of characters ``[start, end)`` of a document that share attributes."""

    start: int
    end: int
    attributes: Attributes


@dataclass(frozen=True)
class Document:
    """
    What is left out of its own search: a source file, an article, a section.

    *spans* follow one another and cover the text from its first character to its last.
    *language* is a Pygments alias (``java``), or empty for prose; it decides what a full token is.
    *path* is where the file lies, if the document is a file.
    """

    name: str
    text: str
    spans: tuple[Span, ...]
    language: str = ""
    path: str = ""

    def __post_init__(self) -> None:
        ends = [0, *(span.end for span in self.spans)]
        starts = [*(span.start for span in self.spans), len(self.text)]
        if not self.text or ends != starts or ends != sorted(set(ends)):
            raise CorpusError(
                f"The spans of {self.name!r} must follow one another and cover its "
                f"{len(self.text)} characters, found: "
                f"{[(span.start, span.end) for span in self.spans][:8]}. "
                "Give every character to exactly one span."
            )

    @classmethod
    def whole(
        cls, name: str, text: str, attributes: Attributes, *, language: str = "", path: str = ""
    ) -> "Document":
        """Make a document of one span, as a source file is."""
        return cls(name, text, (Span(0, len(text), attributes),), language, path)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of the text and its spans: equal exactly if indexing again changes nothing."""
        spans = [
            (s.start, s.end, sorted((k, list(v)) for k, v in s.attributes.items()))
            for s in self.spans
        ]
        head = json.dumps([self.language, spans], ensure_ascii=True)
        return hashlib.sha256(f"{head}\0{self.text}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Decision:
    """Whether a reader takes a file, and if not, why."""

    path: str
    kept: bool
    reason: str = ""


class AbstractCorpus(ABC):
    """A domain as it lies on disk, read as a stream of documents in a stable order."""

    @abstractmethod
    def __iter__(self) -> Iterator[Document]:
        """Read the documents one after the other; the same files give the same order."""

    @abstractmethod
    def decisions(self) -> Iterator[Decision]:
        """Say of every file whether it is read, and why not (what ``--dry-run`` prints)."""
