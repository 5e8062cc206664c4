"""
From text to token ids and back, with the character at which each token starts.

Works on a private copy of the tokenizer's fast core, so that nothing set here (no truncation, no
padding, no special tokens) shows anywhere else. Knows nothing of models.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from vicinal.errors import ModelError
from vicinal.lm.language_model import Tokens

DOCUMENT_STARTS = "<|endoftext|>"


class FastTokenizer:
    """Cuts texts into tokens; a special token's name written in a text is plain text."""

    def __init__(self, core: Any) -> None:
        self.core = core  # a Tokenizer of the package tokenizers

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase) -> "FastTokenizer":
        """Copy the fast core of a Hugging Face tokenizer."""
        if not tokenizer.is_fast:
            raise ModelError(
                f"The tokenizer must be a fast one (it alone knows where in the text a token "
                f"starts), was: {type(tokenizer).__name__}. Convert it to a tokenizer.json."
            )
        core = type(tokenizer.backend_tokenizer).from_str(tokenizer.backend_tokenizer.to_str())
        core.no_truncation()
        core.no_padding()
        core.encode_special_tokens = True
        return cls(core)

    def tokenize(self, text: str) -> Tokens:
        """Cut a text into tokens, without any special token."""
        encoded = self.core.encode(_without_surrogates(text), add_special_tokens=False)
        ranges = np.array(encoded.offsets, dtype=np.int32).reshape(-1, 2)
        return Tokens(np.array(encoded.ids, dtype=np.int32), _starts(ranges))

    def decode(self, ids: Sequence[int]) -> str:
        """Join token ids to text."""
        return str(self.core.decode([int(i) for i in ids], skip_special_tokens=False))


def start_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """Give the id that stands before a document's first token."""
    vocabulary = tokenizer.get_vocab()
    if DOCUMENT_STARTS in vocabulary:
        return int(vocabulary[DOCUMENT_STARTS])
    known = (tokenizer.bos_token_id, tokenizer.eos_token_id)
    return next((int(i) for i in known if i is not None), 0)


def _starts(ranges: np.ndarray) -> np.ndarray:
    """
    Let each token start where the one before it ends.

    Tokenizers leave the space before a word out of its range, or keep it, as they like; so cut,
    every character belongs to a token. The parts of one character keep its place.
    """
    starts = ranges[:, 0].copy()
    starts[1:] = np.minimum(starts[1:], ranges[:-1, 1])
    starts[:1] = 0
    return np.maximum.accumulate(starts)


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates, which no tokenizer can read, one character for one."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)
