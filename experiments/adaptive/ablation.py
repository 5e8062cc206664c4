"""
Which features should λ be computed from? Perplexity on documents held out of the fit split.

    python experiments/adaptive/ablation.py STORE OUT.json [--k 128] [--documents PATTERN]

Five parts of whole documents, each in turn told by what was fitted on the other four (lines, fixed
λ, network, and the choice when to stop); the store's own documents, each left out of its own
search. Each candidate alone, added to what the rung has, and what the rung has without each of its
own; then the network's size and the calibration below.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from candidates import candidates
from torch import Tensor

from vicinal.cli import parts
from vicinal.evaluation import Examination, observe, stored_subjects
from vicinal.knnlm import KNNLM, Choice, log_weights
from vicinal.knnlm.adapting import Examples, Learning, learn
from vicinal.knnlm.features import NAMES
from vicinal.locality import Fitted, Observations, fit_lines

POSITIONS, SEED = 10_000, 0
FOLDS, SEEDS = 5, (0, 1)
ROWS = 512


@dataclass(frozen=True)
class Fold:
    """All candidates of all positions, by lines that were fitted on *train*; *test* is the rest."""

    columns: dict[str, Tensor]
    log_p_knn: Tensor
    train: Tensor
    chosen_by: Tensor
    test: Tensor
    lam: float

    def examples(self, names: Sequence[str], rows: Tensor, log_p_lm: Tensor) -> Examples:
        told = torch.stack([self.columns[name][rows] for name in names], 1)
        return Examples(tuple(names), told, self.log_p_knn[rows], log_p_lm[rows], self.lam)


def observed(path: Path, k: int, patterns: Sequence[str]) -> tuple[Observations, int]:
    store, _, lm = parts.open_with_model(path)
    model = KNNLM.from_store(store, lm, choice=Choice(k=k, index="exact", rung="knn"))
    subjects = stored_subjects(model.retriever.snapshot, lm, patterns)
    examination = Examination.from_subjects(subjects, model, size=POSITIONS, seed=SEED)
    print(f"looking up {len(examination.sample)} positions ...", flush=True)
    return observe(examination.queries, model), model.retriever.schema.n_levels


def folded(observations: Observations, family: str, n_levels: int) -> list[Fold]:
    documents = observations.documents
    assert documents is not None
    part = documents.unique(return_inverse=True)[1]
    n_documents = int(part.max()) + 1
    part = part * FOLDS // n_documents
    folds = []
    for number in range(FOLDS):
        rest, test = ((part == number) == held for held in (False, True))
        rows = rest.nonzero()[:, 0]
        fitted = lines_of(observations.rows(rows), family, n_levels)
        # The last fifth of the documents that are left say when to stop.
        cut = documents[rows[int(0.8 * len(rows))]]
        train, chosen_by = rows[documents[rows] < cut], rows[documents[rows] >= cut]
        columns, log_p_knn = looked_at(observations, fitted, n_levels)
        where = (train, chosen_by, test.nonzero()[:, 0])
        folds.append(Fold(columns, log_p_knn, *where, fitted.lam))
    return folds


def lines_of(observations: Observations, family: str, n_levels: int) -> Fitted:
    temperature = fit_lines(observations, "temperature", n_levels=n_levels)
    if family == "temperature":
        return temperature
    start = temperature.calibration.lines
    return fit_lines(observations, family, n_levels=n_levels, start=start)


def looked_at(
    observations: Observations, fitted: Fitted, n_levels: int
) -> tuple[dict[str, Tensor], Tensor]:
    several, gold = [], []
    for rows in torch.split(torch.arange(len(observations)), ROWS):
        some = observations.rows(rows)
        calibrated = fitted.calibration(some.distances, some.levels, some.keys)
        assert some.evidence is not None
        several.append(candidates(some.distances, calibrated, some.levels, n_levels, some.evidence))
        hits = log_weights(calibrated).masked_fill(~some.hits, -math.inf)
        gold.append(torch.logsumexp(hits, 1))
    return {n: torch.cat([s[n] for s in several]) for n in several[0]}, torch.cat(gold)


def perplexity(
    folds: Sequence[Fold], log_p_lm: Tensor, names: Sequence[str], learning: Learning
) -> float:
    """Tell every part by what was learned on the others, averaged over seeds."""
    total, count = 0.0, 0
    for fold in folds:
        train, chosen_by, test = (
            fold.examples(names, rows, log_p_lm) for rows in (fold.train, fold.chosen_by, fold.test)
        )
        for seed in SEEDS:
            found, _ = learn(train, chosen_by, replace(learning, seed=seed))
            total += test.loss(found).item() * len(test)
            count += len(test)
    return math.exp(total / count)


def fixed(folds: Sequence[Fold], log_p_lm: Tensor) -> float:
    losses = [
        -torch.logaddexp(
            fold.log_p_knn[fold.test] + math.log(fold.lam),
            log_p_lm[fold.test] + math.log1p(-fold.lam),
        )
        for fold in folds
    ]
    return math.exp(torch.cat(losses).mean().item())


def main(store: Path, out: Path, k: int, patterns: Sequence[str]) -> None:
    observations, n_levels = observed(store, k, patterns)
    log_p_lm = observations.log_p_lm
    folds = folded(observations, "linear", n_levels)
    learning, own = Learning(), list(NAMES)
    result: dict[str, object] = {"store": store.name, "k": k, "positions": len(observations)}
    result["seeds"], result["rung"] = list(SEEDS), own

    def note(kind: str, name: str, ppl: float) -> None:
        result.setdefault(kind, {})[name] = round(ppl, 4)  # type: ignore[index]
        print(f"{kind:12} {name:48} {ppl:.4f}", flush=True)

    note("fixed", "base model", math.exp(-log_p_lm.mean().item()))
    note("fixed", "linear, fixed λ", fixed(folds, log_p_lm))
    note("adaptive", "the rung", perplexity(folds, log_p_lm, own, learning))
    everything = list(folds[0].columns)
    note("adaptive", "every candidate", perplexity(folds, log_p_lm, everything, learning))
    for name in own:
        rest = [n for n in own if n != name]
        note("without", name, perplexity(folds, log_p_lm, rest, learning))
    for name in everything:
        note("alone", name, perplexity(folds, log_p_lm, [name], learning))
    for name in everything:
        if name not in own:
            note("added", name, perplexity(folds, log_p_lm, [*own, name], learning))
    for hidden in (4, 8, 16, 64):
        other = replace(learning, hidden=hidden)
        note("network", f"{hidden} hidden", perplexity(folds, log_p_lm, own, other))
    below = folded(observations, "temperature", n_levels)
    note("calibration", "temperature, fixed λ", fixed(below, log_p_lm))
    note("calibration", "temperature, adaptive", perplexity(below, log_p_lm, own, learning))
    out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("store", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--k", type=int, default=128)
    arguments.add_argument("--documents", action="append")
    given = arguments.parse_args()
    main(given.store, given.out, given.k, given.documents or ["*"])
