"""
Which level of locality a stored span has, as seen from a query's span.

A schema says how attributes compare and which of them a level asks for; every pair of spans has
exactly one level, and level 0 is "not local". Knows nothing of distances or of tokens.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from jaxtyping import Bool, UInt8
from torch import Tensor

from vicinal.errors import SchemaError

Values = tuple[str, ...]
Matcher = Callable[[Values], Bool[Tensor, " n_spans"]]
MAX_LEVELS = 255  # a level is a byte


@dataclass(frozen=True)
class Same:
    """Two spans match if their values are equal; an unknown value equals nothing."""

    name: str

    def matcher(self, spans: Sequence[Values]) -> Matcher:
        """Give each value a number once, so that a query costs one comparison."""
        numbers: dict[Values, int] = {}
        ids = torch.tensor([numbers.setdefault(v, len(numbers)) for v in spans])

        def match(values: Values) -> Bool[Tensor, " n_spans"]:
            return ids == (numbers.get(values, -1) if values else -1)

        return match


@dataclass(frozen=True)
class Overlap:
    """Two spans match if they have a value in common."""

    name: str

    def matcher(self, spans: Sequence[Values]) -> Matcher:
        """List the spans of each value once, so that a query costs its own values only."""
        members: dict[str, list[int]] = {}
        for index, values in enumerate(spans):
            for value in values:
                members.setdefault(value, []).append(index)

        def match(values: Values) -> Bool[Tensor, " n_spans"]:
            matched = torch.zeros(len(spans), dtype=torch.bool)
            for value in values:
                matched[members.get(value, [])] = True
            return matched

        return match


COMPARISONS: Mapping[str, type[Same] | type[Overlap]] = {"same": Same, "overlap": Overlap}


@dataclass(frozen=True)
class Level:
    """A kind of closeness: the attributes that must all match."""

    name: str
    requires: frozenset[str]


@dataclass(frozen=True)
class LocalitySchema:
    """
    Attributes, and levels of rising closeness: a pair has the last whose attributes all match.

    Levels are numbered from 1 in the order given; 0 is what is left.
    """

    name: str
    attributes: tuple[Same | Overlap, ...]
    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        faults = list(_faults(self))
        if faults:
            raise SchemaError(f"The schema {self.name!r} is not well-formed: " + "; ".join(faults))

    @classmethod
    def nested(cls, name: str, attributes: Sequence[Same | Overlap]) -> "LocalitySchema":
        """Give each attribute a level of its own; the deepest match wins (project ⊃ directory)."""
        levels = tuple(Level(a.name, frozenset([a.name])) for a in attributes)
        return cls(name, tuple(attributes), levels)

    @classmethod
    def lattice(cls, name: str, attributes: Sequence[Same | Overlap]) -> "LocalitySchema":
        """Give each combination of attributes a level: two attributes, 4 levels with level 0."""
        names = [a.name for a in attributes]
        sizes = range(1, len(names) + 1)
        chosen = [c for size in sizes for c in combinations(names, size)]
        return cls(
            name, tuple(attributes), tuple(Level(" & ".join(c), frozenset(c)) for c in chosen)
        )

    @property
    def n_levels(self) -> int:
        """Count the levels, level 0 included."""
        return len(self.levels) + 1

    @property
    def level_names(self) -> tuple[str, ...]:
        """Name every level, level 0 first."""
        return ("not local", *(level.name for level in self.levels))

    def bind(self, spans: Sequence[Mapping[str, Values]]) -> "BoundSchema":
        """Prepare the attributes of all stored spans for comparison."""
        matchers = {a.name: a.matcher([s.get(a.name, ()) for s in spans]) for a in self.attributes}
        return BoundSchema(self, matchers, len(spans))

    def to_dict(self) -> dict[str, Any]:
        """Write the schema as plain data."""
        comparisons = {kind: word for word, kind in COMPARISONS.items()}
        return {
            "name": self.name,
            "attributes": {a.name: comparisons[type(a)] for a in self.attributes},
            "levels": [{"name": v.name, "requires": sorted(v.requires)} for v in self.levels],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "LocalitySchema":
        """Read what `to_dict` wrote."""
        attributes = tuple(COMPARISONS[word](name) for name, word in data["attributes"].items())
        levels = tuple(Level(v["name"], frozenset(v["requires"])) for v in data["levels"])
        return cls(data["name"], attributes, levels)


@dataclass(frozen=True)
class BoundSchema:
    """A schema together with the spans of one snapshot."""

    schema: LocalitySchema
    matchers: Mapping[str, Matcher]
    n_spans: int

    def levels(self, attributes: Mapping[str, Values]) -> UInt8[Tensor, " n_spans"]:
        """Give the level of every stored span as seen from a query span with these attributes."""
        matched = {name: match(attributes.get(name, ())) for name, match in self.matchers.items()}
        levels = torch.zeros(self.n_spans, dtype=torch.uint8)
        for number, level in enumerate(self.schema.levels, start=1):
            together = torch.stack([matched[name] for name in level.requires]).all(0)
            levels[together] = number
        return levels


def _faults(schema: LocalitySchema) -> list[str]:
    names = [a.name for a in schema.attributes]
    faults = [f"attribute {n!r} is declared twice" for n in sorted(_repeated(names))]
    for level in schema.levels:
        unknown = sorted(level.requires - set(names))
        if unknown:
            faults.append(f"level {level.name!r} asks for {unknown}; known are {names}")
        if not level.requires:
            faults.append(f"level {level.name!r} asks for nothing; level 0 is that already")
    if _repeated([level.name for level in schema.levels]):
        faults.append("two levels have the same name")
    if len(schema.levels) > MAX_LEVELS:
        faults.append(f"{len(schema.levels)} levels were declared, at most {MAX_LEVELS} fit")
    return faults


def _repeated(names: Sequence[str]) -> set[str]:
    return {name for name in names if names.count(name) > 1}
