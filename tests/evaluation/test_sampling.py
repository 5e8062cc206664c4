"""A sample is of whole units, repeatable, and fair to every token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.evaluation import draw

SIZES = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=6), min_size=1, max_size=5)


def drawn(subject, sizes, size, seed):
    subjects = [subject(s, name=f"s{i}") for i, s in enumerate(sizes)]
    return subjects, draw(subjects, size, seed)


@given(SIZES, st.integers(1, 40), st.integers(0, 99))
def test_units_are_drawn_whole(subject, sizes, size, seed):
    """A unit is in the sample with all of its tokens or with none, numbered in order."""
    subjects, sample = drawn(subject, sizes, size, seed)
    pairs = list(zip(sample.subject.tolist(), sample.token.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    taken = {}
    for (s, t), unit in zip(pairs, sample.unit.tolist(), strict=True):
        taken.setdefault((s, int(subjects[s].units.of_token[t])), []).append((t, unit))
    for number, ((s, own), tokens) in enumerate(taken.items()):
        assert [t for t, _ in tokens] == np.flatnonzero(subjects[s].units.of_token == own).tolist()
        assert {unit for _, unit in tokens} == {number}
        assert sample.full_tokens[number] == subjects[s].units.full_tokens[own]
        assert sample.n_bytes[number] == subjects[s].units.n_bytes[own]
    assert len(sample.full_tokens) == len(sample.n_bytes) == len(taken)


@given(SIZES, st.integers(1, 40), st.integers(0, 99))
def test_as_many_as_asked_and_hardly_more(subject, sizes, size, seed):
    """At least as many positions as asked, less than one unit more; all where there are fewer."""
    _, sample = drawn(subject, sizes, size, seed)
    total, largest = sum(map(sum, sizes)), max(map(max, sizes))
    assert min(size, total) <= len(sample) < min(size, total) + largest
    assert len(drawn(subject, sizes, None, seed)[1]) == total
    assert len(drawn(subject, sizes, total, seed)[1]) == total


@given(SIZES, st.integers(1, 40))
def test_rows_are_each_subjects_tokens(subject, sizes, size):
    """Split by subject, the sampled tokens are the same, in order, empty where none was drawn."""
    subjects, sample = drawn(subject, sizes, size, 0)
    rows = sample.rows(len(subjects))
    assert len(rows) == len(subjects)
    for number, row in enumerate(rows):
        assert row.tolist() == sample.token[sample.subject == number].tolist()


def test_a_seed_repeats_the_sample(subject):
    """The same seed draws the same positions, another seed others."""
    sizes = [[1, 2, 3, 1] * 5] * 3
    one, same, other = (drawn(subject, sizes, 20, seed)[1] for seed in (3, 3, 4))
    for name in ("subject", "token", "unit", "full_tokens", "n_bytes"):
        assert np.array_equal(getattr(one, name), getattr(same, name)), name
    assert not np.array_equal(one.token, other.token)


def test_every_token_is_about_equally_likely(subject):
    """Over many seeds, tokens of small and large units, first and last, are drawn alike."""
    sizes = [[1, 3, 2, 1, 2], [2, 1, 3, 1, 1, 2, 1]] * 4
    counts, n_seeds, total = {}, 1200, 80
    subjects = [subject(s) for s in sizes]
    for seed in range(n_seeds):
        sample = draw(subjects, 24, seed)
        for pair in zip(sample.subject.tolist(), sample.token.tolist(), strict=True):
            counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == total
    shares = np.array(list(counts.values())) / n_seeds
    assert shares.mean() == pytest.approx(24.8 / total, rel=0.05)
    assert shares.min() > 0.24
    assert shares.max() < 0.38
