"""Whatever stops a writer, a reader finds the state before the change or the state after it."""

import os
import random
import shutil
import signal
import time
from dataclasses import replace
from errno import ENOSPC

import pytest

from stores import change_until_killed, content_of, contents, encoded, expect
from vicinal.datastore import Datastore, manifest, verify

KILLS = 20


def test_kill_9_loses_nothing_acknowledged(store, tmp_path, processes):
    """Killed at random moments of twenty runs, the store holds exactly the acknowledged changes."""
    draw, model, number, log = random.Random(1), {}, 0, tmp_path / "acknowledged"
    for _ in range(KILLS):
        log.write_bytes(b"")
        process = processes.Process(
            target=change_until_killed, args=(str(store.files.root), number, str(log))
        )
        process.start()
        wait_for_bytes(log, draw.randint(1, 12))
        time.sleep(draw.random() * 0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        model, number = state_found(store, model, number, len(log.read_bytes()))
    assert number > KILLS
    with store.writer():
        pass
    assert verify(store).orphans == ()


def wait_for_bytes(path, n):
    deadline = time.monotonic() + 30
    while path.stat().st_size < n:
        assert time.monotonic() < deadline, "the writer does not get on"
        time.sleep(0.0005)


def state_found(store, model, number, acknowledged):
    """Find the state that lies on disk among the two that may."""
    for _ in range(acknowledged):
        model, number = expect(model, number), number + 1
    again = Datastore.open(store.files.root)
    found = contents(again.snapshot())
    assert verify(again).clean
    if found != model:
        model, number = expect(model, number), number + 1
    assert found == model
    return model, number


CHANGES = {
    "add": lambda writer: writer.add([encoded("new", 8), encoded("a", 2, seed=7)]),
    "remove": lambda writer: writer.remove(["a", "b"]),
    "compact": lambda writer: writer.compact(),
    "drop outputs": lambda writer: writer.compact(drop_outputs=True),
}
FAULTS = [
    (os, "fsync"),
    (os, "replace"),
    (manifest, "insert_segment"),
    (manifest, "insert_document"),
    (manifest, "bury"),
    (manifest, "read_segments"),
]


class Fault:
    """Lets a function work *n* times before it raises for good."""

    def __init__(self, function, n, error):
        self.function, self.left, self.error = function, n, error

    def __call__(self, *args, **kwargs):
        if self.left == 0:
            raise self.error
        self.left -= 1
        return self.function(*args, **kwargs)


@pytest.mark.parametrize("error", [OSError(ENOSPC, "disk full"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("change", CHANGES)
def test_a_fault_at_any_step_leaves_the_old_or_the_new_state(filled, tmp_path, change, error):
    """Every call that a change makes of the disk fails in turn; the third state never comes."""
    before = contents(filled.snapshot())
    after = {
        "add": before | {"new": content_of(encoded("new", 8)), "a": content_of(encoded("a", 2, 7))},
        "remove": {name: c for name, c in before.items() if name not in ("a", "b")},
    }.get(change, before)
    if change == "drop outputs":
        after = {name: replace(c, outputs=None) for name, c in before.items()}
    n_faults = 0
    for i, at in enumerate(FAULTS):
        root = shutil.copytree(filled.files.root, tmp_path / str(i))
        store = Datastore.open(root)
        n_faults += fails_at_every_call(store, change, at, error)
        assert contents(store.snapshot()) == after
        with store.writer():
            assert verify(store).orphans == ()
    assert n_faults >= {"remove": 3, "drop outputs": 6}.get(change, 8)


def fails_at_every_call(store, change, at, error):
    """Let each call of one function fail in turn, until the change goes through without it."""
    before = contents(store.snapshot())
    for n in range(100):
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(getattr(*at), n, error)
            patch.setattr(*at, fault)
            try:
                with store.writer() as writer:
                    CHANGES[change](writer)
                return n
            except (OSError, KeyboardInterrupt) as raised:
                assert raised is error  # noqa: PT017  (any call may be the one that fails)
        now = contents(store.snapshot())
        assert verify(store).clean
        if now != before:
            return n
    raise AssertionError(f"{at} is called without end")


def test_data_reach_the_disk_before_their_name_and_their_name_before_the_manifest(
    store, monkeypatch
):
    """Synced, renamed, the directory synced, and only then the transaction."""
    events = []

    def recorded(name, function):
        def call(*args, **kwargs):
            events.append(name)
            return function(*args, **kwargs)

        return call

    with store.writer() as writer:
        monkeypatch.setattr(os, "fsync", recorded("fsync", os.fsync))
        monkeypatch.setattr(os, "replace", recorded("replace", os.replace))
        manifest_row = recorded("manifest", manifest.insert_segment)
        monkeypatch.setattr(manifest, "insert_segment", manifest_row)
        writer.add([encoded("a", 3)])
    file, directory = ["fsync", "replace"], ["fsync"]
    assert events == [*file, *file, *directory, "manifest"]


def test_leftovers_of_a_killed_writer_go_when_the_next_one_comes(filled):
    """Temporary and unnamed segment files are deleted; what is not ours is left and reported."""
    before = contents(filled.snapshot())
    names = [f"{'0' * 32}.safetensors", f"{'1' * 32}.outputs.safetensors.tmp", "letter.txt"]
    for name in names:
        (filled.files.segments / name).write_text("left")
    assert verify(filled).orphans == tuple(names)
    with filled.writer():
        assert verify(filled).orphans == ("letter.txt",)
    assert contents(filled.snapshot()) == before
    assert verify(filled).clean


def test_a_writer_that_fails_takes_its_files_with_it(filled, monkeypatch):
    """A full disk is not filled further by what came to nothing."""
    before = sorted(filled.files.segments.iterdir())
    monkeypatch.setattr(os, "replace", Fault(os.replace, 1, OSError(ENOSPC, "disk full")))
    with pytest.raises(OSError, match="disk full"), filled.writer() as writer:
        writer.add([encoded("new", 8)])
    assert sorted(filled.files.segments.iterdir()) == before
