"""
Where the time of an evaluation goes: base model, search, everything else.

    python benchmarks/score.py STORE [--json]

POSITIONS positions of the store's own documents, encoded anew as a file beside the store would be,
are looked up in the whole store and scored by the published kNN-LM, by temperature and by lines.
"""

import json
import sys
import time
from collections import Counter
from contextlib import contextmanager

import torch

from vicinal.cli import parts
from vicinal.evaluation import draw, stored_subjects
from vicinal.evaluation.scoring import BATCH, _score, as_queries, predict
from vicinal.knnlm import KNNLM, Choice, Mixture
from vicinal.locality import LevelCalibration

POSITIONS, K, SEED, DOCUMENTS = 4096, 128, 0, 24

spent: Counter[str] = Counter()


@contextmanager
def clock(name: str):
    start = time.perf_counter()
    yield
    spent[name] += time.perf_counter() - start


def main(path: str) -> None:
    store, _, lm = parts.open_with_model(parts.Path(path))
    model = KNNLM.from_store(store, lm, choice=Choice(rung="knn", k=K, index="exact"))
    retriever = model.retriever
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
        with clock("search"):
            retriever._index.search(batch.keys, K, without=batch.without)
        with clock("search, values and levels"):
            retrieved = retriever.retrieve(batch, K)
        with clock("base model: its prediction over the vocabulary"):
            predicted = predict(batch, retrieved, lm)
        with clock("mixtures and ranks of three rungs"):
            for rung in rungs:
                _score(batch, retrieved, predicted, rung)
    spent["values and levels"] = spent.pop("search, values and levels") - spent["search"]
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


if __name__ == "__main__":
    main(next(a for a in sys.argv[1:] if a != "--json"))
