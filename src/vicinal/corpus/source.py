"""
What a corpus that is fetched by name has to say and do: make its files, and tell what they are.

Knows neither where corpora come from nor where the user wants them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SPLITS = ("train", "valid", "test")

# Told what is being done, and how many bytes of how many (0 where nobody knows).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SplitFile:
    """The file of one split, what it was made from, and how much is in it."""

    name: str
    origin: str
    n_lines: int
    n_documents: int
    paths: str = ""


@dataclass(frozen=True)
class Made:
    """The files of a corpus as they were made: their source, and what one has to know of them."""

    origin: Mapping[str, Any]
    files: Mapping[str, SplitFile]
    notes: tuple[str, ...] = field(default=())


class AbstractSource(ABC):
    """A corpus that can be fetched by *name*; only the *splits* that are asked for are made."""

    name: str
    about: str
    splits: tuple[str, ...]

    @abstractmethod
    def file_name(self, split: str) -> str:
        """Name the file of a split."""

    @abstractmethod
    def make(self, folder: Path, progress: Progress) -> Made:
        """Make the files in *folder*, going on with what an earlier attempt left there."""
