"""What was asked once is answered from a file, bit for bit, and only if it is the same question."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from vicinal.errors import SearchError
from vicinal.index import ExactIndex, IVFIndex, RememberedIndex
from vicinal.index.recall import RecallReport

K = 6
REPORT = RecallReport(n_probes=3, recall=0.9, target=0.9, k=5, n_queries=9, around=2, seed=0)


class Asked(ExactIndex):
    """Exact search that counts its calls."""

    def __init__(self, snapshot):
        super().__init__(snapshot)
        self.times = 0

    def search(self, queries, k, *, without):
        self.times += 1
        return super().search(queries, k, without=without)


class AskedToo(Asked):
    """An index of another kind."""


def drawn(seed, n, d=4):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float16)


@pytest.fixture
def snapshot(snapshot_of):
    return snapshot_of(drawn(0, 20), drawn(1, 9), dead=[(3, 5)])


@pytest.fixture
def asked(snapshot):
    return Asked(snapshot)


@pytest.fixture
def queries():
    return torch.tensor(drawn(2, 3)).float()


@pytest.fixture
def without():
    return torch.tensor([[0, 0], [4, 12], [0, 27]])


def same_bits(found, expected):
    return (
        found.entries.dtype == expected.entries.dtype
        and found.distances.dtype == expected.distances.dtype
        and torch.equal(found.entries, expected.entries)
        and torch.equal(found.distances, expected.distances)
    )


def test_is_asked_once_and_answers_the_same(asked, snapshot, queries, without, tmp_path):
    """The first answer, the remembered one, and that of another process are the index's own."""
    expected = ExactIndex(snapshot).search(queries, K, without=without)
    assert (expected.entries == -1).any()
    index = RememberedIndex(asked, snapshot, tmp_path / "new" / "folder")
    for _ in range(3):
        assert same_bits(index.search(queries, K, without=without), expected)
    other = RememberedIndex(asked, replace(snapshot), tmp_path / "new" / "folder")
    assert same_bits(other.search(queries.clone(), K, without=without), expected)
    assert asked.times == 1


def test_large_entries_are_remembered(snapshot, queries, without, tmp_path):
    """Entries as of a store of two thousand million, which no smaller number could hold."""

    class Far(Asked):
        def search(self, queries, k, *, without):
            found = super().search(queries, k, without=without)
            return replace(found, entries=found.entries + 2**31 - 30)

    far = Far(snapshot)
    index = RememberedIndex(far, snapshot, tmp_path)
    first = index.search(queries, K, without=without)
    assert first.entries.max() > 2**31 - 30
    assert same_bits(index.search(queries, K, without=without), first)
    assert far.times == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda queries, k, without: (queries, k + 1, without),
        lambda queries, k, without: (queries, k, without + torch.tensor([[0, 0], [0, 1], [0, 0]])),
        lambda queries, k, without: (queries + torch.eye(3, 4) * 1e-6, k, without),
        lambda queries, k, without: (queries.flip(0), k, without),
        lambda queries, k, without: (queries[:2], k, without[:2]),
        lambda queries, k, without: (queries.half(), k, without),
    ],
)
def test_another_question_is_asked_anew(asked, snapshot, queries, without, tmp_path, change):
    """Another k, another range, another query by a hair: each has an answer of its own."""
    index = RememberedIndex(asked, snapshot, tmp_path)
    index.search(queries, K, without=without)
    other, k, ranges = change(queries, K, without)
    expected = ExactIndex(snapshot).search(other, k, without=ranges)
    for _ in range(2):
        assert same_bits(index.search(other, k, without=ranges), expected)
    assert asked.times == 2


def test_numbers_of_equal_bits_are_told_apart(asked, snapshot, without, tmp_path):
    """The same bytes are other queries in another type."""
    index = RememberedIndex(asked, snapshot, tmp_path)
    queries = torch.tensor(drawn(2, 3))
    index.search(queries, K, without=without)
    index.search(queries.view(torch.bfloat16), K, without=without)
    assert asked.times == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda made, parts: made(*parts, dead=[(3, 6)]),
        lambda made, parts: made(*parts, dead=[(3, 4)]),
        lambda made, parts: made(parts[0], parts[1][:-1], dead=[(3, 5)]),
        lambda made, parts: made(*parts, parts[1], dead=[(3, 5)]),
        lambda made, parts: made(*parts, dead=[(3, 5)], ids=["s0", "x"]),
        lambda made, parts: made(*parts[::-1], dead=[(3, 5)], ids=["s1", "s0"]),
    ],
)
def test_another_store_is_asked_anew(snapshot_of, queries, without, tmp_path, change):
    """An entry more, one dead, or segments in another order: nothing of the old is told."""
    parts = drawn(0, 20), drawn(1, 9)
    before = snapshot_of(*parts, dead=[(3, 5)])
    RememberedIndex(ExactIndex(before), before, tmp_path).search(queries, K, without=without)
    after = change(snapshot_of, parts)
    asked = Asked(after)
    index = RememberedIndex(asked, after, tmp_path)
    expected = ExactIndex(after).search(queries, K, without=without)
    assert same_bits(index.search(queries, K, without=without), expected)
    assert asked.times == 1


def test_another_kind_of_index_is_asked_itself(asked, snapshot, queries, without, tmp_path):
    """What one kind of index found is not told as the other's answer."""
    RememberedIndex(asked, snapshot, tmp_path).search(queries, K, without=without)
    other = AskedToo(snapshot)
    RememberedIndex(other, snapshot, tmp_path).search(queries, K, without=without)
    assert (asked.times, other.times) == (1, 1)


def test_other_probes_are_another_index(snapshot, queries, without, tmp_path):
    """An approximate index that probes more lists is asked itself."""
    parts = IVFIndex.from_snapshot(snapshot)._parts
    for probes in (3, 3, 4):
        index = IVFIndex(parts, replace(REPORT, n_probes=probes))
        RememberedIndex(index, snapshot, tmp_path).search(queries, K, without=without)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes()[:20]),
        lambda path: path.write_bytes(b"\x07" * 500),
        lambda path: rewrite(path, lambda found: {"entries": found["entries"]}),
        lambda path: rewrite(path, lambda found: {"distances": found["distances"]}),
        lambda path: rewrite(path, lambda found: {n: t[:, 1:].clone() for n, t in found.items()}),
        lambda path: rewrite(path, lambda found: found | {"entries": found["entries"][:2].clone()}),
        lambda path: rewrite(
            path, lambda found: found | {"distances": found["distances"][:2].clone()}
        ),
    ],
)
def test_a_damaged_file_is_asked_anew(asked, snapshot, queries, without, tmp_path, damage):
    """A file cut short, full of garbage or of another shape is no answer; it is made whole."""
    index = RememberedIndex(asked, snapshot, tmp_path)
    expected = index.search(queries, K, without=without)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    damage(path)
    assert same_bits(index.search(queries, K, without=without), expected)
    assert asked.times == 2
    assert same_bits(index.search(queries, K, without=without), expected)
    assert asked.times == 2
    assert path.read_bytes() == whole


def rewrite(path, change):
    save_file(change(load_file(path)), path)


def test_one_file_for_each_question_and_nothing_beside(asked, snapshot, queries, without, tmp_path):
    """After five searches, two of them repeated, three files lie in the folder and no other."""
    index = RememberedIndex(asked, snapshot, tmp_path)
    for k in (1, 2, 2, 3, 1):
        index.search(queries, k, without=without)
    assert [path.suffix for path in tmp_path.iterdir()] == [".safetensors"] * 3


def test_a_folder_that_cannot_be_written_is_named(asked, snapshot, queries, without, tmp_path):
    """An answer that cannot be kept is an error that names the file, not a silent loss."""
    (tmp_path / "file").write_text("")
    index = RememberedIndex(asked, snapshot, tmp_path / "file")
    with pytest.raises(SearchError, match=r"file/[0-9a-f]{32}\.safetensors should be writable"):
        index.search(queries, K, without=without)


def test_queries_may_lie_anyhow(asked, snapshot, queries, without, tmp_path):
    """Neither the order in memory nor a gradient makes the same queries others."""
    index = RememberedIndex(asked, snapshot, tmp_path)
    index.search(queries, K, without=without)
    turned = queries.T.contiguous().T.requires_grad_()
    assert not turned.is_contiguous()
    index.search(turned, K, without=without.T.contiguous().T)
    assert asked.times == 1
