"""
Which activation of a model is the key: the rule, its check, and how it is read.

The rule is the paper's: the input of the last block's feed-forward layer, after its norm. The last
block is the last module of the longest outermost list of modules of one class; its feed-forward is
its first child under a known name. Whether the rule found what it meant is seen in one tiny
forward pass. Knows nothing of tokens or documents, and leaves nothing behind in the model.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vicinal.errors import ModelError

FEED_FORWARD_NAMES = (
    "mlp",
    "feed_forward",
    "feedforward",
    "ffn",
    "ff",
    "fc1",
    "block_sparse_moe",
    "moe",
    "dense_h_to_4h",
)


class Tap:
    """Holds what last flowed into the key layer."""

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []

    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Remember the first tensor the module was called with (a forward pre-hook)."""
        tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
        self.inputs.append(tensors[0])

    def take(self, batch: int, length: int) -> Float[Tensor, "batch length d"]:
        """Hand over the keys of the forward pass just made, and forget them."""
        (keys,) = self.inputs
        self.inputs = []
        # Some blocks (OPT's, many mixtures of experts) flatten the batch before the feed-forward.
        return keys.reshape(batch, length, keys.shape[-1])


@dataclass(frozen=True)
class KeyLayer:
    """The module whose input is the key, and a sentence on what was chosen and checked."""

    name: str
    dim: int
    sentence: str

    @contextmanager
    def listen(self, model: nn.Module) -> Iterator[Tap]:
        """Read the keys of every forward pass made inside the ``with``; then unhook."""
        tap = Tap()
        hook = model.get_submodule(self.name).register_forward_pre_hook(tap, with_kwargs=True)
        try:
            yield tap
        finally:
            hook.remove()


def find_key_layer(
    model: nn.Module, probe: Int[Tensor, "batch length"], override: str | None = None
) -> KeyLayer:
    """Choose the key layer by the rule, or take the one named, and check it on *probe*."""
    if override is not None:
        _require_module(model, override)
        shape = _probe_shape(_run(model, override, probe).inputs, override, probe)
        return KeyLayer(
            override, shape[-1], f"input of {override} (named by you), {shape[-1]} numbers a token"
        )
    return _by_rule(model, probe)


def last_block(model: nn.Module) -> tuple[str, nn.Module] | None:
    """Find the last block: the end of the longest outermost list of modules of one class."""
    lists = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len({type(child) for child in module}) == 1
    }
    outermost = {
        name: module
        for name, module in lists.items()
        if not any(name.startswith(f"{other}.") for other in lists)
    }
    if not outermost:
        return None
    name, blocks = max(outermost.items(), key=lambda item: len(item[1]))
    return f"{name}.{len(blocks) - 1}", blocks[-1]


def _by_rule(model: nn.Module, probe: Int[Tensor, "batch length"]) -> KeyLayer:
    found = last_block(model)
    if found is None:
        raise _unknown("it has no list of blocks of one class")
    block_name, block = found
    children = dict(block.named_children())
    child = next((name for name in FEED_FORWARD_NAMES if name in children), None)
    if child is None:
        raise _unknown(f"its last block {block_name} has only: {', '.join(children)}")
    name = f"{block_name}.{child}"
    tap, norm = _run_with_norms(model, name, block, probe)
    shape = _probe_shape(tap.inputs, name, probe)
    if norm is None:
        raise _unknown(f"what flows into {name} is not the output of a norm of {block_name}")
    return KeyLayer(
        name,
        shape[-1],
        f"input of {name} ({type(block).__name__}), {shape[-1]} numbers a token; "
        f"checked: it is the output of {block_name}.{norm}",
    )


def _run(model: nn.Module, name: str, probe: Int[Tensor, "batch length"]) -> Tap:
    layer = KeyLayer(name, 0, "")
    with torch.inference_mode(), layer.listen(model) as tap:
        model(input_ids=probe)
    return tap


def _run_with_norms(
    model: nn.Module, name: str, block: nn.Module, probe: Int[Tensor, "batch length"]
) -> tuple[Tap, str | None]:
    """Run the probe; also name the norm of *block* whose output is the key, if one is."""
    norms: dict[str, Tensor] = {}
    with ExitStack() as hooks:
        for norm, module in block.named_modules():
            if "norm" in type(module).__name__.lower():
                handle = module.register_forward_hook(_recorder(norms, norm))
                hooks.callback(handle.remove)
        tap = _run(model, name, probe)
    key = tap.inputs[0].flatten() if tap.inputs else None
    equal = (n for n, out in norms.items() if key is not None and torch.equal(out.flatten(), key))
    return tap, next(equal, None)


def _recorder(norms: dict[str, Tensor], name: str) -> Callable[..., None]:
    def record(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        norms[name] = output

    return record


def _probe_shape(
    inputs: list[Tensor], name: str, probe: Int[Tensor, "batch length"]
) -> tuple[int, ...]:
    shapes = [tuple(x.shape) for x in inputs]
    batch, length = probe.shape
    if len(shapes) != 1 or shapes[0][:-1] not in {(batch, length), (batch * length,)}:
        raise ModelError(
            f"{name} must take one vector a token, once in a forward pass; on {batch} × {length} "
            f"tokens it took: {shapes or 'nothing'}. Name another module as key layer."
        )
    return shapes[0]


def _require_module(model: nn.Module, name: str) -> None:
    names: Mapping[str, nn.Module] = dict(model.named_modules())
    if name not in names or not name:
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.3)
        raise ModelError(
            f"The model has no module {name!r} to be its key layer; closest: {', '.join(close)}."
        )


def _unknown(reason: str) -> ModelError:
    return ModelError(
        f"No key layer was found by the rule: {reason}. "
        "Name the module whose input is the key (key_layer=, --key-layer)."
    )
