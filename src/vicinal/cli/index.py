"""``vicinal index``: read documents, encode them, and keep them in a store."""

import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from vicinal.cli import options, output, parts, progress, reading

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.corpus import AbstractCorpus
    from vicinal.datastore import Built, Datastore
    from vicinal.lm import HuggingFaceModel


def index(
    paths: options.Paths,
    store: options.Store,
    corpus: options.Corpus = None,
    model: options.Model = None,
    projects_are_folders: options.ProjectsAreFolders = None,
    dry_run: options.DryRun = False,
    prune: options.Prune = False,
    no_outputs: options.NoOutputs = False,
    key_layer: options.KeyLayer = None,
    dtype: options.Dtype = None,
    window: options.Window = None,
    json: options.Json = False,
) -> None:
    """
    Read documents, encode them with a language model, and keep them in a store.

    Only what is new or changed is encoded. Interrupting is safe: what was stored stays stored, and
    the same command goes on. A store remembers its model and how its files are read.

    For example:

    \b
    $ vicinal index ~/code/my-project --store my-store
    $ vicinal index corpora/java --store java --projects-are-folders
    $ vicinal index wiki.train.tokens --store wiki --corpus wikitext
    """
    from vicinal.datastore import BuildOptions, Datastore, build

    asked = {
        "corpus": corpus,
        "model": model,
        "projects_are_folders": projects_are_folders,
        "key_layer": key_layer,
        "dtype": dtype,
        "window": window,
    }
    known = parts.settings_of(Datastore.open(store)) if parts.has_store(store) else parts.Settings()
    settings = known.given(asked)
    documents = reading.read_corpus(settings, paths)
    if dry_run:
        _show_decisions(documents, json)
        return
    lm = parts.load_model(settings)
    opened = parts.open_or_create(store, settings, lm, keep_outputs=not no_outputs)
    rereadable = Path("-") not in paths
    with progress.indexing(documents, opened, lm, rereadable=rereadable) as report:
        start = time.perf_counter()
        built = build(opened, documents, lm, options=BuildOptions(prune=prune), progress=report)
    _show_summary(opened, lm, built, seconds=time.perf_counter() - start, as_json=json)


def _show_decisions(corpus: "AbstractCorpus", as_json: bool) -> None:
    """Say which files are read, which are not, and why."""
    decisions = list(corpus.decisions())
    if as_json:
        output.print_json({"decisions": [asdict(decision) for decision in decisions]})
        return
    rows = [("read" if d.kept else "left out", d.path, d.reason) for d in decisions]
    output.print_table(["", "file", "why"], rows)
    reasons = Counter(d.reason for d in decisions if not d.kept)
    output.print_facts({"files read": sum(d.kept for d in decisions), **reasons})


def _show_summary(
    store: "Datastore", lm: "HuggingFaceModel", built: "Built", *, seconds: float, as_json: bool
) -> None:
    """Say what came of it."""
    from vicinal.datastore import info

    now = info(store)
    rate = built.tokens / seconds
    if as_json:
        counts = asdict(built)
        now_holds = {"documents": now.documents, "entries": now.live, "bytes": now.bytes_on_disk}
        speed = {"seconds": seconds, "tokens_per_second": rate}
        output.print_json(counts | speed | {"store": now_holds, "model": lm.describe()})
        return
    output.print_facts(
        {
            "documents added": built.added,
            "replaced": built.replaced,
            "unchanged": built.unchanged,
            "removed": built.removed,
            "without a token": built.skipped,
            "tokens encoded": f"{built.tokens:,} in {seconds:,.1f} s ({rate:,.0f}/s)",
            "the store now": f"{now.documents:,} documents, {now.live:,} entries, "
            f"{output.as_bytes(now.bytes_on_disk)}",
            **dict(line.split(": ", 1) for line in lm.describe()),
        }
    )
