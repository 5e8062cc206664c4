"""
The progress of indexing: a bar in tokens, with rate and remaining time, on stderr.

Where no one watches, nothing is counted and nothing is shown.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import Progress

from vicinal.cli import output

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.corpus import Document
    from vicinal.datastore import Datastore
    from vicinal.lm import AbstractLanguageModel

Report = Callable[[int, int], None]


@contextmanager
def indexing(
    corpus: "Iterable[Document]",
    store: "Datastore",
    model: "AbstractLanguageModel",
    *,
    rereadable: bool = True,
) -> Iterator[Report]:
    """
    Show how far an index is; give what has to be told documents and tokens done so far.

    A corpus that is not *rereadable* (the standard input) cannot be counted first.
    """
    with output.progress() as bar:
        if bar.disable:
            yield lambda documents, tokens: None
        else:
            n_tokens = _count(bar, corpus, store, model) if rereadable else None
            yield _reporter(bar, n_tokens)


def _count(
    bar: Progress, corpus: "Iterable[Document]", store: "Datastore", model: "AbstractLanguageModel"
) -> int:
    """Count the tokens to encode: hundreds of times faster than encoding them."""
    task = bar.add_task("reading", total=None, done="")
    stored, n_tokens = store.content_hashes(), 0
    for n_documents, document in enumerate(corpus, 1):
        if stored.get(document.name) != document.content_hash:
            n_tokens += len(model.tokenize(document.text).ids)
        bar.update(task, done=f"{n_documents:,} documents")
    bar.remove_task(task)
    return n_tokens


def _reporter(bar: Progress, n_tokens: int | None) -> Report:
    task = bar.add_task("encoding", total=n_tokens, done="")
    start = time.perf_counter()

    def report(documents: int, tokens: int) -> None:
        rate = tokens / (time.perf_counter() - start)
        done = f"{tokens:,} tokens, {rate:,.0f}/s, {documents:,} documents"
        bar.update(task, completed=tokens, done=done)

    return report
