"""
Code trees: a folder of source files in any language, each a document of one span.

Knows that a file is a document; which files are read, and where they live, ``files.py`` decides.
"""

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike

from vicinal.corpus.comments import without_comments
from vicinal.corpus.document import AbstractCorpus, Decision, Document
from vicinal.corpus.files import FileTree, TextFile
from vicinal.corpus.filters import MAX_BYTES, language_of


@dataclass(frozen=True)
class CodeTree(AbstractCorpus):
    """
    The source files below *root* (a folder or one file), with attributes project and directory.

    With *projects_are_folders*, each folder directly below the root is a project; otherwise a
    project is what ``pyproject.toml``, ``pom.xml``, ``.git`` and their like mark. *include* and
    *exclude* are patterns as in ``.gitignore``; *include* also takes what git ignores. Without
    *comments*, documents are the files without theirs, and lines count in what is left.
    """

    root: str | PathLike[str]
    _: KW_ONLY
    projects_are_folders: bool = False
    name_prefix: str = ""
    max_bytes: int = MAX_BYTES
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    comments: bool = True

    def __iter__(self) -> Iterator[Document]:
        """Read one file after the other, in the order of their paths."""
        for file in self._files():
            if file.decision.kept:
                path = file.decision.path
                yield Document.whole(
                    file.name,
                    file.text,
                    file.attributes,
                    language=_language(file),
                    path=path,
                )

    def decisions(self) -> Iterator[Decision]:
        """Say of every file whether it is read; what git ignores is not spoken of."""
        return (file.decision for file in self._files())

    def _files(self) -> Iterable[TextFile]:
        tree = FileTree(
            self.root,
            projects_are_folders=self.projects_are_folders,
            name_prefix=self.name_prefix,
            max_bytes=self.max_bytes,
            include=self.include,
            exclude=self.exclude,
        )
        return tree if self.comments else map(_without_comments, tree)


def _language(file: TextFile) -> str:
    return language_of(file.name.rpartition("/")[2])


def _without_comments(file: TextFile) -> TextFile:
    """Take the comments out of a file; one that has nothing else is left out."""
    text = without_comments(file.text, _language(file))
    if text.strip() or not file.decision.kept:
        return replace(file, text=text)
    decision = Decision(file.decision.path, kept=False, reason="nothing but comments")
    return replace(file, decision=decision, text="")
