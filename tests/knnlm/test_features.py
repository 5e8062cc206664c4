"""The features that λ is computed from: against loops, and by the laws they must obey."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from strategies import VOCAB, floats, retrievals
from vicinal.knnlm.features import NAMES, features
from vicinal.locality import Evidence


def base_model(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (6 * torch.randn(n, VOCAB, generator=generator)).log_softmax(-1)


def told(retrieval, seed=0):
    """Take the features where the calibrated distance is a line of the distance."""
    distances, values = retrieval
    return features(
        distances, lined(distances), Evidence.of(values.int(), base_model(len(values), seed))
    )


def lined(distances):
    return 0.75 * distances - 3.0


def column(found, name):
    return found[:, NAMES.index(name)].tolist()


@given(retrievals(), st.integers(0, 9))
def test_match_the_oracle(retrieval, seed):
    """Every feature of every query is the one that loops find."""
    distances, values = retrieval
    log_p = base_model(len(values), seed)
    evidence = Evidence.of(values, log_p)
    found = told(retrieval, seed)
    assert found.shape == (len(values), len(NAMES))
    for row in range(len(values)):
        expected = oracles.features(
            distances[row].tolist(),
            lined(distances)[row].tolist(),
            values[row].tolist(),
            evidence.log_p_values[row].tolist(),
            evidence.entropy[row].item(),
        )
        assert tuple(expected) == NAMES
        assert found[row].tolist() == pytest.approx(list(expected.values()), rel=1e-3, abs=1e-4)


@given(retrievals(), st.randoms(use_true_random=False))
def test_the_order_of_neighbors_does_not_matter(retrieval, random):
    """Shuffled neighbors, ties among them too, give the same features."""
    distances, values = retrieval
    order = list(range(distances.shape[1]))
    random.shuffle(order)
    torch.testing.assert_close(told((distances[:, order], values[:, order])), told(retrieval))


@given(retrievals(), st.integers(1, 40), st.data())
def test_absent_neighbors_are_ignored(retrieval, more, data):
    """However many there are, whatever tokens stand beside their infinite distance."""
    distances, values = retrieval
    token = data.draw(st.integers(-1, VOCAB - 1))
    shape = (len(distances), more)
    padded = torch.cat([distances, torch.full(shape, math.inf)], 1)
    noise = values.masked_fill(distances.isinf(), token)
    noise = torch.cat([noise, torch.full(shape, token).int()], 1)
    torch.testing.assert_close(told((padded, noise)), told(retrieval))


@given(retrievals(absent=False), floats(-4, 4))
def test_a_shift_of_calibrated_distances_moves_only_how_near_they_are(retrieval, shift):
    """Adding one number to all of them changes nothing that the softmax could not see, but one."""
    distances, values = retrieval
    evidence = Evidence.of(values, base_model(len(values)))
    still, moved = (features(distances, lined(distances) + s, evidence) for s in (0.0, shift))
    for name in NAMES:
        if name != "nearest":
            assert column(still, name) == pytest.approx(column(moved, name), rel=1e-3, abs=1e-3)
    nearest = lined(distances).amin(1).tolist()
    assert column(moved, "nearest") == pytest.approx(
        [math.asinh(g + shift) for g in nearest], rel=1e-3, abs=1e-4
    )


def test_without_a_neighbor_all_are_zero():
    """A query for which nothing was found has zeros, the one beside it has its features."""
    inf = math.inf
    retrieval = torch.tensor([[4.0, 8.0], [inf, inf]]), torch.tensor([[2, 1], [-1, -1]])
    found = told(retrieval)
    assert found[1].count_nonzero() == 0
    assert found[0].count_nonzero() == len(NAMES) - 1  # the nearest is at 0.75 · 4 − 3 = 0
    assert found.isfinite().all()


def test_distinct_tokens_are_counted_among_the_sixteen_nearest():
    """The 17th neighbor does not count, unless it is no farther than the 16th."""
    distances = torch.arange(1.0, 21.0)[None].repeat(2, 1)
    distances[1, 16] = 16.0
    values = torch.tensor([[*[3] * 15, 4, 5, 6, 0, 1]]).repeat(2, 1)
    counts = [math.exp(x) for x in column(told((distances, values)), "distinct")]
    assert counts == pytest.approx([2.0, 3.0])


def test_a_copy_is_told_from_what_is_near():
    """At distance zero, and at anything below a thousandth, 'repeated' is at its smallest."""
    distances = torch.tensor([[0.0, 9.0], [5e-4, 9.0], [0.5, 9.0]])
    values = torch.tensor([[1, 2]] * 3)
    zero, tiny, near = column(told((distances, values)), "repeated")
    assert zero == tiny == pytest.approx(math.log(1e-3))
    assert near == pytest.approx(math.log(0.5))


def test_agreement_of_neighbors_is_bounded():
    """One token alone has a logit of nearly ten, and no token is less likely than e to the −12."""
    distances, values = torch.tensor([[4.0, 5.0]]), torch.tensor([[1, 1]])
    log_p = torch.full((1, VOCAB), -50.0)
    log_p[0, 0] = 0.0
    found = features(distances, lined(distances), Evidence.of(values.int(), log_p))
    assert column(found, "decided") == pytest.approx([math.log((1 - 1e-4) / 1e-4)], rel=1e-2)
    assert column(found, "agreement") == pytest.approx([-12.0])
    assert column(found, "entropy") == pytest.approx([0.0], abs=1e-6)
