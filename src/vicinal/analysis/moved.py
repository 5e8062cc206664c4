"""
Positions that locality moved: the most, or drawn by lot among those it helped and those it hurt.

What moves is p_kNN of the gold token, from one calibration to another over the same neighbors. The
paper shows what improved; how often it did, and what got worse, belongs beside it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from vicinal.analysis.cases import place_of
from vicinal.analysis.provenance import Place, Provenance
from vicinal.evaluation import Examination
from vicinal.knnlm import KNNLM, log_weights
from vicinal.locality import AbstractCalibration, Observations

NEIGHBORS = 3
LEAST = 0.01  # nats: what moved less was neither helped nor hurt
Values = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class MovedNeighbor:
    """A neighbor, the logarithm of its share of p_kNN before, and how much that changed."""

    place: Place
    attributes: Values
    level: int
    level_name: str
    log_share: float
    change: float


@dataclass(frozen=True)
class Moved:
    """A position, log p_kNN of its gold token before, and how much that changed."""

    place: Place
    attributes: Values
    log_p: float
    change: float
    neighbors: tuple[MovedNeighbor, ...]


@dataclass(frozen=True)
class Movements:
    """What moved most, some of what was helped and of what was hurt, and how many there were."""

    most: tuple[Moved, ...]
    helped: tuple[Moved, ...]
    hurt: tuple[Moved, ...]
    n_helped: int
    n_hurt: int
    n_covered: int

    @property
    def kinds(self) -> Mapping[str, tuple[Moved, ...]]:
        """Name the kinds of positions."""
        return {"most helped": self.most, "helped": self.helped, "hurt": self.hurt}


@dataclass(frozen=True)
class Change:
    """From one calibration to another; of each kind *n* positions are told, drawn by *seed*."""

    before: AbstractCalibration
    after: AbstractCalibration
    n: int = 3
    seed: int = 0


def log_p_gold(observations: Observations, calibration: AbstractCalibration) -> Float[Tensor, " n"]:
    """Give log p_kNN of each gold token (Eq. 2); -inf where no neighbor carries it."""
    distances = calibration(observations.distances, observations.levels, observations.keys)
    shares = log_weights(distances).masked_fill(~observations.hits, -torch.inf)
    return torch.logsumexp(shares, 1)


def movements(
    observations: Observations,
    examination: Examination,
    model: KNNLM,
    change: Change,
) -> Movements:
    """Find and tell what *change* did to p_kNN of the gold tokens."""
    old, new = (log_p_gold(observations, c).double() for c in (change.before, change.after))
    covered = observations.covered.numpy()
    gain = np.where(covered, (new - old).nan_to_num(0.0).numpy(), 0.0)
    rows = {"helped": np.flatnonzero(gain > LEAST), "hurt": np.flatnonzero(gain < -LEAST)}
    teller = _Teller(examination, model, change, Provenance(model.retriever.snapshot, model.lm))
    random = np.random.default_rng(change.seed)
    chosen = {
        "most": rows["helped"][np.argsort(-gain[rows["helped"]], kind="stable")],
        **{name: random.permutation(some) for name, some in rows.items()},
    }
    told = {
        name: tuple(
            teller.tell(row, old, gain) for row in islice(teller.apart(some.tolist()), change.n)
        )
        for name, some in chosen.items()
    }
    counts = (len(rows["helped"]), len(rows["hurt"]), int(covered.sum()))
    return Movements(told["most"], told["helped"], told["hurt"], *counts)


@dataclass(frozen=True)
class _Teller:
    """Tells single positions of one examination."""

    examination: Examination
    model: KNNLM
    change: Change
    provenance: Provenance

    def apart(self, rows: Iterable[int]) -> Iterator[int]:
        """Pass on one position of each document; tokens of white space say nothing."""
        seen: set[int] = set()
        for row in rows:
            subject = int(self.examination.sample.subject[row])
            token = self.model.lm.decode([int(self.examination.queries.targets[row])])
            if subject not in seen and token.strip():
                seen.add(subject)
                yield row

    def tell(self, row: int, old: Tensor, gain: Float64[np.ndarray, " n"]) -> Moved:
        """Tell a position and the neighbors that weigh most, before or after."""
        query = self.examination.queries.rows(slice(row, row + 1))
        found = self.model.retrieve(query)
        before, after = (
            log_weights(c(found.distances, found.levels, found.keys))[0]
            for c in (self.change.before, self.change.after)
        )
        order = torch.maximum(before, after).argsort(descending=True, stable=True)
        present = [i for i in order.tolist() if found.entries[0, i] >= 0]
        hits = [i for i in present if int(found.values[0, i]) == int(query.targets[0])]
        neighbors = tuple(
            self._neighbor(
                int(found.entries[0, i]),
                int(found.levels[0, i]),
                (float(before[i]), float(after[i] - before[i])),
            )
            for i in _shown(present, hits)
        )
        attributes = query.attributes[int(query.spans[0])]
        place = place_of(self.examination, row, self.model.lm)
        return Moved(place, attributes, float(old[row]), float(gain[row]), neighbors)

    def _neighbor(self, entry: int, level: int, share: tuple[float, float]) -> MovedNeighbor:
        snapshot = self.model.retriever.snapshot
        span = snapshot.spans[int(snapshot.span_of(np.array([entry], np.int64))[0])]
        name = self.model.retriever.schema.level_names[level]
        return MovedNeighbor(self.provenance.of(entry), span.attributes, level, name, *share)


def _shown(present: list[int], hits: list[int]) -> list[int]:
    """Show the weightiest neighbors, and among them one that carries the gold token."""
    first = present[:NEIGHBORS]
    if hits and not set(first) & set(hits):
        first[-1] = hits[0]
    return first
