"""
Whether a store is what was written to it: every checksum, every range, every file.

Knows nothing of what the entries mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vicinal.datastore import manifest
from vicinal.datastore.files import StoreFiles
from vicinal.datastore.identity import StoreIdentity
from vicinal.datastore.manifest import SegmentRow
from vicinal.datastore.opening import expected_files, state_problems
from vicinal.datastore.segment_file import Layout, map_file, sha256_of
from vicinal.datastore.store import Datastore
from vicinal.errors import CorruptStoreError


@dataclass(frozen=True)
class FileReport:
    """What was found of one file; *problem* is empty where it is whole."""

    name: str
    segment: str
    problem: str


@dataclass(frozen=True)
class Verification:
    """
    The state of a store.

    *problems* are contradictions in the manifest. *orphans* are files that belong to no segment:
    they do no harm, and those that a writer left go when the next one comes.
    """

    files: tuple[FileReport, ...]
    problems: tuple[str, ...]
    orphans: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Say whether everything that was acknowledged is there, bit for bit."""
        return not self.problems and not self.damaged_segments

    @property
    def damaged_segments(self) -> tuple[str, ...]:
        """List the segments with a damaged or missing file."""
        return tuple(dict.fromkeys(report.segment for report in self.files if report.problem))


def verify(store: Datastore) -> Verification:
    """Read everything and compare it with the manifest; a writer may be at work meanwhile."""
    with manifest.connect(store.files.manifest) as connection:
        problems = [
            f"SQLite: {text}"
            for (text,) in connection.execute("PRAGMA integrity_check")
            if text != "ok"
        ]
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
        problems += [f"a row of {table} refers to nothing" for table, *_ in broken]
    state = store.state()
    reports = [
        report
        for row in state.segments
        for report in _file_reports(store.files, store.identity, row)
    ]
    # A compaction may have deleted a segment between its row and its file.
    known = {row.id for row in store.state().segments}
    return Verification(
        files=tuple(report for report in reports if report.segment in known),
        problems=(*problems, *state_problems(state)),
        orphans=tuple(path.name for path in store.files.unknown(known)),
    )


def repair(store: Datastore) -> list[str]:
    """Forget damaged segments and name the documents lost; indexing again brings them back."""
    with store.writer() as writer:
        return writer.discard(verify(store).damaged_segments)


def _file_reports(
    files: StoreFiles, identity: StoreIdentity, row: SegmentRow
) -> Iterator[FileReport]:
    """Check the files of a segment: first their checksums, then that they can be mapped."""
    for path, layout, digest in expected_files(files, identity, row):
        yield FileReport(path.name, row.id, _problem(path, layout, digest))


def _problem(path: Path, layout: Layout, digest: str) -> str:
    """Say what is wrong with a file, or nothing."""
    try:
        found = sha256_of(path)
        if found != digest:
            return f"should have SHA-256 {digest}, has {found}"
        map_file(path, layout)
    except FileNotFoundError:
        return "is missing"
    except CorruptStoreError as error:
        return str(error)
    return ""
