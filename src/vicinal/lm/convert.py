"""
Turn a GGUF file into a folder of bfloat16 safetensors and a tokenizer, once.

Reading a GGUF takes ten to twenty seconds, reading the folder a fraction of one. The weights are
dequantized by Transformers' reader into an empty model, never two copies at a time. Knows nothing
of where a GGUF comes from.
"""

import json
import os
import shutil
import tempfile
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import torch
from gguf import GGUFReader
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from vicinal.errors import ModelError
from vicinal.lm.quiet import quiet_transformers

# Transformers' reader forgets that these cut numbers into single digits before anything else; on
# English with numbers SmolLM2 then needs 4 % more nats.
DIGIT_BY_DIGIT = {"smollm"}


def convert_gguf(gguf: Path, folder: Path) -> Path:
    """Convert *gguf* to *folder*, which exists only when whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        with quiet_transformers():
            _convert(gguf, aside)
        if not folder.exists():
            os.replace(aside, folder)
    except (NotImplementedError, ValueError, KeyError) as error:
        raise ModelError(f"{gguf} cannot be read as a causal language model: {error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    parts = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    config = AutoConfig.from_pretrained(**parts)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)  # type: ignore[no-untyped-call]
    _fill(model, gguf)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**parts).save_pretrained(folder)
    if _pre_tokenizer(gguf) in DIGIT_BY_DIGIT:
        _cut_digits(folder / "tokenizer.json")


def _fill(model: PreTrainedModel, gguf: Path) -> None:
    with redirect_stderr(StringIO()):  # its progress bar knows no other switch
        read = load_gguf_checkpoint(  # type: ignore[no-untyped-call]
            str(gguf), return_tensors=True, model_to_load=model, torch_dtype=torch.bfloat16
        )
    model.load_state_dict(read["tensors"], strict=False, assign=True)
    model.tie_weights()
    missing = [name for name, p in model.named_parameters() if p.is_meta]
    if missing:
        raise ModelError(f"{gguf} lacks weights of {type(model).__name__}: {', '.join(missing)}.")


def _cut_digits(tokenizer: Path) -> None:
    state = json.loads(tokenizer.read_text("utf-8"))
    digits = {"type": "Digits", "individual_digits": True}
    both = [digits, state["pre_tokenizer"]]
    state["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": both}
    tokenizer.write_text(json.dumps(state, ensure_ascii=False), "utf-8")


def _pre_tokenizer(gguf: Path) -> str:
    field = GGUFReader(gguf).get_field("tokenizer.ggml.pre")
    return str(field.contents()) if field else ""
