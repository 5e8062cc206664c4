"""
What goes into a store: a document as a model sees it, checked at the door.

Knows nothing of files.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float16, Int32, Int64

from vicinal.corpus.document import Document
from vicinal.datastore.snapshot import StoredSpan
from vicinal.errors import StoreError
from vicinal.lm.language_model import Encoding, Tokens

EXPONENT = np.uint16(0x7C00)  # all ones in a float16 means infinite or not a number


@dataclass(frozen=True)
class EncodedDocument:
    """A document's entries; *spans* count from its first entry and cover all of them."""

    name: str
    content_hash: str
    language: str
    path: str
    values: Int32[np.ndarray, " n"]
    offsets: Int32[np.ndarray, " n"]
    spans: tuple[StoredSpan, ...]
    keys: Float16[np.ndarray, "n d"]
    outputs: Float16[np.ndarray, "n d_out"] | None = None

    def __post_init__(self) -> None:
        faults = [*self._shape_faults(), *self._content_faults(), *self._span_faults()]
        if faults:
            raise StoreError(
                f"Document {self.name!r} cannot be stored: {'; '.join(faults)}. "
                "Encode it again, and look at the model's numbers if they are at fault."
            )

    def __len__(self) -> int:
        """Count the entries."""
        return len(self.values)

    def _shape_faults(self) -> list[str]:
        """Name the arrays whose dtype or length is not as it should be."""
        wanted = {"values": ("int32", 1), "offsets": ("int32", 1), "keys": ("float16", 2)}
        if self.outputs is not None:
            wanted["outputs"] = ("float16", 2)
        faults = [] if len(self.values) else ["it has no entry"]
        for name, (dtype, axes) in wanted.items():
            array = getattr(self, name)
            if (array.dtype, array.ndim, len(array)) != (np.dtype(dtype), axes, len(self.values)):
                faults.append(
                    f"{name} should be {dtype} with {axes} axes and {len(self.values)} rows, "
                    f"found {array.dtype} {array.shape}"
                )
        return faults

    def _content_faults(self) -> list[str]:
        """Name the numbers that no entry can have."""
        faults = []
        if np.any(self.values < 0):
            faults.append(f"values should be token ids from 0 on, found {self.values.min()}")
        if np.any(self.offsets < 0) or np.any(np.diff(self.offsets) < 0):
            faults.append("offsets should be characters from 0 on that never go back")
        for name, array in (("keys", self.keys), ("outputs", self.outputs)):
            if array is not None and array.dtype == np.float16 and len(bad := _infinite(array)):
                faults.append(
                    f"{name} should be finite, found NaN or infinity in {len(bad)} rows, "
                    f"the first is {bad[0]}"
                )
        return faults

    def _span_faults(self) -> list[str]:
        """Say if the spans do not follow one another from the first entry to the last."""
        ends = [0, *(span.hi for span in self.spans)]
        starts = [*(span.lo for span in self.spans), len(self.values)]
        if starts == ends and ends == sorted(set(ends)):
            return []
        ranges = [(span.lo, span.hi) for span in self.spans][:8]
        return [f"its spans should cover its {len(self.values)} entries, found {ranges}"]


def _infinite(array: Float16[np.ndarray, "n d"]) -> Int64[np.ndarray, " bad"]:
    """Find the rows with a NaN or an infinity."""
    rows: Bool[np.ndarray, " n"] = (
        (np.ascontiguousarray(array).view(np.uint16) & EXPONENT) == EXPONENT
    ).any(axis=-1)
    return np.flatnonzero(rows)


def encoded_document(
    document: Document, tokens: Tokens, encoding: Encoding, *, keep_outputs: bool = True
) -> EncodedDocument:
    """
    Join a document, its tokens and what a model made of them.

    A token belongs to the span in which it starts; a span in which none starts vanishes.
    """
    return EncodedDocument(
        name=document.name,
        content_hash=document.content_hash,
        language=document.language,
        path=document.path,
        values=tokens.ids,
        offsets=tokens.offsets,
        spans=entry_spans(document, tokens.offsets),
        keys=encoding.keys,
        outputs=encoding.outputs if keep_outputs else None,
    )


def entry_spans(document: Document, offsets: Int32[np.ndarray, " n"]) -> tuple[StoredSpan, ...]:
    """Turn spans of characters into spans of entries."""
    bounds = np.searchsorted(offsets, [span.start for span in document.spans[1:]], side="left")
    los, his = [0, *bounds.tolist()], [*bounds.tolist(), len(offsets)]
    return tuple(
        StoredSpan(lo, hi, span.attributes)
        for span, lo, hi in zip(document.spans, los, his, strict=True)
        if lo < hi
    )
