"""
How fast `encode` is beside the model alone, on the same batches in the same run.

Turn by turn, so that a busy moment of the machine hurts all: encode, the bare backbone's forward,
the full forward with its logits, and one square matrix product as the machine's peak. Prints a
table, or JSON with ``--json``. Needs the real SmolLM2 (``vicinal models pull smollm2-135m``).
"""

import json
import platform
import sys
import time

import numpy as np
import torch

from vicinal.lm import HuggingFaceModel
from vicinal.lm.hugging_face import Reading
from vicinal.lm.windows import batches, windows

# settings
MODEL = "smollm2-135m"
DTYPES = ("bfloat16", "float32")
BATCH_TOKENS = 4096
LENGTHS = (60, 150, 300, 500, 900, 1500)  # tokens of the documents
LOGITS_BATCH_TOKENS = 1024  # the full forward is measured on less: 4096 × 49152 logits are 800 MB
ROUNDS = 3
PEAK = 2048  # rows and columns of the matrix product

SEED = 0


def main():
    results = [measure(dtype) for dtype in DTYPES]
    if "--json" in sys.argv:
        print(json.dumps({"settings": settings(), "results": results}, indent=2))
        return
    print(json.dumps(settings()))
    columns = list(results[0])
    print(" | ".join(columns))
    for row in results:
        print(" | ".join(f"{row[c]:.3g}" if isinstance(row[c], float) else row[c] for c in columns))


def settings():
    return {
        "model": MODEL,
        "batch_tokens": BATCH_TOKENS,
        "lengths": LENGTHS,
        "rounds": ROUNDS,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "machine": platform.machine(),
    }


def measure(dtype):
    model = HuggingFaceModel.from_pretrained(MODEL, dtype=dtype)
    model.reading = Reading(model.reading.start_id, model.reading.window, BATCH_TOKENS)
    rng = np.random.default_rng(SEED)
    documents = [rng.integers(17, model.vocab_size, n).astype(np.int32) for n in LENGTHS]
    inputs = cut(model, documents, BATCH_TOKENS)
    small = cut(model, documents, LOGITS_BATCH_TOKENS)[-2:]
    runs = {
        "encode": lambda: model.encode(documents),
        "backbone": lambda: forward(model.model.base_model, inputs),
        "small backbone": lambda: forward(model.model.base_model, small),
        "with logits": lambda: forward(model.model, small),
        "peak": peak(getattr(torch, dtype)),
    }
    seconds = race(runs)
    read = sum(batch.numel() for batch in inputs)
    rate = flops(model, inputs) / seconds["backbone"]
    machine = 2 * PEAK**3 / seconds["peak"]
    return {
        "dtype": dtype,
        "tokens read/s": read / seconds["encode"],
        "tokens kept/s": sum(LENGTHS) / seconds["encode"],
        "encode / backbone": seconds["backbone"] / seconds["encode"],
        "with logits / backbone": seconds["small backbone"] / seconds["with logits"],
        "peak GFLOP/s": machine / 1e9,
        "backbone share of peak": rate / machine,
        "encode share of peak": rate / machine * seconds["backbone"] / seconds["encode"],
    }


def cut(model, documents, n_tokens):
    size = model.reading.window
    all_windows = [w for i, ids in enumerate(documents) for w in windows(i, len(ids), size)]
    return [model._inputs(documents, batch) for batch in batches(all_windows, n_tokens)]


def forward(module, inputs):
    with torch.inference_mode():
        for batch in inputs:
            module(input_ids=batch, use_cache=False)


def peak(dtype):
    a, b = (torch.randn(PEAK, PEAK).to(dtype) for _ in range(2))
    return lambda: a @ b


def race(runs):
    """Run all by turns, warm up once, and give each one's best: others use the machine too."""
    seconds = {name: [] for name in runs}
    for round_ in range(ROUNDS + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if round_:
                seconds[name].append(time.perf_counter() - start)
    return {name: min(times) for name, times in seconds.items()}


def flops(model, inputs):
    """Count the multiplications and additions of the blocks: matrices, and causal attention."""
    config = model.model.config
    matrices = sum(p.numel() for p in model.model.base_model.layers.parameters() if p.dim() == 2)
    per_pair = 2 * 2 * config.num_hidden_layers * config.num_attention_heads * config.head_dim
    total = 0
    for batch in inputs:
        rows, length = batch.shape
        total += 2 * matrices * batch.numel() + per_pair * rows * length * (length + 1) / 2
    return total


if __name__ == "__main__":
    main()
