import multiprocessing
import os
import sys
from multiprocessing import forkserver

import pytest

from fake_models import FakeLanguageModel
from stores import IDENTITY, encoded
from vicinal.datastore import Datastore


@pytest.fixture
def model():
    return FakeLanguageModel()


@pytest.fixture
def store(tmp_path):
    """An empty store with keys of 4 and outputs of 3 numbers."""
    return Datastore.create(tmp_path / "store", IDENTITY)


@pytest.fixture
def filled(store):
    """Three segments; `a` replaced, `c` removed, `d` removed."""
    with store.writer() as writer:
        writer.add([encoded("a", 5), encoded("b", 7), encoded("c", 3)])
        writer.add([encoded("d", 4), encoded("e", 6)])
        writer.add([encoded("a", 9, seed=1)])
        writer.remove(["c", "d"])
    return store


@pytest.fixture(scope="session")
def processes():
    """Fresh processes that start in milliseconds: they are forked from one that has imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["stores"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
        forkserver.ensure_running()
    return context
