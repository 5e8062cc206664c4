"""A language model small enough to know by heart: hashed contexts, a fixed matrix, no training."""

import re
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Float32, Int32
from torch import Tensor

from vicinal.lm.language_model import AbstractLanguageModel, Encoding, Tokens


class FakeLanguageModel(AbstractLanguageModel):
    """
    Cuts text into words, single spaces and single other characters; a token's id is a hash of it.

    The key of a token is a fixed vector of the two tokens before it, so equal contexts have equal
    keys; the output is the key in other coordinates. Every `encode` call is counted.
    """

    def __init__(self, dim: int = 8, vocab_size: int = 97, fingerprint: str = "fake-1") -> None:
        self.name = "fake"
        self.fingerprint = fingerprint
        self.key_dim = dim
        self.output_dim = dim
        self.vocab_size = vocab_size
        self.encoded_tokens = 0
        rng = np.random.default_rng(0)
        # The last row of each table stands for what was before the document began.
        self._before = rng.standard_normal((2, vocab_size + 1, dim)).astype(np.float32)
        self._head = torch.from_numpy(rng.standard_normal((dim, vocab_size)).astype(np.float32))
        self._texts: dict[int, str] = {}

    def tokenize(self, text: str) -> Tokens:
        found = list(re.finditer(r"\w+|\W", text))
        ids = [self._id(match.group()) for match in found]
        starts = [match.start() for match in found]
        return Tokens(np.array(ids, np.int32), np.array(starts, np.int32))

    def _id(self, piece: str) -> int:
        number = sum((i + 1) * ord(c) for i, c in enumerate(piece)) % self.vocab_size
        self._texts.setdefault(number, piece)
        return number

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._texts.get(i, "?") for i in ids)

    def encode(
        self,
        documents: Sequence[Int32[np.ndarray, " _"]],
        progress: Callable[[int], None] = lambda n_tokens: None,
    ) -> list[Encoding]:
        encodings = []
        for ids in documents:
            padded = np.concatenate([np.full(2, self.vocab_size, np.int32), ids])
            keys = self._before[0][padded[1:-1]] + 0.5 * self._before[1][padded[:-2]]
            encodings.append(
                Encoding(keys.astype(np.float16), np.flip(keys, 1).astype(np.float16).copy())
            )
            self.encoded_tokens += len(ids)
            progress(len(ids))
        return encodings

    def log_p(self, outputs: Float[Tensor, "n d_out"]) -> Float32[Tensor, "n vocab"]:
        return torch.log_softmax(outputs.float() @ self._head, dim=-1)
