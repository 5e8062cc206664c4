"""Verifying finds every flipped byte, and repairing loses no more than it must."""

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from stores import contents
from vicinal.datastore import Datastore, repair, verify
from vicinal.errors import CorruptStoreError


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_flipped_byte_is_found(filled, data):
    """In any file of any segment; the segment is named, and reading it is no crash."""
    path = data.draw(st.sampled_from(sorted(filled.files.segments.iterdir())))
    good = path.read_bytes()
    place, flip = data.draw(st.integers(0, len(good) - 1)), data.draw(st.integers(1, 255))
    path.write_bytes(good[:place] + bytes([good[place] ^ flip]) + good[place + 1 :])
    found = verify(filled)
    assert not found.clean
    assert found.damaged_segments == (path.name.split(".")[0],)
    assert [r.name for r in found.files if "SHA-256" in r.problem] == [path.name]
    path.write_bytes(good)
    assert verify(filled).clean


@pytest.mark.parametrize("outputs", [True, False])
def test_a_missing_file_is_found_and_its_documents_can_be_given_up(filled, outputs):
    """Repairing names the documents to index again; the rest is untouched."""
    before, segment = contents(filled.snapshot()), filled.snapshot().segments[1].id
    path = filled.files.outputs(segment) if outputs else filled.files.entries(segment)
    path.unlink()
    found = verify(filled)
    assert [(r.name, r.problem) for r in found.files if "missing" in r.problem] == [
        (path.name, "is missing")
    ]
    with pytest.raises(CorruptStoreError, match=path.name):
        filled.snapshot()
    assert repair(filled) == ["e"]
    assert verify(filled).clean
    assert contents(filled.snapshot()) == {n: c for n, c in before.items() if n != "e"}
    assert repair(filled) == []


def test_a_clean_store_is_told_file_by_file(filled):
    """Two files for each segment, none with a problem."""
    found = verify(filled)
    assert len(found.files) == 6
    assert {report.problem for report in found.files} == {""}
    assert (found.problems, found.orphans, found.clean) == ((), (), True)


def test_files_that_fit_their_checksum_but_not_the_manifest_are_found(filled):
    """A manifest that names another width of keys cannot map what is whole by itself."""
    other = Datastore(filled.files, replace(filled.identity, key_dim=5))
    found = verify(other)
    assert {r.name for r in found.files if "should have" in r.problem} == {
        filled.files.entries(segment.id).name for segment in filled.snapshot().segments
    }
    assert not found.clean
