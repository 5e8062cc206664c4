import json

import pytest

from fake_models import FakeLanguageModel
from vicinal.corpus import Document
from vicinal.datastore import Datastore, StoreIdentity, build
from vicinal.locality import LocalitySchema, Same

SCHEMA = LocalitySchema.nested("code", [Same("project"), Same("directory")])
TEXTS = {
    "kettle/app/boil.py": "the kettle boils the water and the lid of the kettle sings",
    "kettle/app/pour.py": "the kettle pours the water and the cup of the tea steams",
    "kettle/core/heat.py": "the water heats and the lid of the kettle rattles",
    "lantern/core/glow.py": "the lantern glows and the wick of the lantern burns the oil",
}


def attributes_of(name: str):
    project, folder, _ = name.split("/")
    return {"project": (project,), "directory": (f"{project}/{folder}",)}


@pytest.fixture
def lm():
    return FakeLanguageModel()


@pytest.fixture
def schema():
    return SCHEMA


@pytest.fixture
def store(tmp_path, lm):
    """Four files of two projects, in a store that the fake model made."""
    identity = StoreIdentity.of_model(lm, schema=json.dumps(SCHEMA.to_dict()))
    made = Datastore.create(tmp_path / "store", identity)
    documents = [Document.whole(n, text, attributes_of(n)) for n, text in TEXTS.items()]
    build(made, documents, lm)
    return made
