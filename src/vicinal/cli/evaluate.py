"""``vicinal eval``: measure every rung of the ladder on the same positions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vicinal.cli import examining, named_files, options, output, parts
from vicinal.cli.versions import versions

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.evaluation import Result
    from vicinal.knnlm import Parameters

COLUMNS = ("ppl", "ppl_full_token", "ppl_byte", "top1", "top5", "top10", "top20")
MORE = ("helped", "hurt", "ppl_macro")
Ladder = Annotated[
    bool, typer.Option("--ladder", help="Every rung that was fitted, not the last one only.")
]
ParametersFile = Annotated[
    Path | None,
    typer.Option(
        "--params",
        help="Parameters that 'vicinal fit --save' wrote. By default those in the store.",
        show_default=False,
    ),
]
AllowFitted = Annotated[
    bool, typer.Option("--allow-fitted", help="Measure even on documents that were fitted on.")
]


def evaluate(
    store: options.Store,
    on: examining.On = None,
    itself: examining.Self = False,
    documents: examining.Documents = None,
    ladder: Ladder = False,
    params: ParametersFile = None,
    k: examining.K = None,
    index: examining.Index = "auto",
    sample: examining.SampleSize = 10_000,
    seed: examining.Seed = 1,
    allow_fitted: AllowFitted = False,
    json: options.Json = False,
) -> None:
    """
    Measure the base model, the kNN-LM, and every calibration on the same positions.

    Each document is left out of its own search. Each row is compared with the row above it by a
    paired bootstrap over documents.

    For example:

    \b
    $ vicinal eval --store my-store --on ~/code/other-project
    $ vicinal eval --store java-test --self --ladder --params ladder.json --json
    """
    from vicinal.evaluation import FITTED, Watcher, measure, rungs_of
    from vicinal.knnlm import KNNLM, Choice, preferred, stored_parameters
    from vicinal.locality import load_domain

    opened, settings, lm = parts.open_with_model(store)
    parameters = _given(params) or stored_parameters(opened)
    model = KNNLM.from_store(opened, lm, parameters, Choice(k=k, index=index))
    asked = examining.Examined(on, itself, documents, sample, seed)
    examination = asked.examine(model, settings)
    if parameters is None:
        output.note("nothing is fitted to this store: 'vicinal fit' gives more rows")
    elif not allow_fitted:
        examination.refuse_fitted(parameters.fitted_on)
    only = FITTED if ladder else [preferred(parameters)]
    rungs = rungs_of(parameters, model.retriever.schema.n_levels, only)
    group = load_domain(settings.corpus).group
    with examining.counting("scoring", len(examination.sample)) as advance:
        watcher = Watcher(advance)
        result = measure(examination, model, rungs, watcher, group=group, seed=seed)
    used = {"k": model.k, "index": index, "group": group, "fingerprint": lm.fingerprint}
    notes = dict(parameters.notes) if parameters else None
    settled = {**asked.settings(), **used, "versions": versions(), "fit": notes}
    _show(result, settled, as_json=json)


def _given(file: Path | None) -> "Parameters | None":
    from vicinal.knnlm import Parameters

    return Parameters.from_json(named_files.read_text(file)) if file else None


def _show(result: "Result", settings: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.print_json({**result.to_dict(), "settings": settings})
        return
    rows = []
    for row in result.rows:
        change = row.difference
        interval = f"[{change.interval[0]:+.4f}, {change.interval[1]:+.4f}]" if change else ""
        values = [row.measures[name] for name in (*COLUMNS, *MORE)]
        rows.append((row.name, *values, f"{change.difference:+.4f}" if change else "", interval))
    columns = ["", *COLUMNS, *MORE, "Δ ppl", "95 %"]
    output.print_table(columns, rows)
    over = {
        f"{row.name} over temperature": row.over_temperature
        for row in result.rows
        if row.over_temperature
    }
    coverage = result.rows[0].measures["coverage"]
    counts = {"positions": result.positions, "documents": result.documents}
    output.print_facts({**over, **counts, "coverage": coverage})
