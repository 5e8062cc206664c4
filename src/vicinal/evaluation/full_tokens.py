"""
Full tokens: what a compiler would call a token, and which model tokens make one up.

Code is cut by a lexer (whole literals, whole operators), comments and prose by whitespace. White
space belongs to the full token after it, as in byte-pair encodings. Where a model token reaches
over the border of a full token (``();`` is often one), both sides are joined into one *unit*:

    text          f o o ( ) ;  b a r
    full tokens  |foo  |(|)|;| bar  |
    model tokens |f|oo |();  | bar  |
    units        |  0  |  1  |  2   |       with 1, 3 and 1 full tokens

Knows nothing of probabilities.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int32, Int64

from vicinal.corpus import Kind, lexemes

WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Units:
    """The unit of each model token; of each unit, how many full tokens and bytes it has."""

    of_token: Int32[np.ndarray, " tokens"]
    full_tokens: Int32[np.ndarray, " units"]
    n_bytes: Int64[np.ndarray, " units"]


def units(text: str, language: str, offsets: Int32[np.ndarray, " tokens"]) -> Units:
    """Join the model tokens that start at *offsets* to units of whole full tokens."""
    ends = np.array(sorted({min(e, len(text)) for e in full_token_ends(text, language)}), np.int64)
    # A unit ends where a full token and a model token end at once; the text's end always counts.
    cuts = np.union1d(np.intersect1d(ends, offsets), [len(text)])
    of_token = np.searchsorted(cuts, offsets, side="right").astype(np.int32)
    cuts = cuts[cuts > 0]
    counts = np.diff(np.searchsorted(ends, cuts, side="right"), prepend=0)
    bytes_before = np.array([0, *_bytes_before(text, cuts)], dtype=np.int64)
    return Units(of_token, counts.astype(np.int32), np.diff(bytes_before))


def full_token_ends(text: str, language: str) -> Iterator[int]:
    """Give where each full token ends, in characters; *language* is a Pygments alias or empty."""
    for kind, start, end in lexemes(text, language):
        if kind is Kind.TOKEN:
            yield end
        else:
            yield from (match.end() for match in WORD.finditer(text, start, end))


def _bytes_before(text: str, cuts: Int64[np.ndarray, " cuts"]) -> Iterator[int]:
    done, n_bytes = 0, 0
    for cut in cuts.tolist():
        n_bytes += len(text[done:cut].encode("utf-8", "surrogatepass"))
        done = cut
        yield n_bytes
