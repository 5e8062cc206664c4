"""The table that other programs read has every live entry, and nothing else."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stores import contents, encoded
from vicinal.datastore import export
from vicinal.errors import StoreError

READERS = {"parquet": pq.read_table, "arrow": lambda path: pa.ipc.open_file(path).read_all()}


@pytest.mark.parametrize("kind", READERS)
def test_every_live_entry_is_a_row(filled, tmp_path, monkeypatch, kind):
    """In blocks smaller than documents, with keys bit for bit."""
    monkeypatch.setattr("vicinal.datastore.exporting.ROWS", 4)
    path = tmp_path / "table"
    snapshot = filled.snapshot()
    assert export(snapshot, path, kind) == 22
    rows = READERS[kind](str(path)).to_pylist()
    expected = contents(snapshot)
    assert [(row["document"], row["position"]) for row in rows] == [
        (d.name, i) for d in snapshot.documents for i in range(d.hi - d.lo)
    ]
    for name, content in expected.items():
        mine = [row for row in rows if row["document"] == name]
        assert tuple(row["value"] for row in mine) == content.values
        assert tuple(row["offset"] for row in mine) == content.offsets
        assert np.array([row["key"] for row in mine], np.float16).tobytes() == content.keys
        assert mine[0]["path"] == f"src/{name}.py"
    assert rows[-1]["attributes"] == '{"project": ["p1"], "tags": ["a", "b"]}'
    assert list(tmp_path.glob("*.tmp")) == []


def test_names_that_are_no_unicode_are_exported_with_marks(store, tmp_path):
    """Arrow knows only valid text."""
    with store.writer() as writer:
        document = encoded("a", 1)
        writer.add([type(document)(**{**vars(document), "name": "caf\udce9"})])
    export(store.snapshot(), tmp_path / "t", "parquet")
    assert pq.read_table(tmp_path / "t")["document"].to_pylist() == ["caf?"]


def test_an_empty_store_is_an_empty_table(store, tmp_path):
    """With its columns."""
    assert export(store.snapshot(), tmp_path / "t", "parquet") == 0
    assert pq.read_table(tmp_path / "t").column_names[0] == "document"


def test_without_pyarrow_the_error_says_what_to_install(store, tmp_path, monkeypatch):
    """And no file is begun."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(StoreError, match=r"pip install 'vicinal\[export\]'"):
        export(store.snapshot(), tmp_path / "t", "parquet")
    assert list(tmp_path.glob("t*")) == []
