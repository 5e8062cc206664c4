"""
A store of (key, value, span) entries in a directory: create, open, read, write.

Any number of readers, each on a snapshot; one writer at a time. Knows nothing of models beyond
their fingerprint, and takes fitted parameters as the text they are.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from vicinal.datastore import manifest
from vicinal.datastore.files import StoreFiles
from vicinal.datastore.identity import StoreIdentity
from vicinal.datastore.manifest import State
from vicinal.datastore.opening import open_state
from vicinal.datastore.segment_file import TEMPORARY, sync_directory
from vicinal.datastore.snapshot import Snapshot
from vicinal.datastore.writer import Writer
from vicinal.errors import CorruptStoreError, StoreError, StoreLockedError

LOCK_SECONDS = 0.5
SNAPSHOT_ATTEMPTS = 10


class Datastore:
    """A store on disk; holds no file open between calls."""

    def __init__(self, files: StoreFiles, identity: StoreIdentity) -> None:
        self.files = files
        self.identity = identity

    @classmethod
    def create(cls, path: Path | str, identity: StoreIdentity) -> "Datastore":
        """Make an empty store in a directory that is empty or does not exist yet."""
        files = StoreFiles(Path(path))
        files.root.mkdir(parents=True, exist_ok=True)
        with _locked(files):
            _check_free(files)
            files.segments.mkdir(exist_ok=True)
            files.index.mkdir(exist_ok=True)
            temporary = files.manifest.with_name(files.manifest.name + TEMPORARY)
            temporary.unlink(missing_ok=True)
            with manifest.connect(temporary, create=True) as connection:
                manifest.initialize(connection)
                with manifest.transaction(connection, write=True):
                    for name, text in identity.records().items():
                        manifest.save_record(connection, "identity", name, text)
            temporary.replace(files.manifest)
            sync_directory(files.root)
        return cls(files, identity)

    @classmethod
    def open(cls, path: Path | str) -> "Datastore":
        """Open the store in a directory."""
        files = StoreFiles(Path(path))
        if not files.manifest.is_file():
            raise StoreError(
                f"There should be a store in {files.root}, found no {files.manifest.name}. "
                f"Make one: `vicinal index PATH --store {files.root}`."
            )
        with manifest.connect(files.manifest) as connection:
            manifest.check_format(connection, files.manifest)
            records = manifest.read_records(connection, "identity")
        return cls(files, StoreIdentity.from_records(records))

    def snapshot(self) -> Snapshot:
        """
        See one state of the store, and keep seeing it whatever a writer does.

        A compaction may delete a file between reading its name and mapping it; then the manifest
        has changed too, and is read again.
        """
        state = self.state()
        for _ in range(SNAPSHOT_ATTEMPTS):
            try:
                return open_state(self.files, self.identity, state)
            except FileNotFoundError as error:
                before, state, missing = state, self.state(), error
            if state.segments == before.segments:
                break
        raise CorruptStoreError(
            f"The manifest of {self.files.root} names a file that is not there: "
            f"{missing.filename}. Run `vicinal store verify --repair`, then index again."
        ) from missing

    def state(self) -> State:
        """Read what the manifest says, without touching the segments."""
        with (
            manifest.connect(self.files.manifest) as connection,
            manifest.transaction(connection, write=False),
        ):
            return manifest.read_state(connection)

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Hold the lock for the length of a block; refuse at once if another process does."""
        with _locked(self.files) as lock, closing(self._open_manifest()) as connection:
            writer = Writer(self.files, self.identity, lock, connection)
            writer.clean()
            try:
                yield writer
            finally:
                writer.clean()

    def content_hashes(self) -> dict[str, str]:
        """Give the content hash of every live document, by name."""
        with manifest.connect(self.files.manifest) as connection:
            rows = connection.execute("SELECT name, content_hash FROM document").fetchall()
        return {manifest.from_sql(name): digest for name, digest in rows}

    def check_fingerprint(self, fingerprint: str, model: str = "") -> None:
        """Refuse another model, tokenizer or key layer than the one that made the keys."""
        self.identity.check_fingerprint(fingerprint, model)

    def save_parameters(self, name: str, json_text: str) -> None:
        """Keep fitted parameters, which must be JSON, instead of those that had the name."""
        try:
            json.loads(json_text)
        except ValueError as error:
            raise StoreError(
                f"Parameters {name!r} should be JSON, found {json_text[:40]!r} ({error})."
            ) from error
        self._save("parameters", name, json_text)

    def parameters(self, name: str) -> str | None:
        """Give fitted parameters by their name."""
        return self.all_parameters().get(name)

    def all_parameters(self) -> dict[str, str]:
        """Give all fitted parameters, by name."""
        return self._records("parameters")

    def save_note(self, name: str, text: str) -> None:
        """Keep a text, such as where the corpus lies or which nprobe was chosen."""
        self._save("note", name, text)

    def note(self, name: str) -> str | None:
        """Give a note by its name."""
        return self.notes().get(name)

    def notes(self) -> dict[str, str]:
        """Give all notes, by name."""
        return self._records("note")

    def _open_manifest(self) -> sqlite3.Connection:
        with manifest.translating(self.files.manifest):
            return manifest.open_connection(self.files.manifest)

    def _save(self, kind: str, name: str, text: str) -> None:
        with (
            manifest.connect(self.files.manifest) as connection,
            manifest.transaction(connection, write=True),
        ):
            manifest.save_record(connection, kind, name, text)

    def _records(self, kind: str) -> dict[str, str]:
        with manifest.connect(self.files.manifest) as connection:
            return manifest.read_records(connection, kind)


@contextmanager
def _locked(files: StoreFiles) -> Iterator[FileLock]:
    """Hold the writer's lock."""
    lock = FileLock(files.lock, timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout as error:
        raise StoreLockedError(
            f"Another process is writing to {files.root} (it holds {files.lock.name}). "
            "Wait until it is done, or end it; readers may go on."
        ) from error
    try:
        yield lock
    finally:
        lock.release()


def _check_free(files: StoreFiles) -> None:
    """Refuse a directory with anything in it but what an interrupted `create` leaves."""
    own = {files.segments.name, files.index.name, files.lock.name}
    found = sorted(path.name for path in files.root.iterdir())
    foreign = [name for name in found if name not in own and not name.endswith(TEMPORARY)]
    if files.manifest.name in foreign:
        raise StoreError(f"There is a store in {files.root} already. Open it, or delete it first.")
    if foreign:
        raise StoreError(
            f"A new store needs an empty directory, found {', '.join(foreign[:5])} in "
            f"{files.root}. Choose another one."
        )
