"""
Where the time of an evaluation goes: base model, search, everything else.

    python benchmarks/score.py [STORE] [--json]     by default a store of vicinal's own source

POSITIONS positions of the store's own documents, encoded anew as a file beside the store would be,
are looked up in the whole store and scored by the published kNN-LM, by temperature and by lines.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager

import torch

from vicinal.cli import parts
from vicinal.evaluation import draw, stored_subjects
from vicinal.evaluation.scoring import BATCH, _score, as_queries, predict
from vicinal.index import AbstractIndex, open_index
from vicinal.knnlm import KNNLM, Choice, Mixture, Retriever
from vicinal.locality import LevelCalibration

POSITIONS, K, SEED, DOCUMENTS = 4096, 128, 0, 24

spent: Counter[str] = Counter()


@contextmanager
def clock(name: str):
    start = time.perf_counter()
    yield
    spent[name] += time.perf_counter() - start


class Timed(AbstractIndex):
    """An index whose searches are timed."""

    def __init__(self, index: AbstractIndex) -> None:
        self.index = index

    def search(self, queries, k, *, without):
        with clock("search"):
            return self.index.search(queries, k, without=without)


def main(path: str) -> None:
    store, _, lm = parts.open_with_model(parts.Path(path))
    model = KNNLM.from_store(store, lm, choice=Choice(rung="knn", k=K, index="exact"))
    snapshot = model.retriever.snapshot
    schema = model.retriever.schema
    index = open_index(snapshot, cache=store.files.index, kind="exact")
    retriever = Retriever(snapshot, Timed(index), schema)
    subjects = stored_subjects(retriever.snapshot, lm)[:DOCUMENTS]
    sample = draw(subjects, POSITIONS, SEED)
    n_tokens = sum(len(s.ids) for s in subjects)
    with clock("base model: encoding"):
        lm.encode([s.ids for s in subjects])
    queries = as_queries(subjects, sample, model)
    n_levels = retriever.schema.n_levels
    rungs = [
        Mixture.published(n_levels),
        Mixture(LevelCalibration(torch.full((n_levels,), 0.9), torch.zeros(n_levels)), 0.4),
        Mixture(LevelCalibration(torch.full((n_levels,), 0.8), torch.zeros(n_levels)), 0.5),
    ]
    for batch in queries.batches(BATCH):
        with clock("values and levels"):
            retrieved = retriever.retrieve(batch, K)
        with clock("base model: its prediction over the vocabulary"):
            predicted = predict(batch, retrieved, lm)
        with clock("mixtures and ranks of three rungs"):
            for rung in rungs:
                _score(batch, retrieved, predicted, rung)
    spent["values and levels"] -= spent["search"]
    total = sum(spent.values())
    result = {
        "positions": len(sample),
        "documents": len(subjects),
        "tokens_encoded": n_tokens,
        "entries": retriever.snapshot.n_entries,
        "k": K,
        "threads": torch.get_num_threads(),
        "seconds": dict(spent),
        "share": {name: seconds / total for name, seconds in spent.items()},
    }
    print(json.dumps(result, indent=1))


def main_or_default(paths: list[str]) -> None:
    if paths:
        main(paths[0])
        return
    with tempfile.TemporaryDirectory() as folder:
        source = [f"src/vicinal/{room}" for room in ("evaluation", "knnlm", "locality", "index")]
        command = ["-c", "from vicinal.cli import main; main()", "index", *source]
        subprocess.run([sys.executable, *command, "--store", f"{folder}/store"], check=True)
        main(f"{folder}/store")


if __name__ == "__main__":
    main_or_default([a for a in sys.argv[1:] if a != "--json"])
