"""Fetching with its progress shown: a model that has a short name, or anything else in stages."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vicinal.cli import output

# Told what is being done, and how many bytes of how many (0 where nobody knows).
Show = Callable[[str, int, int], None]


def fetched(name: str) -> Path:
    """Give the folder of a model that has a short name; fetch it if it is not there yet."""
    from vicinal.lm import pull

    with showing() as show:
        return pull(name, show)


@contextmanager
def showing() -> Iterator[Show]:
    """Show a bar on stderr; give what has to be told each stage and its bytes."""
    with output.progress() as bar:
        task = bar.add_task("starting", total=None, done="")

        def show(stage: str, done: int, total: int) -> None:
            size = output.as_bytes(done) if done else ""
            bar.update(task, description=stage, completed=done, total=total or None, done=size)

        yield show
