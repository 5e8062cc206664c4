"""``vicinal analyze``: the paper's figures, parameters and cases, for any store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli import examining, fitted, named_files, options, output, parts
from vicinal.cli.versions import versions
from vicinal.errors import CalibrationError, EvaluationError

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.datastore import Datastore
    from vicinal.knnlm import Parameters

Out = Annotated[
    Path,
    typer.Option("--out", help="Folder for the report.", metavar="DIR", show_default=False),
]
ParametersFile = Annotated[
    Path | None,
    typer.Option(
        "--params",
        help="Parameters that 'vicinal fit --save' wrote. By default those in the store.",
        show_default=False,
    ),
]
Rung = Annotated[
    str | None,
    typer.Option(
        "--rung",
        help="Which calibration to look at: temperature, bias, linear, mlp or adaptive. By "
        "default the best that was fitted.",
        metavar="NAME",
    ),
]
Cases = Annotated[
    int, typer.Option("--cases", help="Positions to show of each kind.", min=1, metavar="N")
]


def analyze(
    store: options.Store,
    out: Out,
    on: examining.On = None,
    documents: examining.Documents = None,
    params: ParametersFile = None,
    rung: Rung = None,
    k: examining.K = None,
    index: examining.Index = "auto",
    sample: examining.SampleSize = 4_000,
    seed: examining.Seed = 1,
    cases: Cases = 3,
    json: options.Json = False,
) -> None:
    """
    Look into a store: is a local neighbor more often right, what was learned, what moved.

    Takes the store's own documents, each left out of its own search, or those of --on. Writes a
    page with plots, and all its tables and figures as files.

    For example:

    \b
    $ vicinal fit --store my-store --self --ladder
    $ vicinal analyze --store my-store --out my-report
    """
    from vicinal.analysis import Wanted, look, missing_packages
    from vicinal.knnlm import KNNLM, Choice, preferred

    _refuse(missing_packages())
    opened, settings, lm = parts.open_with_model(store)
    parameters = _parameters(params, opened)
    model = KNNLM.from_store(opened, lm, parameters, Choice(k=k, index=index, rung=rung))
    asked = examining.Examined(on, not on, documents, sample, seed)
    named_files.make_folder(out)
    examination = asked.examine(model, settings)
    wanted = Wanted(rung or preferred(parameters), cases, seed)
    with examining.counting("looking up", len(examination.sample)) as advance:
        found = look(examination, model, parameters, wanted, advance)
    record = {**asked.settings(), "rung": wanted.rung, "k": model.k, "model": lm.name}
    told = {name: str(value) for name, value in {**record, **versions()}.items()}
    page = found.write(store.resolve().name, told, out)
    if json:
        moved = {"helped": found.moved.n_helped, "hurt": found.moved.n_hurt}
        output.print_json({"report": str(page), "moved": moved, "settings": told})
        return
    fitted.show(parameters, as_json=False)
    counts = {"moved": f"{found.moved.n_helped:,} up, {found.moved.n_hurt:,} down"}
    output.print_facts({**counts, "report": page})


def _refuse(missing: list[str]) -> None:
    if missing:
        raise EvaluationError(f"A report needs {' and '.join(missing)}: pip install vicinal[plot].")


def _parameters(file: Path | None, store: "Datastore") -> "Parameters":
    from vicinal.knnlm import Parameters, stored_parameters

    if file:
        return Parameters.from_json(named_files.read_text(file))
    found = stored_parameters(store)
    if found is None:
        raise CalibrationError(
            f"Nothing is fitted to the store in {store.files.root}, so there is nothing to show. "
            f"Fit first: `vicinal fit --store {store.files.root} --self --ladder`."
        )
    return found
