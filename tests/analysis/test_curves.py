"""Curves of hits by rank and distance, compared with counting pair by pair."""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from observed import NAMES, observations
from vicinal.analysis import PUBLISHED, Binning, curves
from vicinal.analysis.curves import FEWEST
from vicinal.locality import LevelCalibration, Observations


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(0, 5))
def test_shares_by_rank_are_those_of_counting(seed, absent):
    """Each point is the share of hits among the level's neighbors of those ranks."""
    found = observations(seed, absent=absent)
    for level, curve in enumerate(curves(found, NAMES).by_rank):
        counted: dict[int, list[int]] = {}
        for row in range(len(found)):
            for rank in range(16 - absent):
                if found.levels[row, rank] == level:
                    counted.setdefault(rank + 1, []).append(int(found.hits[row, rank]))
        assert curve.level == NAMES[level]
        everything = sum(len(hits) for hits in counted.values())
        assert 0 < curve.count.sum() <= everything
        # Ranks 1, 2 and 3 have a bin of their own.
        for x, y, n in zip(curve.x, curve.y, curve.count, strict=True):
            if x <= 3:
                assert n == len(counted[round(x)])
                assert y == pytest.approx(sum(counted[round(x)]) / n)


def test_no_neighbor_is_counted_twice_or_lost():
    """With enough neighbors in each bin, the bins hold them all."""
    found = observations(1, n=3000)
    made = curves(found, NAMES)
    for several in (made.by_rank, made.by_distance, made.distance_by_rank):
        assert sum(curve.count.sum() for curve in several) == 3000 * 16
    total = sum((curve.y * curve.count).sum() for curve in made.by_distance)
    assert total == pytest.approx(found.hits.sum().item())


def test_intervals_hold_what_is_true():
    """Close levels are right more often at every distance; bands surround the means."""
    made = curves(observations(2, n=3000), NAMES)
    for curve in (*made.by_rank, *made.by_distance, *made.distance_by_rank):
        assert ((curve.low <= curve.y) & (curve.y <= curve.high)).all()
        assert (curve.high - curve.low).max() < 3
    far, project, near = made.by_distance
    assert (project.low > far.high).all()
    assert (near.low > project.high).all()
    truth = 0.5 * (1 - project.x / 25)
    assert ((project.low <= truth) & (truth <= project.high)).mean() > 0.8


def test_calibration_ranks_anew():
    """A bias that favors a level puts its neighbors first."""
    lines = LevelCalibration(torch.ones(3), torch.tensor([0.0, 0.0, -100.0]))
    found = observations(3, n=600)
    before, after = curves(found, NAMES), curves(found, NAMES, lines)
    assert after.by_rank[2].x.max() < before.by_rank[2].x.max()
    assert after.by_rank[0].x.min() > before.by_rank[0].x.min()
    assert after.by_distance[2].x.max() < -70 < 0 < after.by_distance[0].x.min()
    mean = found.distances[found.levels == 2].mean().item() - 100
    near = after.distance_by_rank[2]
    assert np.average(near.y, weights=near.count) == pytest.approx(mean, abs=0.5)


def test_identity_changes_no_curve():
    """The identity calibration gives the curves as found."""
    found = observations(4, n=200)
    same = curves(found, NAMES, LevelCalibration.identity(3))
    for one, other in zip(curves(found, NAMES).by_distance, same.by_distance, strict=True):
        assert np.array_equal(one.y, other.y)
        assert np.array_equal(one.x, other.x)


def test_without_a_neighbor_there_are_no_curves():
    """An empty store gives empty curves."""
    assert curves(observations(0, absent=16), NAMES).by_rank == ()


def neighbors_of(found, calibration, top, clusters):
    """List level, rank, negative distance, hit and cluster of every neighbor among the first."""
    told = []
    for row in range(len(found)):
        lines = (calibration.weights.tolist(), calibration.biases.tolist())
        columns = (found.distances[row], found.levels[row], found.hits[row])
        rows = list(zip(*(c.tolist() for c in columns), strict=True))
        near = sorted((oracles.calibrate(d, level, *lines), level, hit) for d, level, hit in rows)
        for rank, (g, level, hit) in enumerate(near[:top], 1):
            if not math.isinf(g):
                told.append((level, rank, -g, float(hit), int(clusters[row])))
    return told


def points(told, bin_of, x_of, interval, column):
    """Bin by bin: where, the mean of a column, its interval and the number of neighbors."""
    bins = defaultdict(list)
    for one in told:
        bins[bin_of(one)].append(one)
    return [
        (
            x_of(number, some),
            sum(one[column] for one in some) / len(some),
            *interval([one[column] for one in some], [one[4] for one in some]),
            len(some),
        )
        for number, some in sorted(bins.items())
        if len(some) >= FEWEST
    ]


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(1, 12), st.integers(2, 30))
def test_published_curves_are_those_of_going_from_neighbor_to_neighbor(seed, absent, top, n_docs):
    """Ranks one by one, distances in bins of equal width told by their upper bound, in loops."""
    found = observations(seed, n=90, k=10, absent=absent)
    clusters = np.random.default_rng(seed).integers(0, n_docs, 90)
    lines = LevelCalibration(torch.tensor([1.0, 0.5, 0.25]), torch.tensor([0.0, -1.0, 2.0]))
    made = curves(found, NAMES, lines, Binning(top=top, n_bins=7, published=True), clusters)
    told = neighbors_of(found, lines, top, clusters)
    low, high = min(one[2] for one in told), max(one[2] for one in told)
    width = (high - low) / 7
    for level in range(3):
        mine = [one for one in told if one[0] == level]
        by_rank = (lambda one: one[1], lambda rank, some: rank)
        by_distance = (
            lambda one: min(6, int((one[2] - low) / width)),
            lambda number, some: low + width * (number + 1),
        )
        expected = (
            (made.by_rank, points(mine, *by_rank, oracles.share_interval, 3)),
            (made.by_distance, points(mine, *by_distance, oracles.share_interval, 3)),
            (made.distance_by_rank, points(mine, *by_rank, oracles.mean_interval, 2)),
        )
        for several, slow in expected:
            curve = several[level]
            assert curve.level == NAMES[level]
            columns = (curve.x, curve.y, curve.low, curve.high, curve.count)
            assert np.stack(columns, 1) == pytest.approx(np.reshape(slow, (-1, 5)), abs=1e-5)


def one_neighbor_each(hits, distances=None) -> Observations:
    """Give each position one neighbor of level 0."""
    n = len(hits)
    d = torch.arange(n).float() if distances is None else torch.tensor(distances).float()
    hit = torch.tensor(hits, dtype=torch.bool)[:, None]
    return Observations(
        d[:, None], torch.zeros(n, 1).byte(), hit, torch.zeros(n), torch.zeros(n, 2)
    )


def at_rank_one(hits, clusters=None):
    """Give the first point of the curve by rank: its share and its interval."""
    numbers = None if clusters is None else np.array(clusters, np.int64)
    curve = curves(one_neighbor_each(hits), ("all",), None, PUBLISHED, numbers).by_rank[0]
    return curve.y[0], curve.low[0], curve.high[0]


@pytest.mark.parametrize("n_hits", [0, 1, 13, 39, 40])
def test_independent_positions_have_the_textbook_interval(n_hits):
    """Every position its own document, one neighbor each: Wilson's interval as it is printed."""
    share, low, high = at_rank_one([True] * n_hits + [False] * (40 - n_hits))
    assert share == pytest.approx(n_hits / 40)
    assert (low, high) == pytest.approx(oracles.wilson(n_hits / 40, 40), abs=1e-12)


@given(st.integers(2, 6), st.integers(5, 9), st.data())
def test_the_interval_grows_when_a_document_is_of_one_mind(size, n_documents, data):
    """Equal hits in a document count once: the interval is Wilson's of as many documents."""
    right = data.draw(st.integers(1, n_documents - 1))
    size *= FEWEST // 5
    hits = [document < right for document in range(n_documents) for _ in range(size)]
    documents = [document for document in range(n_documents) for _ in range(size)]
    share, low, high = at_rank_one(hits, documents)
    assert share == pytest.approx(right / n_documents)
    assert (low, high) == pytest.approx(oracles.wilson(share, n_documents), abs=1e-9)
    _, low_apart, high_apart = at_rank_one(hits)
    assert low < low_apart < high_apart < high
    # Spread evenly over the documents, hits tell no less than if they were independent.
    order = [(i % size) * n_documents + i // size for i in range(len(hits))]
    _, low_even, high_even = at_rank_one([n < right * size for n in order], documents)
    assert (low_even, high_even) == pytest.approx((low_apart, high_apart))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=FEWEST, max_size=80))
def test_intervals_never_leave_what_is_possible(drawn):
    """Whatever the hits and the documents: 0 <= low <= share <= high <= 1."""
    share, low, high = at_rank_one(*zip(*drawn, strict=True))
    assert 0 <= low <= share <= high <= 1
    assert low < high


@pytest.mark.parametrize("right", [True, False])
def test_rounding_does_not_leave_it_either(right):
    """All right or all wrong: the share is an end of the interval, to the last bit."""
    for n in range(FEWEST, FEWEST + 40):
        share, low, high = at_rank_one([right] * n)
        assert (low, high)[right] == share == right
        assert 0 < (low, high)[not right] < 1


def test_a_document_alone_tells_nothing_of_others():
    """With one document the interval is everything that is possible, for shares and means."""
    hits = [True, False] * 20
    assert at_rank_one(hits, [5] * 40) == pytest.approx((0.5, 0, 1), abs=1e-9)
    assert at_rank_one([True] * 40, [5] * 40) == pytest.approx((1, 0, 1), abs=1e-9)
    made = curves(one_neighbor_each(hits), ("all",), None, PUBLISHED, np.full(40, 5))
    (mean,) = made.distance_by_rank
    assert (mean.y[0], mean.low[0], mean.high[0]) == (-19.5, -math.inf, math.inf)


def test_which_documents_there_are_does_not_matter():
    """Other numbers for the documents, or another order of the positions, change nothing."""
    found = observations(8, n=300)
    clusters = np.random.default_rng(0).integers(0, 20, 300)
    renamed = np.random.default_rng(1).permutation(1000)[clusters]
    order = np.random.default_rng(2).permutation(300)
    shuffled = found.rows(torch.from_numpy(order))
    made = curves(found, NAMES, None, PUBLISHED, clusters)
    for other in (
        curves(found, NAMES, None, PUBLISHED, renamed),
        curves(shuffled, NAMES, None, PUBLISHED, clusters[order]),
    ):
        for name in ("by_rank", "by_distance", "distance_by_rank"):
            for one, same in zip(getattr(made, name), getattr(other, name), strict=True):
                assert np.array_equal(one.count, same.count)
                for column in ("x", "y", "low", "high"):
                    assert getattr(one, column) == pytest.approx(getattr(same, column))


def test_published_is_the_papers_way():
    """The 200 nearest, each rank by itself, 30 bins of equal width up to the nearest neighbor."""
    found = observations(5, n=200, k=220)
    made = curves(found, NAMES, None, PUBLISHED)
    ranks = np.unique(np.concatenate([curve.x for curve in made.by_rank]))
    assert np.array_equal(ranks, np.arange(1, 201))
    assert sum(curve.count.sum() for curve in made.by_rank) == 200 * 200
    near, far = -found.distances[:, 0].min().item(), -found.distances[:, 199].max().item()
    bounds = far + (near - far) / 30 * np.arange(1, 31)
    for curve in made.by_distance:
        assert len(curve.x) > 20
        assert np.abs(curve.x[:, None] - bounds).min(1).max() < 1e-6
    everything = curves(found, NAMES, None, Binning(published=True))
    assert sum(curve.count.sum() for curve in everything.distance_by_rank) == 200 * 220


def test_calibrated_neighbors_are_cut_by_their_new_rank():
    """The first by calibrated distance are looked at, not those that were first as found."""
    lines = LevelCalibration(torch.ones(3), torch.tensor([0.0, 0.0, -100.0]))
    found = observations(6, n=200)
    made = curves(found, NAMES, lines, Binning(top=3, published=True))
    slow = neighbors_of(found, lines, 3, np.arange(200))
    for level, curve in enumerate(made.by_rank):
        expected = sum(one[0] == level for one in slow)
        assert curve.count.sum() == expected or expected < 3 * FEWEST
    assert made.by_rank[2].count.sum() > 0.9 * 600
    as_found = curves(found, NAMES, None, Binning(top=3, published=True))
    assert as_found.by_rank[2].count.sum() < 0.5 * 600


def test_equal_distances_are_one_bin():
    """With nothing to tell apart there is one bin, named by that distance."""
    found = one_neighbor_each([True, False] * 20, [2.0] * 40)
    (published,) = curves(found, ("all",), None, PUBLISHED).by_distance
    assert (published.x.tolist(), published.count.tolist()) == ([-2.0], [40])
    (ours,) = curves(found, ("all",)).by_distance
    assert (ours.x.tolist(), ours.count.tolist()) == ([2.0], [40])
