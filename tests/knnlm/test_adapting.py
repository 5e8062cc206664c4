"""Learning λ: it finds what was planted, and keeps what helps on other documents."""

import math
from dataclasses import replace

import pytest
import torch

import oracles
from strategies import VOCAB
from vicinal.errors import CalibrationError
from vicinal.knnlm import Learning, Mixture, fit_adaptive
from vicinal.knnlm.adapting import _boundary
from vicinal.knnlm.features import NAMES
from vicinal.locality import Evidence, Fitted, LevelCalibration, Observations

LINES = LevelCalibration(torch.tensor([1.0, 0.5]), torch.tensor([0.0, -0.5]))
FIXED = Fitted(LINES, 0.4, 1.0, 0.9, 7, 3.0, 0.5)
QUICK = Learning(hidden=8, epochs=15, patience=5, batch=64, learning_rate=0.02)
DOCUMENT = 50  # positions of each document


def sampled(n=600, k=5, seed=0, reverse=False) -> Observations:
    """Draw positions whose neighbors are right where the nearest is near (or where it is far)."""
    generator = torch.Generator().manual_seed(seed)
    near = torch.rand(n, generator=generator) < 0.5
    right = (near ^ reverse) & (torch.rand(n, generator=generator) < 0.9)
    gold = torch.randint(0, VOCAB, (n, 1), generator=generator)
    values = torch.where(right[:, None], gold, (gold + 1) % VOCAB).repeat(1, k).int()
    distances = torch.where(near, 0.5, 9.0)[:, None] + torch.rand(n, k, generator=generator)
    levels = torch.randint(0, 2, (n, k), generator=generator).byte()
    log_p = torch.randn(n, VOCAB, generator=generator).log_softmax(-1)
    return Observations(
        distances,
        levels,
        values == gold,
        log_p.gather(1, gold)[:, 0],
        torch.zeros(n, 1),
        torch.arange(n) // DOCUMENT,
        Evidence.of(values, log_p),
    )


@pytest.fixture(scope="module")
def seen() -> Observations:
    return sampled()


@pytest.fixture(scope="module")
def found(seen) -> Fitted:
    return fit_adaptive(seen, FIXED, QUICK)


def slow_lams(fitted: Fitted, seen: Observations) -> list[float]:
    """Give λ of every position by loops."""
    lams = []
    for row in range(len(seen)):
        distances = seen.distances[row].tolist()
        pairs = zip(distances, seen.levels[row].tolist(), strict=True)
        lines = fitted.calibration.weights.tolist(), fitted.calibration.biases.tolist()
        told = oracles.features(
            distances,
            [oracles.calibrate(d, level, *lines) for d, level in pairs],
            seen.evidence.values[row].tolist(),
            seen.evidence.log_p_values[row].tolist(),
            seen.evidence.entropy[row].item(),
        )
        lams.append(oracles.adaptive_lam(fitted.adaptive, list(told.values()), fitted.lam))
    return lams


def slow_loss(fitted: Fitted, seen: Observations, lams=None) -> float:
    """Average −log p of the mixture position by position; λ is fixed unless lams are given."""
    lines = fitted.calibration.weights.tolist(), fitted.calibration.biases.tolist()
    lams = lams or [fitted.lam] * len(seen)
    losses = [
        oracles.loss(seen.rows(torch.tensor([row])), "mixture", *lines, lam)
        for row, lam in enumerate(lams)
    ]
    return sum(losses) / len(losses)


def test_finds_what_was_planted(found):
    """λ is high where a neighbor is near and low where none is; new positions are told better."""
    fresh = sampled(200, seed=1)
    lams = slow_lams(found, fresh)
    near = (fresh.distances.amin(1) < 2).tolist()
    assert sum(lam for lam, is_near in zip(lams, near, strict=True) if is_near) > 0.7 * sum(near)
    assert max(lam for lam, is_near in zip(lams, near, strict=True) if not is_near) < 0.3
    assert slow_loss(found, fresh, lams) < slow_loss(found, fresh) - 0.1


def test_the_loss_and_the_lams_told_are_the_oracles(seen, found):
    """The loss is over all positions, and so are the smallest, the mean and the largest λ."""
    lams = slow_lams(found, seen)
    assert found.loss == pytest.approx(slow_loss(found, seen, lams), rel=1e-4)
    expected = (min(lams), sum(lams) / len(lams), max(lams))
    assert found.adaptive.seen == pytest.approx(expected, rel=1e-3)
    assert found.adaptive.names == NAMES


def test_the_lines_and_their_lam_are_kept(found):
    """What was fitted before stays as it was; λ alone is learned."""
    assert found.calibration is LINES
    assert (found.lam, found.coverage, found.n_positions) == (0.4, 0.9, 7)
    assert found.seconds > 0
    assert 1 <= found.evaluations <= 15


def test_it_is_the_mixture_that_was_fitted(found):
    """As a rung it has the calibration, the λ it starts from, and the network."""
    mixture = Mixture.of(found)
    assert mixture == Mixture(LINES, 0.4, found.adaptive)
    assert Mixture.of(FIXED) == Mixture(LINES, 0.4)


def test_keeps_the_fixed_lam_where_learning_does_not_help(seen):
    """Taught the reverse of what holds for the documents held out, it stays as it began."""
    misled = Observations.joined([seen, sampled(150, seed=2, reverse=True)])
    documents = torch.arange(len(misled)) // DOCUMENT
    kept = fit_adaptive(replace(misled, documents=documents), FIXED, QUICK)
    assert kept.adaptive.out.count_nonzero() == 0
    assert kept.evaluations == QUICK.patience
    assert kept.loss == pytest.approx(slow_loss(FIXED, misled), rel=1e-4)
    assert kept.adaptive.seen == pytest.approx((0.4, 0.4, 0.4))


def test_the_last_documents_are_held_out(seen):
    """Which gold tokens they have decides when to stop, but is never learned from."""
    short = replace(QUICK, epochs=1)
    one, other = (
        fit_adaptive(replace(seen, log_p_lm=log_p), FIXED, short).adaptive
        for log_p in (seen.log_p_lm, torch.cat([seen.log_p_lm[:500], seen.log_p_lm[500:] / 2]))
    )
    assert torch.equal(one.out, other.out)
    assert one.out.count_nonzero() > 0
    earlier = torch.cat([seen.log_p_lm[:480], seen.log_p_lm[480:] / 2])
    third = fit_adaptive(replace(seen, log_p_lm=earlier), FIXED, short).adaptive
    assert not torch.equal(one.out, third.out)


@pytest.mark.parametrize(
    ("documents", "wanted", "expected"),
    [
        ([0, 0, 0, 1, 1, 2, 2, 2], 6, 5),
        ([0, 0, 0, 1, 1, 2, 2, 2], 4, 3),
        ([0, 0, 0, 1, 1, 2, 2, 2], 1, 3),
        ([5, 5, 5, 3, 3, 3, 3, 3], 7, 3),
        ([0, 1, 2, 3, 4, 5, 6, 7], 6, 6),
        ([0, 0, 0, 0, 0, 0, 0, 0], 6, 6),
        (None, 6, 6),
    ],
)
def test_no_document_is_divided(documents, wanted, expected):
    """The cut lies where a document begins, unless there is one only or none is known."""
    numbers = None if documents is None else torch.tensor(documents)
    assert _boundary(numbers, wanted) == expected


def test_without_documents_the_last_positions_are_held_out(seen):
    """Positions of no known document are cut where asked: here by chance at the same place."""
    short = replace(QUICK, epochs=2, held_out=1 / 6)
    known, unknown = (
        fit_adaptive(replace(seen, documents=d), FIXED, short).adaptive
        for d in (seen.documents, None)
    )
    assert torch.equal(known.out, unknown.out)


def test_stops_when_its_patience_ends(seen):
    """A network that learns nothing gives up after its patience, before its epochs end."""
    still = replace(QUICK, learning_rate=0.0, patience=2, epochs=9)
    assert fit_adaptive(seen, FIXED, still).evaluations == 2
    assert fit_adaptive(seen, FIXED, replace(still, epochs=1)).evaluations == 1
    never = fit_adaptive(seen, FIXED, replace(QUICK, epochs=0))
    assert never.loss == pytest.approx(slow_loss(FIXED, seen), rel=1e-4)


def test_a_seed_repeats_the_fit(seen):
    """The same seed gives the same bits, another seed others."""
    short = replace(QUICK, epochs=2)
    one, same, other = (
        fit_adaptive(seen, FIXED, replace(short, seed=seed)).adaptive for seed in (3, 3, 4)
    )
    assert torch.equal(one.out, same.out)
    assert torch.equal(one.hidden, same.hidden)
    assert not torch.equal(one.out, other.out)


def test_features_are_standardized_where_it_learns(seen):
    """Mean and spread are those of the positions learned from; a constant has a spread of one."""
    same = replace(seen.evidence, entropy=torch.full((len(seen),), 1.25))
    found = fit_adaptive(replace(seen, evidence=same), FIXED, replace(QUICK, epochs=0)).adaptive
    entropy, repeated = NAMES.index("entropy"), NAMES.index("repeated")
    assert found.mean[entropy].item() == pytest.approx(1.25)
    assert found.scale[entropy].item() == 1.0
    logs = seen.distances[:500].amin(1).log()
    assert found.mean[repeated].item() == pytest.approx(logs.mean().item(), rel=1e-4)
    assert found.scale[repeated].item() == pytest.approx(logs.std(0, correction=0).item(), rel=1e-4)


def test_the_network_has_the_size_asked_for(seen):
    """By default 32 hidden units, drawn so that their sums have a spread of one, and no bias."""
    found = fit_adaptive(seen, FIXED, Learning(epochs=0)).adaptive
    assert tuple(found.hidden.shape) == (32, len(NAMES) + 1)
    assert tuple(found.out.shape) == (33,)
    assert found.hidden[:, -1].count_nonzero() == 0
    spread = found.hidden[:, :-1].std().item()
    assert spread == pytest.approx(1 / math.sqrt(len(NAMES)), rel=0.2)


def test_positions_without_a_neighbor_teach_nothing(seen):
    """Their p is the base model's, whatever λ: so is the loss told of them."""
    nothing = torch.full_like(seen.distances, math.inf)
    alone = replace(
        seen,
        distances=nothing,
        hits=torch.zeros_like(seen.hits),
        levels=torch.zeros_like(seen.levels),
    )
    found = fit_adaptive(alone, FIXED, replace(QUICK, epochs=1))
    assert found.loss == pytest.approx(-seen.log_p_lm.mean().item(), rel=1e-5)
    assert found.adaptive.out.isfinite().all()


def test_without_any_weight_on_neighbors_there_is_nothing_to_learn(seen):
    """Started from λ = 0 the loss is the base model's, and stays so."""
    found = fit_adaptive(seen, replace(FIXED, lam=0.0), replace(QUICK, epochs=1))
    assert found.loss == pytest.approx(-seen.log_p_lm.mean().item(), rel=1e-5)
    assert found.adaptive.seen == (0.0, 0.0, 0.0)


def test_what_the_base_model_says_is_needed(seen):
    """Without it the message says where to get it."""
    with pytest.raises(CalibrationError, match=r"what the base model says.*`observe`"):
        fit_adaptive(replace(seen, evidence=None), FIXED, QUICK)


def test_blocks_of_positions_make_no_difference(seen, monkeypatch):
    """Features taken a few positions at a time are those of all at once."""
    short = replace(QUICK, epochs=1)
    whole = fit_adaptive(seen, FIXED, short)
    monkeypatch.setattr("vicinal.knnlm.adapting.ROWS", 7)
    parts = fit_adaptive(seen, FIXED, short)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-5)
    torch.testing.assert_close(parts.adaptive.out, whole.adaptive.out, rtol=1e-3, atol=1e-5)


def test_one_position_is_too_few_to_learn_from(seen):
    """It is held out, nothing is left to learn from, and λ stays as it was."""
    found = fit_adaptive(seen.rows(torch.tensor([7])), FIXED, QUICK)
    assert found.adaptive.seen == pytest.approx((0.4, 0.4, 0.4))
    assert found.evaluations == QUICK.patience
