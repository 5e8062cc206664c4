import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from vicinal.index import Neighbors, RecallTarget
from vicinal.index.recall import draw_queries, fewest_probes, recall
from vicinal.index.stored_keys import StoredKeys


def neighbors(*distances):
    distances = torch.tensor(distances)
    return Neighbors(torch.zeros_like(distances, dtype=torch.long), distances)


def test_recall_is_the_share_of_the_true_neighbors():
    """Averaged over queries; an equally near entry counts as well as the true one."""
    truth = neighbors([1.0, 2.0, 2.0, 5.0], [1.0, 3.0, math.inf, math.inf])
    found = neighbors([1.0, 2.0, 5.0, 6.0], [3.0, math.inf, math.inf, math.inf])
    assert recall(found, truth) == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert recall(truth, truth) == 1


def test_queries_with_nothing_to_find_do_not_count():
    """Where there is no true neighbor none can be missed."""
    nothing, something = [math.inf, math.inf], [1.0, 2.0]
    assert recall(neighbors(nothing), neighbors(nothing)) == 1
    found = neighbors(nothing, [2.0, math.inf])
    assert recall(found, neighbors(nothing, something)) == pytest.approx(0.5)


def test_a_query_with_one_true_neighbor_counts():
    """Found or not, it is one query of two; what is near but no true neighbor is not counted."""
    truth = neighbors([0.25, math.inf], [0.25, 0.5])
    assert recall(neighbors([0.5, 0.75], [0.25, 0.5]), truth) == pytest.approx(0.5)
    assert recall(neighbors([0.25, 0.75], [0.25, 0.5]), truth) == 1


@given(st.integers(1, 70), st.integers(1, 70))
@example(4, 20)  # exactly what one of the doubled numbers reaches
@example(66, 70)  # between bounds that no power of two halves
def test_law_fewest_probes_are_the_fewest(needed, most):
    """Whatever number is needed is found, unless there are not so many lists."""
    asked = []

    def recall_at(n_probes):
        asked.append(n_probes)
        return 0.5 + n_probes / 1000

    found = fewest_probes(recall_at, 0.5 + needed / 1000, most)
    assert found == (min(needed, most), 0.5 + min(needed, most) / 1000)
    assert all(isinstance(n_probes, int) for n_probes in asked)
    assert max(asked) <= most
    assert len(asked) == len(set(asked)) <= 2 * math.log2(most) + 2


def test_queries_are_live_entries_without_their_surroundings(snapshot_of):
    """Drawn once each, the same for the same seed; ranges end where the store ends."""
    keys = np.arange(40)[:, None] % 40
    stored = StoredKeys(snapshot_of(keys[:15], keys[15:], dead=[(5, 30)]))
    target = RecallTarget(n_queries=12, around=3, seed=4)
    queries, without = draw_queries(stored, target)
    chosen = queries[:, 0].long()
    assert len(set(chosen.tolist())) == 12
    assert all(stored.live[chosen])
    assert without.tolist() == [[max(e - 3, 0), min(e + 4, 40)] for e in chosen.tolist()]
    assert torch.equal(draw_queries(stored, target)[0], queries)
    other = RecallTarget(n_queries=12, around=3, seed=5)
    assert not torch.equal(draw_queries(stored, other)[0], queries)
    assert len(draw_queries(stored, RecallTarget())[0]) == 15


def test_the_default_asks_for_what_the_paper_needs():
    target = RecallTarget()
    assert (target.recall, target.k) == (0.99, 1024)
