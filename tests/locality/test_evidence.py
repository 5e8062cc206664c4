"""What the base model says of a query, against loops over the vocabulary."""

import math
from dataclasses import fields

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import VOCAB, retrievals
from vicinal.locality import Evidence


def base_model(n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(n, VOCAB, generator=generator)).log_softmax(-1)


def columns(evidence):
    return [getattr(evidence, field.name) for field in fields(Evidence)]


@given(retrievals(), st.integers(0, 99))
def test_matches_the_oracle(retrieval, seed):
    """Best token, its log p, the entropy, and log p of each neighbor's token, one by one."""
    _, values = retrieval
    log_p = base_model(len(values), seed)
    found = Evidence.of(values, log_p)
    assert torch.equal(found.values, values)
    for row, told in enumerate(log_p.tolist()):
        best = max(range(VOCAB), key=told.__getitem__)
        assert found.best[row] == best
        assert found.log_p_best[row].item() == told[best]
        entropy = -sum(math.exp(x) * x for x in told)
        assert found.entropy[row].item() == pytest.approx(entropy, rel=1e-4)
        for i, value in enumerate(values[row].tolist()):
            if value >= 0:
                assert found.log_p_values[row, i].item() == told[value]


def test_impossible_tokens_add_nothing_to_the_entropy():
    """A token of probability zero is no reason for an undefined entropy."""
    log_p = torch.tensor([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]).log()
    found = Evidence.of(torch.zeros(2, 1).int(), log_p)
    assert found.entropy.tolist() == pytest.approx([math.log(2), 0.0])
    assert found.log_p_best.tolist() == pytest.approx([math.log(0.5), 0.0])
    assert found.log_p_values[1].item() == -math.inf


def test_rows_and_joining_are_each_others_reverse():
    """Some queries taken, and put together again, are the queries there were."""
    values = torch.randint(0, VOCAB, (5, 3)).int()
    whole = Evidence.of(values, base_model(5))
    first, last = whole.rows(torch.tensor([0, 1])), whole.rows(torch.tensor([2, 3, 4]))
    for joined, expected in zip(
        columns(Evidence.joined([first, last])), columns(whole), strict=True
    ):
        assert torch.equal(joined, expected)
    turned = whole.rows(torch.tensor([4, 0]))
    for some, expected in zip(columns(turned), columns(whole), strict=True):
        assert torch.equal(some[0], expected[4])
        assert torch.equal(some[1], expected[0])
