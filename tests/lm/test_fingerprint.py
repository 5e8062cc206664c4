"""The fingerprint sees everything that decides what a key means, and nothing else."""

import torch

from tiny_models import tiny_model, tiny_tokenizer
from vicinal.lm.fingerprint import fingerprint

LAYER = "model.layers.1.mlp"


def of(model=None, tokenizer=None, layer=LAYER, start=0):
    return fingerprint(model or tiny_model(), tokenizer or tiny_tokenizer(), layer, start)


def test_the_same_parts_have_the_same_fingerprint():
    """Two models built alike, and a tokenizer that was used in between, have one fingerprint."""
    used = tiny_tokenizer()
    used("The cat sat", truncation=True, max_length=2)
    assert of() == of(tokenizer=used)
    assert len(of()) == 64


def test_every_weight_matrix_counts():
    """Changing any one parameter as a whole changes the fingerprint."""
    model, seen = tiny_model(), {of()}
    for parameter in model.parameters():
        with torch.no_grad():
            parameter.mul_(1.01)
        seen.add(of(model))
    assert len(seen) == 1 + len(list(model.parameters()))


def test_key_layer_start_token_tokenizer_and_family_count():
    """Another layer, start token, tokenizer or architecture is another fingerprint."""
    others = [
        of(layer="model.layers.0.mlp"),
        of(start=1),
        of(tokenizer=tiny_tokenizer("something else, 42 times over\n" * 9)),
        of(model=tiny_model("mistral")),
    ]
    assert len({of(), *others}) == 5


def test_the_compute_format_does_not_count_if_it_holds_the_weights():
    """Weights that bfloat16 holds exactly have one fingerprint in bfloat16 and float32."""
    model = tiny_model().to(torch.bfloat16)
    rough = of(model)
    assert of(model.float()) == rough
