"""Another model by itself: its measures are those of scoring every token with it."""

import math

import numpy as np
import pytest
import torch

from fake_models import FakeLanguageModel
from vicinal.evaluation import MEASURES
from vicinal.paper import Baseline, baseline, baselines, java


class Sharp(FakeLanguageModel):
    """A fake model that is right more often: the gold token's own context says it."""

    def log_p(self, outputs):
        return super().log_p(outputs * 3)


@pytest.fixture(scope="module")
def sharp(java_data):
    model = Sharp(vocab_size=997, fingerprint="other")
    for document in java(java_data):
        model.tokenize(document.text)
    return model


def slowly(lm, corpus) -> dict[str, float]:
    """Score every token of every document, one after the other."""
    losses, ranks = [], []
    for document in corpus:
        ids = lm.tokenize(document.text).ids
        (encoding,) = lm.encode([ids])
        for token, output in zip(ids.tolist(), encoding.outputs, strict=True):
            log_p = lm.log_p(torch.from_numpy(output[None]))[0]
            losses.append(-log_p[token].item())
            ranks.append(1 + int((log_p > log_p[token]).sum()))
    n_bytes = sum(len(document.text.encode()) for document in corpus)
    return {
        "ppl": math.exp(np.mean(losses)),
        "ppl_byte": math.exp(sum(losses) / n_bytes),
        **{f"top{n}": float(np.mean([rank <= n for rank in ranks])) for n in (1, 5, 10, 20)},
    }


@pytest.mark.parametrize("batch", [7, 512])
def test_a_baseline_is_scored_by_itself(java_data, sharp, monkeypatch, batch):
    """Perplexities and accuracies over all tokens are those of one token at a time."""
    monkeypatch.setattr(baselines, "BATCH", batch)
    protocol = java(java_data)
    found = baseline("sharp", sharp, protocol, 10**9, seed=0)
    assert isinstance(found, Baseline)
    assert found.name == "sharp"
    assert set(found.measures) == {measure.name for measure in MEASURES}
    for name, value in slowly(sharp, list(protocol.splits["test"])).items():
        assert found.measures[name] == pytest.approx(value, rel=1e-4), name
    # It has no neighbors that could help or hurt.
    assert [found.measures[name] for name in ("coverage", "helped", "hurt")] == [0, 0, 0]


def test_only_the_test_split_is_scored(java_data, sharp):
    """The documents of the other split are never encoded."""
    protocol = java(java_data)
    before = sharp.encoded_tokens
    baseline("sharp", sharp, protocol, 10**9, seed=0)
    tokens = sum(len(sharp.tokenize(d.text).ids) for d in protocol.splits["test"])
    assert sharp.encoded_tokens - before == tokens


def test_a_sample_is_drawn_by_the_seed(java_data, sharp):
    """The same seed scores the same positions, another one others."""
    protocol = java(java_data)
    one, again, other = (
        baseline("s", sharp, protocol, 80, seed).measures["ppl"] for seed in (1, 1, 2)
    )
    assert one == again != other
    everything = baseline("s", sharp, protocol, 10**9, 0).measures["ppl"]
    assert one != everything
