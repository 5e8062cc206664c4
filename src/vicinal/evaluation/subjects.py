"""
Documents under evaluation, wherever they come from: the store itself, or files beside it.

A subject knows which entries are its own, so that they are left out of its search; a file that the
store also has, by name or by content, is left out of its own search too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

import numpy as np
from jaxtyping import Float16, Int32, Int64

from vicinal.corpus import Document
from vicinal.datastore import Snapshot, StoredDocument, StoredSpan, entry_spans
from vicinal.errors import EvaluationError
from vicinal.evaluation.full_tokens import Units, units
from vicinal.lm import AbstractLanguageModel

Attributes = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Subject:
    """A document under evaluation, as tokens; its spans count from its own first token."""

    name: str
    content_hash: str
    ids: Int32[np.ndarray, " n"]
    spans: tuple[StoredSpan, ...]
    units: Units
    own: tuple[int, int]
    stored: bool

    def group(self, attribute: str) -> str:
        """Give the value of the attribute that macro averages go by."""
        return ";".join(self.spans[0].attributes.get(attribute, ())) or "(none)"


def stored_subjects(
    snapshot: Snapshot, lm: AbstractLanguageModel, patterns: Iterable[str] = ("*",)
) -> list[Subject]:
    """Take the store's own documents (whose names match a pattern): the paper's Java protocol."""
    chosen = [d for d in snapshot.documents if any(fnmatch(d.name, p) for p in patterns)]
    return _some([_from_store(snapshot, lm, document) for document in chosen], patterns)


def corpus_subjects(
    corpus: Iterable[Document],
    snapshot: Snapshot,
    lm: AbstractLanguageModel,
    patterns: Iterable[str] = ("*",),
) -> list[Subject]:
    """Take the documents of a corpus (whose names match a pattern)."""
    by_hash = {d.content_hash: d for d in snapshot.documents}
    chosen = (d for d in corpus if any(fnmatch(d.name, p) for p in patterns))
    subjects = [_from_corpus(document, snapshot, by_hash, lm) for document in chosen]
    return _some([s for s in subjects if len(s.ids)], patterns)


def vectors(
    subjects: Iterable[Subject],
    rows: Iterable[Int64[np.ndarray, " _"]],
    snapshot: Snapshot,
    lm: AbstractLanguageModel,
) -> tuple[Float16[np.ndarray, "n d"], Float16[np.ndarray, "n d_out"]]:
    """
    Give keys and outputs of some *rows* of each subject.

    The store's own are read where the store kept them; all others are encoded, whole documents at
    a time for their context's sake, a few documents at once.
    """
    keys, outputs = [], []
    for batch in _in_batches(zip(subjects, rows, strict=True)):
        if all(subject.stored for subject, _ in batch) and snapshot.has_outputs:
            entries = np.concatenate([subject.own[0] + chosen for subject, chosen in batch])
            keys.append(snapshot.keys(entries))
            outputs.append(snapshot.outputs(entries))
            continue
        encodings = lm.encode([subject.ids for subject, _ in batch])
        for (_, chosen), encoding in zip(batch, encodings, strict=True):
            keys.append(encoding.keys[chosen])
            outputs.append(encoding.outputs[chosen])
    return np.concatenate(keys), np.concatenate(outputs)


def _from_store(snapshot: Snapshot, lm: AbstractLanguageModel, document: StoredDocument) -> Subject:
    entries = np.arange(document.lo, document.hi)
    ids = snapshot.values(entries)
    spans = snapshot.spans[document.first_span : document.last_span]
    relative = tuple(
        StoredSpan(s.lo - document.lo, s.hi - document.lo, s.attributes) for s in spans
    )
    text = lm.decode(ids.tolist())
    cut = units(text, document.language, snapshot.offsets(entries))
    own = (document.lo, document.hi)
    return Subject(document.name, document.content_hash, ids, relative, cut, own, True)


def _from_corpus(
    document: Document,
    snapshot: Snapshot,
    by_hash: Mapping[str, StoredDocument],
    lm: AbstractLanguageModel,
) -> Subject:
    tokens = lm.tokenize(document.text)
    same = snapshot.document(document.name) or by_hash.get(document.content_hash)
    return Subject(
        document.name,
        document.content_hash,
        tokens.ids,
        entry_spans(document, tokens.offsets),
        units(document.text, document.language, tokens.offsets),
        (same.lo, same.hi) if same else (0, 0),
        False,
    )


def _some(subjects: list[Subject], patterns: Iterable[str]) -> list[Subject]:
    if not subjects:
        raise EvaluationError(
            f"No document matches {', '.join(patterns)}. Names are as `vicinal store info "
            "--documents` prints them; * stands for anything."
        )
    return subjects


def _in_batches(
    pairs: Iterable[tuple[Subject, Int64[np.ndarray, " _"]]], n_tokens: int = 32_768
) -> Iterable[list[tuple[Subject, Int64[np.ndarray, " _"]]]]:
    batch: list[tuple[Subject, Int64[np.ndarray, " _"]]] = []
    size = 0
    for subject, chosen in pairs:
        if not len(chosen):
            continue
        batch.append((subject, chosen))
        size += len(subject.ids)
        if size >= n_tokens:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
