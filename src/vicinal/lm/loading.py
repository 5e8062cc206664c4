"""
From a name to a model and its tokenizer.

A name is that of a model that can be pulled, a local folder, a GGUF file, or a name on the hub;
code that comes with a model is never run and pickled weights are never read. Knows nothing of
keys.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from vicinal.corpus import sha256_of
from vicinal.errors import ModelError
from vicinal.lm.catalog import KNOWN, cache_folder, pulled
from vicinal.lm.convert import convert_gguf
from vicinal.lm.quiet import quiet_transformers


@dataclass(frozen=True)
class Loaded:
    """A model as its file has it, its tokenizer, and the name by which it is found again."""

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase

    @classmethod
    def of(cls, name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> "Loaded":
        """Take a model in memory, in the number format of its file."""
        formats = {p.dtype for p in model.parameters()}
        if len(formats) > 1:  # float32 holds all the others
            model.to(torch.float32)  # type: ignore[arg-type]
        model.train(mode=False)
        return cls(name, model, tokenizer)


def load(name_or_path: str) -> Loaded:
    """Load a causal language model in the number format of its file."""
    name, source = _resolve(name_or_path)
    safe = {"trust_remote_code": False}
    try:
        with quiet_transformers():
            answer: Any = AutoModelForCausalLM.from_pretrained(
                source, dtype="auto", use_safetensors=True, output_loading_info=True, **safe
            )
            tokenizer = AutoTokenizer.from_pretrained(source, **safe)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ModelError(
            f"{name_or_path!r} is not a causal language model that can be loaded: "
            f"{_first_line(error)} Give a folder, a .gguf file, a name on the hub, "
            f"or one of: {', '.join(KNOWN)}."
        ) from error
    model, report = answer
    _require_all_weights(name_or_path, report["missing_keys"])
    return Loaded.of(name, model, tokenizer)


def _resolve(name: str) -> tuple[str, str]:
    """Give the name by which a store finds the model again, and what Transformers should open."""
    if name in KNOWN:
        return name, str(_require_pulled(name))
    path = Path(name).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return str(path.resolve()), str(_converted(path))
    if path.is_dir():
        return str(path.resolve()), str(path)
    looks_like_a_path = path.suffix == ".gguf" or path.is_absolute() or name.startswith((".", "~"))
    if looks_like_a_path or name.count("/") > 1:
        raise ModelError(f"There is no model at {name!r}: expected a folder or a .gguf file.")
    return name, name


def _require_pulled(name: str) -> Path:
    folder = pulled(name)
    if folder is None:
        raise ModelError(
            f"The model {name!r} is not on this machine yet. Run: vicinal models pull {name}"
        )
    return folder


def _converted(gguf: Path) -> Path:
    folder = cache_folder() / f"gguf-{sha256_of(gguf)[:16]}"
    return folder if folder.exists() else convert_gguf(gguf, folder)


def _require_all_weights(name: str, missing: Iterable[str]) -> None:
    # Transformers would fill them with random numbers, and only warn.
    if names := sorted(missing):
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        raise ModelError(
            f"{name!r} lacks {len(names)} weights of a causal language model: {shown}. "
            "It may have been made for another task; use a model that predicts next tokens."
        )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
