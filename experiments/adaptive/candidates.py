"""
Everything that λ could be computed from, by name: what the rung has, and what it has not.

The ablation (`ablation.py`) compares these; the features that were kept stand in
`vicinal.knnlm.features`.
"""

import torch
from torch import Tensor

from vicinal.knnlm import log_weights, sums_of_runs
from vicinal.knnlm.features import NAMES, features
from vicinal.locality import Evidence

SMALL, UNLIKELY = 1e-3, -12.0


def candidates(
    distances: Tensor, calibrated: Tensor, levels: Tensor, n_levels: int, evidence: Evidence
) -> dict[str, Tensor]:
    """Give every candidate feature of every query."""
    kept = features(distances, calibrated, evidence)
    found = dict(zip(NAMES, kept.unbind(1), strict=True))
    shares = log_weights(calibrated).exp()
    found |= _of_distances(calibrated, shares)
    found |= _of_tokens(calibrated, shares, evidence)
    found["p_LM of its best token, log"] = evidence.log_p_best
    found["p_LM of its best token, logit"] = evidence.log_p_best.exp().logit(1e-4)
    for level in range(1, n_levels):
        found[f"share of level {level}"] = (shares * (levels == level)).sum(1)
    found["share of all local levels"] = (shares * (levels > 0)).sum(1)
    return found


def _of_distances(calibrated: Tensor, shares: Tensor) -> dict[str, Tensor]:
    ranked = calibrated.sort(dim=1).values
    nearest = ranked[:, 0]
    return {
        "nearest calibrated distance as it is": nearest,
        "log Σ exp(−g)": torch.logsumexp(-calibrated, 1),
        "gap to the mean of the nearest 8, log": _log(ranked[:, :8].mean(1) - nearest),
        "gap to the farthest, log": _log(ranked[:, -1] - nearest),
        "entropy of the neighbors' shares": torch.special.entr(shares).sum(1),
        "share of the nearest neighbor": shares.amax(1),
    }


def _of_tokens(calibrated: Tensor, shares: Tensor, evidence: Evidence) -> dict[str, Tensor]:
    values, order = evidence.values.sort(dim=1)
    of_token, last = sums_of_runs(values, shares.gather(1, order))
    best, at = of_token.max(1)
    log_p = evidence.log_p_values.gather(1, order)
    agreed = (shares * (evidence.values == evidence.best[:, None])).sum(1)
    in_lm = torch.where(last, log_p.exp(), 0).sum(1)
    found = {
        "entropy of p_kNN": torch.where(last, torch.special.entr(of_token), 0).sum(1),
        "largest share of a token, as it is": best,
        "p_kNN of the base model's best token": agreed,
        "p_kNN of the base model's best token, log": agreed.clamp_min(1e-5).log(),
        "log p_LM of the neighbors' best token": log_p.gather(1, at[:, None])[:, 0].clamp_min(
            UNLIKELY
        ),
        "p_LM of all retrieved tokens, logit": in_lm.logit(1e-4),
    }
    near = calibrated.argsort(dim=1, stable=True)
    first = _firsts(evidence.values.gather(1, near))
    m = 2
    while m <= calibrated.shape[1]:
        found[f"distinct tokens among the nearest {m}, log"] = first[:, :m].sum(1).log()
        m *= 4
    return found


def _firsts(values: Tensor) -> Tensor:
    """Mark where each token comes for the first time in its row."""
    ranked, order = values.sort(dim=1, stable=True)
    first = torch.ones_like(ranked, dtype=torch.bool)
    first[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    return torch.zeros_like(first).scatter_(1, order, first)


def _log(x: Tensor) -> Tensor:
    return x.clamp_min(SMALL).log()
