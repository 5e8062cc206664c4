"""What lies on disk is what the header says, or it is refused before it is mapped."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from safetensors.numpy import load_file, save

from vicinal.datastore.segment_file import BLOCK_BYTES, Layout, map_file, raw, read_blocks
from vicinal.datastore.segment_file import write_file as write
from vicinal.errors import CorruptStoreError, StoreError

N, DIM = 5, 3
LAYOUT = Layout.of_entries(N, DIM)
COLUMNS = {
    "values": np.arange(N, dtype=np.int32) + 70_000,
    "offsets": np.arange(N, dtype=np.int32) * 3,
    "keys": np.linspace(-1, 1, N * DIM).astype(np.float16).reshape(N, DIM),
}
DRAWN = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "s.safetensors"
    write(path, LAYOUT, [raw(COLUMNS[c.name], c.dtype) for c in LAYOUT.columns])
    return path


def test_the_safetensors_library_reads_what_we_write(path):
    """Names, dtypes, shapes and every number."""
    theirs, ours = load_file(path), map_file(path, LAYOUT)
    assert theirs.keys() == ours.keys() == COLUMNS.keys()
    for name, column in COLUMNS.items():
        assert theirs[name].dtype == ours[name].dtype == column.dtype
        assert np.array_equal(theirs[name], column)
        assert np.array_equal(ours[name], column)
        assert ours[name].flags.aligned


@DRAWN
@given(size=st.integers(0, LAYOUT.n_bytes - 1))
def test_a_truncated_file_is_refused(path, size):
    """A file that is too short would kill the process, were it mapped."""
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorruptStoreError, match=f"should have 262 bytes, has {size}"):
        map_file(path, LAYOUT)
    write(path, LAYOUT, [raw(COLUMNS[c.name], c.dtype) for c in LAYOUT.columns])


@DRAWN
@given(garbage=st.binary(min_size=1, max_size=LAYOUT.n_bytes), start=st.integers(0, 8))
def test_a_garbage_header_is_refused(path, garbage, start):
    """Whatever stands where the header should be, it is an error of ours."""
    good = path.read_bytes()
    bad = (good[:start] + garbage + good[start + len(garbage) :])[: len(good)]
    path.write_bytes(bad)
    if bad[: len(LAYOUT.head)] != LAYOUT.head:
        with pytest.raises(CorruptStoreError, match="should begin with"):
            map_file(path, LAYOUT)
    path.write_bytes(good)


def test_a_file_of_other_tensors_is_refused(path):
    """Valid safetensors with our names and size, but another shape, are not our file."""
    other = save({**COLUMNS, "keys": COLUMNS["keys"].reshape(DIM, N)})
    path.write_bytes(other.ljust(LAYOUT.n_bytes, b"\0")[: LAYOUT.n_bytes])
    with pytest.raises(CorruptStoreError, match=r"should begin with .*\[5,3\]"):
        map_file(path, LAYOUT)


def test_fewer_rows_than_announced_never_get_the_name(tmp_path):
    """The file that is too short stays aside."""
    path = tmp_path / "s.safetensors"
    with pytest.raises(StoreError, match="should have 262 bytes, got 212"):
        write(path, LAYOUT, [bytes(20)])
    assert not path.exists()


def test_ranges_are_read_in_blocks(tmp_path):
    """Ranges larger than a block come in several, and end where they should."""
    n = BLOCK_BYTES // 4 + 10
    column, layout = np.arange(2 * n, dtype=np.float16).reshape(n, 2), Layout.of_outputs(n, 2)
    path = tmp_path / "o.safetensors"
    write(path, layout, [raw(column, "F16")])
    blocks = list(read_blocks(path, layout, "outputs", [(0, n - 1), (3, 5)]))
    assert [len(block) for block in blocks] == [BLOCK_BYTES, 4 * 9, 8]
    assert b"".join(blocks) == column[: n - 1].tobytes() + column[3:5].tobytes()
