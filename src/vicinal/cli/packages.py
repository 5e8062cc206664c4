"""
Installed packages as a corpus: real code of several projects that every installation has.

Knows which packages the demo reads, all of them dependencies of vicinal itself, and how much of
each; knows no model.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from vicinal.errors import CorpusError

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.corpus import Document

# Tests and tables say little about how a project is written.
EXCLUDED = ("tests/", "*_version.py", "_emoji_codes.py", "_unicode_data/", "entities.py")


def installed(name: str) -> Path | None:
    """Find the folder of an installed package (or a folder in it) without importing it."""
    package, _, below = name.partition("/")
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]) / below if folders and (Path(folders[0]) / below).is_dir() else None


@dataclass(frozen=True)
class Packages:
    """
    Packages to fit on, and others to test on; each is a project named by its package.

    Of each about *n_bytes* are read, from the *n_folders* folders that have the most files; of a
    file its first *characters*.
    """

    fit: tuple[str, ...]
    test: tuple[str, ...]
    n_bytes: int = 40_000
    n_folders: int = 3
    characters: int = 6_000
    find: Callable[[str], Path | None] = installed

    @staticmethod
    def patterns(names: tuple[str, ...]) -> list[str]:
        """Give the patterns that the names of these packages' documents match."""
        return [f"{name}/*" for name in names]

    def documents(self) -> "Iterator[Document]":
        """Read the packages that are installed, one after the other."""
        from vicinal.corpus import CodeTree
        from vicinal.corpus.splits import cut

        for names in (self.fit, self.test):
            if not any(self.find(name) for name in names):
                raise CorpusError(
                    f"Expected one of these packages to be installed, found none: "
                    f"{', '.join(names)}. Install vicinal with its dependencies."
                )
        for name in (*self.fit, *self.test):
            folder = self.find(name)
            if folder:
                tree = CodeTree(folder, name_prefix=name, exclude=EXCLUDED)
                files = (cut(d, self.characters) for d in tree if d.language == "python")
                yield from self._some(files)

    def _some(self, files: "Iterable[Document]") -> "Iterator[Document]":
        """Take files until there are enough; what a small folder leaves, a larger one gets."""
        folders: defaultdict[str, list[Document]] = defaultdict(list)
        for file in files:
            folders[file.name.rpartition("/")[0]].append(file)
        chosen = sorted(folders.values(), key=len)[-self.n_folders :]
        left = self.n_bytes
        for n_done, members in enumerate(chosen):
            share = left // (len(chosen) - n_done)
            for file in members:
                if share <= 0:
                    break
                share -= len(file.text)
                left -= len(file.text)
                yield file


DEMO = Packages(
    fit=("typer", "filelock", "huggingface_hub/inference", "markdown_it", "fsspec"),
    test=("httpx", "rich", "anyio", "networkx/readwrite", "pathspec"),
)
