"""Looking after a store from the command line."""

import pytest

from vicinal.datastore import Datastore


@pytest.fixture
def store(index, projects, tmp_path):
    """Index the two projects with the tiny model."""
    assert index(projects, "--projects-are-folders").code == 0
    return tmp_path / "store"


def names(store) -> list[str]:
    return sorted(Datastore.open(store).content_hashes())


def test_info_counts(vicinal, store, tiny_model):
    """The numbers are those of a snapshot, for machines and for people."""
    info = vicinal("store", "info", "--store", store, "--json").json
    snapshot = Datastore.open(store).snapshot()
    assert (info["documents"], info["live"], info["dead"]) == (4, snapshot.n_live, 0)
    assert (info["identity"]["model"], info["identity"]["key_dim"]) == (str(tiny_model), 16)
    text = vicinal("store", "info", "--store", store).out
    assert f"{snapshot.n_live:,}" in text
    assert str(tiny_model) in text


def test_info_needs_a_store(vicinal, tmp_path):
    """A folder without a store is an error that says how to make one."""
    outcome = vicinal("store", "info", "--store", tmp_path)
    assert outcome.code == 1
    assert "vicinal index" in outcome.err


def test_verify_finds_a_flipped_bit(vicinal, store):
    """A whole store is clean; one changed byte is found, and the exit code is 1."""
    assert vicinal("store", "verify", "--store", store, "--json").json["clean"]
    assert "yes" in vicinal("store", "verify", "--store", store).out
    damage(store)
    outcome = vicinal("store", "verify", "--store", store, "--json")
    assert (outcome.code, outcome.json["clean"], len(outcome.json["damaged"])) == (1, False, 1)
    assert "SHA-256" in vicinal("store", "verify", "--store", store).out


def test_repair_forgets_what_is_damaged(vicinal, store, index, projects):
    """After a repair the lost documents are named, the store is clean, and indexing refills it."""
    before = names(store)
    damage(store)
    outcome = vicinal("store", "verify", "--repair", "--store", store, "--json")
    assert (outcome.code, sorted(outcome.json["lost"])) == (1, before)
    assert vicinal("store", "verify", "--store", store).code == 0
    assert index(projects).json["added"] == 4


def damage(store) -> None:
    """Flip a bit in the last byte of the first file of entries."""
    file = min(f for f in (store / "segments").iterdir() if ".outputs" not in f.name)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def test_remove_by_name_and_by_pattern(vicinal, store):
    """A name means itself, a pattern all that match it."""
    first, *rest = names(store)
    assert vicinal("store", "remove", first, "--store", store, "--json").json["removed"] == 1
    assert names(store) == rest
    assert "3" in vicinal("store", "remove", "*", "--store", store).out
    assert names(store) == []


def test_remove_refuses_what_is_not_there(vicinal, store):
    """One unknown name among known ones: nothing is removed, and what is close is named."""
    known = names(store)
    outcome = vicinal("store", "remove", known[0], known[1] + "x", "--store", store)
    assert (outcome.code, names(store)) == (1, known)
    assert f"Did you mean {known[1]!r}" in outcome.err


def test_compact_drops_what_was_removed(vicinal, store):
    """Entries of removed documents are gone after a compaction, the others stay."""
    vicinal("store", "remove", names(store)[0], "--store", store)
    dead = vicinal("store", "info", "--store", store, "--json").json["dead"]
    done = vicinal("store", "compact", "--store", store, "--json").json
    assert (done["entries_dropped"], done["segments"]) == (dead, 1)
    assert dead > 0
    assert len(names(store)) == 3
    assert "entries dropped" in vicinal("store", "compact", "--store", store).out


def test_compact_can_drop_outputs(vicinal, store):
    """Without outputs the store is smaller and no segment has them."""
    done = vicinal("store", "compact", "--drop-outputs", "--store", store, "--json").json
    assert done["bytes_freed"] > 0
    info = vicinal("store", "info", "--store", store, "--json").json
    assert info["segments_with_outputs"] == 0


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_export_writes_every_entry(vicinal, store, tmp_path, format):
    """The file has a row for each entry; it is never overwritten."""
    pytest.importorskip("pyarrow")
    file = tmp_path / f"entries.{format}"
    arguments = ["store", "export", file, "--format", format, "--store", store]
    outcome = vicinal(*arguments, "--json")
    assert outcome.json == {"rows": Datastore.open(store).snapshot().n_live, "file": str(file)}
    assert file.stat().st_size > 0
    again = vicinal(*arguments)
    assert again.code == 1
    assert "not overwritten" in again.err
