"""
What a store holds, counted from its manifest alone.

Knows nothing of how the numbers are shown.
"""

from dataclasses import dataclass

from vicinal.datastore import manifest
from vicinal.datastore.identity import StoreIdentity
from vicinal.datastore.store import Datastore


@dataclass(frozen=True)
class StoreInfo:
    """The numbers of a store, and to whom it belongs."""

    identity: StoreIdentity
    format_version: int
    entries: int
    live: int
    documents: int
    spans: int
    segments: int
    segments_with_outputs: int
    bytes_on_disk: int
    parameters: tuple[str, ...]
    notes: dict[str, str]

    @property
    def dead(self) -> int:
        """Count the entries that wait for a compaction."""
        return self.entries - self.live


COUNTS = """
SELECT (SELECT coalesce(sum(entries), 0) FROM segment),
       (SELECT coalesce(sum(hi - lo), 0) FROM document),
       (SELECT count(*) FROM document), (SELECT count(*) FROM span),
       (SELECT count(*) FROM segment), (SELECT count(outputs_sha256) FROM segment)
"""


def info(store: Datastore) -> StoreInfo:
    """Count what a store holds."""
    with (
        manifest.connect(store.files.manifest) as connection,
        manifest.transaction(connection, write=False),
    ):
        entries, live, documents, spans, segments, outputs = connection.execute(COUNTS).fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    return StoreInfo(
        identity=store.identity,
        format_version=version,
        entries=entries,
        live=live,
        documents=documents,
        spans=spans,
        segments=segments,
        segments_with_outputs=outputs,
        bytes_on_disk=store.files.bytes_on_disk(),
        parameters=tuple(store.all_parameters()),
        notes=store.notes(),
    )
