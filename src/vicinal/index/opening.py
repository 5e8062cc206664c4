"""Which index a store is searched with, by name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from vicinal.datastore.snapshot import Snapshot
from vicinal.errors import SearchError
from vicinal.index.exact import ExactIndex
from vicinal.index.flat import FlatFaissIndex
from vicinal.index.inverted import IVFIndex
from vicinal.index.neighbors import AbstractIndex

EXACT_UP_TO = 1_000_000  # live entries


def open_index(
    snapshot: Snapshot, *, cache: Path | None = None, kind: str = "auto", device: str = "cpu"
) -> AbstractIndex:
    """
    Open an index of *kind* over *snapshot*; FAISS keeps its files in the folder *cache*.

    * ``exact``: matrix products on *device*; every true neighbor; nothing to build
    * ``flat``: FAISS over half floats, every true neighbor; a file per segment
    * ``ivf``: FAISS inverted lists; about 99 % of the true neighbors; a file per segment
    * ``auto``: ``exact`` up to a million live entries, ``ivf`` above
    """
    if kind == "auto":
        kind = "exact" if snapshot.n_live <= EXACT_UP_TO else "ivf"
    if kind not in _KINDS:
        raise SearchError(
            f"The kind of index should be one of: auto, {', '.join(_KINDS)}; was: {kind}."
        )
    return _KINDS[kind](snapshot, cache, device)


_KINDS: Mapping[str, Callable[[Snapshot, Path | None, str], AbstractIndex]] = MappingProxyType(
    {
        "exact": lambda snapshot, cache, device: ExactIndex(snapshot, device=device),
        "flat": lambda snapshot, cache, device: FlatFaissIndex.from_snapshot(snapshot, cache=cache),
        "ivf": lambda snapshot, cache, device: IVFIndex.from_snapshot(snapshot, cache=cache),
    }
)
