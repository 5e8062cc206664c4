"""
Documentation trees: Markdown and reStructuredText files, a span for each section.

A section reaches from its heading, which belongs to it, to the next heading of any depth; what
stands before the first heading has no section, and so is not "the same section" as anything.
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from os import PathLike

from vicinal.corpus.document import AbstractCorpus, Attributes, Decision, Document, Span
from vicinal.corpus.files import FileTree, TextFile
from vicinal.corpus.filters import MAX_BYTES
from vicinal.corpus.headings import Heading, markdown_headings, rst_headings
from vicinal.corpus.name_patterns import named_like

DOCUMENTATION = named_like("*.md *.mdx *.markdown *.rst")


@dataclass(frozen=True)
class MarkdownTree(AbstractCorpus):
    """
    The ``.md``, ``.mdx``, ``.markdown`` and ``.rst`` files below *root*.

    Attributes are project, directory and section; files are listed and left out as by `CodeTree`,
    which explains the parameters.
    """

    root: str | PathLike[str]
    _: KW_ONLY
    projects_are_folders: bool = False
    name_prefix: str = ""
    max_bytes: int = MAX_BYTES
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Document]:
        """Read one file after the other, in the order of their paths."""
        for file in self._files():
            if file.decision.kept:
                spans = tuple(sections(file))
                yield Document(file.name, file.text, spans, path=file.decision.path)

    def decisions(self) -> Iterator[Decision]:
        """Say of every file whether it is read; what git ignores is not spoken of."""
        return (file.decision for file in self._files())

    def _files(self) -> FileTree:
        return FileTree(
            self.root,
            only=DOCUMENTATION,
            projects_are_folders=self.projects_are_folders,
            name_prefix=self.name_prefix,
            max_bytes=self.max_bytes,
            include=self.include,
            exclude=self.exclude,
        )


def sections(file: TextFile) -> Iterator[Span]:
    """Cut a file at its headings."""
    find = rst_headings if file.name.lower().endswith(".rst") else markdown_headings
    headings = list(find(file.text))
    if not headings or headings[0].start > 0:
        headings.insert(0, Heading(0, ""))
    ends = [heading.start for heading in headings[1:]] + [len(file.text)]
    for heading, end in zip(headings, ends, strict=True):
        yield Span(heading.start, end, with_section(file.attributes, heading.title))


def with_section(attributes: Attributes, title: str) -> Attributes:
    """Add the section's title, or none if it has no title."""
    return {**attributes, "section": (title,) if title else ()}
