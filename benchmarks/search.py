"""
How fast a store is searched, as a share of what the machine's matrix products allow.

    python benchmarks/search.py [--json FILE]

Everything is measured in one run, each figure the best of alternating repetitions: seconds alone
would say more about the machine than about the search. Where others use the machine, set
OMP_NUM_THREADS=1 and read the shares of CPU time, which waiting does not spoil. FAISS is given
fewer queries where it would take minutes (N_FAISS_QUERIES); its seconds are scaled to the batch.
"""

import argparse
import json
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path

import faiss
import numpy as np
import torch

from vicinal.datastore.snapshot import Segment, Snapshot
from vicinal.index import ExactIndex, FlatFaissIndex

N_ENTRIES, DIM, N_SEGMENTS = 1_000_000, 576, 4
N_CLUSTERS, SPREAD = 2000, 0.6
N_QUERIES = 512
KS = (128, 1024)
REPETITIONS = 2
N_FAISS_QUERIES = 32
N_FLAT_F32_ENTRIES = 250_000  # a quarter: the whole in float32 is 2.3 GB; scaled
PRODUCT_BLOCK = 16384
SEED = 0


@dataclass(frozen=True)
class Seconds:
    """By the clock, and of the processor by all threads together."""

    wall: float
    cpu: float

    def times(self, factor: float) -> "Seconds":
        return Seconds(self.wall * factor, self.cpu * factor)

    def best(self, other: "Seconds") -> "Seconds":
        return Seconds(min(self.wall, other.wall), min(self.cpu, other.cpu))


@dataclass(frozen=True)
class Task:
    """The store, the questions, and nothing left out."""

    snapshot: Snapshot
    queries: torch.Tensor
    without: torch.Tensor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    wanted = parser.parse_args().json
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(make_task(Path(folder)))
    show(figures)
    if wanted:
        wanted.write_text(json.dumps(figures, indent=1))


def make_task(folder: Path) -> Task:
    """Write clustered keys in segments; the queries are some of them, slightly moved."""
    generator = torch.Generator().manual_seed(SEED)
    centers = torch.randn(N_CLUSTERS, DIM, generator=generator)
    size = N_ENTRIES // N_SEGMENTS
    segments = []
    for number in range(N_SEGMENTS):
        path = folder / f"{number}.keys"
        keys = np.memmap(path, np.float16, "w+", shape=(size, DIM))
        for lo in range(0, size, 50_000):
            n = min(50_000, size - lo)
            chosen = centers[torch.randint(0, N_CLUSTERS, (n,), generator=generator)]
            keys[lo : lo + n] = (
                (chosen + SPREAD * torch.randn(n, DIM, generator=generator)).half().numpy()
            )
        keys.flush()
        keys = np.memmap(path, np.float16, "r", shape=(size, DIM))
        zeros = np.zeros(size, np.int32)
        segments.append(Segment(str(number), number * size, keys, zeros, zeros, outputs=None))
    snapshot = Snapshot(tuple(segments), (), (), np.zeros((0, 2), np.int64), DIM)
    rows = torch.randint(0, size, (N_QUERIES,), generator=generator).numpy()
    moves = 0.1 * torch.randn(N_QUERIES, DIM, generator=generator)
    queries = torch.tensor(segments[1].keys[rows]).float() + moves
    return Task(snapshot, queries, torch.zeros(N_QUERIES, 2, dtype=torch.long))


def measure(task: Task) -> dict[str, object]:
    """Time product, exact search and the plain way in turns, then FAISS."""
    figures: dict[str, object] = {
        "settings": {"entries": N_ENTRIES, "dim": DIM, "queries": N_QUERIES, "seed": SEED},
        "machine": {"cpu": platform.machine(), "threads": torch.get_num_threads()},
        "versions": {"torch": torch.__version__, "faiss": faiss.__version__},
    }
    before = peak_memory()
    index = ExactIndex(task.snapshot)
    figures["first_query_s"] = one_query(index, task)
    figures["one_query_s"] = min(one_query(index, task) for _ in range(3))
    rows = {f"exact k={k}": searching(index, task, k, N_QUERIES) for k in KS}
    best = alternate({"product": product(task), **rows})
    figures["peak_rss_growth_gb"] = peak_memory() - before
    plain = {f"product and topk k={k}": plain_search(task, k) for k in KS}
    best |= alternate({"product again": product(task), **plain}, repetitions=1)
    best |= against_faiss(task)
    fastest = best["product"].best(best["product again"])
    figures["product_gflops"] = 2 * N_QUERIES * DIM * N_ENTRIES / fastest.wall / 1e9
    figures["rows"] = {
        name: asdict(spent)
        | {"share": fastest.wall / spent.wall, "share_cpu": fastest.cpu / spent.cpu}
        for name, spent in best.items()
    }
    return figures


def against_faiss(task: Task) -> dict[str, Seconds]:
    """Time our FAISS index, and FAISS alone over float32, with fewer queries or entries."""
    flat = FlatFaissIndex.from_snapshot(task.snapshot)
    scale = N_QUERIES / N_FAISS_QUERIES
    rows = {f"faiss SQfp16 k={k}": searching(flat, task, k, N_FAISS_QUERIES) for k in KS}
    best = {name: spent.times(scale) for name, spent in alternate(rows, repetitions=1).items()}
    del flat
    keys = task.snapshot.segments[0].keys[:N_FLAT_F32_ENTRIES].astype(np.float32)
    plain = faiss.IndexFlatL2(DIM)
    plain.add(keys)
    asked = task.queries.numpy()
    rows = {f"faiss flat f32 k={k}": lambda k=k: plain.search(asked, k) for k in KS}
    scale = N_ENTRIES / len(keys)
    timed = alternate(rows, repetitions=1)
    return best | {name: spent.times(scale) for name, spent in timed.items()}


def searching(
    index: ExactIndex | FlatFaissIndex, task: Task, k: int, n_queries: int
) -> Callable[[], object]:
    queries, without = task.queries[:n_queries], task.without[:n_queries]
    return lambda: index.search(queries, k, without=without)


def product(task: Task) -> Callable[[], object]:
    """Multiply float32 blocks until as much was multiplied as a search must."""
    keys = torch.randn(PRODUCT_BLOCK, DIM)
    scores = torch.empty(PRODUCT_BLOCK, N_QUERIES)
    columns = task.queries.T.contiguous()

    def run() -> None:
        for lo in range(0, N_ENTRIES, PRODUCT_BLOCK):
            n = min(PRODUCT_BLOCK, N_ENTRIES - lo)
            torch.mm(keys[:n], columns, out=scores[:n])

    return run


def plain_search(task: Task, k: int) -> Callable[[], object]:
    """A product per block, `topk` of each, and `topk` of these: what one writes first."""

    def run() -> None:
        found = []
        for segment in task.snapshot.segments:
            for lo in range(0, len(segment), PRODUCT_BLOCK):
                keys = torch.tensor(segment.keys[lo : lo + PRODUCT_BLOCK]).float()
                scores = task.queries @ keys.T - keys.square().sum(1) / 2
                found.append(scores.topk(min(k, len(keys)), dim=1).values)
        torch.cat(found, 1).topk(k, dim=1)

    return run


def one_query(index: ExactIndex, task: Task) -> float:
    return seconds(searching(index, task, KS[0], 1)).wall


def alternate(
    rows: dict[str, Callable[[], object]], repetitions: int = REPETITIONS
) -> dict[str, Seconds]:
    """Run all in turns; what else the machine does then meets all of them alike."""
    times = [{name: seconds(run) for name, run in rows.items()} for _ in range(repetitions)]
    return {name: reduce(Seconds.best, (turn[name] for turn in times)) for name in rows}


def seconds(run: Callable[[], object]) -> Seconds:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def peak_memory() -> float:
    """Read the peak resident memory in GB; mapped keys that were read count too."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def show(figures: dict[str, object]) -> None:
    rows = figures["rows"]
    assert isinstance(rows, dict)
    print(f"{N_ENTRIES:,} entries x {DIM}, batches of {N_QUERIES} queries")
    print(f"float32 product: {figures['product_gflops']:.0f} GFLOP/s, the best seen in this run")
    print(f"{'':24}{'s/batch':>9}{'of product':>12}{'cpu s':>9}{'of product':>12}")
    for name, row in rows.items():
        spent = f"{row['wall']:9.2f}{row['share']:12.0%}{row['cpu']:9.2f}{row['share_cpu']:12.0%}"
        print(f"{name:24}{spent}")
    print(f"one query: {figures['one_query_s']:.3f} s, the first {figures['first_query_s']:.3f} s")
    print(f"peak memory grew by {figures['peak_rss_growth_gb']:.2f} GB, of which the mapped keys")
    print(f"are up to {2 * N_ENTRIES * DIM / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
