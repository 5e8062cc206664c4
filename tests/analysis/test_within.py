"""Odds within positions, compared with counting stratum by stratum."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from vicinal.analysis import odds_within
from vicinal.analysis.within import N_BINS, TOP
from vicinal.locality import Observations

NAMES = ("none", "project", "directory")


def observations(seed: int, n: int = 30, k: int = 40, *, worth: float = 0.0) -> Observations:
    """Draw neighbors of easy and hard positions; *worth* is what a level adds to being right."""
    generator = torch.Generator().manual_seed(seed)
    distances = torch.rand(n, k, generator=generator) * 20
    easy = torch.rand(n, 1, generator=generator) * 0.6
    # Easy positions have more local neighbors, so that over all positions levels look informative.
    levels = (torch.rand(n, k, generator=generator) < easy).byte()
    levels += (levels * (torch.rand(n, k, generator=generator) < 0.5)).byte()
    hits = torch.rand(n, k, generator=generator) < easy + worth * levels
    return Observations(distances, levels, hits, torch.zeros(n), torch.zeros(n, 2))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 15), st.integers(0, 4))
def test_the_ratio_is_that_of_mantel_and_haenszel(seed, n, k, absent):
    """Each level's ratio and strata are those of a loop over positions and bins."""
    seen = observations(seed, n, k)
    seen.distances[:, k - min(absent, k) :] = torch.inf
    found = odds_within(seen, NAMES, np.arange(n) // 2)
    rows = (seen.distances.double().tolist(), seen.levels.tolist(), seen.hits.tolist())
    finite = [d for row in rows[0] for d in row if math.isfinite(d)]
    if not finite:
        assert found == []
        return
    for level, odds in zip((1, 2), found, strict=True):
        ratio, strata = oracles.odds_ratio(rows, level, N_BINS)
        assert (odds.level, odds.strata) == (NAMES[level], strata)
        assert odds.ratio == pytest.approx(ratio, nan_ok=True)
        low, high = odds.interval
        assert math.isnan(low) or low <= high


def test_easy_positions_alone_make_no_odds():
    """Where only positions differ, the odds are even; where a level counts, they are not."""
    for worth in (0.0, 0.2):
        found = odds_within(observations(5, 2000, worth=worth), NAMES, np.arange(2000))
        for odds in found:
            low, high = odds.interval
            assert low < odds.ratio < high < 1.3 * low
            assert (low > 1.5) if worth else (low < 1 < high)


def test_documents_that_are_alike_widen_the_interval():
    """The bootstrap is over documents: a hundred copies of one position are one."""
    seen = observations(2, 20, worth=0.2)
    copied = seen.rows(torch.arange(20).repeat_interleave(5))
    one = odds_within(seen, NAMES, np.arange(20))
    same = odds_within(copied, NAMES, np.arange(20).repeat(5))
    other = odds_within(copied, NAMES, np.arange(100))
    for alone, together, apart in zip(one, same, other, strict=True):
        assert together.ratio == pytest.approx(alone.ratio)
        widths = [high - low for low, high in (alone.interval, together.interval, apart.interval)]
        assert widths[1] == pytest.approx(widths[0], rel=0.3)
        assert widths[2] < 0.7 * widths[1]


def test_only_the_nearest_are_compared():
    """Of each position the nearest 200 count, whatever the rest are."""
    seen = observations(1, 4, TOP + 50)
    near = seen.distances.sort(1).indices[:, :TOP]
    some = Observations(
        *(getattr(seen, name).gather(1, near) for name in ("distances", "levels", "hits")),
        seen.log_p_lm,
        seen.keys,
    )
    documents = np.arange(4)
    assert odds_within(seen, NAMES, documents) == odds_within(some, NAMES, documents)


def test_certain_levels_have_infinite_odds():
    """Where a level is always right and level 0 never, no warning is given, and infinity told."""
    levels = torch.tensor([[0, 1, 2, 0]] * 5, dtype=torch.uint8)
    seen = Observations(torch.ones(5, 4), levels, levels > 0, torch.zeros(5), torch.zeros(5, 2))
    for odds in odds_within(seen, NAMES, np.arange(5)):
        assert (odds.ratio, odds.interval) == (math.inf, (math.inf, math.inf))
        assert "inf [inf, inf] over 5 strata" in str(odds)


def test_a_level_that_is_nowhere_beside_level_0_has_no_odds():
    """Without a stratum of both kinds nothing is said, and nothing breaks."""
    levels = torch.tensor([[1, 1], [0, 0]], dtype=torch.uint8)
    seen = Observations(torch.ones(2, 2), levels, levels > 0, torch.zeros(2), torch.zeros(2, 2))
    for odds in odds_within(seen, NAMES, np.arange(2)):
        assert odds.strata == 0
        assert all(math.isnan(value) for value in (odds.ratio, *odds.interval))
