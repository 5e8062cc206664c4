"""
Where the parts of a store lie in its directory.

Knows names only, nothing of what is in the files.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vicinal.datastore.segment_file import TEMPORARY, sync_directory

OWN_NAME = re.compile(rf"[0-9a-f]{{32}}(\.outputs)?\.safetensors({re.escape(TEMPORARY)})?")

CACHE_NAME = re.compile(r"[0-9a-f]{32}\.")


@dataclass(frozen=True)
class StoreFiles:
    """The paths of a store."""

    root: Path

    @property
    def manifest(self) -> Path:
        """Locate the SQLite database that says what the store holds."""
        return self.root / "manifest.db"

    @property
    def segments(self) -> Path:
        """Locate the directory of segment files."""
        return self.root / "segments"

    @property
    def index(self) -> Path:
        """Locate the directory of index caches, which may be deleted at any time."""
        return self.root / "index"

    @property
    def lock(self) -> Path:
        """Locate the file that a writer locks."""
        return self.root / "LOCK"

    def entries(self, segment: str) -> Path:
        """Locate the file with the keys, values and offsets of a segment."""
        return self.segments / f"{segment}.safetensors"

    def outputs(self, segment: str) -> Path:
        """Locate the file with the outputs of a segment."""
        return self.segments / f"{segment}.outputs.safetensors"

    def unknown(self, known: set[str]) -> list[Path]:
        """List what lies among the segments without being a file of one of the *known* ones."""
        names = {self.entries(s).name for s in known} | {self.outputs(s).name for s in known}
        return sorted(path for path in self.segments.iterdir() if path.name not in names)

    def remove_leftovers(self, known: set[str]) -> int:
        """
        Delete what an interrupted writer or a compaction left, and say how many files.

        Only names that a writer gives are deleted; anything else is left for `verify` to report.
        """
        leftovers = [p for p in self.unknown(known) if OWN_NAME.fullmatch(p.name)]
        for path in [*leftovers, *self._caches_of_none(known)]:
            path.unlink(missing_ok=True)
        if leftovers:
            sync_directory(self.segments)
        return len(leftovers)

    def _caches_of_none(self, known: set[str]) -> list[Path]:
        """List the index caches of segments that are gone: they would only take space."""
        caches = self.index.glob("*") if self.index.is_dir() else ()
        return [p for p in caches if CACHE_NAME.match(p.name) and p.name[:32] not in known]

    def bytes_on_disk(self) -> int:
        """Add up the sizes of all files of the store, caches included."""
        total = 0
        for path in self.root.rglob("*"):
            with suppress(FileNotFoundError):  # a writer may be at work
                total += path.stat().st_size if path.is_file() else 0
        return total
