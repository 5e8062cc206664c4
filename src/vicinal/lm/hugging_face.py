"""
Any Hugging Face causal language model as the source of keys and of its own predictions.

Joins the parts of this room: the tokenizer, the key layer, the head, the windows. Knows nothing
of stores, neighbors or files of a corpus.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int32, Int64
from torch import Tensor
from transformers import PreTrainedModel

from vicinal.errors import ModelError
from vicinal.lm.fingerprint import fingerprint
from vicinal.lm.head import OutputHead, find_head
from vicinal.lm.key_layer import KeyLayer, Tap, find_key_layer
from vicinal.lm.language_model import AbstractLanguageModel, Encoding, Tokens
from vicinal.lm.loading import Loaded, load
from vicinal.lm.precision import Precision, choose_device, choose_dtype, convert
from vicinal.lm.tokenization import FastTokenizer, start_id
from vicinal.lm.windows import Window, batches, windows

LARGEST_DEFAULT_WINDOW = 2048
BATCH_TOKENS = 4096
N_CHECK, N_PROBE = 6, 256


@dataclass(frozen=True)
class Reading:
    """How documents are fed to the model: what stands before them, in what pieces."""

    start_id: int
    window: int
    batch_tokens: int = BATCH_TOKENS


@dataclass(frozen=True)
class Anatomy:
    """What was found out, and checked, about a model in the number format of its file."""

    key_layer: KeyLayer
    head: OutputHead
    fingerprint: str

    @classmethod
    def of(cls, loaded: Loaded, start: int, key_layer: str | None) -> "Anatomy":
        """Find key layer and head with a few tiny forward passes, and hash the model."""
        model, probe = loaded.model, _probe(loaded.model, start, N_CHECK)
        _require_causal(model, probe)
        found = find_key_layer(model, probe, key_layer)
        its_hash = fingerprint(model, loaded.tokenizer, found.name, start)
        return cls(found, find_head(model, probe), its_hash)


class HuggingFaceModel(AbstractLanguageModel):
    """
    A causal language model, its key layer and its head.

    The parts are public; `from_pretrained` finds them by itself and checks them.
    """

    def __init__(
        self,
        loaded: Loaded,
        *,
        anatomy: Anatomy,
        reading: Reading,
        precision: Precision,
    ) -> None:
        self.name, self.model = loaded.name, loaded.model
        self.tokenizer = FastTokenizer.of(loaded.tokenizer)
        self.key_layer, self.head = anatomy.key_layer, anatomy.head
        self.reading, self.precision = reading, precision
        self.fingerprint = anatomy.fingerprint
        self.boundary_id = reading.start_id
        self.key_dim = self.key_layer.dim
        self.vocab_size, self.output_dim = self.head.shape

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str,
        *,
        key_layer: str | None = None,
        window: int | None = None,
        dtype: str = "auto",
        device: str = "auto",
    ) -> "HuggingFaceModel":
        """Load a model by a short name, a folder, a GGUF file or a name on the hub."""
        return cls.from_loaded(
            load(name_or_path), key_layer=key_layer, window=window, dtype=dtype, device=device
        )

    @classmethod
    def from_loaded(
        cls,
        loaded: Loaded,
        *,
        key_layer: str | None = None,
        window: int | None = None,
        dtype: str = "auto",
        device: str = "auto",
    ) -> "HuggingFaceModel":
        """Find and check key layer, head, window and number format; move the model there."""
        model = loaded.model
        reading = Reading(start_id(loaded.tokenizer), choose_window(model, window))
        anatomy = Anatomy.of(loaded, reading.start_id, key_layer)
        model.to(choose_device(device))  # type: ignore[arg-type]
        probe = _probe(model, reading.start_id, min(N_PROBE, reading.window))
        precision = choose_dtype(dtype, model, probe)
        convert(model, precision.dtype)
        return cls(loaded, anatomy=anatomy, reading=reading, precision=precision)

    def describe(self) -> list[str]:
        """Say what was chosen and why, a line each."""
        return [
            f"model: {self.name} ({type(self.model).__name__}, {self.fingerprint[:12]})",
            f"key: {self.key_layer.sentence}",
            f"computes in: {self.precision.sentence}, on {self.model.device}",
            f"window: {self.reading.window} tokens, moved on by {self.reading.window // 2}",
            f"start token: {self.reading.start_id} "
            f"{self.tokenizer.decode([self.reading.start_id])!r}",
        ]

    def tokenize(self, text: str) -> Tokens:
        """Cut a text into tokens, without any special token."""
        return self.tokenizer.tokenize(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Join token ids to text."""
        return self.tokenizer.decode(ids)

    def encode(
        self,
        documents: Sequence[Int32[np.ndarray, " _"]],
        progress: Callable[[int], None] = lambda n_tokens: None,
    ) -> list[Encoding]:
        """Encode documents given as token ids; the answers are in the order of the questions."""
        encodings = [self._blank(len(ids)) for ids in documents]
        size = self.reading.window
        cut = [w for i, ids in enumerate(documents) for w in windows(i, len(ids), size)]
        with torch.inference_mode(), self.key_layer.listen(self.model) as tap:
            for batch in batches(cut, self.reading.batch_tokens):
                keys, outputs = self._forward(self._inputs(documents, batch), tap)
                for row, window in enumerate(batch):
                    _put(encodings[window.document].keys, keys[row], window)
                    _put(encodings[window.document].outputs, outputs[row], window)
                progress(sum(window.end - window.keep for window in batch))
        return encodings

    def log_p(self, outputs: Float[Tensor, "n d_out"]) -> Float32[Tensor, "n vocab"]:
        """Give log p_LM of every token of the vocabulary after each context."""
        return self.head.log_p(outputs)

    def _blank(self, n: int) -> Encoding:
        return Encoding(
            np.empty((n, self.key_dim), np.float16), np.empty((n, self.output_dim), np.float16)
        )

    def _inputs(
        self, documents: Sequence[Int32[np.ndarray, " _"]], batch: list[Window]
    ) -> Int64[Tensor, "batch length"]:
        """
        Stack the windows, padded on the right with the start token.

        The model is causal, so that what stands to the right of a position never changes it, and
        it needs no mask.
        """
        inputs = np.full((len(batch), batch[0].length), self.reading.start_id, np.int64)
        for row, window in enumerate(batch):
            ids = documents[window.document]
            first = max(window.start, 1)
            inputs[row, first - window.start : window.length] = ids[first - 1 : window.end - 1]
        return torch.from_numpy(inputs).to(self.model.device)

    def _forward(
        self, inputs: Int64[Tensor, "batch length"], tap: Tap
    ) -> tuple[Float[Tensor, "batch length d"], Float[Tensor, "batch length d_out"]]:
        outputs = self.model.base_model(input_ids=inputs, use_cache=False).last_hidden_state
        return tap.take(*inputs.shape), outputs


def choose_window(model: PreTrainedModel, asked: int | None) -> int:
    """Take the window asked for, if the model reads that far; else at most 2048 tokens."""
    most = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if asked is None:
        return min(most or LARGEST_DEFAULT_WINDOW, LARGEST_DEFAULT_WINDOW)
    if most is not None and asked > most:
        raise ModelError(f"The model reads at most {most} tokens at once, asked for: {asked}.")
    return asked


def _require_causal(model: PreTrainedModel, probe: Int64[Tensor, "1 n"]) -> None:
    """Refuse a model in which a token changes what was said before it."""
    other = probe.clone()
    other[0, -1] = probe[0, -2]
    with torch.inference_mode():
        ends = [model.base_model(input_ids=x).last_hidden_state for x in (probe, other)]
    if not torch.allclose(ends[0][:, :-1], ends[1][:, :-1], rtol=1e-2, atol=1e-3):
        raise ModelError(
            f"{type(model).__name__} is not causal: changing the last token changed what it makes "
            "of those before. Use a model that reads from left to right."
        )


def _put(target: np.ndarray, vectors: Float[Tensor, "length d"], window: Window) -> None:
    kept = vectors[window.keep - window.start : window.length].to(torch.float16).cpu().numpy()
    if not np.isfinite(kept).all():
        raise ModelError(
            "The model gave a number that is not finite, or too large for float16 (65504). "
            "Compute in float32 (--dtype float32) or name another key layer (--key-layer)."
        )
    target[window.keep : window.end] = kept


def _probe(model: PreTrainedModel, start: int, n: int) -> Int64[Tensor, "1 n"]:
    """Make an input of n different small ids, the start token first."""
    ids: Tensor = torch.arange(n, device=model.device) % model.config.get_text_config().vocab_size
    ids[0] = start
    return ids[None, :]
