"""
What Wikidata has said, kept in one SQLite file: items of titles, classes and labels of items.

Knows tables, and nothing of where their content comes from.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from vicinal.errors import CorpusError

_TABLES = """
CREATE TABLE IF NOT EXISTS title (
    site TEXT, title TEXT, qid TEXT, fetched REAL, PRIMARY KEY (site, title)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entity (
    qid TEXT, language TEXT, label TEXT, classes TEXT, fetched REAL,
    PRIMARY KEY (qid, language)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Entity:
    """An item: what it is an instance of (P31), a subclass of (P279), and how it is called."""

    qid: str
    instance_of: tuple[str, ...] = ()
    subclass_of: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True)
class WikidataCache:
    """
    A file that several processes may read and write; it is made when first used.

    That a title has no item is kept too, but only believed for *misses_last* seconds.
    """

    path: str | PathLike[str]
    misses_last: float = 30 * 86400.0
    now: Callable[[], float] = time.time

    def titles(self, site: str, titles: Iterable[str]) -> dict[str, str | None]:
        """Look up the items of *titles*: None where there is none, absent where not known."""
        query = "SELECT qid, fetched FROM title WHERE site = ? AND title = ?"
        oldest_miss = self.now() - self.misses_last
        known: dict[str, str | None] = {}
        with self._open() as database:
            for title in titles:
                row = database.execute(query, (site, title)).fetchone()
                if row and (row[0] is not None or row[1] >= oldest_miss):
                    known[title] = row[0]
        return known

    def put_titles(self, site: str, qids: Mapping[str, str | None]) -> None:
        """Keep the items of titles, or that there are none."""
        rows = [(site, title, qid, self.now()) for title, qid in qids.items()]
        with self._open() as database:
            database.executemany("INSERT OR REPLACE INTO title VALUES (?, ?, ?, ?)", rows)

    def entities(self, language: str, qids: Iterable[str]) -> dict[str, Entity]:
        """Look up items with their label in *language*."""
        query = "SELECT label, classes FROM entity WHERE qid = ? AND language = ?"
        known = {}
        with self._open() as database:
            for qid in qids:
                row = database.execute(query, (qid, language)).fetchone()
                if row:
                    instance_of, subclass_of = map(tuple, json.loads(row[1]))
                    known[qid] = Entity(qid, instance_of, subclass_of, row[0])
        return known

    def put_entities(self, language: str, entities: Iterable[Entity]) -> None:
        """Keep items with their label in *language*."""
        rows = [
            (e.qid, language, e.label, json.dumps([e.instance_of, e.subclass_of]), self.now())
            for e in entities
        ]
        with self._open() as database:
            database.executemany("INSERT OR REPLACE INTO entity VALUES (?, ?, ?, ?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self.path, timeout=30)) as database, database:
                database.executescript(_TABLES)
                yield database
        except sqlite3.DatabaseError as error:
            raise CorpusError(
                f"{self.path} cannot be used as a cache of Wikidata: {error}. "
                "Name another file, or remove this one."
            ) from error
