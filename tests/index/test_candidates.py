import torch
from hypothesis import given
from hypothesis import strategies as st

from vicinal.index.candidates import GROUP, Candidates, best_rows, sift

CPU = torch.device("cpu")


def drawn_scores(seed, n_rows, n_queries):
    return torch.rand(n_rows, n_queries, generator=torch.Generator().manual_seed(seed))


@given(st.integers(0, 99), st.integers(1, 4), st.floats(0.1, 1.1))
def test_sift_finds_what_is_above_the_bar(seed, n_groups, bar):
    """Hits are exactly the scores above, and none that only equals, its query's bar."""
    scores = drawn_scores(seed, n_groups * GROUP, 3)
    bars = torch.tensor([bar, float(scores[5, 1]), 2.0])
    hits = sift(scores, bars)
    found = set(zip(hits.rows.tolist(), hits.queries.tolist(), strict=True))
    pairs = [(row, query) for row in range(len(scores)) for query in range(3)]
    assert found == {(r, q) for r, q in pairs if scores[r, q] > bars[q]}
    assert len(hits.rows) == len(found)
    assert torch.equal(hits.scores, scores[hits.rows, hits.queries])


def test_best_rows_leaves_out_what_is_masked():
    """Each query gets its best rows, never one at minus infinity."""
    scores = torch.tensor([[1.0, -torch.inf], [3.0, 5.0], [2.0, -torch.inf], [0.0, -torch.inf]])
    hits = best_rows(scores, 2).sorted_by_query()
    assert hits.queries.tolist() == [0, 0, 1]
    assert sorted(hits.rows[:2].tolist()) == [1, 2]
    assert hits.rows[2] == 1
    assert hits.scores[2] == 5


@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 6))
def test_law_the_best_are_kept(seed, width, n_blocks):
    """After any number of blocks the best are kept, and the bar is the worst of them."""
    candidates = Candidates(3, width, CPU)
    blocks = [drawn_scores(seed + b, GROUP, 3) + b % 3 for b in range(n_blocks)]
    blocks[0][:, 2] = -torch.inf
    for number, block in enumerate(blocks):
        candidates.offer(number * GROUP + 1000, block)
    entries = candidates.settle()
    scores = torch.cat(blocks)
    for query in range(3):
        wanted = [r for r in scores[:, query].argsort(descending=True) if scores[r, query] > 0]
        wanted = wanted[:width]
        kept = [e for e in entries[query].tolist() if e != -1]
        assert sorted(kept) == sorted(int(r) + 1000 for r in wanted)
        full = len(wanted) == width
        assert candidates.bars[query] == (scores[wanted[-1], query] if full else -torch.inf)


def test_bars_rise_when_the_room_is_used_up():
    """More hits than there is room for are thrown away at once, fewer are kept until the end."""
    candidates = Candidates(1, 4, CPU)
    for number in range(31):
        candidates.offer(number * GROUP, torch.full((GROUP, 1), float(number)))
    assert candidates.bars.tolist() == [0.0]
    candidates.offer(31 * GROUP, torch.full((GROUP, 1), 31.0))
    assert candidates.bars.tolist() == [0.0]  # 4 + 31 * 32 = 996 hits, room for 1024
    candidates.offer(32 * GROUP, torch.full((GROUP, 1), 32.0))
    assert candidates.bars.tolist() == [32.0]
    assert (candidates.settle() // GROUP).tolist() == [[32] * 4]


def test_without_hits_nothing_changes():
    """A block of nothing leaves no candidate and no bar."""
    candidates = Candidates(2, 3, CPU)
    candidates.offer(0, torch.full((GROUP, 2), -torch.inf))
    assert candidates.settle().shape == (2, 0)
    assert candidates.bars.tolist() == [-torch.inf] * 2
