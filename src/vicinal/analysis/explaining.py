"""
Why the model says what it says: what each model gives a token, and the neighbors that decided.

The file on disk counts, not what the store last saw of it; its stored version is left out of the
search. Knows nothing of how it is printed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Float32
from torch import Tensor

from vicinal.analysis.provenance import Place, Provenance
from vicinal.corpus import Document, Span
from vicinal.datastore import Snapshot, StoredDocument
from vicinal.errors import CorpusError
from vicinal.knnlm import KNNLM, Queries, Retrieved, interpolate, log_p_knn
from vicinal.locality import Evidence


@dataclass(frozen=True)
class Neighbor:
    """
    A stored context: where it lies, how near it is, and what it adds to p_kNN.

    *distance* is d, *calibrated* is g, *share* the neighbor's part of p_kNN.
    """

    place: Place
    level: str
    distance: float
    calibrated: float
    share: float


@dataclass(frozen=True)
class Explanation:
    """One token: what each model gave it, what each would have said, and the neighbors."""

    token: str
    p_lm: float
    p_knn: float
    p: float
    lam: float
    guess_lm: str
    guess: str
    neighbors: tuple[Neighbor, ...]


def find_document(snapshot: Snapshot, file: Path) -> Document:
    """
    Read a file, with the attributes under which the store knows it.

    A file that the store does not have takes those of a stored file in the same folder.
    """
    path = file.expanduser().resolve()
    stored = _stored(snapshot, path)
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"Expected a readable text file, found {file}: {error}.") from error
    attributes = snapshot.spans[stored.first_span].attributes
    name = stored.name if stored.path == str(path) else f"{Path(stored.name).parent}/{path.name}"
    return Document(name, text, (Span(0, len(text), attributes),), stored.language, str(path))


def tokens_of_line(text: str, offsets: Sequence[int], line: int) -> list[int]:
    """Give the tokens of a line, counted from 1: those of which a character stands on it."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        raise CorpusError(f"Expected a line from 1 to {len(lines)}, was: {line}.")
    start = sum(len(before) + 1 for before in lines[: line - 1])
    end = start + len(lines[line - 1])
    ends = [*offsets[1:], len(text)]
    tokens = enumerate(zip(offsets, ends, strict=True))
    return [i for i, (a, b) in tokens if max(a, start) < min(b, end)]


def explain_line(model: KNNLM, document: Document, line: int, *, top: int = 5) -> list[Explanation]:
    """Explain every token of a line of a document."""
    tokens = model.lm.tokenize(document.text)
    rows = tokens_of_line(document.text, tokens.offsets.tolist(), line)
    if not rows:
        return []
    queries = _rows(
        model.queries(document.text, document.spans[0].attributes, name=document.name), rows
    )
    retrieved = model.retrieve(queries)
    places = Provenance(model.retriever.snapshot, model.lm)
    log_p_lm = model.lm.log_p(queries.outputs)
    calibrated = model.mixture.calibrated(retrieved)
    neighbors = log_p_knn(calibrated, retrieved.values, model.lm.vocab_size)
    lams = model.mixture.lams(retrieved, Evidence.of(retrieved.values, log_p_lm))
    log_p = interpolate(neighbors, log_p_lm, lams)
    shares = model.mixture.shares(retrieved)
    explanations = []
    for i, target in enumerate(queries.targets.tolist()):
        explanations.append(
            Explanation(
                token=model.lm.decode([target]),
                p_lm=log_p_lm[i, target].exp().item(),
                p_knn=neighbors[i, target].exp().item(),
                p=log_p[i, target].exp().item(),
                lam=lams[i].item(),
                guess_lm=model.lm.decode([int(log_p_lm[i].argmax())]),
                guess=model.lm.decode([int(log_p[i].argmax())]),
                neighbors=_neighbors(model, places, retrieved, (calibrated, shares), (i, top)),
            )
        )
    return explanations


def _neighbors(
    model: KNNLM,
    places: Provenance,
    retrieved: Retrieved,
    weighed: tuple[Float32[Tensor, "queries k"], Float32[Tensor, "queries k"]],
    which: tuple[int, int],
) -> tuple[Neighbor, ...]:
    """Give the *top* neighbors of one query, the one with the largest share first."""
    (calibrated, shares), (row, top) = weighed, which
    names = model.retriever.schema.level_names
    order = shares[row].argsort(descending=True, stable=True)[:top].tolist()
    return tuple(
        Neighbor(
            places.of(int(retrieved.entries[row, j])),
            names[int(retrieved.levels[row, j])],
            retrieved.distances[row, j].item(),
            calibrated[row, j].item(),
            shares[row, j].item(),
        )
        for j in order
        if retrieved.entries[row, j] >= 0
    )


def _rows(queries: Queries, rows: Sequence[int]) -> Queries:
    chosen = torch.tensor(rows, dtype=torch.int64)
    columns = ("keys", "outputs", "targets", "without", "spans")
    return replace(queries, **{name: getattr(queries, name)[chosen] for name in columns})


def _stored(snapshot: Snapshot, path: Path) -> StoredDocument:
    by_path = {document.path: document for document in snapshot.documents if document.path}
    if str(path) in by_path:
        return by_path[str(path)]
    siblings = [d for p, d in by_path.items() if Path(p).parent == path.parent]
    if not siblings:
        raise CorpusError(
            f"Expected a file of the store, or one in a folder of which the store has another "
            f"file, found: {path}. Index it first: `vicinal index`."
        )
    return siblings[0]
