"""Encoding: windows, padding, batches and order change no key; what is loaded is checked."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_models import (
    FAMILIES,
    POSITIONS,
    VOCAB,
    save_tiny,
    tiny_language_model,
    tiny_model,
    tiny_tokenizer,
)
from vicinal.errors import ModelError
from vicinal.lm import HuggingFaceModel
from vicinal.lm.loading import Loaded

LLAMA = tiny_language_model(window=8)


def documents(*lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(2, VOCAB, n).astype(np.int32) for n in lengths]


def encode_slowly(model, ids):
    """Encode position by position: only what its window holds, nothing after it, alone."""
    size, keys, outputs = model.reading.window, [], []
    inputs = [model.reading.start_id, *ids[:-1].tolist()]
    for position in range(len(ids)):
        start = 0 if position < size else (position - size) // (size // 2) * (size // 2)
        while start + size <= position:
            start += size // 2
        with torch.no_grad(), model.key_layer.listen(model.model) as tap:
            context = torch.tensor([inputs[start : position + 1]])
            out = model.model.base_model(input_ids=context).last_hidden_state
            keys.append(tap.take(*context.shape)[0, -1])
            outputs.append(out[0, -1])
    return torch.stack(keys), torch.stack(outputs)


@pytest.mark.parametrize("family", FAMILIES)
def test_encoding_equals_one_position_at_a_time(family):
    """Windows, padding and batches give what each context gives alone, in the order asked."""
    model = tiny_language_model(family, window=8)
    asked = documents(3, 21, 1, 8, 9)
    for ids, encoding in zip(asked, model.encode(asked), strict=True):
        keys, outputs = encode_slowly(model, ids)
        for found, expected in ((encoding.keys, keys), (encoding.outputs, outputs)):
            torch.testing.assert_close(
                torch.from_numpy(found).float(), expected, rtol=4e-3, atol=4e-3
            )


@settings(max_examples=15)
@given(st.lists(st.integers(0, 30), max_size=5), st.integers(1, 64))
def test_batching_changes_no_key(lengths, batch_tokens):
    """Documents encoded together, in batches of any size, get the keys they get alone."""
    asked = documents(*lengths)
    model = HuggingFaceModel.from_loaded(
        Loaded.of("tiny", LLAMA.model, tiny_tokenizer()), dtype="float32", window=8
    )
    model.reading = replace(model.reading, batch_tokens=batch_tokens)
    together = model.encode(asked)
    for ids, encoding in zip(asked, together, strict=True):
        (alone,) = LLAMA.encode([ids])
        np.testing.assert_allclose(encoding.keys, alone.keys, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(encoding.outputs, alone.outputs, rtol=2e-3, atol=2e-3)


def test_the_document_goes_on_but_its_keys_stay():
    """A token more at the end changes no key before it: what was read stands for ever."""
    (ids,) = documents(40)
    shorter, longer = LLAMA.encode([ids[:29]])[0], LLAMA.encode([ids])[0]
    np.testing.assert_allclose(longer.keys[:29], shorter.keys, rtol=2e-3, atol=2e-3)
    assert np.abs(longer.keys[1:] - longer.keys[:-1]).max() > 0.1


def test_progress_adds_up_to_the_tokens():
    """Progress is told of every token once, however often windows read it."""
    told = []
    LLAMA.encode(documents(30, 0, 7), told.append)
    assert sum(told) == 37
    assert len(told) >= 1


def test_nothing_and_the_empty_document():
    """No document gives no encoding; an empty one gives no rows."""
    assert LLAMA.encode([]) == []
    (empty,) = LLAMA.encode(documents(0))
    assert (empty.keys.shape, empty.outputs.shape) == ((0, 16), (0, 16))


def test_numbers_too_large_for_the_store_are_refused():
    """An activation beyond float16 is an error that says what to do, not an infinite key."""
    model = tiny_language_model()
    with torch.no_grad():
        model.model.model.layers[1].post_attention_layernorm.weight.fill_(1e6)
    with pytest.raises(ModelError, match=r"65504.*--key-layer"):
        model.encode(documents(3))


def test_bfloat16_keys_are_near_the_float32_ones():
    """The compute format changes keys by a percent or so, and not the fingerprint."""
    exact, rough = tiny_language_model(), tiny_language_model(dtype="bfloat16")
    (a,), (b,) = exact.encode(documents(20)), rough.encode(documents(20))
    difference = np.linalg.norm(a.keys.astype(np.float32) - b.keys)
    assert 0 < difference < 0.05 * np.linalg.norm(a.keys.astype(np.float32))
    assert exact.fingerprint == rough.fingerprint
    assert rough.model.dtype == torch.bfloat16
    log_p = rough.log_p(torch.from_numpy(b.outputs))
    assert log_p.dtype == torch.float32
    assert log_p.exp().sum(-1).numpy() == pytest.approx(1, abs=1e-5)


def test_computing_in_bfloat16_rounds_no_position():
    """The frequencies of rotary positions stay exact when the weights become bfloat16."""
    exact, rough = tiny_language_model(), tiny_language_model(dtype="bfloat16")
    assert {p.dtype for p in rough.model.parameters()} == {torch.bfloat16}
    torch.testing.assert_close(
        rough.model.model.rotary_emb.inv_freq, exact.model.model.rotary_emb.inv_freq, rtol=0, atol=0
    )


def test_auto_measures_and_says_so():
    """ "auto" takes a format by a race of one block, and prints the times."""
    model = tiny_language_model(dtype="auto")
    assert model.model.dtype in {torch.bfloat16, torch.float32}
    text = "\n".join(model.describe())
    assert "one block on 64 tokens: bfloat16" in text
    assert "model.layers.1.mlp" in text
    assert "window: 64 tokens, moved on by 32" in text
    assert "start token: 0 '<|endoftext|>'" in text


def test_an_unknown_dtype_names_the_known():
    """A misspelt format is answered with those there are."""
    with pytest.raises(ModelError, match="'bf16'; known: auto, float32, bfloat16, float16"):
        tiny_language_model(dtype="bf16")


def test_a_window_beyond_the_model_is_refused():
    """A window longer than the model's positions is refused with both numbers."""
    with pytest.raises(ModelError, match=f"at most {POSITIONS} tokens at once, asked for: 65"):
        tiny_language_model(window=65)
    assert tiny_language_model("bloom").reading.window == 2048


def test_a_folder_gives_the_model_that_was_saved(tmp_path):
    """A model from a folder has the fingerprint and keys of the one in memory, and its path."""
    folder = save_tiny(tmp_path / "model")
    loaded = HuggingFaceModel.from_pretrained(str(folder), dtype="float32", device="cpu")
    built = tiny_language_model()
    assert loaded.name == str(folder)
    assert loaded.fingerprint == built.fingerprint
    (a,), (b,) = loaded.encode(documents(9)), built.encode(documents(9))
    np.testing.assert_array_equal(a.keys, b.keys)


def test_a_folder_of_another_kind_is_refused_in_one_line(tmp_path):
    """What is not a causal language model is refused in one line that says what to give."""
    (tmp_path / "config.json").write_text('{"model_type": "vit"}')
    with pytest.raises(ModelError, match=r"not a causal language model.*smollm2-135m") as caught:
        HuggingFaceModel.from_pretrained(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["/no/such/folder", "./nothing", "away.gguf"])
def test_a_path_that_is_not_there_is_refused(name):
    """A path to nothing is not looked for on the hub."""
    with pytest.raises(ModelError, match=f"no model at '{name}'"):
        HuggingFaceModel.from_pretrained(name)


def test_a_model_not_pulled_yet_says_how(tmp_path, monkeypatch):
    """The short name of a model that is not there is answered with the command to type."""
    monkeypatch.setenv("VICINAL_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="Run: vicinal models pull smollm2-135m"):
        HuggingFaceModel.from_pretrained("smollm2-135m")


def test_missing_weights_are_refused(tmp_path):
    """A checkpoint without its head would be filled with random numbers: it is refused."""
    model = tiny_model()
    model.model.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="lacks 1 weights of a causal language model: lm_head"):
        HuggingFaceModel.from_pretrained(str(tmp_path))


def test_a_model_that_reads_ahead_is_refused():
    """A model whose earlier vectors depend on later tokens is refused at loading."""
    model = tiny_model()
    norm = model.model.norm
    model.model.norm.register_forward_hook(lambda m, args, out: out - out.mean(1, keepdim=True))
    assert norm is model.model.norm
    with pytest.raises(ModelError, match="not causal"):
        HuggingFaceModel.from_loaded(Loaded.of("x", model, tiny_tokenizer()))


def test_a_head_that_does_something_else_is_refused():
    """If head(outputs) is not what the model says, its predictions cannot be recomputed."""
    model = tiny_model()
    model.register_forward_hook(lambda m, args, out: triple_logits(out))
    with pytest.raises(ModelError, match="does not give its logits"):
        HuggingFaceModel.from_loaded(Loaded.of("x", model, tiny_tokenizer()))


def triple_logits(output):
    output.logits = output.logits * 3
    return output


@pytest.mark.real
def test_the_real_model_predicts_code(smollm2):
    """SmolLM2 gives plausible code a perplexity between 2 and 6, as its full forward does."""
    text = "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n"
    ids = smollm2.tokenize(text).ids
    (encoding,) = smollm2.encode([ids])
    log_p = smollm2.log_p(torch.from_numpy(encoding.outputs))
    inputs = torch.tensor([[smollm2.reading.start_id, *ids[:-1].tolist()]])
    with torch.no_grad():
        logits = smollm2.model(input_ids=inputs).logits[0].float()
    gold = torch.from_numpy(ids).long()[:, None]
    mine, theirs = (x.gather(1, gold).mean() for x in (log_p, logits.log_softmax(-1)))
    assert mine == pytest.approx(float(theirs), abs=0.02)
    assert 2 < float((-mine).exp()) < 6
    assert encoding.keys.shape == (len(ids), 576)
