"""
A domain as data: which reader, how its attributes compare, which levels there are.

Knows nothing of what a reader does; a new domain is a new TOML file, not a branch in the code.

    name = "code"
    reader = "code"               # a reader of the corpus room
    group = "project"             # the attribute that macro averages go by

    [attributes]
    project = "same"              # or "overlap": one common value is enough
    directory = "same"

    [levels]
    nested = ["project", "directory"]        # or: lattice = [...]
                                             # or: named = [{name = "...", requires = [...]}, ...]
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from vicinal.errors import SchemaError
from vicinal.locality.schema import COMPARISONS, Level, LocalitySchema, Overlap, Same

KEYS = {"name", "reader", "group", "options", "attributes", "levels"}


@dataclass(frozen=True)
class Domain:
    """A reader, its options, and the schema of what it reads."""

    name: str
    reader: str
    schema: LocalitySchema
    group: str
    options: Mapping[str, Any] = field(default_factory=dict)


def shipped_domains() -> list[str]:
    """Name the domains that come with vicinal."""
    folder = resources.files("vicinal.locality") / "domains"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir())


def load_domain(name_or_path: str) -> Domain:
    """Read a domain that is shipped (``code``) or lies in a TOML file (``mine.toml``)."""
    if name_or_path in shipped_domains():
        folder = resources.files("vicinal.locality") / "domains"
        return _parse((folder / f"{name_or_path}.toml").read_text(encoding="utf-8"), name_or_path)
    path = Path(name_or_path)
    if not path.is_file():
        raise SchemaError(
            f"Expected a domain's name or a TOML file, found: {name_or_path!r}. "
            f"Known domains: {', '.join(shipped_domains())}."
        )
    return _parse(path.read_text(encoding="utf-8"), str(path))


def _parse(text: str, where: str) -> Domain:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{where} is not TOML: {error}.") from error
    faults = list(_faults(data))
    if faults:
        raise SchemaError(f"{where} is not well-formed: " + "; ".join(faults))
    attributes = {name: COMPARISONS[word](name) for name, word in data["attributes"].items()}
    schema = _schema(data["name"], attributes, data["levels"], where)
    group = data.get("group", next(iter(attributes)))
    return Domain(data["name"], data["reader"], schema, group, data.get("options", {}))


def _faults(data: Mapping[str, Any]) -> list[str]:
    faults = [f"unknown key {key!r}" for key in sorted(set(data) - KEYS)]
    faults += [f"key {k!r} is missing" for k in ("name", "reader") if k not in data]
    faults += [f"table [{k}] is missing" for k in ("attributes", "levels") if not data.get(k)]
    for name, word in data.get("attributes", {}).items():
        if word not in COMPARISONS:
            faults.append(
                f"attribute {name!r} compares by {word!r}; known: {', '.join(COMPARISONS)}"
            )
    kinds = sorted(data.get("levels", {}))
    if kinds and (len(kinds) != 1 or kinds[0] not in ("nested", "lattice", "named")):
        faults.append(f"[levels] has one of nested, lattice, named; found: {', '.join(kinds)}")
    return faults


def _schema(
    name: str, attributes: Mapping[str, Same | Overlap], levels: Mapping[str, Any], where: str
) -> LocalitySchema:
    ((kind, given),) = levels.items()
    try:
        if kind == "named":
            named = tuple(Level(v["name"], frozenset(v["requires"])) for v in given)
            return LocalitySchema(name, tuple(attributes.values()), named)
        chosen = [attributes[a] for a in given]
    except (KeyError, TypeError) as error:
        raise SchemaError(
            f"{where}: [levels] {kind} must name declared attributes ({', '.join(attributes)}) "
            f"or be tables with name and requires; could not read {error}."
        ) from error
    return getattr(LocalitySchema, kind)(name, chosen)  # type: ignore[no-any-return]
