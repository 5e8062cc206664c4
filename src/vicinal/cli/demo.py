"""``vicinal demo``: all of vicinal in a few minutes, on packages that are installed anyway."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli import demo_output, fitted, named_files, options, output
from vicinal.cli.demonstration import Demonstration
from vicinal.cli.packages import DEMO

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.analysis import Report

INTRODUCTION = """\
Looks up how code goes on in other files of packages that are installed here, and learns how much
more a file of the same project or directory is worth. Some packages are fitted on, others tested.
"""
Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        help="Folder of the store. By default 'demo' in vicinal's cache folder.",
        metavar="DIR",
        show_default=False,
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="File of the HTML report. By default beside the store.",
        metavar="FILE",
        show_default=False,
    ),
]


def demo(
    store: Store = None,
    report: ReportFile = None,
    model: options.Model = None,
    json: options.Json = False,
) -> None:
    """
    Show on installed packages what locality is worth.

    Prints the ladder, the learned line of each level, and three cases where locality turned a wrong
    guess right; writes an HTML report. The first run takes some minutes (it fetches the model and
    encodes about 115,000 tokens), the next one less than half a minute.

    For example:

    \b
    $ vicinal demo
    $ vicinal demo --store my-demo --report my-demo.html
    """
    from vicinal.analysis import missing_packages
    from vicinal.lm import cache_folder

    folder = store or cache_folder().parent / "demo"
    output.note(INTRODUCTION)
    found = Demonstration(DEMO, folder).run(model)
    missing = missing_packages()
    page = report or (None if missing else folder.with_name(f"{folder.name}.html"))
    if json:
        _print_json(found, folder, page)
    else:
        demo_output.show(found)
    if page:
        named_files.write_text(page, found.to_html())
    else:
        output.note(f"no report without {' and '.join(missing)}: pip install 'vicinal[plot]'")
    if not json:
        output.print_facts({"store": folder, "report": page})


def _print_json(found: "Report", folder: Path, page: Path | None) -> None:
    output.print_json(
        {
            **found.result.to_dict(),
            "parameters": fitted.rows(found.parameters),
            "cases": [asdict(case) for case in found.cases],
            "settings": dict(found.settings),
            "store": str(folder),
            "report": str(page) if page else None,
        }
    )
