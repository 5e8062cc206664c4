"""A small store of three projects, made by a tiny random model whose tokens lose nothing."""

import json

import pytest

from tiny_models import tiny_language_model
from vicinal.corpus import Document
from vicinal.datastore import Datastore, StoreIdentity, build
from vicinal.knnlm import KNNLM, Choice
from vicinal.locality import load_domain

BODY = "def {verb}_{project}(self, path):\n    return self.{verb}(path) * {n}\n\n\n"


def documents() -> list[Document]:
    found = []
    for project, n in (("kettle", 3), ("lantern", 7), ("anvil", 9)):
        for folder, verb in (("", "boil"), ("", "pour"), ("/core", "glow"), ("/core", "ring")):
            name = f"{project}{folder}/{verb}.py"
            attributes = {"project": (project,), "directory": (f"{project}{folder}",)}
            text = f"# {verb} ü\n" + BODY.format(verb=verb, project=project, n=n) * 2
            found.append(
                Document.whole(name, text, attributes, language="python", path=f"/src/{name}")
            )
    return found


@pytest.fixture(scope="session")
def lm():
    return tiny_language_model("llama")


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    return {document.name: document.text for document in documents()}


@pytest.fixture(scope="session")
def store(tmp_path_factory, lm) -> Datastore:
    schema = json.dumps(load_domain("code").schema.to_dict(), sort_keys=True)
    identity = StoreIdentity.of_model(lm, schema=schema, dtype="float32", keep_outputs=True)
    made = Datastore.create(tmp_path_factory.mktemp("analysis") / "store", identity)
    build(made, documents(), lm)
    return made


@pytest.fixture(scope="session")
def model(store, lm) -> KNNLM:
    return KNNLM.from_store(store, lm, choice=Choice(k=12, index="exact"))
