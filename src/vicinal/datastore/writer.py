"""
The one who changes a store: documents added, replaced, removed; segments merged.

Every change is files written aside, synced and renamed, then one transaction of the manifest: a
reader, or a crash, sees the state before or the state after. A file that no transaction names
does not exist, and is deleted when a writer comes or goes.
"""

import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from filelock import BaseFileLock

from vicinal.datastore import manifest
from vicinal.datastore.compaction import plan_merges, replace_segments, write_merged
from vicinal.datastore.encoded import EncodedDocument
from vicinal.datastore.files import StoreFiles
from vicinal.datastore.identity import StoreIdentity
from vicinal.datastore.manifest import DocumentRow, SegmentRow
from vicinal.datastore.segment_file import Layout, raw, sync_directory, write_file
from vicinal.errors import StoreError, StoreLockedError

MAX_ENTRIES = 1_000_000


class Writer:
    """
    Changes a store while its lock is held; made by `Datastore.writer`, used by one thread.

    Keeps its connection: opening and closing one for each change would cost more syncs of the
    disk than the change itself.
    """

    def __init__(
        self,
        files: StoreFiles,
        identity: StoreIdentity,
        lock: BaseFileLock,
        connection: sqlite3.Connection,
    ) -> None:
        self._files = files
        self._identity = identity
        self._lock = lock
        self._connection = connection

    def add(self, documents: Sequence[EncodedDocument]) -> None:
        """
        Add documents as one segment, instead of those that had their names.

        When this returns, they are on disk; if it raises, nothing has changed.
        """
        self._check_lock()
        if not documents:
            return
        self._check(documents)
        row = self._write_segment(documents)
        with self._transaction():
            manifest.insert_segment(self._connection, row)
            lo = 0
            for document in documents:
                manifest.bury(self._connection, document.name)
                spans = [(span.lo, span.hi, span.attributes) for span in document.spans]
                manifest.insert_document(self._connection, _row(document, row.id, lo), spans)
                lo += len(document)

    def remove(self, names: Sequence[str]) -> int:
        """Remove documents by name, and say how many there were."""
        self._check_lock()
        with self._transaction():
            return sum(manifest.bury(self._connection, name) for name in names)

    def compact(
        self,
        *,
        max_entries: int = MAX_ENTRIES,
        drop_outputs: bool = False,
        lazy: bool = False,
    ) -> int:
        """
        Merge small segments, drop dead entries, and say how many segments were rewritten.

        *lazy* leaves alone what would cost much and gain little: a few dead entries, and a
        segment that is larger than all that would be merged with it. Disk use grows by one
        merged segment at most.
        """
        self._check_lock()
        with manifest.translating(self._files.manifest):
            with manifest.transaction(self._connection, write=False):
                state = manifest.read_state(self._connection)
            groups = plan_merges(
                state, max_entries=max_entries, drop_outputs=drop_outputs, lazy=lazy
            )
            for group in groups:
                merged = write_merged(self._files, self._identity, group, drop_outputs=drop_outputs)
                with manifest.transaction(self._connection, write=True):
                    replace_segments(self._connection, group, merged)
                self.clean()
        return sum(len(group.segments) for group in groups)

    def discard(self, segments: Sequence[str]) -> list[str]:
        """Forget segments whose files are damaged, and name the documents lost with them."""
        self._check_lock()
        lost: list[str] = []
        with self._transaction():
            for segment in segments:
                rows = self._connection.execute(
                    "SELECT name FROM document WHERE segment = ? ORDER BY lo", (segment,)
                )
                lost += [manifest.from_sql(name) for (name,) in rows]
                self._connection.execute("DELETE FROM segment WHERE id = ?", (segment,))
        self.clean()
        return lost

    def clean(self) -> int:
        """Delete the files that no transaction names, and say how many."""
        self._check_lock()
        with manifest.translating(self._files.manifest):
            known = {row.id for row in manifest.read_segments(self._connection)}
        return self._files.remove_leftovers(known)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with (
            manifest.translating(self._files.manifest),
            manifest.transaction(self._connection, write=True),
        ):
            yield

    def _check_lock(self) -> None:
        if not self._lock.is_locked:
            raise StoreLockedError(
                f"This writer of {self._files.root} no longer holds its lock. "
                "Use it inside of `with store.writer() as writer:`."
            )

    def _check(self, documents: Sequence[EncodedDocument]) -> None:
        """Refuse documents that do not fit the store or one another, all faults at once."""
        faults = [f"{d.name!r} {fault}" for d in documents for fault in self._faults(d)]
        names = [document.name for document in documents]
        faults += [f"{name!r} is there twice" for name in {n for n in names if names.count(n) > 1}]
        if faults:
            raise StoreError(
                f"{len(faults)} faults in what should be stored: {'; '.join(faults[:5])}. "
                "Encode with the store's own model, and give every document its own name."
            )

    def _faults(self, document: EncodedDocument) -> Iterator[str]:
        """Compare the widths of a document's arrays with those of the store."""
        wanted = self._identity
        if document.keys.shape[1] != wanted.key_dim:
            yield f"has keys of {document.keys.shape[1]} numbers, the store {wanted.key_dim}"
        found = None if document.outputs is None else document.outputs.shape[1]
        if found != wanted.output_dim:
            yield f"has outputs of {found} numbers, the store {wanted.output_dim}"

    def _write_segment(self, documents: Sequence[EncodedDocument]) -> SegmentRow:
        """Write the files of a segment; without a row in the manifest they do not count."""
        segment, n = uuid.uuid4().hex, sum(len(document) for document in documents)
        entries = Layout.of_entries(n, self._identity.key_dim)
        chunks = (
            raw(getattr(document, column.name), column.dtype)
            for column in entries.columns
            for document in documents
        )
        digest = write_file(self._files.entries(segment), entries, chunks)
        outputs_digest = None
        if self._identity.output_dim is not None:
            outputs = [d.outputs for d in documents if d.outputs is not None]
            layout = Layout.of_outputs(n, self._identity.output_dim)
            chunks = (raw(array, "F16") for array in outputs)
            outputs_digest = write_file(self._files.outputs(segment), layout, chunks)
        sync_directory(self._files.segments)
        return SegmentRow(segment, n, digest, outputs_digest)


def _row(document: EncodedDocument, segment: str, lo: int) -> DocumentRow:
    """Describe where a document's entries lie in its segment."""
    return DocumentRow(
        id=0,
        name=document.name,
        content_hash=document.content_hash,
        language=document.language,
        path=document.path,
        segment=segment,
        lo=lo,
        hi=lo + len(document),
    )
