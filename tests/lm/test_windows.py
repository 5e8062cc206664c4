"""Windows cover every position once with enough to its left; batches hold every window once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.errors import ModelError
from vicinal.lm.windows import batches, windows

lengths = st.lists(st.integers(0, 70), max_size=6)


@given(st.integers(0, 200), st.integers(2, 33))
def test_every_position_is_kept_once_with_half_a_window_before_it(n, size):
    """Kept positions are 0..n-1 in order; past the first window each has W/2 to its left."""
    cut = list(windows(5, n, size))
    assert [p for w in cut for p in range(w.keep, w.end)] == list(range(n))
    for window in cut:
        assert window.document == 5
        assert 0 < window.length <= size
        assert window.start == 0 or window.keep - window.start >= size / 2


@given(st.integers(2, 400), st.integers(2, 33))
def test_no_position_is_read_much_more_than_twice(n, size):
    """A stride of half a window reads each position at most two times (three if W is odd)."""
    read = sum(w.length for w in windows(0, n, size))
    assert read <= (2 + size % 2) * n


def test_the_windows_of_the_drawing():
    """Nine positions in windows of four are cut as the module draws them."""
    cut = [(w.start, w.keep, w.end) for w in windows(0, 9, 4)]
    assert cut == [(0, 0, 4), (2, 4, 6), (4, 6, 8), (6, 8, 9)]


def test_a_window_of_one_is_refused():
    """A window that cannot move on by half of itself is refused with its size."""
    with pytest.raises(ModelError, match="at least 2 tokens, was: 1"):
        list(windows(0, 3, 1))


@given(lengths, st.integers(2, 16), st.integers(1, 64))
def test_batches_hold_every_window_once_and_not_too_many(lengths, size, n_tokens):
    """No window is lost or doubled, and a padded batch stays within its tokens."""
    cut = [w for i, n in enumerate(lengths) for w in windows(i, n, size)]
    grouped = list(batches(cut, n_tokens))
    flat = [w for batch in grouped for w in batch]
    assert sorted(flat, key=repr) == sorted(cut, key=repr)
    assert [w.length for w in flat] == sorted((w.length for w in cut), reverse=True)
    for batch in grouped:
        assert len(batch) == 1 or len(batch) * batch[0].length <= n_tokens


def test_batches_are_as_full_as_they_may_be():
    """Windows of equal length fill a batch to its last token."""
    cut = [w for i in range(6) for w in windows(i, 4, 8)]
    assert [len(batch) for batch in batches(cut, 12)] == [3, 3]
