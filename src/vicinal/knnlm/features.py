"""
What a λ of each query is computed from: signs of who knows better, neighbors or base model.

    nearest    asinh of the nearest calibrated distance: has this context been seen before?
    repeated   log of the nearest distance itself, which tells a copy from a close relative
    decided    logit of the largest share that one token has of p_kNN: do the neighbors agree?
    distinct   log of the number of distinct tokens among the nearest: do even those agree?
    agreement  Σ share · log p_LM of the neighbors' tokens: does the base model agree with them?
    entropy    of the base model's prediction: does it know itself?

Each is bounded or grows slowly, and is the same in whatever order the neighbors come. The gold
token is no part of it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from vicinal.knnlm.probability import log_weights, sums_of_runs
from vicinal.locality import Evidence

NAMES = ("nearest", "repeated", "decided", "distinct", "agreement", "entropy")
NEAR = 16  # neighbors among which distinct tokens are counted
CLOSE = 1e-3  # nearer than any two contexts that differ
SURE = 1e-4  # a share within this of 0 or 1 is as good as it
UNLIKELY = -12.0  # log p below which it does not matter how unlikely


def features(
    distances: Float[Tensor, "queries k"],
    calibrated: Float[Tensor, "queries k"],
    evidence: Evidence,
) -> Float[Tensor, "queries features"]:
    """Give the features of each query, in the order of `NAMES`; zeros where it has no neighbor."""
    shares = log_weights(calibrated).exp()
    values, order = evidence.values.masked_fill(calibrated.isinf(), -1).sort(dim=1)
    of_token, last = sums_of_runs(values, shares.gather(1, order))
    near, _ = sums_of_runs(values, _near(calibrated).gather(1, order))
    columns = (
        calibrated.amin(1).asinh(),
        distances.amin(1).clamp_min(CLOSE).log(),
        of_token.amax(1).logit(SURE),
        ((near > 0) & last).sum(1).clamp_min(1).log(),
        (shares * evidence.log_p_values.clamp_min(UNLIKELY)).sum(1),
        evidence.entropy,
    )
    none = calibrated.isinf().all(1)
    return torch.stack(columns, 1).masked_fill(none[:, None], 0.0)


def _near(calibrated: Float[Tensor, "queries k"]) -> Float[Tensor, "queries k"]:
    """Mark the neighbors no farther than the `NEAR`-th, ties with it included."""
    n = min(NEAR, calibrated.shape[1])
    farthest = calibrated.kthvalue(n, dim=1, keepdim=True).values
    return ((calibrated <= farthest) & calibrated.isfinite()).float()
