"""The key is the input of the last feed-forward after its norm, in every family we name."""

import pytest
import torch
from torch import nn

from tiny_models import FAMILIES, HIDDEN, LAYERS, tiny_language_model, tiny_model
from vicinal.errors import ModelError
from vicinal.lm.key_layer import find_key_layer

PROBE = torch.tensor([[0, 7, 3, 250, 7, 9]])


def layer_norm(x, norm):
    centred = x - x.mean(-1, keepdim=True)
    eps = getattr(norm, "eps", None) or norm.variance_epsilon
    scaled = centred / (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return scaled * norm.weight + (0 if getattr(norm, "bias", None) is None else norm.bias)


def rms_norm(x, norm, plus=0.0):
    eps = getattr(norm, "variance_epsilon", None) or norm.eps
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * (norm.weight + plus)


def rms_norm_plus_one(x, norm):
    return rms_norm(x, norm, plus=1.0)


# How each family's last block gets from its input h and its attention's output a to the key.
BY_HAND = {
    "gpt2": lambda b, h, a: layer_norm(h + a, b.ln_2),
    "gpt_neox": lambda b, h, a: layer_norm(h, b.post_attention_layernorm),
    "gpt_neox_serial": lambda b, h, a: layer_norm(h + a, b.post_attention_layernorm),
    "opt": lambda b, h, a: layer_norm(h + a, b.final_layer_norm),
    "opt_post_norm": lambda b, h, a: layer_norm(h + a, b.self_attn_layer_norm),
    "phi": lambda b, h, a: layer_norm(h, b.input_layernorm),
    "cohere": lambda b, h, a: layer_norm(h, b.input_layernorm),
    # Bloom's attention adds its input to its output itself.
    "bloom": lambda b, h, a: layer_norm(a, b.post_attention_layernorm),
    "gemma": lambda b, h, a: rms_norm_plus_one(h + a, b.post_attention_layernorm),
    **{
        family: lambda b, h, a: rms_norm(h + a, b.post_attention_layernorm)
        for family in ("llama", "mistral", "qwen2", "qwen3", "granite")
    },
    **{
        family: lambda b, h, a: rms_norm_plus_one(
            h + rms_norm_plus_one(a, b.post_attention_layernorm), b.pre_feedforward_layernorm
        )
        for family in ("gemma2", "gemma3")
    },
}


def last_block_of(model):
    backbone = model.base_model
    for name in ("h", "layers"):
        blocks = getattr(getattr(backbone, "decoder", backbone), name, None)
        if blocks is not None:
            return blocks[LAYERS - 1]
    raise AssertionError(type(model))


def key_by_hand(family, model, inputs):
    """Compute the key from the block's input and its attention's output, norms written out."""
    block = last_block_of(model)
    attention = next(
        module
        for name, module in block.named_children()
        if ("attn" in name or "attention" in name) and "norm" not in name
    )
    seen = []
    handle = attention.register_forward_hook(lambda module, args, output: seen.append(output[0]))
    with torch.no_grad():
        states = model.base_model(input_ids=inputs, output_hidden_states=True).hidden_states
        handle.remove()
        return BY_HAND[family](block, states[LAYERS - 1], seen[-1])


@pytest.mark.parametrize("family", FAMILIES)
def test_key_equals_a_forward_by_hand(family):
    """Row i of the keys is the normed residual after start and i tokens, to float16."""
    model = tiny_language_model(family)
    ids = model.tokenize("def main(self): The cat sat, 1987.").ids
    (encoding,) = model.encode([ids])
    inputs = torch.tensor([[model.reading.start_id, *ids[:-1].tolist()]])
    expected = key_by_hand(family, model.model, inputs)[0]
    assert encoding.keys.shape == (len(ids), HIDDEN)
    torch.testing.assert_close(
        torch.from_numpy(encoding.keys).float(), expected, rtol=2e-3, atol=2e-3
    )
    assert expected.std(0).max() > 0.1, "the tokens' keys differ"


@pytest.mark.parametrize("family", FAMILIES)
def test_log_p_equals_the_models_own(family):
    """From the stored outputs come the log-probabilities of the model's own full forward."""
    model = tiny_language_model(family)
    ids = model.tokenize("return self.read(path)").ids
    inputs = torch.tensor([[model.reading.start_id, *ids[:-1].tolist()]])
    with torch.no_grad():
        expected = model.model(input_ids=inputs).logits[0].log_softmax(-1)
        exact = model.model.base_model(input_ids=inputs).last_hidden_state[0]
    torch.testing.assert_close(model.log_p(exact), expected, rtol=1e-4, atol=1e-5)
    stored = model.log_p(torch.from_numpy(model.encode([ids])[0].outputs))
    torch.testing.assert_close(stored, expected, rtol=1e-2, atol=1e-2)
    assert stored.shape == (len(ids), model.vocab_size)
    assert expected.std() > 0.05, "the model prefers some tokens"


def test_the_choice_is_said_in_a_sentence():
    """What was chosen, and by which norm it was checked, can be read."""
    layer = find_key_layer(tiny_model(), PROBE)
    assert layer.name == "model.layers.1.mlp"
    assert "output of model.layers.1.post_attention_layernorm" in layer.sentence


def test_a_named_module_overrides_the_rule():
    """The user's module is taken as it is named, here the first block's feed-forward."""
    named = tiny_language_model(key_layer="model.layers.0.mlp")
    ruled = tiny_language_model()
    ids = named.tokenize("The cat sat on the mat").ids
    assert named.key_layer.name == "model.layers.0.mlp"
    assert abs(named.encode([ids])[0].keys - ruled.encode([ids])[0].keys).max() > 0.1


def test_an_unknown_module_is_answered_with_close_ones():
    """A misspelt key layer is answered with modules of nearly that name."""
    with pytest.raises(ModelError, match=r"no module 'model.layer.1.mlp'.*model\.layers\.1\.mlp"):
        find_key_layer(tiny_model(), PROBE, "model.layer.1.mlp")


def test_a_module_without_a_vector_per_token_is_refused():
    """A norm of attention heads is no key layer: it takes two vectors for each token."""
    with pytest.raises(ModelError, match=r"must take one vector a token.*\(1, 6, 2, 8\)"):
        find_key_layer(tiny_model("qwen3"), PROBE, "model.layers.1.self_attn.q_norm")


class NormlessBlock(nn.Module):
    """A block whose feed-forward takes the residual as it is."""

    def __init__(self, name="mlp"):
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.add_module(name, nn.Linear(HIDDEN, HIDDEN))
        self.last = name

    def forward(self, x):
        return self.norm(x + getattr(self, self.last)(x))


class Stack(nn.Module):
    """Blocks over an embedding."""

    def __init__(self, *blocks):
        super().__init__()
        self.embed = nn.Embedding(300, HIDDEN)
        self.blocks = nn.ModuleList(blocks)

    def forward(self, input_ids):
        x = self.embed(input_ids)
        for block in self.blocks:
            x = block(x)
        return x


def test_a_feed_forward_without_norm_is_refused_by_the_rule():
    """If the input of the feed-forward is no norm's output, the user has to name the layer."""
    stack = Stack(NormlessBlock())
    with pytest.raises(ModelError, match=r"blocks\.0\.mlp is not the output of a norm.*key-layer"):
        find_key_layer(stack, PROBE)
    assert find_key_layer(stack, PROBE, "blocks.0.mlp").dim == HIDDEN


def test_a_block_without_known_feed_forward_is_refused():
    """The message lists the children among which no feed-forward was recognized."""
    with pytest.raises(ModelError, match=r"last block blocks\.0 has only: norm, mixer"):
        find_key_layer(Stack(NormlessBlock("mixer")), PROBE)


def test_a_model_without_blocks_is_refused():
    """A model with no list of blocks has no last one."""
    with pytest.raises(ModelError, match="no list of blocks"):
        find_key_layer(nn.Embedding(300, HIDDEN), PROBE)


def test_no_hook_stays_in_the_model():
    """After loading and encoding, and after a failure within, the model is as it was."""
    model = tiny_language_model()
    model.encode([model.tokenize("The cat").ids])
    modules = list(model.model.modules())
    with pytest.raises(ZeroDivisionError):
        fail_while_listening(model)
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in modules)


def fail_while_listening(model):
    with model.key_layer.listen(model.model):
        assert any(m._forward_pre_hooks for m in model.model.modules())
        return 1 / 0
