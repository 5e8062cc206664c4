"""
The text files of a folder, with their project and directory, and why the others are left out.

Joins the listing, the filters and the projects; knows nothing of documents or spans.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from vicinal.corpus.document import Attributes, Decision
from vicinal.corpus.filters import MAX_BYTES, Judgment, judge
from vicinal.corpus.gitignore import IgnoreRules
from vicinal.corpus.listing import list_files
from vicinal.corpus.projects import Projects
from vicinal.errors import CorpusError

FOLDER_REASON = (
    "folder of installed packages, caches or hidden files, or unreadable: left out whole"
)


@dataclass(frozen=True)
class TextFile:
    """One file of a tree, named by its root and its path in it; no text if it is left out."""

    name: str
    decision: Decision
    attributes: Attributes
    text: str = ""


@dataclass(frozen=True)
class FileTree:
    """
    The files below *root* (a folder or one file) that are text.

    *exclude* and *include* are patterns as in ``.gitignore``: what is excluded is left out; what is
    included is read although git ignores it or it is data, generated or minified, but never if it
    looks like a secret. With *only*, no other file names count. Names begin with *name_prefix*, by
    default the root folder's name.
    """

    root: str | PathLike[str]
    _: KW_ONLY
    only: re.Pattern[str] = re.compile("")
    projects_are_folders: bool = False
    name_prefix: str = ""
    max_bytes: int = MAX_BYTES
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[TextFile]:
        """Read the files in the order of their paths, one at a time; say why one is left out."""
        target = self._target()
        folder = target if target.is_dir() else target.parent
        prefix = self.name_prefix or folder.name or "root"
        projects = Projects(str(folder), prefix, self.projects_are_folders)
        for path in list_files(target, include=self.include):
            name = path.decode("utf-8", "backslashreplace")
            directory = name.rpartition("/")[0]
            judgment = self._judge(folder, path)
            yield TextFile(
                name=f"{prefix}/{name}",
                decision=Decision(str(folder / name), not judgment.reason, judgment.reason),
                attributes={
                    "project": (projects.project_of(directory),),
                    "directory": (projects.directory_name(directory),),
                },
                text=judgment.text,
            )

    def _target(self) -> Path:
        target = Path(self.root).expanduser().resolve()
        if not target.exists():
            raise CorpusError(
                f"A tree of files needs a folder or a file, found nothing at: {str(self.root)!r}. "
                "Check the path."
            )
        return target

    def _judge(self, folder: Path, path: bytes) -> Judgment:
        reason = self._reason(folder, path)
        if reason:
            return Judgment(reason=reason)
        forced = self._included.covers(path)
        return judge(str(folder / os.fsdecode(path)), max_bytes=self.max_bytes, forced=forced)

    def _reason(self, folder: Path, path: bytes) -> str:
        """Say what is wrong with the path itself."""
        if path.endswith(b"/"):
            return FOLDER_REASON
        if self._excluded.covers(path):
            return "excluded, as asked"
        if not self.only.match(os.fsdecode(path.rpartition(b"/")[2]).lower()):
            return "not of this kind of file"
        if not is_utf8(path):
            return "its name is not UTF-8"
        parent = (folder / os.fsdecode(path)).parent
        # A tracked file's folder may since have become a link to anywhere.
        return "" if os.path.realpath(parent) == str(parent) else "lies behind a symbolic link"

    @cached_property
    def _included(self) -> IgnoreRules:
        return IgnoreRules.from_bytes(os.fsencode("\n".join(self.include)))

    @cached_property
    def _excluded(self) -> IgnoreRules:
        return IgnoreRules.from_bytes(os.fsencode("\n".join(self.exclude)))


def is_utf8(path: bytes) -> bool:
    """Say whether a path can be printed and stored as text."""
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
