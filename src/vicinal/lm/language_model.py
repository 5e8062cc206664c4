"""
The contract between language models and everything that stores, searches or mixes.

Knows nothing of any particular model. A document of n tokens has n entries:

    input     start   w0   w1  ...  w(n-2)      the context c_i ends here
    key        k0     k1   k2  ...  k(n-1)      k_i = f(c_i)
    value      w0     w1   w2  ...  w(n-1)      the token that came next
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float16, Float32, Int32
from torch import Tensor


@dataclass(frozen=True)
class Tokens:
    """A text as token ids, and the character at which each token starts."""

    ids: Int32[np.ndarray, " n"]
    offsets: Int32[np.ndarray, " n"]


@dataclass(frozen=True)
class Encoding:
    """
    What a model makes of one document, a row for each of its tokens.

    *keys* are what the store searches. *outputs* are the vectors from which the model's own
    prediction of the same token is one matrix product away (`AbstractLanguageModel.log_p`).
    """

    keys: Float16[np.ndarray, "n d"]
    outputs: Float16[np.ndarray, "n d_out"]


class AbstractLanguageModel(ABC):
    """
    A causal language model: text to ids, ids to keys and predictions.

    *boundary_id* is the token that stands before the first one of a document, None if there is no
    such token.
    """

    name: str
    fingerprint: str
    key_dim: int
    output_dim: int
    vocab_size: int
    boundary_id: int | None = None

    @abstractmethod
    def tokenize(self, text: str) -> Tokens:
        """Cut a text into tokens, without any special token."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Join token ids to text."""

    @abstractmethod
    def encode(
        self,
        documents: Sequence[Int32[np.ndarray, " _"]],
        progress: Callable[[int], None] = lambda n_tokens: None,
    ) -> list[Encoding]:
        """
        Encode documents given as token ids; the answers are in the order of the questions.

        *progress* is told after each batch how many tokens were done in it.
        """

    @abstractmethod
    def log_p(self, outputs: Float[Tensor, "n d_out"]) -> Float32[Tensor, "n vocab"]:
        """Give log p_LM of every token of the vocabulary after each context."""
