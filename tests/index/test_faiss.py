import json
import os
from dataclasses import asdict, replace

import faiss
import numpy as np
import pytest
import torch

from vicinal.errors import SearchError
from vicinal.index import (
    ExactIndex,
    FlatFaissIndex,
    IVFIndex,
    RecallTarget,
    faiss_parts,
    inverted,
    open_index,
    opening,
)
from vicinal.index.faiss_files import load_or_build, write_whole
from vicinal.index.faiss_parts import FaissPart

TARGET = RecallTarget(recall=0.9, k=10, n_queries=100, around=5)


def clustered(seed, n, d=8):
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).normal(size=(40, d))
    return (centers[rng.integers(0, 40, n)] + 0.5 * rng.normal(size=(n, d))).astype(np.float16)


@pytest.fixture
def snapshot(snapshot_of):
    return snapshot_of(clustered(0, 3000), clustered(1, 100), ids=["big", "small"])


@pytest.fixture
def queries():
    return torch.tensor(clustered(2, 50).astype(np.float32))


@pytest.fixture
def built(monkeypatch):
    """List the sizes of the indexes that are filled, as opposed to loaded."""
    sizes = []
    original = faiss_parts.fill

    def counting(index, segment):
        sizes.append(len(segment))
        return original(index, segment)

    monkeypatch.setattr("vicinal.index.flat.fill", counting)
    monkeypatch.setattr("vicinal.index.inverted.fill", counting)
    return sizes


def finds_the_same(index, snapshot, queries):
    without = torch.tensor([[20, 60]]).expand(len(queries), 2).contiguous()
    found = index.search(queries, 10, without=without)
    truth = ExactIndex(snapshot).search(queries, 10, without=without)
    return torch.equal(found.entries, truth.entries)


class TestCache:
    def test_is_used_again(self, snapshot, queries, tmp_path, built):
        """One index and one note per segment; the second opening builds nothing."""
        cache = tmp_path / "store" / "index"
        FlatFaissIndex.from_snapshot(snapshot, cache=cache)
        assert built == [3000, 100]
        index = FlatFaissIndex.from_snapshot(snapshot, cache=cache)
        assert built == [3000, 100]
        assert finds_the_same(index, snapshot, queries)
        names = {"big.flat.faiss", "small.flat.faiss"}
        assert {p.name for p in cache.iterdir()} == names | {f"{n}.json" for n in names}

    def test_without_a_folder_nothing_is_written(self, snapshot, queries, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert finds_the_same(FlatFaissIndex.from_snapshot(snapshot), snapshot, queries)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "damage",
        [
            lambda path: path.unlink(),
            lambda path: path.write_bytes(b""),
            lambda path: path.write_bytes(path.read_bytes()[:-1]),
            lambda path: path.write_bytes(path.read_bytes() + b"\0"),
            lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x7f"),
            lambda path: note(path).unlink(),
            lambda path: note(path).write_bytes(b"\xff"),
            lambda path: note(path).write_text("[]"),
            lambda path: note(path).write_text("{}"),
            lambda path: rewrite(path, recipe="IVF7"),
            lambda path: rewrite(path, sha256="0" * 64),
        ],
    )
    def test_damage_is_seen_and_built_anew(self, snapshot, queries, tmp_path, built, damage):
        """Only the damaged index is built again, and then it is whole."""
        FlatFaissIndex.from_snapshot(snapshot, cache=tmp_path)
        damage(tmp_path / "big.flat.faiss")
        index = FlatFaissIndex.from_snapshot(snapshot, cache=tmp_path)
        assert built == [3000, 100, 3000]
        assert finds_the_same(index, snapshot, queries)
        FlatFaissIndex.from_snapshot(snapshot, cache=tmp_path)
        assert built == [3000, 100, 3000]

    def test_another_faiss_builds_anew(self, snapshot, tmp_path, built, monkeypatch):
        """A file that another version wrote is not read."""
        FlatFaissIndex.from_snapshot(snapshot, cache=tmp_path)
        monkeypatch.setattr(faiss, "__version__", "0.1")
        FlatFaissIndex.from_snapshot(snapshot, cache=tmp_path)
        assert built == [3000, 100] * 2

    def test_a_segment_of_another_size_is_another(self, snapshot_of, tmp_path, built):
        """A name alone does not make a file the index of a segment."""
        FlatFaissIndex.from_snapshot(snapshot_of(clustered(0, 50)), cache=tmp_path)
        FlatFaissIndex.from_snapshot(snapshot_of(clustered(0, 60)), cache=tmp_path)
        FlatFaissIndex.from_snapshot(snapshot_of(clustered(0, 60, d=9)), cache=tmp_path)
        assert built == [50, 60, 60]

    def test_a_failed_write_leaves_the_old_file(self, tmp_path):
        """A new file takes the name of the old one only when it is whole."""
        path = tmp_path / "x"
        path.write_text("old")

        def fails(part):
            assert part.parent == tmp_path
            part.write_text("half of it")
            raise OSError("disk full")

        with pytest.raises(SearchError, match=r"x should be writable, found: disk full"):
            write_whole(path, fails)
        assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x", "old")]

    def test_a_folder_that_cannot_be_is_named(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(SearchError, match=r"file.* or search without a cache"):
            load_or_build(tmp_path / "file" / "x.faiss", "flat", lambda: faiss.IndexFlatL2(2))

    def test_the_note_says_what_the_file_is(self, snapshot, tmp_path):
        FlatFaissIndex.from_snapshot(snapshot, cache=tmp_path)
        path = tmp_path / "small.flat.faiss"
        said = json.loads(note(path).read_text())
        assert said["recipe"] == f"SQfp16 100x8 faiss {faiss.__version__}"
        assert said["size"] == path.stat().st_size
        assert len(said["sha256"]) == 64


def note(path):
    return path.with_name(path.name + ".json")


def rewrite(path, **changes):
    note(path).write_text(json.dumps(json.loads(note(path).read_text()) | changes))


class TestParts:
    def test_half_floats_are_kept_as_they_are(self, snapshot):
        """The codes of the index are the bytes of the keys, chunk after chunk."""
        segment = snapshot.segments[0]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(faiss_parts, "ROWS_AT_A_TIME", 700)
            index = FlatFaissIndex.from_snapshot(replace(snapshot, segments=(segment,)))
        codes = faiss.vector_to_array(index._parts.parts[0].index.codes)
        assert codes.tobytes() == segment.keys.tobytes()

    @pytest.mark.parametrize("dead", [[], [2, 8]])
    @pytest.mark.parametrize(
        ("lo", "hi"), [(10, 10), (12, 15), (0, 12), (18, 99), (0, 5), (20, 25), (0, 30), (19, 20)]
    )
    def test_ranges_are_those_of_entries(self, dead, lo, hi):
        """A range is shifted to the rows of the part, and may lie beside it."""
        index = faiss.IndexFlatL2(1)
        index.add(np.arange(10, dtype=np.float32)[:, None])
        live = np.ones(10, bool)
        live[dead] = False
        part = FaissPart(10, index, live, is_inverted=False)
        asked = np.zeros((2, 1), np.float32)
        entries, distances = part.search(asked, 30, without=(lo, hi), n_probes=1)
        wanted = [e for e in range(10, 20) if live[e - 10] and not lo <= e < hi]
        missing = 10 - len(wanted)
        assert entries.tolist() == [wanted + [-1] * missing] * 2
        assert distances[0].tolist() == [(e - 10) ** 2 for e in wanted] + [np.inf] * missing

    def test_queries_of_one_document_are_searched_together(self, snapshot, queries, monkeypatch):
        """One call per part and range, not one per query; answers return to their queries."""
        asked = []
        original = FaissPart.search

        def counting(self, queries, width, **rest):
            asked.append((self.base, len(queries), rest["without"]))
            return original(self, queries, width, **rest)

        monkeypatch.setattr(FaissPart, "search", counting)
        without = torch.tensor([[0, 10], [5, 3050], [0, 10]]).repeat(5, 1)
        found = FlatFaissIndex.from_snapshot(snapshot).search(queries[:15], 9, without=without)
        assert asked == [
            (0, 10, (0, 10)),
            (3000, 10, (0, 10)),
            (0, 5, (5, 3050)),
            (3000, 5, (5, 3050)),
        ]
        truth = ExactIndex(snapshot).search(queries[:15], 9, without=without)
        assert torch.equal(found.entries, truth.entries)


class TestInverted:
    def open(self, snapshot, **settings):
        return IVFIndex.from_snapshot(snapshot, flat_below=1000, target=TARGET, **settings)

    def test_reaches_the_recall_that_it_reports(self, snapshot, queries):
        """The recall on other queries is of the kind that was measured; fewer probes find less."""
        index = self.open(snapshot)
        report = index.report
        assert 0.9 <= report.recall < 1
        assert 1 < report.n_probes < inverted.n_lists(3000)
        assert asdict(report) == asdict(TARGET) | {
            "target": 0.9,
            "recall": report.recall,
            "n_probes": report.n_probes,
        }
        assert share_found(index, snapshot, queries) > 0.85
        fewer = IVFIndex(index._parts, replace(report, n_probes=1))
        assert share_found(fewer, snapshot, queries) < 0.8

    def test_small_segments_are_searched_flat(self, snapshot, tmp_path):
        """Lists where there is something to gain, and none below."""
        index = self.open(snapshot, cache=tmp_path)
        assert [part.is_inverted for part in index._parts.parts] == [True, False]
        assert [part.base for part in index._parts.parts] == [0, 3000]
        assert (tmp_path / "big.ivf.faiss").exists()
        assert (tmp_path / "small.flat.faiss").exists()
        assert not index._parts.parts[0].index.by_residual

    def test_lists_begin_at_the_size_they_are_worth(self, snapshot_of, tmp_path):
        """A segment of exactly that size has lists, and the report counts it among those."""
        for n, n_reports in ((999, 1), (1000, 2)):
            snapshot = snapshot_of(clustered(0, n), ids=[f"s{n}"])
            index = self.open(snapshot, cache=tmp_path)
            assert index._parts.parts[0].is_inverted == (n == 1000)
            assert len(list(tmp_path.glob("*.recall.json"))) == n_reports

    def test_lists_are_of_the_segment_they_are_named_after(self, snapshot_of, tmp_path, built):
        """The note says how many lists over how many keys; a segment of another size has others."""
        for n in (1000, 1000, 1200):
            self.open(snapshot_of(clustered(0, n)), cache=tmp_path)
        assert built == [1000, 1200]
        said = json.loads(note(tmp_path / "s0.ivf.faiss").read_text())
        assert said["recipe"] == f"IVF30,SQfp16 1200x8 faiss {faiss.__version__}"

    def test_centers_are_learned_from_enough_keys(self, snapshot, capfd):
        """FAISS prints a warning where it has fewer keys for a list than it wants."""
        self.open(snapshot)
        assert capfd.readouterr() == ("", "")

    def test_a_store_of_small_segments_is_exact(self, snapshot, queries):
        index = IVFIndex.from_snapshot(snapshot)
        assert index.report.recall == 1
        assert index.report.n_probes == 1
        assert finds_the_same(index, snapshot, queries)

    def test_the_report_is_kept(self, snapshot, snapshot_of, tmp_path, monkeypatch):
        """Neither a new small segment nor a second opening measures again."""
        first = self.open(snapshot, cache=tmp_path)
        monkeypatch.delattr(inverted, "_measure")
        assert self.open(snapshot, cache=tmp_path).report == first.report
        keys = [segment.keys for segment in snapshot.segments]
        grown = snapshot_of(*keys, clustered(3, 20), ids=["big", "small", "new"])
        assert self.open(grown, cache=tmp_path).report == first.report
        with pytest.raises(NameError):
            IVFIndex.from_snapshot(
                snapshot, cache=tmp_path, flat_below=1000, target=replace(TARGET, k=11)
            )

    @pytest.mark.parametrize("damage", ["", "[1]", '{"k": 3}', "7"])
    def test_a_damaged_report_is_measured_again(self, snapshot, tmp_path, damage):
        first = self.open(snapshot, cache=tmp_path)
        (path,) = tmp_path.glob("*.recall.json")
        path.write_text(damage)
        assert self.open(snapshot, cache=tmp_path).report == first.report
        assert json.loads(path.read_text()) == asdict(first.report)

    @pytest.mark.parametrize(
        ("n", "lists"), [(1, 1), (38, 1), (78, 2), (3000, 76), (100_000, 1265), (1_000_000, 4000)]
    )
    def test_lists_grow_with_the_root(self, n, lists):
        """Four times the root of the entries, but enough entries for each list."""
        assert inverted.n_lists(n) == lists


def share_found(index, snapshot, queries):
    without = torch.zeros(len(queries), 2, dtype=torch.long)
    found = index.search(queries, 10, without=without).entries
    truth = ExactIndex(snapshot).search(queries, 10, without=without).entries
    return float((found[:, :, None] == truth[:, None, :]).any(2).double().mean())


class TestOpening:
    @pytest.mark.parametrize(
        ("kind", "opened"),
        [("auto", ExactIndex), ("exact", ExactIndex), ("flat", FlatFaissIndex), ("ivf", IVFIndex)],
    )
    def test_by_name(self, snapshot, queries, tmp_path, kind, opened):
        """Every kind can be opened with or without a cache, and finds the same here."""
        index = open_index(snapshot, cache=tmp_path, kind=kind)
        assert type(index) is opened
        assert finds_the_same(index, snapshot, queries)
        assert bool(os.listdir(tmp_path)) == (kind in ("flat", "ivf"))

    def test_auto_counts_the_live(self, snapshot, monkeypatch):
        """Up to the limit the store is searched exactly, above it by lists."""
        monkeypatch.setattr(opening, "EXACT_UP_TO", 3100)
        assert type(open_index(snapshot)) is ExactIndex
        monkeypatch.setattr(opening, "EXACT_UP_TO", 3099)
        assert type(open_index(snapshot)) is IVFIndex
        dead = replace(snapshot, dead=np.array([[5, 6]]))
        assert type(open_index(dead)) is ExactIndex

    def test_an_unknown_kind_is_answered_with_the_known(self, snapshot):
        with pytest.raises(SearchError, match="one of: auto, exact, flat, ivf; was: hnsw"):
            open_index(snapshot, kind="hnsw")

    def test_the_device_is_passed_on(self, snapshot):
        assert open_index(snapshot, kind="exact", device="meta")._device.type == "meta"


def test_trust_needs_a_path():
    """Without a path the index is built and given back as it is."""
    index = faiss.IndexFlatL2(3)
    assert load_or_build(None, "flat", lambda: index) is index
