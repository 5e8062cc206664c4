"""
How documents longer than a model's window are cut, and how windows are put in batches.

Knows nothing of models: numbers in, numbers out. A window of W = 4 moves on by W/2 = 2; of each
window only the positions that no window before it has covered are kept:

    position   0   1   2   3   4   5   6   7   8
    window 0   K   K   K   K                         K  kept
    window 1           .   .   K   K                 .  left context, read again, not kept
    window 2                   .   .   K   K
    window 3                           .   .   K

So every position after the first window has at least W/2 positions to its left.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vicinal.errors import ModelError

SMALLEST_WINDOW = 2


@dataclass(frozen=True)
class Window:
    """Positions ``[start, end)`` of a document, of which ``[keep, end)`` are kept."""

    document: int
    start: int
    keep: int
    end: int

    @property
    def length(self) -> int:
        """How many positions the model reads."""
        return self.end - self.start


def windows(document: int, n: int, size: int) -> Iterator[Window]:
    """Cut the n positions of a document into windows that keep every position exactly once."""
    if size < SMALLEST_WINDOW:
        raise ModelError(
            f"A window must hold at least {SMALLEST_WINDOW} tokens, was: {size}. "
            "Leave it out to take what the model allows."
        )
    stride = size // 2
    keep = 0
    for start in range(0, n, stride):
        end = min(start + size, n)
        yield Window(document, start, keep, end)
        if end == n:
            return
        keep = end


def batches(cut: Iterable[Window], n_tokens: int) -> Iterator[list[Window]]:
    """
    Group windows of similar length; a batch padded to its longest holds at most *n_tokens*.

    Longest first, so that what does not fit into memory fails at once. A window that is longer
    than *n_tokens* is a batch of its own.
    """
    batch: list[Window] = []
    for window in sorted(cut, key=lambda w: -w.length):
        if batch and (len(batch) + 1) * batch[0].length > n_tokens:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch
