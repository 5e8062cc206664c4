"""What someone at a terminal sees while a store is built."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from vicinal.cli import output, progress
from vicinal.cli.parts import Settings, load_model
from vicinal.corpus import read
from vicinal.datastore import Datastore


@pytest.fixture
def shown(monkeypatch, projects, tmp_path, tiny_model, index):
    """Show the progress of a corpus of which one file of four changed since it was stored."""
    assert index(projects).code == 0
    (projects / "kettle" / "app.py").write_text("whistle = True\n")
    made: list[Progress] = []

    def on_terminal() -> Progress:
        console = Console(file=io.StringIO(), force_terminal=True)
        made.append(Progress(*columns, console=console))
        return made[-1]

    columns = output.progress().columns
    monkeypatch.setattr(output, "progress", on_terminal)
    corpus, store = read("code", [projects]), Datastore.open(tmp_path / "store")
    model = load_model(Settings(model=str(tiny_model), dtype="float32"))

    def run(**arguments):
        with progress.indexing(corpus, store, model, **arguments) as report:
            report(2, 5)
            (task,) = made[-1].tasks
            return task

    return run


def test_the_bar_counts_what_is_left_to_encode(shown):
    """Only tokens of changed documents are counted; rate and documents stand beside the bar."""
    task = shown()
    assert (task.description, task.completed, task.total) == ("encoding", 5, 15)
    assert task.fields["done"].startswith("5 tokens, ")
    assert task.fields["done"].endswith("/s, 2 documents")


def test_the_standard_input_is_not_read_twice(shown):
    """What can be read only once has a bar without an end."""
    assert shown(rereadable=False).total is None
