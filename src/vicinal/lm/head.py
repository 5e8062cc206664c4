"""
From a model's last vectors to its log-probabilities, exactly as the model itself does it.

The head is found by asking the model for it; that nothing else happens between the backbone's
output and the logits is *checked* when the model is loaded. Knows nothing of keys or documents.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor, nn
from transformers import PreTrainedModel

from vicinal.errors import ModelError

# What a config may ask for after the head, in the order in which it is applied.
SCALINGS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "logit_scale": lambda logits, x: logits * x,
    "logits_scaling": lambda logits, x: logits / x,
    "final_logit_softcapping": lambda logits, x: x * torch.tanh(logits / x),
}


@dataclass(frozen=True)
class OutputHead:
    """The last matrix of a model and the scalings that follow it."""

    matrix: nn.Module
    scalings: tuple[tuple[str, float], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """How many tokens there are, and how long the vectors are."""
        vocab_size, output_dim = next(self.matrix.parameters()).shape
        return int(vocab_size), int(output_dim)

    def log_p(self, outputs: Float[Tensor, "n d_out"]) -> Float32[Tensor, "n vocab"]:
        """Give log_softmax of the logits, in float32 whatever the model computes in."""
        with torch.inference_mode():
            parameter = next(self._exact.parameters())
            logits = self._exact(outputs.to(parameter.device, torch.float32))
            return torch.log_softmax(self.scale(logits), dim=-1)

    def scale(self, logits: Float[Tensor, "... vocab"]) -> Float[Tensor, "... vocab"]:
        """Apply what the config asks for after the head."""
        for name, x in self.scalings:
            logits = SCALINGS[name](logits, x)
        return logits

    @cached_property
    def _exact(self) -> nn.Module:
        # In bfloat16 a logit of 20 is off by up to 0.06, which perplexity would show. The copy
        # is made when the first log p is asked for: indexing never needs it.
        if next(self.matrix.parameters()).dtype == torch.float32:
            return self.matrix
        return copy.deepcopy(self.matrix).float()


def find_head(model: PreTrainedModel, probe: Int[Tensor, "batch length"]) -> OutputHead:
    """Find the head and check on *probe* that it turns the backbone's output into the logits."""
    matrix = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    if matrix is None:
        raise ModelError(f"{type(model).__name__} has no head over a vocabulary to predict with.")
    config = model.config.get_text_config()
    asked = tuple((name, getattr(config, name, None)) for name in SCALINGS)
    present = tuple((name, float(x)) for name, x in asked if x is not None)
    with torch.inference_mode():
        outputs = model.base_model(input_ids=probe).last_hidden_state
        logits = model(input_ids=probe).logits
    for scalings in (present, ()):
        head = OutputHead(matrix, scalings)
        if _close(_scaled(head, outputs), logits):
            return head
    raise ModelError(
        f"The head of {type(model).__name__} does not give its logits from the backbone's output "
        f"(tried with {', '.join(name for name, _ in present) or 'no scaling'}, and without). "
        "Its own predictions could not be recomputed from a store; use another model."
    )


def _scaled(head: OutputHead, outputs: Tensor) -> Tensor:
    with torch.inference_mode():
        return head.scale(head.matrix(outputs))


def _close(ours: Tensor, theirs: Tensor) -> bool:
    if ours.shape != theirs.shape:
        return False
    tolerance = 1e-4 if theirs.dtype == torch.float32 else 2e-2
    return torch.allclose(ours.float(), theirs.float(), rtol=tolerance, atol=tolerance)
