"""Stores are made, opened, refused, locked, and keep texts."""

import sqlite3
import time
from contextlib import closing

import pytest

from stores import IDENTITY, contents, encoded, hold_the_lock
from vicinal.datastore import Datastore, StoreIdentity, info
from vicinal.errors import CorruptStoreError, FingerprintError, StoreError, StoreLockedError


def test_a_store_remembers_to_whom_it_belongs(store, model):
    """Everything given at birth is there when it is opened again."""
    assert Datastore.open(str(store.files.root)).identity == IDENTITY
    identity = StoreIdentity.of_model(model, schema="{}", keep_outputs=False)
    assert identity == StoreIdentity("fake-1", 8, None, "fake", "{}", "")


def test_a_store_is_never_made_over_something(store, tmp_path):
    """Neither over another store nor among someone's files."""
    with pytest.raises(StoreError, match=r"There is a store in .* already"):
        Datastore.create(store.files.root, IDENTITY)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("x")
    with pytest.raises(StoreError, match=r"empty directory, found dear\.txt"):
        Datastore.create(tmp_path / "letters", IDENTITY)


def test_an_interrupted_creation_can_be_done_again(tmp_path):
    """What it left is no obstacle."""
    root = tmp_path / "store"
    (root / "segments").mkdir(parents=True)
    (root / "manifest.db.tmp").write_text("half")
    assert Datastore.create(root, IDENTITY).snapshot().n_entries == 0


def test_opening_what_is_no_store(tmp_path):
    """The error says how to make one."""
    with pytest.raises(StoreError, match=r"found no manifest\.db.*vicinal index"):
        Datastore.open(tmp_path)
    (tmp_path / "manifest.db").write_text("not a database at all, but long enough" * 20)
    with pytest.raises(CorruptStoreError, match="should be the manifest of a store"):
        Datastore.open(tmp_path)
    (tmp_path / "manifest.db").unlink()
    with closing(sqlite3.connect(tmp_path / "manifest.db")) as other:
        other.execute("CREATE TABLE songs (id)")
    with pytest.raises(CorruptStoreError, match=r"application id 0x76696369.*found 0x0"):
        Datastore.open(tmp_path)


def change_manifest(store, statement):
    with closing(sqlite3.connect(store.files.manifest, isolation_level=None)) as connection:
        connection.execute(statement)


def test_a_later_format_is_refused(store):
    """Both versions are named."""
    change_manifest(store, "PRAGMA user_version = 2")
    with pytest.raises(StoreError, match=r"store format 2, this vicinal reads up to 1\. Upgrade"):
        Datastore.open(store.files.root)


@pytest.mark.parametrize("damage", ["DELETE FROM record", "UPDATE record SET text = 'x'"])
def test_a_manifest_without_identity_is_refused(store, damage):
    """A store that does not say to which model it belongs is of no use."""
    change_manifest(store, damage)
    with pytest.raises(CorruptStoreError, match="say to which model"):
        Datastore.open(store.files.root)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE document SET hi = hi + 1 WHERE name = 'b'", "belong to two documents"),
        ("UPDATE document SET lo = lo + 1 WHERE name = 'b'", "entries 5 to 6 belong to no"),
        ("DELETE FROM span WHERE lo = 0", "the spans of document 'b' do not cover its 7"),
        ("UPDATE segment SET entries = 16 WHERE ordinal = 1", "belong to no document"),
        ("DROP TABLE span", "no such table: span"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(filled, damage, words):
    """No reader ever sees overlapping documents, gaps, or entries without a span."""
    change_manifest(filled, damage)
    with pytest.raises(CorruptStoreError, match=words):
        filled.snapshot()


def test_a_missing_segment_is_named(filled):
    """After looking whether a compaction took it away."""
    segment = filled.snapshot().segments[1].id
    filled.files.entries(segment).unlink()
    with pytest.raises(CorruptStoreError, match=rf"names a file that is not there: .*{segment}"):
        filled.snapshot()


def test_another_model_is_refused(store):
    """Both fingerprints are in the message."""
    store.check_fingerprint("print-1")
    with pytest.raises(FingerprintError, match=r"tiny with fingerprint print-1, this is a model"):
        store.check_fingerprint("print-2")


def test_two_writers_of_one_process_exclude_each_other(store):
    """The second is refused at once, readers are not."""
    with store.writer(), pytest.raises(StoreLockedError, match="Another process is writing"):  # noqa: SIM117
        with Datastore.open(store.files.root).writer():
            pass
    with store.writer() as writer:
        writer.add([encoded("a", 1)])
        assert store.snapshot().n_live == 1


def test_two_writers_of_two_processes_exclude_each_other(store, tmp_path, processes):
    """Exactly one writes; when it is done, the other may."""
    held, release = tmp_path / "held", tmp_path / "release"
    arguments = (str(store.files.root), str(held), str(release))
    process = processes.Process(target=hold_the_lock, args=arguments)
    process.start()
    deadline = time.monotonic() + 60
    while not held.exists():
        assert time.monotonic() < deadline, "the other process does not start"
        time.sleep(0.001)
    with pytest.raises(StoreLockedError, match="Another process"), store.writer():
        pass
    release.touch()
    process.join()
    with store.writer():
        pass


def test_a_writer_is_of_no_use_without_its_lock(store):
    """Kept beyond its block, it refuses."""
    with store.writer() as writer:
        pass
    for change in (writer.compact, writer.clean, lambda: writer.remove([])):
        with pytest.raises(StoreLockedError, match="no longer holds its lock"):
            change()


def test_a_snapshot_outlives_the_files_it_reads(filled):
    """A compaction deletes them; the snapshot shows what it showed."""
    snapshot = filled.snapshot()
    before = contents(snapshot)
    with filled.writer() as writer:
        assert writer.compact() == 3
        writer.remove(["a"])
    assert contents(snapshot) == before
    files = list(filled.files.segments.iterdir())
    assert len(files) == 2
    assert not any(segment.id in file.name for file in files for segment in snapshot.segments)


def test_a_snapshot_taken_during_a_compaction_is_whole(filled, monkeypatch):
    """The files vanish between reading their names and mapping them; the second look succeeds."""
    before, state = contents(filled.snapshot()), filled.state()
    with filled.writer() as writer:
        writer.compact()
    states = iter([state, filled.state()])
    monkeypatch.setattr(filled, "state", lambda: next(states))
    assert contents(filled.snapshot()) == before


def test_parameters_and_notes_are_kept(store):
    """By name, replaced when saved again, apart from each other, and open to every process."""
    store.save_parameters("linear", '{"weights": [1.0]}')
    store.save_parameters("linear", '{"weights": [0.5]}')
    store.save_note("linear", "not JSON at all")
    again = Datastore.open(store.files.root)
    assert again.parameters("linear") == '{"weights": [0.5]}'
    assert again.parameters("mlp") is None
    assert again.all_parameters() == {"linear": '{"weights": [0.5]}'}
    assert again.note("linear") == "not JSON at all"
    assert again.note("nprobe") is None
    with pytest.raises(StoreError, match=r"'mlp' should be JSON, found 'NaN}'"):
        store.save_parameters("mlp", "NaN}")


def test_info_counts(filled):
    """Entries, the living and the dead, and the bytes of everything."""
    filled.save_parameters("linear", "{}")
    filled.save_note("corpus", "src")
    found = info(filled)
    assert (found.entries, found.live, found.dead) == (34, 22, 12)
    assert (found.documents, found.segments, found.segments_with_outputs) == (3, 3, 3)
    assert found.spans == len(filled.snapshot().spans)
    assert found.parameters == ("linear",)
    assert found.notes == {"corpus": "src"}
    assert found.identity == IDENTITY
    assert found.bytes_on_disk == sum(
        path.stat().st_size for path in filled.files.root.rglob("*") if path.is_file()
    )


def test_a_busy_manifest_is_locked_not_corrupt(store, monkeypatch):
    """Someone else's transaction that does not end is named as such."""
    monkeypatch.setattr("vicinal.datastore.manifest.PATIENCE_SECONDS", 0.05)
    with closing(sqlite3.connect(store.files.manifest, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError, match=r"was busy for 0\.05 seconds"):
            store.save_note("a", "b")


def test_caches_of_segments_that_are_gone_are_deleted(tmp_path):
    """A writer deletes index caches of merged segments, and no other file beside them."""
    store = Datastore.create(tmp_path / "store", StoreIdentity("0" * 64, 4))
    gone, foreign = store.files.index / f"{'a' * 32}.flat.faiss", store.files.index / "notes.txt"
    for path in (gone, foreign):
        path.write_bytes(b"x")
    with store.writer():
        pass
    assert (gone.exists(), foreign.exists()) == (False, True)
