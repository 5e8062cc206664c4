"""
Single positions told in full: what stood there, what was guessed, and which neighbors decided.

Works on any examination of any store; says nothing of how often such cases are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from vicinal.analysis.provenance import Place, Provenance, snippet
from vicinal.evaluation import Examination, Scored
from vicinal.knnlm import KNNLM, Mixture, Queries, Retrieved
from vicinal.lm import AbstractLanguageModel

GUESSES = 3
NEIGHBORS = 4


@dataclass(frozen=True)
class Guess:
    """A token and its probability."""

    token: str
    p: float


@dataclass(frozen=True)
class CaseNeighbor:
    """
    A neighbor of a case: where it stands, how local and how far it is.

    *calibrated* is the distance that counts, *share* its part of p_kNN.
    """

    place: Place
    level: int
    level_name: str
    distance: float
    calibrated: float
    share: float


@dataclass(frozen=True)
class Told:
    """What one rung says of a position: p of the gold token, and its best guesses."""

    rung: str
    p: float
    guesses: tuple[Guess, ...]


@dataclass(frozen=True)
class Case:
    """A position, what each rung says of it, and the last rung's weightiest neighbors."""

    place: Place
    told: tuple[Told, ...]
    neighbors: tuple[CaseNeighbor, ...]


def turned_right(
    scored: Scored, examination: Examination, lm: AbstractLanguageModel, *, before: str, after: str
) -> Iterator[int]:
    """
    Find the positions whose best guess *after* is right and *before* was wrong.

    Those that gained most p come first, one of each document; tokens of white space do not count.
    """
    old, new = scored.rungs[before], scored.rungs[after]
    gain = np.exp(new.log_p) - np.exp(old.log_p)
    rows = np.flatnonzero((old.rank > 1) & (new.rank == 1))
    seen: set[int] = set()
    for row in rows[np.argsort(-gain[rows], kind="stable")].tolist():
        subject = int(examination.sample.subject[row])
        target = lm.decode([int(examination.queries.targets[row])])
        if subject not in seen and target.strip():
            seen.add(subject)
            yield row


def cases(
    scored: Scored,
    examination: Examination,
    model: KNNLM,
    rungs: Mapping[str, Mixture | None],
    n: int = 3,
) -> list[Case]:
    """
    Tell the *n* positions where the last of *rungs* gained most over the one before it.

    Those are positions where its best guess is right and the other's was wrong.
    """
    before, after = list(rungs)[-2:]
    rows = turned_right(scored, examination, model.lm, before=before, after=after)
    provenance = Provenance(model.retriever.snapshot, model.lm)
    return [tell(examination, row, model, rungs, provenance) for row in islice(rows, n)]


def tell(
    examination: Examination,
    row: int,
    model: KNNLM,
    rungs: Mapping[str, Mixture | None],
    provenance: Provenance,
) -> Case:
    """Tell one position by every rung; the last rung weighs the neighbors."""
    query = examination.queries.rows(slice(row, row + 1))
    told = tuple(_told(name, mixture, query, model) for name, mixture in rungs.items())
    last = list(rungs.values())[-1]
    neighbors = _neighbors(model.retrieve(query), last, model, provenance) if last else ()
    return Case(place_of(examination, row, model.lm), told, neighbors)


def _told(name: str, mixture: Mixture | None, query: Queries, model: KNNLM) -> Told:
    mixed = KNNLM(model.lm, model.retriever, mixture, k=model.k) if mixture else None
    p = (mixed.log_p(query) if mixed else model.lm.log_p(query.outputs))[0].exp()
    best = p.topk(min(GUESSES, len(p)))
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    guesses = tuple(Guess(model.lm.decode([token]), share) for token, share in pairs)
    return Told(name, float(p[int(query.targets[0])]), guesses)


def _neighbors(
    retrieved: Retrieved, mixture: Mixture, model: KNNLM, provenance: Provenance
) -> tuple[CaseNeighbor, ...]:
    """Give the neighbors with the largest shares."""
    calibrated, shares = mixture.calibrated(retrieved)[0], mixture.shares(retrieved)[0]
    order = shares.argsort(descending=True, stable=True)[:NEIGHBORS].tolist()
    names = model.retriever.schema.level_names
    return tuple(
        CaseNeighbor(
            provenance.of(int(retrieved.entries[0, i])),
            int(retrieved.levels[0, i]),
            names[int(retrieved.levels[0, i])],
            float(retrieved.distances[0, i]),
            float(calibrated[i]),
            float(shares[i]),
        )
        for i in order
        if retrieved.entries[0, i] >= 0
    )


def place_of(examination: Examination, row: int, lm: AbstractLanguageModel) -> Place:
    """Say where a position is; its document need not be in the store."""
    subject = examination.subjects[int(examination.sample.subject[row])]
    token = int(examination.sample.token[row])
    before = lm.decode(subject.ids[:token].tolist())
    line = 1 + before.count("\n")
    gold = lm.decode([int(subject.ids[token])])
    return Place(subject.name, "", line, snippet(before, len(before)), gold)
