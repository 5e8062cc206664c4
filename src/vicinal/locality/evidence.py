"""
What is known of a query before its token comes, beside the distances and levels of its neighbors.

Which token each neighbor carries, what the base model gives these tokens, and how sure it is of
its own. Knows nothing of the gold token, so that nothing learned from it can.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from jaxtyping import Float32, Int32, Int64
from torch import Tensor

LOWEST = -1e4  # p log p of an impossible token is zero, not undefined


@dataclass(frozen=True)
class Evidence:
    """
    The neighbors' tokens and what the base model says.

    *log_p_values* is the base model's log p of each neighbor's token (of an absent one, anything);
    *best* is the token it would say itself, with *log_p_best*.
    """

    values: Int32[Tensor, "n k"]
    log_p_values: Float32[Tensor, "n k"]
    best: Int64[Tensor, " n"]
    log_p_best: Float32[Tensor, " n"]
    entropy: Float32[Tensor, " n"]

    @classmethod
    def of(cls, values: Int32[Tensor, "n k"], log_p_lm: Float32[Tensor, "n vocab"]) -> "Evidence":
        """Take from the base model's prediction what λ may depend on."""
        log_p_best, best = log_p_lm.max(1)
        return cls(
            values,
            log_p_lm.gather(1, values.long().clamp_min(0)),
            best,
            log_p_best,
            -(log_p_lm.exp() * log_p_lm.clamp_min(LOWEST)).sum(1),
        )

    @classmethod
    def joined(cls, parts: Sequence["Evidence"]) -> "Evidence":
        """Put parts after one another."""
        names = [field.name for field in fields(cls)]
        return cls(*(torch.cat([getattr(part, name) for part in parts]) for name in names))

    def rows(self, chosen: Tensor) -> "Evidence":
        """Take some of the queries."""
        return Evidence(*(getattr(self, field.name)[chosen] for field in fields(self)))
