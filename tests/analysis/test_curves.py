"""Curves of hits by rank and distance, compared with counting pair by pair."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from observed import NAMES, observations
from vicinal.analysis import curves
from vicinal.locality import LevelCalibration


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
