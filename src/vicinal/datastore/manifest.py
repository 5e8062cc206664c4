"""
The SQLite database that says what a store holds: what is not in it does not exist.

Ranges of documents and dead entries count from the start of their segment, ranges of spans from
the start of their document. Knows nothing of the segment files themselves.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vicinal.errors import CorruptStoreError, StoreError, StoreLockedError

FORMAT_VERSION = 1
APPLICATION_ID = 0x76696369  # "vici", in the header of the database file
PATIENCE_SECONDS = 5.0

TABLES = """
CREATE TABLE segment (
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    entries INTEGER NOT NULL CHECK (entries > 0), sha256 TEXT NOT NULL, outputs_sha256 TEXT);
CREATE TABLE document (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, content_hash TEXT NOT NULL,
    language TEXT NOT NULL, path TEXT NOT NULL,
    segment TEXT NOT NULL REFERENCES segment (id) ON DELETE CASCADE,
    lo INTEGER NOT NULL CHECK (lo >= 0), hi INTEGER NOT NULL CHECK (hi > lo));
CREATE INDEX document_segment ON document (segment);
CREATE TABLE span (
    document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    lo INTEGER NOT NULL, hi INTEGER NOT NULL CHECK (hi > lo), attributes TEXT NOT NULL,
    PRIMARY KEY (document, lo)) WITHOUT ROWID;
CREATE TABLE dead (
    segment TEXT NOT NULL REFERENCES segment (id) ON DELETE CASCADE,
    lo INTEGER NOT NULL, hi INTEGER NOT NULL CHECK (hi > lo),
    PRIMARY KEY (segment, lo)) WITHOUT ROWID;
CREATE TABLE record (
    kind TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (kind, name)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class SegmentRow:
    """A segment as the manifest knows it; *outputs_sha256* is None where there are no outputs."""

    id: str
    entries: int
    sha256: str
    outputs_sha256: str | None


@dataclass(frozen=True)
class DocumentRow:
    """A live document as the manifest knows it."""

    id: int
    name: str
    content_hash: str
    language: str
    path: str
    segment: str
    lo: int
    hi: int


@dataclass(frozen=True)
class SpanRow:
    """A span as the manifest knows it."""

    document: int
    lo: int
    hi: int
    attributes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class State:
    """All that one transaction saw, documents and spans in the order of their entries."""

    segments: tuple[SegmentRow, ...]
    documents: tuple[DocumentRow, ...]
    spans: tuple[SpanRow, ...]
    dead: tuple[tuple[str, int, int], ...]


@contextmanager
def connect(path: Path, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the manifest for the length of a block; SQLite's errors leave it as ours."""
    with translating(path), closing(open_connection(path, create=create)) as connection:
        yield connection


def open_connection(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open the manifest such that a commit is on disk when it returns."""
    uri = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
    connection = sqlite3.connect(uri, PATIENCE_SECONDS, uri=True, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@contextmanager
def translating(path: Path) -> Iterator[None]:
    """Let SQLite's errors leave a block as ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _translated(error, path) from error


def _translated(error: sqlite3.DatabaseError, path: Path) -> StoreError:
    """Tell a busy manifest from a damaged one, and both from a full or read-only disk."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    primary = code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLockedError(
            f"{path} was busy for {PATIENCE_SECONDS:g} seconds ({error}). Try again."
        )
    if primary in (
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
    ):
        return StoreError(f"{path} cannot be used: {error}. Check the disk and the permissions.")
    return CorruptStoreError(
        f"{path} should be the manifest of a store, found: {error}. "
        "Restore it from a copy, or delete the store and index again."
    )


@contextmanager
def transaction(connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    """Do everything in the block, or nothing; a reader sees one state throughout."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def initialize(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty store."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(f"BEGIN; {TABLES}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
    connection.execute("COMMIT")


def check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is no manifest, or one of a later format."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise CorruptStoreError(
            f"{path} should be the manifest of a store (application id {APPLICATION_ID:#x}), "
            f"found {application:#x}. Is this another program's database?"
        )
    if version > FORMAT_VERSION:
        raise StoreError(
            f"{path.parent} has store format {version}, this vicinal reads up to "
            f"{FORMAT_VERSION}. Upgrade vicinal, or index again into another directory."
        )


def read_state(connection: sqlite3.Connection) -> State:
    """Read everything about segments, documents and spans."""
    documents = connection.execute(
        "SELECT d.id, d.name, content_hash, language, path, segment, lo, hi FROM document d "
        "JOIN segment s ON s.id = d.segment ORDER BY s.ordinal, lo"
    )
    spans = connection.execute(
        "SELECT p.document, p.lo, p.hi, p.attributes FROM span p JOIN document d "
        "ON d.id = p.document JOIN segment s ON s.id = d.segment ORDER BY s.ordinal, d.lo, p.lo"
    )
    dead = connection.execute(
        "SELECT segment, lo, hi FROM dead JOIN segment ON id = segment ORDER BY ordinal, lo"
    )
    parsed: dict[str, Mapping[str, tuple[str, ...]]] = {}  # most spans share their attributes
    return State(
        segments=read_segments(connection),
        documents=tuple(
            DocumentRow(i, from_sql(name), digest, language, from_sql(path), segment, lo, hi)
            for i, name, digest, language, path, segment, lo, hi in documents
        ),
        spans=tuple(SpanRow(d, lo, hi, _attributes(text, parsed)) for d, lo, hi, text in spans),
        dead=tuple(dead),
    )


def _attributes(
    text: str, parsed: dict[str, Mapping[str, tuple[str, ...]]]
) -> Mapping[str, tuple[str, ...]]:
    """Parse the attributes of a span, each text once."""
    if text not in parsed:
        parsed[text] = {name: tuple(values) for name, values in json.loads(text).items()}
    return parsed[text]


def read_segments(connection: sqlite3.Connection) -> tuple[SegmentRow, ...]:
    """Read which segments there are, in the order of their entries."""
    rows = connection.execute(
        "SELECT id, entries, sha256, outputs_sha256 FROM segment ORDER BY ordinal"
    )
    return tuple(SegmentRow(*row) for row in rows)


def insert_segment(connection: sqlite3.Connection, row: SegmentRow) -> None:
    """Add a segment behind all others."""
    connection.execute(
        "INSERT INTO segment (id, entries, sha256, outputs_sha256) VALUES (?, ?, ?, ?)",
        (row.id, row.entries, row.sha256, row.outputs_sha256),
    )


def insert_document(
    connection: sqlite3.Connection,
    row: DocumentRow,
    spans: Iterable[tuple[int, int, Mapping[str, tuple[str, ...]]]],
) -> None:
    """Add a document and its spans; the id in the row is not used, the manifest gives one."""
    cursor = connection.execute(
        "INSERT INTO document (name, content_hash, language, path, segment, lo, hi) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(to_sql(row.name), row.content_hash, row.language, to_sql(row.path)),
            *(row.segment, row.lo, row.hi),
        ),
    )
    connection.executemany(
        "INSERT INTO span (document, lo, hi, attributes) VALUES (?, ?, ?, ?)",
        [(cursor.lastrowid, lo, hi, json.dumps(dict(a), sort_keys=True)) for lo, hi, a in spans],
    )


def bury(connection: sqlite3.Connection, name: str) -> bool:
    """Make a document's entries dead, if there is one of that name."""
    cursor = connection.execute(
        "INSERT INTO dead (segment, lo, hi) SELECT segment, lo, hi FROM document WHERE name = ?",
        (to_sql(name),),
    )
    connection.execute("DELETE FROM document WHERE name = ?", (to_sql(name),))
    return cursor.rowcount > 0


def to_sql(text: str) -> str | bytes:
    """Keep file names that are no valid Unicode: SQLite would refuse them as text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_sql(stored: str | bytes) -> str:
    """Undo `to_sql`."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def save_record(connection: sqlite3.Connection, kind: str, name: str, text: str) -> None:
    """Keep a text under a name, instead of what was there."""
    connection.execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?)", (kind, name, text))


def read_records(connection: sqlite3.Connection, kind: str) -> dict[str, str]:
    """Read all texts of a kind."""
    rows = connection.execute("SELECT name, text FROM record WHERE kind = ? ORDER BY name", (kind,))
    return dict(rows.fetchall())
