"""
Where an entry comes from: its document, the line it stands on, and the text before it.

Read from the store alone, whose values are the document's tokens: the file itself may be gone.
Knows nothing of queries or distances.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vicinal.datastore import Snapshot
from vicinal.errors import StoreError
from vicinal.lm import AbstractLanguageModel

LINES = 3
CHARACTERS = 240
DOCUMENTS = 1024  # texts kept at a time


@dataclass(frozen=True)
class Place:
    """
    Where one token stands.

    *line* counts from 1; *before* is the text that leads to the token, its own line and a few
    more; *path* is empty where the document is no file.
    """

    document: str
    path: str
    line: int
    before: str
    token: str


class Provenance:
    """Tells where the entries of a snapshot come from; each document is decoded once."""

    def __init__(self, snapshot: Snapshot, lm: AbstractLanguageModel) -> None:
        self._snapshot = snapshot
        self._lm = lm
        self._text = lru_cache(maxsize=DOCUMENTS)(self._decode)

    def of(self, entry: int) -> Place:
        """Say where a live entry's value stands."""
        rows = np.array([entry], np.int64)
        number = int(self._snapshot.document_of(rows)[0])
        if number < 0:
            raise StoreError(
                f"Expected a live entry, found {entry}, which belongs to no document of the "
                "snapshot. Ask for entries that a search in the same snapshot has found."
            )
        document = self._snapshot.documents[number]
        text, start = self._text(number), int(self._snapshot.offsets(rows)[0])
        token = self._lm.decode(self._snapshot.values(rows).tolist())
        line = 1 + text.count("\n", 0, start)
        return Place(document.name, document.path, line, snippet(text, start), token)

    def _decode(self, number: int) -> str:
        document = self._snapshot.documents[number]
        entries = np.arange(document.lo, document.hi)
        return self._lm.decode(self._snapshot.values(entries).tolist())


def snippet(text: str, end: int) -> str:
    r"""
    Give the last lines of ``text[:end]``, no more than can be read at a glance.

    >>> snippet("a\nb\nc\nd\ne = 1", 12)
    'c\nd\ne ='
    """
    lines = text[max(0, end - CHARACTERS) : end].split("\n")
    return "\n".join(lines[-LINES:])
