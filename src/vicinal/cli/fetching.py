"""Having a model that has a short name: fetched once, with its progress shown."""

from pathlib import Path

from vicinal.cli import output


def fetched(name: str) -> Path:
    """Give the folder of a model that has a short name; fetch it if it is not there yet."""
    from vicinal.lm import pull

    with output.progress() as bar:
        task = bar.add_task("starting", total=None, done="")

        def show(stage: str, done: int, total: int) -> None:
            size = output.as_bytes(done) if done else ""
            bar.update(task, description=stage, completed=done, total=total or None, done=size)

        return pull(name, show)
