"""Inputs as retrieval produces them: a few queries, repeated tokens, absent neighbors, spans."""

from itertools import combinations

import numpy as np
import torch
from hypothesis import strategies as st

from vicinal.datastore import Segment, Snapshot, StoredDocument, StoredSpan
from vicinal.locality import (
    Level,
    LevelCalibration,
    LocalitySchema,
    Observations,
    Overlap,
    Same,
)

VOCAB, DIM, LEVELS = 7, 3, 3
PLACES = ("a", "b", "c")


def floats(low, high):
    return st.floats(low, high, width=32)


@st.composite
def retrievals(draw, max_distance=50.0, absent=True):
    """Draw distances and values; of each row the last few neighbors may be absent."""
    n, k = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    size = {"min_size": n * k, "max_size": n * k}
    distances = torch.tensor(draw(st.lists(floats(0, max_distance), **size))).view(n, k)
    values = torch.tensor(draw(st.lists(st.integers(0, VOCAB - 1), **size))).view(n, k)
    if absent:
        present = torch.tensor(draw(st.lists(st.integers(0, k), min_size=n, max_size=n)))
        gone = torch.arange(k)[None, :] >= present[:, None]
        return distances.masked_fill(gone, torch.inf), values.masked_fill(gone, -1).int()
    return distances, values.int()


@st.composite
def lines(draw, n_levels=LEVELS, low=-1.0, high=3.0):
    """Draw a weight and a bias for each level, the first bias zero."""
    size = {"min_size": n_levels, "max_size": n_levels}
    weights = draw(st.lists(floats(low, high), **size))
    biases = draw(st.lists(floats(-5, 5), **size))
    return LevelCalibration(torch.tensor(weights), torch.tensor([0.0, *biases[1:]]))


@st.composite
def observations(draw, max_distance=20.0):
    """Draw neighbors of a few positions, hits among them; at least one position is covered."""
    distances, values = draw(retrievals(max_distance))
    distances[0, 0], values[0, 0] = 1.5, 0
    n, k = distances.shape
    drawn = draw(st.lists(st.integers(0, LEVELS - 1), min_size=n * k, max_size=n * k))
    levels = torch.tensor(drawn, dtype=torch.uint8).view(n, k)
    log_p_lm = torch.tensor(draw(st.lists(floats(-8, -0.125), min_size=n, max_size=n)))
    hits = (values == draw(st.integers(0, 1))) | (values == 0)
    return Observations(distances, levels, hits, log_p_lm, torch.zeros(n, DIM))


@st.composite
def attributes(draw, names=("one", "two", "three")):
    """Draw values of attributes: none, one or several, and some attributes not at all."""
    chosen = draw(st.lists(st.sampled_from(names), unique=True))
    values = st.lists(st.sampled_from(PLACES), unique=True, max_size=2).map(sorted).map(tuple)
    return {name: draw(values) for name in chosen}


@st.composite
def stores(draw, min_documents=1):
    """Draw documents for `snapshot`: of each whether it is dead, its length, its spans."""
    documents = []
    for number in range(draw(st.integers(min_documents, 5))):
        n = draw(st.integers(1, 6))
        cut = draw(st.integers(0, n - 1))
        dead = number >= min_documents and draw(st.booleans())
        documents.append((dead, n, cut, [draw(attributes()) for _ in range(2)]))
    return documents, draw(st.integers(0, 2**32 - 1))


def snapshot(drawn, dim=DIM, vocab=VOCAB):
    """Make a store in memory of what was drawn, a segment for each document."""
    random, parts = np.random.default_rng(drawn[1]), []
    documents, spans, dead, base = [], [], [], 0
    for number, (is_dead, n, cut, drawn_attributes) in enumerate(drawn[0]):
        keys = random.integers(-2, 3, (n, dim)).astype(np.float16)
        values = random.integers(0, vocab, n).astype(np.int32)
        outputs = random.standard_normal((n, dim)).astype(np.float16)
        parts.append(
            Segment(f"s{number}", base, keys, values, np.arange(n, dtype=np.int32), outputs)
        )
        if is_dead:
            dead.append((base, base + n))
        else:
            first, bounds = len(spans), sorted({(base, base + cut), (base + cut, base + n)})
            chosen = zip([b for b in bounds if b[0] < b[1]], drawn_attributes, strict=False)
            spans += [StoredSpan(lo, hi, attributes) for (lo, hi), attributes in chosen]
            own = (base, base + n, first, len(spans))
            documents.append(StoredDocument(f"d{number}", f"h{number}", "", "", *own))
        base += n
    ranges = np.array(dead, np.int64).reshape(-1, 2)
    return Snapshot(tuple(parts), tuple(documents), tuple(spans), ranges, dim)


@st.composite
def schemas(draw):
    """Draw the kind, the comparisons and the conjunctions of a schema, for `schema`."""
    conjunctions = [c for size in (1, 2, 3) for c in combinations(("one", "two", "three"), size)]
    return (
        draw(st.sampled_from(["nested", "lattice", "named"])),
        draw(st.lists(st.sampled_from([Same, Overlap]), min_size=3, max_size=3)),
        draw(st.lists(st.sampled_from(conjunctions), unique=True, max_size=6)),
    )


def schema(drawn):
    """Make the schema that was drawn (outside the draw: run-time type checks are random)."""
    kind, kinds, conjunctions = drawn
    chosen = [kind(name) for kind, name in zip(kinds, ("one", "two", "three"), strict=True)]
    if kind != "named":
        return getattr(LocalitySchema, kind)("drawn", chosen)
    levels = tuple(Level("+".join(c), frozenset(c)) for c in conjunctions)
    return LocalitySchema("drawn", tuple(chosen), levels)
