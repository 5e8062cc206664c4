"""Measures against loops over positions, and a bootstrap that can be believed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.evaluation import (
    MEASURES,
    Coverage,
    Macro,
    Outcome,
    Perplexity,
    Sample,
    Scores,
    Share,
    Top,
    bootstrap,
)


@st.composite
def outcomes(draw, n_rungs=1):
    """Draw scores of a few documents in groups, some of them without any position."""
    n_subjects = draw(st.integers(1, 4))
    size = {"min_size": n_subjects, "max_size": n_subjects}
    sizes = draw(st.lists(st.lists(st.integers(1, 3), max_size=4), **size))
    sizes[0] = sizes[0] or [2]
    seed, groups = draw(st.integers(0, 9999)), draw(st.integers(1, 2))
    return [outcome(sizes, seed, groups, rung) for rung in range(n_rungs)]


def outcome(sizes, seed=0, n_groups=2, rung=0, better=0.0) -> Outcome:
    """Make random scores of documents with units of these sizes; *better* is added to log p."""
    random = np.random.default_rng(seed)
    subject = np.array([s for s, units in enumerate(sizes) for u in units for _ in range(u)])
    unit_sizes = [u for units in sizes for u in units]
    unit = np.repeat(np.arange(len(unit_sizes)), unit_sizes)
    n = len(subject)
    full_tokens = random.integers(0, 4, len(unit_sizes))
    n_bytes = random.integers(1, 9, len(unit_sizes))
    sample = Sample(subject, np.arange(n), unit, full_tokens, n_bytes)
    log_p_lm = -random.exponential(2, n).astype(np.float32)
    groups = random.integers(0, n_groups, len(sizes))
    covered = random.random(n) < 0.5
    own = np.random.default_rng([seed, rung])
    log_p = -own.exponential(1.5, n).astype(np.float32) + np.float32(better)
    log_p[own.random(n) < 0.2] = log_p_lm[0]
    scores = Scores(log_p, own.integers(1, 22, n))
    return Outcome(scores, log_p_lm, covered, sample, groups.astype(np.int64))


def slow(measure, one, subjects=None):
    """Measure by going from position to position and from unit to unit."""
    sample, chosen = one.sample, subjects
    rows = [i for i, s in enumerate(sample.subject) if chosen is None or s in chosen]
    units = sorted({int(sample.unit[i]) for i in rows})
    log_p, rank = one.scores.log_p.tolist(), one.scores.rank.tolist()
    if isinstance(measure, Macro):
        present = sorted({int(one.groups[sample.subject[i]]) for i in rows})
        members = [{s for s in range(len(one.groups)) if one.groups[s] == g} for g in present]
        values = [slow(measure.measure, one, m) for m in members]
        values = [v for v in values if not math.isnan(v)]
        return sum(values) / len(values) if values else math.nan
    if isinstance(measure, Perplexity):
        counts = {"token": len(rows)}
        counts["full_token"] = sum(int(sample.full_tokens[u]) for u in units)
        counts["byte"] = sum(int(sample.n_bytes[u]) for u in units)
        count = counts[measure.per]
        return math.exp(-sum(log_p[i] for i in rows) / count) if count else math.nan
    if isinstance(measure, Top) and measure.full_token:
        right = [u for u in units if all(rank[i] <= measure.n for i in rows if sample.unit[i] == u)]
        count = sum(int(sample.full_tokens[u]) for u in units)
        return sum(int(sample.full_tokens[u]) for u in right) / count if count else math.nan
    if isinstance(measure, Top):
        return sum(rank[i] <= measure.n for i in rows) / len(rows)
    if isinstance(measure, Coverage):
        return sum(bool(one.covered[i]) for i in rows) / len(rows)
    sign = 1 if measure.helped else -1
    return sum(sign * (log_p[i] - one.log_p_lm[i]) > 0 for i in rows) / len(rows)


@given(outcomes(), st.sampled_from(MEASURES))
def test_every_measure_matches_the_oracle(drawn, measure):
    """Each measure is what counting by hand gives, also where documents are empty."""
    assert measure(drawn[0]) == pytest.approx(slow(measure, drawn[0]), rel=1e-5, nan_ok=True)


def test_the_measures_are_named_as_in_tables():
    """Names are those of the table and the JSON, each once."""
    assert [m.name for m in MEASURES] == [
        "ppl", "ppl_full_token", "ppl_byte", "top1", "top5", "top10", "top20",
        "top1_full_token", "top5_full_token", "top10_full_token", "top20_full_token",
        "coverage", "helped", "hurt", "ppl_macro", "ppl_full_token_macro",
    ]  # fmt: skip


def by_hand() -> Outcome:
    """Two documents of two groups: units of 2 and 1 tokens, and one of 1 token."""
    sample = Sample(
        np.array([0, 0, 0, 1]),
        np.array([0, 1, 2, 0]),
        np.array([0, 0, 1, 2]),
        np.array([1, 2, 1]),
        np.array([4, 2, 2]),
    )
    scores = Scores(np.log(np.array([0.5, 0.5, 0.25, 0.125], np.float32)), np.array([1, 6, 1, 21]))
    lm = np.log(np.array([0.25, 0.5, 0.5, 0.0625], np.float32))
    return Outcome(scores, lm, np.array([True, False, True, True]), sample, np.array([1, 0]))


def test_values_worked_out_by_hand():
    """Seven halvings over four tokens, four full tokens, eight bytes; and so on."""
    one = by_hand()
    assert Perplexity()(one) == pytest.approx(2 ** (7 / 4))
    assert Perplexity("full_token")(one) == pytest.approx(2 ** (7 / 4))
    assert Perplexity("byte")(one) == pytest.approx(2 ** (7 / 8))
    assert [Top(n)(one) for n in (1, 5, 6, 20)] == [0.5, 0.5, 0.75, 0.75]
    # The first unit's second token ranks sixth: a full token is right with all its tokens only.
    assert [Top(n, full_token=True)(one) for n in (1, 6, 20)] == [0.5, 0.75, 0.75]
    assert Coverage()(one) == 0.75
    assert (Share(helped=True)(one), Share(helped=False)(one)) == (0.5, 0.25)
    assert Macro(Perplexity())(one) == pytest.approx((2 ** (4 / 3) + 2**3) / 2)


SIZES = [[1, 2, 1, 3]] * 12


@pytest.mark.parametrize("measure", [Perplexity(), Perplexity("byte"), Top(1), Macro(Perplexity())])
def test_identical_rungs_do_not_differ(measure):
    """A rung compared with itself has the difference 0 and the interval [0, 0]."""
    one = outcome(SIZES)
    found = bootstrap(measure, one, one, seed=1, draws=100)
    assert (found.difference, found.interval) == (0.0, (0.0, 0.0))


def test_a_sure_improvement_excludes_zero():
    """Where every document gets better, the whole interval is below zero, around the change."""
    before, after = outcome(SIZES), outcome(SIZES, better=0.3)
    found = bootstrap(Perplexity(), after, before, seed=1)
    assert found.difference == pytest.approx(Perplexity()(after) - Perplexity()(before))
    low, high = found.interval
    assert low < found.difference < high < 0
    worse = bootstrap(Perplexity(), before, after, seed=1)
    assert worse.interval == pytest.approx((-high, -low))


def test_noise_includes_zero():
    """Two rungs that differ by chance alone have an interval on both sides of zero."""
    low, high = bootstrap(
        Perplexity(), outcome(SIZES, rung=1), outcome(SIZES, rung=2), seed=0
    ).interval
    assert low < 0 < high


def test_pairing_takes_the_documents_common_hardness_away():
    """Where both rungs find the same documents hard, their difference is surer than either."""
    before, after = outcome(SIZES), outcome(SIZES, better=0.1)
    paired = bootstrap(Perplexity(), after, before, seed=3)
    alone = [
        math.exp(v)
        for v in np.random.default_rng(0).choice(-before.scores.log_p, (500, 84)).mean(1)
    ]
    low, high = np.quantile(alone, [0.025, 0.975])
    assert paired.interval[1] - paired.interval[0] < 0.5 * (high - low)


def test_the_order_of_documents_does_not_matter_much():
    """With the documents in another order the interval is the same but for the draw's noise."""
    before, after = outcome(SIZES, rung=1), outcome(SIZES, rung=2, better=0.2)

    def turned(one: Outcome) -> Outcome:
        s = one.sample
        sample = Sample(11 - s.subject[::-1], s.token, s.unit, s.full_tokens, s.n_bytes)
        scores = Scores(one.scores.log_p[::-1].copy(), one.scores.rank[::-1].copy())
        return Outcome(scores, one.log_p_lm[::-1].copy(), one.covered, sample, one.groups)

    plain = bootstrap(Perplexity(), after, before, seed=1)
    other = bootstrap(Perplexity(), turned(after), turned(before), seed=1)
    assert other.difference == pytest.approx(plain.difference)
    width = plain.interval[1] - plain.interval[0]
    assert other.interval == pytest.approx(plain.interval, abs=0.15 * width)


def test_the_bootstrap_matches_a_slow_one():
    """The interval is that of drawing documents one by one, for both rungs the same."""
    before, after = outcome(SIZES, rung=1), outcome(SIZES, rung=2, better=0.3)
    found = bootstrap(Perplexity(), after, before, seed=1)
    random, differences = np.random.default_rng(7), []
    losses = [
        [[-one.scores.log_p[i] for i in range(84) if one.sample.subject[i] == s] for s in range(12)]
        for one in (after, before)
    ]
    for _ in range(800):
        drawn = random.integers(0, 12, 12)
        means = [np.mean([x for s in drawn for x in rung[s]]) for rung in losses]
        differences.append(math.exp(means[0]) - math.exp(means[1]))
    low, high = np.quantile(differences, [0.025, 0.975])
    width = high - low
    assert found.interval == pytest.approx((low, high), abs=0.15 * width)


def test_a_seed_repeats_the_interval():
    """The same seed gives the same interval, another seed nearly the same."""
    before, after = outcome(SIZES, rung=1), outcome(SIZES, rung=2)
    one, same, other = (bootstrap(Perplexity(), after, before, seed=s).interval for s in (1, 1, 2))
    assert one == same != other
    assert other == pytest.approx(one, abs=0.3)


def test_documents_without_positions_are_not_drawn():
    """Empty documents among the others change neither difference nor interval."""
    sizes = [[1, 2], [2], [1, 1, 1], [3]]
    padded = [[1, 2], [], [2], [], [1, 1, 1], [3], []]
    found, same = (
        bootstrap(Perplexity(), outcome(s, rung=1), outcome(s, rung=2), seed=4, draws=200)
        for s in (sizes, padded)
    )
    assert same == found
