"""
Where and in which number format a model computes.

"auto" is decided by a measurement of a fraction of a second: one block of the model itself, in
bfloat16 and in float32. Knows nothing of keys or documents.
"""

import copy
import time
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.utils import _pytree

from vicinal.errors import ModelError
from vicinal.lm.key_layer import last_block

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
REPEATS = 3


@dataclass(frozen=True)
class Precision:
    """The number format chosen, and a sentence on why."""

    dtype: torch.dtype
    sentence: str


def choose_device(device: str) -> torch.device:
    """Take the device named; for "auto" a GPU where there is one."""
    if device != "auto":
        return torch.device(device)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def choose_dtype(dtype: str, model: nn.Module, probe: Int[Tensor, "batch length"]) -> Precision:
    """Take the format named; for "auto" whichever of bfloat16 and float32 is faster here."""
    if dtype in DTYPES:
        return Precision(DTYPES[dtype], f"{dtype} (named by you)")
    if dtype != "auto":
        raise ModelError(f"Unknown dtype {dtype!r}; known: auto, {', '.join(DTYPES)}.")
    call = _block_call(model, probe)
    if call is None:
        return Precision(torch.float32, "float32 (no block was found to try bfloat16 on)")
    seconds = _race(*call)
    best = min(seconds, key=lambda name: seconds[name])
    times = ", ".join(f"{name} {1000 * s:.1f} ms" for name, s in seconds.items())
    return Precision(DTYPES[best], f"{best} (one block on {probe.numel()} tokens: {times})")


def convert(model: nn.Module, dtype: torch.dtype) -> None:
    """
    Convert the weights of a model in place.

    Buffers that are computed and not stored stay as they are: ``model.to(dtype)`` would round the
    frequencies of rotary positions too, and far positions would turn by the wrong angle.
    """
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            parameter.data = parameter.data.to(dtype)
        for name, buffer in module.named_buffers(recurse=False):
            if buffer.is_floating_point() and name not in module._non_persistent_buffers_set:
                setattr(module, name, buffer.to(dtype))


class _ReachedError(Exception):
    """Stops the probe's forward pass at the first block: the rest of it would tell nothing."""


def _block_call(
    model: nn.Module, probe: Int[Tensor, "batch length"]
) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]] | None:
    """Find the first block and what it is called with."""
    found = last_block(model)
    if found is None:
        return None
    block = model.get_submodule(f"{found[0].rpartition('.')[0]}.0")
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def stop(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        calls.append((args, kwargs))
        raise _ReachedError

    hook = block.register_forward_pre_hook(stop, with_kwargs=True)
    try:
        with torch.inference_mode():
            model(input_ids=probe, use_cache=False)
    except _ReachedError:
        pass
    finally:
        hook.remove()
    return (block, *calls[0]) if calls else None


def _race(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, float]:
    """Time the block in both formats, by turns so that a busy moment hurts both; best of each."""
    runners = {}
    for name in ("bfloat16", "float32"):
        dtype = DTYPES[name]
        runners[name] = (copy.deepcopy(block).to(dtype), *_cast((args, kwargs), dtype))
    best = dict.fromkeys(runners, float("inf"))
    with torch.inference_mode():
        for _ in range(1 + REPEATS):
            for name, (module, its_args, its_kwargs) in runners.items():
                start = time.perf_counter()
                module(*its_args, **its_kwargs)
                _wait(args)
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def _cast(tree: Any, dtype: torch.dtype) -> Any:
    def one(x: Any) -> Any:
        return x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x

    return _pytree.tree_map(one, tree)


def _wait(args: tuple[Any, ...]) -> None:
    if any(isinstance(x, Tensor) and x.is_cuda for x in args):
        torch.cuda.synchronize()
