"""``vicinal fit``: learn how much each level of locality counts, and keep it in the store."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vicinal.cli import examining, fitted, named_files, options, output, parts
from vicinal.cli.versions import versions

Ladder = Annotated[
    bool, typer.Option("--ladder", help="Fit every calibration, one after the other.")
]
Calibration = Annotated[
    str,
    typer.Option(
        "--calibration",
        help="Which one to fit: temperature, bias, linear, mlp, or adaptive, which learns a λ for "
        "each position.",
        metavar="NAME",
    ),
]
Objective = Annotated[
    str,
    typer.Option(
        "--objective",
        help="mixture: log p of the mixture, λ included; knn: the paper's, log p_kNN where the "
        "gold token was retrieved.",
        metavar="NAME",
    ),
]
Optimizer = Annotated[
    str, typer.Option("--optimizer", help="lbfgs (seconds) or adam (the paper's).", metavar="NAME")
]
Lam = Annotated[
    float | None,
    typer.Option(
        "--lam",
        help="Fix λ, the neighbors' share; adaptive starts from it. By default learned.",
        metavar="X",
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save", help="Write the parameters to a file for other stores.", show_default=False
    ),
]


def fit(
    store: options.Store,
    on: examining.On = None,
    itself: examining.Self = False,
    documents: examining.Documents = None,
    ladder: Ladder = False,
    calibration: Calibration = "linear",
    objective: Objective = "mixture",
    optimizer: Optimizer = "lbfgs",
    lam: Lam = None,
    k: examining.K = None,
    index: examining.Index = "auto",
    sample: examining.SampleSize = 10_000,
    seed: examining.Seed = 0,
    save: Save = None,
    json: options.Json = False,
) -> None:
    """
    Learn how much each level of locality counts, and keep it in the store.

    Distances become w·d + b, with a line for each level, and λ mixes the neighbors with the model.
    Fit and test on different documents: eval refuses those that fit has seen.

    For example:

    \b
    $ vicinal fit --store my-store --self
    $ vicinal fit --store java-valid --self --ladder --k 1024 --save ladder.json
    """
    from vicinal.evaluation import FITTED, Watcher, fit_parameters
    from vicinal.knnlm import DEFAULT_K, KNNLM, NAME_IN_STORE, Choice
    from vicinal.locality import Recipe

    recipe = Recipe(objective=objective, optimizer=optimizer, lam=lam, seed=seed)
    names = list(FITTED) if ladder else [calibration]
    opened, settings, lm = parts.open_with_model(store)
    choice = Choice(k=k or DEFAULT_K, index=index, rung="knn")
    model = KNNLM.from_store(opened, lm, choice=choice)
    asked = examining.Examined(on, itself, documents, sample, seed)
    examination = asked.examine(model, settings)
    with examining.counting("looking up", len(examination.sample)) as advance:
        watcher = Watcher(advance, lambda name: output.note(f"fitting {name} ..."))
        parameters = fit_parameters(examination, model, names, recipe, watcher)
    record = {"settings": asked.settings(), "versions": versions()}
    parameters = replace(parameters, notes={**parameters.notes, **record})
    text = parameters.to_json()
    opened.save_parameters(NAME_IN_STORE, text)
    if save:
        named_files.write_text(save, text)
    fitted.show(parameters, as_json=json)
