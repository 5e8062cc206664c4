import math

import numpy as np
import torch

from vicinal.index import Neighbors
from vicinal.index.rescoring import moved, nearest, over_fetched, pair_distances, rescore
from vicinal.index.stored_keys import StoredKeys


def test_order_is_distance_then_entry():
    """Equal distances go by entry, padding comes last, and k cuts."""
    entries = torch.tensor([[9, 4, -1, 7, 2]])
    distances = torch.tensor([[1.0, 3.0, math.inf, 1.0, 1.0]])
    found = nearest(entries, distances, 3)
    assert found.entries.tolist() == [[2, 7, 9]]
    assert found.distances.tolist() == [[1.0, 1.0, 1.0]]
    found = nearest(entries, distances, 6)
    assert found.entries.tolist() == [[2, 7, 9, 4, -1, -1]]
    assert found.distances.tolist() == [[1.0, 1.0, 1.0, 3.0, math.inf, math.inf]]


def test_rescored_distances_are_those_of_the_stored_keys(snapshot_of):
    """Whatever order the entries come in, each has its own distance."""
    snapshot = snapshot_of(np.array([[0, 0], [3, 4], [1, 0]]), np.array([[6, 8]]))
    queries = torch.tensor([[0.0, 0.0], [6.0, 8.0]])
    found = rescore(StoredKeys(snapshot), queries, torch.tensor([[3, 1, -1], [2, 3, 0]]), 3)
    assert found.entries.tolist() == [[1, 3, -1], [3, 2, 0]]
    assert found.distances.tolist() == [[25.0, 100.0, math.inf], [0.0, 89.0, 100.0]]


def test_equal_pairs_have_equal_distances_anywhere(snapshot_of):
    """A distance does not depend on where in a batch it is computed: ties stay ties."""
    rng = np.random.default_rng(0)
    keys = StoredKeys(snapshot_of(np.repeat(rng.normal(size=(1, 577)), 9001, 0)))
    query = torch.tensor(rng.normal(size=(1, 577)), dtype=torch.float32)
    entries = torch.arange(9001)
    assert len(pair_distances(keys, query, torch.zeros_like(entries), entries).unique()) == 1


def test_more_is_brought_up_than_asked():
    assert [over_fetched(k) for k in (1, 128, 129, 1024)] == [17, 144, 145, 1152]


def test_moving_keeps_the_values():
    found = moved(Neighbors(torch.tensor([[3]]), torch.tensor([[0.5]])), torch.device("cpu"))
    assert found.entries.tolist() == [[3]]
    assert found.distances.tolist() == [[0.5]]
