"""A tiny random model, a folder of projects, and a way to run commands on them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from typer.testing import CliRunner

from vicinal.cli import app


@dataclass(frozen=True)
class Outcome:
    """What became of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_vicinal(*arguments: object) -> Outcome:
    """Run a command in this process; what it raises by mistake is raised here."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="vicinal")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(scope="session")
def vicinal():
    return run_vicinal


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory) -> Path:
    """Save a random Llama of two layers whose tokens are bytes."""
    folder = tmp_path_factory.mktemp("tiny-llama")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate([*alphabet, "<|end|>"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|end|>", eos_token="<|end|>"
    ).save_pretrained(folder)
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        bos_token_id=len(alphabet),
        eos_token_id=len(alphabet),
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def projects(tmp_path) -> Path:
    """Write two projects of two source files each, and one file no reader takes."""
    root = tmp_path / "projects"
    for project in ("kettle", "lantern"):
        for name, verb in (("app", "boil"), ("core/engine", "glow")):
            file = root / project / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            body = f"def {verb}_{project}(level):\n    return level * {len(project)}\n"
            file.write_text(f'"""The {name} of {project}."""\n\n\n{body}', "utf-8")
    (root / "kettle" / "image.bin").write_bytes(bytes(range(256)) * 4)
    return root


@pytest.fixture
def index(vicinal, tiny_model, tmp_path):
    """Index paths into a store with the tiny model."""

    def run(*arguments: object) -> Outcome:
        store = tmp_path / "store"
        return vicinal("index", *arguments, "--store", store, "--model", tiny_model, "--json")

    return run
