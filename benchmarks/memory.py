"""
Memory: what building a large store adds to the model's own, and what evaluating it adds.

    python benchmarks/memory.py [--json]

Builds a store of ENTRIES entries through the real writer with vectors of the real width from a
stand-in for the model (a real one would take an hour, and its own memory is not the question),
then searches it, in processes of their own. Peak resident memory is read from the kernel; mapped
pages of the store's files, which the kernel drops when it needs room, are told apart.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ENTRIES, DIM, DOCUMENT, SEED = 1_000_000, 576, 1000, 0
QUERIES, K = 2048, 128

STATUS = """
import json
def status():
    lines = (line.split(":") for line in open("/proc/self/status"))
    return {{name: int(kb.split()[0]) for name, kb in lines if name[:3] in ("Rss", "VmH", "VmR")}}
"""

BUILD = """
import numpy as np, sys
from vicinal.corpus import Document
from vicinal.datastore import Datastore, StoreIdentity, build
from vicinal.lm import AbstractLanguageModel, Encoding, Tokens
DIM, DOCUMENT, ENTRIES = {dim}, {document}, {entries}
class Stand(AbstractLanguageModel):
    name, fingerprint, key_dim, output_dim, vocab_size = "stand-in", "0" * 64, DIM, DIM, 100
    def tokenize(self, text):
        n = np.arange(DOCUMENT, dtype=np.int32)
        return Tokens(n % 100, n)
    def decode(self, ids): return "x" * len(ids)
    def encode(self, documents, progress=lambda n: None):
        random = np.random.default_rng(len(documents))
        def vectors(n): return random.standard_normal((n, DIM), dtype=np.float32).astype(np.float16)
        return [Encoding(vectors(len(d)), vectors(len(d))) for d in documents]
    def log_p(self, outputs): raise NotImplementedError
def corpus():
    for i in range(ENTRIES // DOCUMENT):
        text = f"{{i:08d}}" + "x" * (DOCUMENT - 8)
        yield Document.whole(f"d{{i}}", text, {{"project": ("p",)}})
before = status()
store = Datastore.create(sys.argv[1], StoreIdentity.of_model(Stand()))
build(store, corpus(), Stand())
print(json.dumps([before, status()]))
"""

SEARCH = """
import sys, torch
from vicinal.datastore import Datastore
from vicinal.index import ExactIndex
snapshot = Datastore.open(sys.argv[1]).snapshot()
index = ExactIndex(snapshot)
generator = torch.Generator().manual_seed({seed})
def search(n):
    queries = torch.randn(512, {dim}, generator=generator)
    index.search(queries, {k}, without=torch.zeros(512, 2, dtype=torch.int64))
before = status()
peaks = []
for _ in range({queries} // 512):
    search(512); peaks.append(status()["RssAnon"])
print(json.dumps([before, {{**status(), "RssAnon": max(peaks)}}]))
"""


def run(program: str, store: Path) -> dict[str, float]:
    code = (STATUS + program).format(
        dim=DIM, document=DOCUMENT, entries=ENTRIES, seed=SEED, k=K, queries=QUERIES
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, str(store)], capture_output=True, text=True, check=True
    )
    before, after = json.loads(answer.stdout)
    return {
        "peak_added_mb": (after["VmHWM"] - before["VmRSS"]) / 1e3,
        "anonymous_added_mb": (after["RssAnon"] - before["RssAnon"]) / 1e3,
        "mapped_mb": after["RssFile"] / 1e3,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        result = {"entries": ENTRIES, "dim": DIM, "build": run(BUILD, store)}
        result["evaluate"] = run(SEARCH, store)
        result["store_mb"] = sum(f.stat().st_size for f in store.rglob("*") if f.is_file()) / 1e6
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
