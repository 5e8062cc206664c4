"""From distances to probabilities: against loops, and by the laws they must obey."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

import oracles
from strategies import VOCAB, retrievals
from vicinal.errors import InterpolationError
from vicinal.knnlm import interpolate, log_p_knn, log_p_target, log_weights


def base_model(n):
    """Give each of n queries another distribution over the vocabulary."""
    return torch.stack([torch.linspace(0, 1 + i, VOCAB) for i in range(n)]).log_softmax(-1)


def all_lam(lam, n):
    return torch.full((n,), lam)


@given(retrievals())
def test_matches_the_oracle(retrieval):
    """Every token's probability equals the one summed by hand."""
    distances, values = retrieval
    log_p = log_p_knn(distances, values, VOCAB)
    for row, (ds, vs) in enumerate(zip(distances.tolist(), values.tolist(), strict=True)):
        expected = oracles.p_knn(ds, vs)
        actual = log_p[row].exp().tolist()
        assert actual == pytest.approx([expected.get(t, 0.0) for t in range(VOCAB)], abs=1e-6)


@given(retrievals())
def test_sums_to_one(retrieval):
    """The probabilities sum to one over the vocabulary, or are all zero without a neighbor."""
    distances, values = retrieval
    found = (values >= 0).any(1).float()
    total = log_p_knn(distances, values, VOCAB).exp().sum(1)
    assert total.tolist() == pytest.approx(found.tolist(), abs=1e-5)
    assert log_weights(distances).exp().sum(1).tolist() == pytest.approx(found.tolist(), abs=1e-5)


@given(retrievals(), st.floats(-20, 20))
def test_ignores_a_shift_of_all_distances(retrieval, shift):
    """Adding one number to every distance changes nothing: only differences matter."""
    distances, values = retrieval
    torch.testing.assert_close(
        log_p_knn(distances + shift, values, VOCAB),
        log_p_knn(distances, values, VOCAB),
        atol=1e-4,
        rtol=1e-4,
    )


@given(retrievals(), st.randoms(use_true_random=False))
def test_the_order_of_neighbors_does_not_matter(retrieval, random):
    """Shuffled neighbors give the same probabilities."""
    distances, values = retrieval
    order = list(range(distances.shape[1]))
    random.shuffle(order)
    torch.testing.assert_close(
        log_p_knn(distances[:, order], values[:, order], VOCAB),
        log_p_knn(distances, values, VOCAB),
        atol=1e-5,
        rtol=1e-5,
    )


@given(retrievals(), st.data())
def test_absent_neighbors_are_ignored(retrieval, data):
    """Whatever value stands beside an infinite distance, and however many there are."""
    distances, values = retrieval
    expected = log_p_knn(distances, values, VOCAB)
    other = data.draw(st.integers(-1, 10**6))
    padded = torch.cat([distances, torch.full((len(distances), 2), math.inf)], 1)
    noise = values.masked_fill(distances.isinf(), other)
    noise = torch.cat([noise, torch.full((len(values), 2), other).int()], 1)
    torch.testing.assert_close(log_p_knn(padded, noise, VOCAB), expected)
    target = torch.zeros(len(values)).long()
    torch.testing.assert_close(
        log_p_target(padded, noise.masked_fill(padded.isinf(), -1), target), expected[:, 0]
    )


def test_the_nearer_neighbor_weighs_more():
    """ln 3 nearer is three times as probable: the sign of Eq. 2."""
    distances = torch.tensor([[5.0, 5.0 + math.log(3)]])
    p = log_p_knn(distances, torch.tensor([[1, 0]]), 3).exp()
    assert p[0].tolist() == pytest.approx([0.25, 0.75, 0.0])
    assert log_weights(distances).exp()[0].tolist() == pytest.approx([0.75, 0.25])


def test_equal_tokens_are_added():
    """A token that several neighbors carry has all their shares."""
    p = log_p_knn(torch.zeros(1, 4), torch.tensor([[2, 0, 2, 2]]), 3).exp()
    assert p[0].tolist() == pytest.approx([0.25, 0.0, 0.75])


@given(retrievals(max_distance=4000.0), st.data())
def test_target_agrees_with_the_whole_vocabulary(retrieval, data):
    """Scoring one target gives what scoring the vocabulary gives, also for far neighbors."""
    distances, values = retrieval
    targets = data.draw(
        st.lists(st.integers(0, VOCAB - 1), min_size=len(values), max_size=len(values))
    )
    torch.testing.assert_close(
        log_p_target(distances, values, torch.tensor(targets)),
        log_p_knn(distances, values, VOCAB)[torch.arange(len(values)), targets],
        atol=1e-3,
        rtol=1e-5,
    )


@given(retrievals(max_distance=4000.0))
def test_a_retrieved_token_never_has_probability_zero(retrieval):
    """A token is at minus infinity exactly if no neighbor carries it, however far it is."""
    distances, values = retrieval
    log_p = log_p_knn(distances, values, VOCAB)
    for row, carried in zip(log_p.tolist(), values.tolist(), strict=True):
        assert [p > -math.inf for p in row] == [token in carried for token in range(VOCAB)]
    far = log_p_knn(torch.tensor([[0.0, 400.0]]), torch.tensor([[0, 1]]), 2)
    assert far[0].tolist() == pytest.approx([0.0, -400.0])


@given(retrievals(), st.floats(0, 0.99))
def test_mixes_in_probability_space(retrieval, lam):
    """The mixture is lam of the neighbors and the rest of the language model, token by token."""
    log_p_lm = base_model(len(retrieval[0]))
    neighbors = log_p_knn(*retrieval, VOCAB)
    expected = lam * neighbors.exp() + (1 - lam) * log_p_lm.exp()
    mixed = interpolate(neighbors, log_p_lm, all_lam(lam, len(log_p_lm))).exp()
    torch.testing.assert_close(mixed, expected)


@given(retrievals(absent=False), st.floats(0.05, 0.95))
def test_a_mixture_lies_between_the_two(retrieval, lam):
    """Where the two models differ, the mixture is strictly between them and sums to one."""
    log_p_lm = base_model(len(retrieval[0]))
    neighbors = log_p_knn(*retrieval, VOCAB)
    mixed = interpolate(neighbors, log_p_lm, all_lam(lam, len(log_p_lm))).exp()
    low, high = torch.minimum(neighbors, log_p_lm).exp(), torch.maximum(neighbors, log_p_lm).exp()
    apart = high - low > 1e-3
    assert bool(((mixed > low) & (mixed < high))[apart].all())
    assert mixed.sum(1).tolist() == pytest.approx([1.0] * len(mixed), abs=1e-5)


def test_without_the_knn_the_language_model_is_unchanged():
    """With weight 0 the language model comes back bit for bit, whatever the neighbors say."""
    log_p_lm = torch.randn(3, VOCAB).log_softmax(-1)
    for neighbors in (torch.full_like(log_p_lm, -math.inf), torch.zeros_like(log_p_lm)):
        assert torch.equal(interpolate(neighbors, log_p_lm, torch.zeros(3)), log_p_lm)


def test_each_query_has_its_own_lam():
    """λ is a number for each query, for one token as for a whole vocabulary."""
    zero, half = torch.tensor([0.0, 0.0]), torch.tensor([0.5, 0.5]).log()
    lam = torch.tensor([0.25, 0.75])
    assert interpolate(zero, half, lam).exp().tolist() == pytest.approx([0.625, 0.875])
    whole = interpolate(zero[:, None].expand(2, 3), half[:, None].expand(2, 3), lam)
    assert whole.exp().tolist() == [pytest.approx([p] * 3) for p in (0.625, 0.875)]


@pytest.mark.parametrize("lam", [-0.125, 1.0, 1.5, math.nan])
def test_rejects_a_weight_out_of_range(lam):
    """The message names the allowed range and the smallest and largest found."""
    with pytest.raises(InterpolationError, match=rf"between .*{lam:g}.*\. At 1 every"):
        interpolate(torch.zeros(2), torch.zeros(2), torch.tensor([0.5, lam]))


def test_no_queries_are_no_error():
    """Nothing to mix gives nothing."""
    assert interpolate(torch.zeros(0, 3), torch.zeros(0, 3), torch.zeros(0)).shape == (0, 3)
    assert log_p_knn(torch.zeros(0, 2), torch.zeros(0, 2).int(), 4).shape == (0, 4)


def test_shapes_are_checked_while_testing():
    """The annotations are live: a wrong shape is an error under pytest."""
    with pytest.raises(TypeCheckError, match="queries k"):
        log_p_knn(torch.zeros(2, 3), torch.zeros(2, 4, dtype=torch.long), VOCAB)
