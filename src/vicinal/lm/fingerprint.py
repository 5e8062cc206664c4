"""
One hash for everything that decides what a key and its value mean.

That is the architecture, the weights, the tokenizer, the key layer and the start token; not the
number format of the computation. Knows nothing of stores.
"""

import hashlib
import json
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase

SAMPLE = 4096


def fingerprint(
    model: nn.Module, tokenizer: PreTrainedTokenizerBase, key_layer: str, start_id: int
) -> str:
    """
    Hash a model by at least 4096 evenly spread numbers of each parameter, and all the rest.

    A retrained or otherwise quantized matrix is seen; a single changed number may not be. To be
    taken in the number format of the file, before the model is converted to any other.
    """
    digest = hashlib.sha256()
    head = [type(model).__name__, _tokenizer_text(tokenizer), key_layer, start_id]
    digest.update(json.dumps(head).encode())
    for name, parameter in sorted(model.named_parameters()):
        digest.update(f"{name}{tuple(parameter.shape)}".encode())
        digest.update(_sample(parameter).numpy().tobytes())
    return digest.hexdigest()


def _sample(parameter: Tensor) -> Tensor:
    flat = parameter.detach().flatten()
    step = max(1, flat.numel() // SAMPLE)
    return flat[::step].to("cpu", torch.float32)


def _tokenizer_text(tokenizer: PreTrainedTokenizerBase) -> str:
    # Truncation and padding are settings of a call that a fast tokenizer keeps in itself.
    state: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    kept = {key: value for key, value in state.items() if key not in {"truncation", "padding"}}
    return json.dumps(kept, sort_keys=True)
