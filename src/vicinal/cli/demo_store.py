"""
The demo's store: the packages as they are installed now, encoded by the model it was made with.

Knows nothing of what is fitted or measured.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from vicinal.cli import output, parts, progress
from vicinal.cli.packages import Packages
from vicinal.errors import StoreError

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.datastore import Datastore
    from vicinal.lm import HuggingFaceModel

NOTE = "demo"  # marks a store as the demo's own


def prepared(
    folder: Path, packages: Packages, model: str | None
) -> "tuple[Datastore, HuggingFaceModel]":
    """Bring the store in *folder* to the state of the packages, fetching the model if need be."""
    from vicinal.datastore import BuildOptions, build

    settings = known_settings(folder).given({"model": model})
    documents = list(packages.documents())
    lm = parts.load_model(settings)
    opened = parts.open_or_create(folder, settings, lm, keep_outputs=True)
    opened.save_note(NOTE, json.dumps([*packages.fit, *packages.test]))
    output.note(f"encoding what is new in {len(documents)} files ...")
    with progress.indexing(documents, opened, lm) as report:
        build(opened, documents, lm, options=BuildOptions(prune=True), progress=report)
    return opened, lm


def known_settings(folder: Path) -> parts.Settings:
    """Read how the demo's store was made; refuse a store that is someone else's."""
    from vicinal.datastore import Datastore

    if not parts.has_store(folder):
        return parts.Settings()
    opened = Datastore.open(folder)
    if opened.note(NOTE) is None:
        # Whatever the packages do not have is removed from the demo's store.
        raise StoreError(
            f"Expected a store that 'vicinal demo' made, found another one in {folder}. "
            "Choose another folder with --store; this one would be overwritten."
        )
    return parts.settings_of(opened)
