"""
The command line as a whole: which commands there are, and what becomes of an error.

Knows nothing of what a command does. Exit codes: 0 done, 1 one of our errors (one line on stderr),
2 misuse, 130 interrupted. Any other exception is a fault of vicinal and shows its traceback.
"""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import vicinal
from vicinal.cli.analyze import analyze
from vicinal.cli.corpus import corpus
from vicinal.cli.demo import demo
from vicinal.cli.evaluate import evaluate
from vicinal.cli.explain import explain
from vicinal.cli.fit import fit
from vicinal.cli.index import index
from vicinal.cli.models import models
from vicinal.cli.output import quieten
from vicinal.cli.paper import paper
from vicinal.cli.store import store
from vicinal.errors import VicinalError


class Commands(TyperGroup):
    """The top group: turns what a command raises into a line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except VicinalError as error:
            typer.echo(f"error: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            typer.echo(str(error) or "Interrupted.", err=True)
            raise typer.Exit(130) from error


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def show_version(wanted: bool) -> bool:
    """Print the version and stop, if it was asked for."""
    if wanted:
        typer.echo(f"vicinal {vicinal.__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True),
    ] = False,
) -> None:
    """Language models that look up how their own neighborhood goes on."""


app.command()(index)
app.command()(fit)
app.command("eval")(evaluate)
app.command()(analyze)
app.command()(demo)
app.command()(explain)
app.add_typer(store)
app.add_typer(models)
app.add_typer(paper)
app.add_typer(corpus)


def main() -> None:
    """Run the command line."""
    quieten()
    app(prog_name="vicinal")
