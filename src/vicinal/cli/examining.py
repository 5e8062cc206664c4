"""What fit and eval share: which documents, which positions, which neighbors."""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli import output, parts, reading
from vicinal.errors import EvaluationError

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from collections.abc import Iterator

    from vicinal.evaluation import Examination
    from vicinal.knnlm import KNNLM

On = Annotated[
    list[Path] | None,
    typer.Option(
        "--on",
        help="Files or folders to look up in the store (give it again for more); what the store "
        "also has is left out of its own search.",
        metavar="PATH",
        show_default=False,
    ),
]
Self = Annotated[
    bool,
    typer.Option("--self", help="The store's own documents, each with its own entries left out."),
]
Documents = Annotated[
    list[str] | None,
    typer.Option(
        "--documents",
        help="Only documents whose name matches, * standing for anything (give it again for more).",
        metavar="PATTERN",
        show_default=False,
    ),
]
SampleSize = Annotated[
    int, typer.Option("--sample", help="Positions to draw; 0 takes all.", metavar="N", min=0)
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of all that is random.", metavar="N")]
K = Annotated[
    int | None,
    typer.Option(
        "--k",
        help="Neighbors of each position. By default as fitted, at first 128; the paper has 1024.",
        metavar="K",
        min=1,
    ),
]
Index = Annotated[
    str, typer.Option("--index", help="How to search: auto, exact, flat or ivf.", metavar="KIND")
]


@dataclass(frozen=True)
class Examined:
    """Which positions were asked for."""

    on: Sequence[Path] | None
    itself: bool
    documents: Sequence[str] | None
    sample: int
    seed: int

    def settings(self) -> dict[str, object]:
        """Write what was asked for, for the record."""
        return {
            "on": [str(path) for path in self.on or ()],
            "self": self.itself,
            "documents": list(self.documents or ()),
            "sample": self.sample,
            "seed": self.seed,
        }

    def examine(self, model: "KNNLM", settings: parts.Settings) -> "Examination":
        """Read the documents, draw positions, and encode what the store has not."""
        from vicinal.evaluation import Examination, corpus_subjects, stored_subjects

        if bool(self.on) == self.itself:
            raise EvaluationError(
                "Expected either --self (the store's own documents) or --on PATH, found "
                f"{'both' if self.itself else 'neither'}."
            )
        patterns = self.documents or ("*",)
        snapshot = model.retriever.snapshot
        if self.on:
            corpus = reading.read_corpus(settings, self.on)
            subjects = corpus_subjects(corpus, snapshot, model.lm, patterns)
        else:
            subjects = stored_subjects(snapshot, model.lm, patterns)
        size = self.sample or None
        return Examination.from_subjects(subjects, model, size=size, seed=self.seed)


@contextmanager
def counting(description: str, total: int) -> "Iterator[Callable[[int], None]]":
    """Show how many positions are done."""
    with output.progress() as bar:
        task = bar.add_task(description, total=total, done="")

        def advance(n: int) -> None:
            bar.advance(task, n)
            done = int(bar.tasks[task].completed)
            bar.update(task, done=f"{done:,} positions")

        yield advance
