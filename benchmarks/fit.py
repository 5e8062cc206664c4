"""
Fitting a line for each level: L-BFGS against the paper's Adam run to its end.

    python benchmarks/fit.py [STORE] [--json]

On 8,000 positions x 1,024 neighbors: of STORE (its own documents), or synthetic ones, drawn from
known lines. Three runs see the same observations and the objective of the paper (log p_kNN):

* L-BFGS as `vicinal fit` does it;
* Adam as `vicinal fit --optimizer adam` does it: 200 epochs at 1e-4, batches of 2,800, from w = 1
  and b = 0, with the same written-out gradient;
* Adam as published: the same steps by automatic differentiation, a dozen lines of torch.
"""

import json
import sys
import time

import torch

from vicinal.locality import Observations, Recipe, fit_lines

POSITIONS, K, LEVELS, SEED = 8_000, 1024, 3, 0
WEIGHTS, BIASES = (0.8, 0.9, 1.1), (0.0, -1.5, -4.0)
EPOCHS, LEARNING_RATE, BATCH = 200, 1e-4, 2800


def synthetic() -> Observations:
    """Distances that grow with rank, levels of skewed frequency, hits by the lines' own softmax."""
    generator = torch.Generator().manual_seed(SEED)
    spread = torch.rand(POSITIONS, 1, generator=generator) * 8 + 2
    steps = torch.rand(POSITIONS, K, generator=generator)
    distances = (2 + steps.cumsum(1) / K * spread * 2).float()
    levels = torch.multinomial(
        torch.tensor([0.7, 0.2, 0.1]), POSITIONS * K, True, generator=generator
    )
    levels = levels.view(POSITIONS, K).byte()
    g = torch.tensor(WEIGHTS)[levels.long()] * distances + torch.tensor(BIASES)[levels.long()]
    # Tokens: neighbor j carries token j mod 97; the gold token is the token of a drawn neighbor.
    tokens = (torch.arange(K) * 31 % 97).expand(POSITIONS, K)
    gold = tokens.gather(1, torch.multinomial(torch.softmax(-g, 1), 1, generator=generator))
    log_p_lm = -torch.rand(POSITIONS, generator=generator) * 5
    return Observations(distances, levels, tokens == gold, log_p_lm, torch.zeros(POSITIONS, 1))


def of_store(path: str) -> Observations:
    from vicinal.cli import parts
    from vicinal.evaluation import Examination, observe, stored_subjects
    from vicinal.knnlm import KNNLM, Choice

    store, _, lm = parts.open_with_model(parts.Path(path))
    model = KNNLM.from_store(store, lm, choice=Choice(rung="knn", k=K, index="exact"))
    subjects = stored_subjects(model.retriever.snapshot, lm)
    examination = Examination.from_subjects(subjects, model, size=POSITIONS, seed=SEED)
    return observe(examination.queries, model)


def adam_as_published(observations: Observations, epochs: int) -> float:
    """Run the paper's optimizer by automatic differentiation, and give the seconds it took."""
    covered = observations.rows(observations.covered)
    weights = torch.ones(LEVELS, requires_grad=True)
    biases = torch.zeros(LEVELS - 1, requires_grad=True)
    optimizer = torch.optim.Adam([weights, biases], lr=LEARNING_RATE)
    batches = [covered.rows(rows) for rows in torch.split(torch.arange(len(covered)), BATCH)]
    start = time.perf_counter()
    for _ in range(epochs):
        for batch in batches:
            chosen = batch.levels.long()
            g = weights[chosen] * batch.distances + torch.cat([torch.zeros(1), biases])[chosen]
            log_p = torch.log_softmax(-g, 1).masked_fill(~batch.hits, -torch.inf)
            loss = -torch.logsumexp(log_p, 1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return time.perf_counter() - start


def main(arguments: list[str]) -> None:
    paths = [a for a in arguments if a != "--json"]
    observations = of_store(paths[0]) if paths else synthetic()
    # torch loads a compiler with its first optimizer: not Adam's fault.
    few = observations.rows(torch.arange(BATCH))
    fit_lines(few, "linear", Recipe(optimizer="adam", epochs=1), n_levels=LEVELS)
    lbfgs = fit_lines(observations, "linear", Recipe(objective="knn", lam=0.25), n_levels=LEVELS)
    recipe = Recipe("knn", "adam", 0.25, EPOCHS, LEARNING_RATE, BATCH)
    adam = fit_lines(observations, "linear", recipe, n_levels=LEVELS)
    # Its steps all cost the same: a tenth of the epochs is timed and the rest not waited for.
    published = adam_as_published(observations, EPOCHS // 10) * 10
    lines = lbfgs.calibration.lines
    result = {
        "positions": len(observations),
        "k": K,
        "coverage": observations.coverage,
        "threads": torch.get_num_threads(),
        "lbfgs": {
            "loss": lbfgs.loss,
            "seconds": lbfgs.seconds,
            "evaluations": lbfgs.evaluations,
            "weights": lines.weights.tolist(),
            "biases": lines.biases.tolist(),
        },
        "adam": {"loss": adam.loss, "seconds": adam.seconds, "epochs": EPOCHS},
        "adam_as_published": {"seconds": published, "epochs_timed": EPOCHS // 10},
        "adam_over_lbfgs": adam.seconds / lbfgs.seconds,
        "adam_as_published_over_lbfgs": published / lbfgs.seconds,
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
