"""The store on disk: entries by document, written safely, read through maps."""

from vicinal.datastore.building import BuildOptions, Built, build
from vicinal.datastore.counting import StoreInfo, info
from vicinal.datastore.encoded import EncodedDocument, encoded_document, entry_spans
from vicinal.datastore.exporting import export
from vicinal.datastore.identity import StoreIdentity
from vicinal.datastore.snapshot import Segment, Snapshot, StoredDocument, StoredSpan
from vicinal.datastore.store import Datastore
from vicinal.datastore.verification import FileReport, Verification, repair, verify
from vicinal.datastore.views import clipped, relabeled, visible, with_keys
from vicinal.datastore.writer import Writer

__all__ = [
    "BuildOptions",
    "Built",
    "Datastore",
    "EncodedDocument",
    "FileReport",
    "Segment",
    "Snapshot",
    "StoreIdentity",
    "StoreInfo",
    "StoredDocument",
    "StoredSpan",
    "Verification",
    "Writer",
    "build",
    "clipped",
    "encoded_document",
    "entry_spans",
    "export",
    "info",
    "relabeled",
    "repair",
    "verify",
    "visible",
    "with_keys",
]
