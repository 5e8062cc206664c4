"""
WikiText as its publisher keeps it on the Hugging Face hub, through the `datasets` library.

Gives the files that were published first, byte for byte: the hub has a row for each of their
lines. Knows which dataset and revision that is; only tables are read, and no code of the dataset's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from vicinal.corpus.source import SPLITS, AbstractSource, Made, Progress, SplitFile
from vicinal.corpus.wikitext import WikiText
from vicinal.errors import CorpusError, DownloadError, VicinalError

REPOSITORY = "Salesforce/wikitext"
REVISION = "b08601e04326c79dfdd32d625aee71d232d685c3"
HUB_SPLITS = {"train": "train", "valid": "validation", "test": "test"}
ROWS = 10_000


@dataclass(frozen=True)
class HubWikiText(AbstractSource):
    """One of the four WikiTexts: the hub's *config*, and the *suffix* of the published files."""

    name: str
    about: str
    config: str
    suffix: str
    _: KW_ONLY
    splits: tuple[str, ...] = SPLITS

    def file_name(self, split: str) -> str:
        """Name the file of a split as it was published."""
        return f"wiki.{split}{self.suffix}"

    def make(self, folder: Path, progress: Progress) -> Made:
        """Have the dataset in the hub library's own cache, and write its lines."""
        library = _library()
        with _in_one_line(library):
            progress("asking the hub", 0, 0)
            # The prefix keeps a folder of that name from being taken for the dataset.
            builder = library.load_dataset_builder(
                f"hf://datasets/{REPOSITORY}", self.config, revision=REVISION
            )
            progress("downloading from the hub", 0, 0)
            builder.download_and_prepare()
            made = {split: self._write(builder, split, folder, progress) for split in self.splits}
        return Made(
            origin={
                "dataset": f"{library.config.HF_ENDPOINT}/datasets/{REPOSITORY}",
                "config": self.config,
                "revision": builder.hash,
            },
            files=made,
        )

    def _write(self, builder: Any, split: str, folder: Path, progress: Progress) -> SplitFile:
        name, rows = self.file_name(split), builder.as_dataset(split=HUB_SPLITS[split])
        n_lines = done = 0
        with (folder / name).open("wb") as file:
            for line in _lines(rows):
                n_lines, done = n_lines + 1, done + file.write(line)
                if n_lines % ROWS == 0:
                    progress(f"writing {name}", done, rows.data.nbytes)
        n_articles = sum(1 for _ in WikiText(folder / name).titles())
        if not n_articles:
            raise CorpusError(f"Expected articles in {name}, found none in {n_lines:,} lines.")
        return SplitFile(name, f"{self.config}/{HUB_SPLITS[split]}", n_lines, n_articles)


def line_of(row: str) -> bytes:
    r"""
    Give the published line of a row: it has kept its end, but a blank line has become nothing.

    >>> line_of(" = Red Kite = \n"), line_of("")
    (b' = Red Kite = \n', b' \n')
    """
    return (row or " \n").encode()


def _lines(rows: Any) -> Iterator[bytes]:
    for batch in rows.iter(batch_size=ROWS):
        yield from map(line_of, batch["text"])


def _library() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise CorpusError(
            "Expected the datasets library, found none. Install it: pip install 'vicinal[fetch]'"
        ) from error
    return datasets


@contextmanager
def _in_one_line(library: Any) -> Iterator[None]:
    """Say what went wrong between here and the hub, whichever of its libraries said it."""
    from huggingface_hub.errors import HfHubHTTPError

    # What the hub's errors are made of is the error of whatever HTTP library it uses today.
    unreached = HfHubHTTPError.__bases__
    try:
        yield
    except VicinalError:
        raise
    except (*unreached, library.exceptions.DatasetsError, ValueError) as error:
        reason = " ".join(str(error.__cause__ or error).split()).rstrip(".")
        # The library keeps what it was given, right or wrong.
        hint = (
            "Are you offline? Run it again: what has come so far is kept."
            if isinstance(error, unreached)
            else "Delete it from the hub's cache (in HF_HOME), and run it again."
        )
        raise DownloadError(
            f"{REPOSITORY} could not be had from {library.config.HF_ENDPOINT}: {reason}. {hint}"
        ) from error
