import math

import pytest
import torch

from vicinal.errors import SearchError
from vicinal.index.questions import LARGEST, admit

NOTHING = torch.zeros(2, 2, dtype=torch.long)


def test_brings_queries_into_one_form():
    """What is admitted is contiguous float32 with the same values, without a gradient."""
    queries = torch.arange(6.0, dtype=torch.float64).view(3, 2).T.requires_grad_()
    admitted = admit(queries, 1, NOTHING, dim=3)
    assert admitted.dtype == torch.float32
    assert admitted.is_contiguous()
    assert not admitted.requires_grad
    assert admitted.tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("k", [0, -3])
def test_refuses_no_neighbors(k):
    with pytest.raises(SearchError, match=f"k must be at least 1, was: {k}"):
        admit(torch.ones(2, 3), k, NOTHING, dim=3)


@pytest.mark.parametrize("shape", [(2, 4), (3,), (1, 2, 3)])
def test_refuses_another_shape(shape):
    with pytest.raises(SearchError, match=r"shape \[n, 3\].*were: \[.*same model\?"):
        admit(torch.ones(shape), 1, NOTHING, dim=3)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2,), (4,), (2, 2, 1)])
def test_refuses_ranges_of_another_shape(shape):
    with pytest.raises(SearchError, match=r"shape \[2, 2\], was: .*\(0, 0\) to leave"):
        admit(torch.ones(2, 3), 1, torch.zeros(shape, dtype=torch.long), dim=3)


@pytest.mark.parametrize("wrong", [[5, 4], [-1, 4], [-3, -2]])
def test_refuses_ranges_that_are_none(wrong):
    """The message names the range and the query it belongs to."""
    without = torch.tensor([[0, 0], wrong])
    with pytest.raises(SearchError, match=rf"was: \[{wrong[0]}, {wrong[1]}\] for query 1"):
        admit(torch.ones(2, 3), 1, without, dim=3)


def test_ranges_may_be_empty_or_beyond_the_store():
    assert len(admit(torch.ones(2, 3), 1, torch.tensor([[7, 7], [5, 10**9]]), dim=3)) == 2


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 2 * LARGEST, -2 * LARGEST])
def test_refuses_queries_that_are_not_finite(bad):
    """The message counts them and names the first."""
    queries = torch.ones(4, 3)
    queries[1, 2] = queries[3, 0] = bad
    with pytest.raises(SearchError, match=r"finite and below 1e\+15; 2 of 4 .* query 1\."):
        admit(queries, 1, torch.zeros(4, 2, dtype=torch.long), dim=3)


def test_the_largest_query_is_admitted():
    assert len(admit(torch.full((2, 3), LARGEST), 1, NOTHING, dim=3)) == 2
