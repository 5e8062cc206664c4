"""
The paper's two experiments as values: which documents, in which splits, under which schema.

Every document's name starts with its split; one store holds all splits, and each split is seen
with the training documents alone (`view`). Knows nothing of models or of what is measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from vicinal.corpus import (
    AbstractCorpus,
    Categories,
    CodeTree,
    Decision,
    Document,
    JsonLines,
    WikiText,
)
from vicinal.datastore import Snapshot, visible
from vicinal.errors import CorpusError
from vicinal.locality import Domain, load_domain
from vicinal.paper.limits import categories_of, limited_articles, limited_code

TRAIN, VALID, TEST = "train", "valid", "test"
SECTION, ARTICLE = "section", "article"


@dataclass(frozen=True)
class Protocol(AbstractCorpus):
    """
    An experiment of the paper: its *domain*, and the corpora of its splits.

    *note* says what the data are and what they lack; *unit* what a document is.
    """

    name: str
    domain: Domain
    splits: Mapping[str, AbstractCorpus]
    note: str
    unit: str

    def __iter__(self) -> Iterator[Document]:
        """Read the documents of all splits, named by their split."""
        for split, corpus in self.splits.items():
            for document in corpus:
                yield replace(document, name=f"{split}/{document.name}")

    def decisions(self) -> Iterator[Decision]:
        """Say of the files of every split whether they are read."""
        for corpus in self.splits.values():
            yield from corpus.decisions()


def view(snapshot: Snapshot, split: str) -> Snapshot:
    """See the documents of one split, and the training documents where there are any."""
    return visible(snapshot, lambda d: d.name.partition("/")[0] in (TRAIN, split))


def java(data: Path, *, limit: int | None = None, seed: int = 0) -> Protocol:
    """
    Read the Java projects: *data* has ``valid`` and ``test``, each with a folder per project.

    Or ``valid.jsonl`` and ``test.jsonl``, as ``vicinal corpus fetch java-github`` writes them.
    *limit* is about how many bytes each split's store gets.
    """
    splits = {split: _code(data, split, limit, seed) for split in (VALID, TEST)}
    note = (
        "Java projects, a document per file, comments left out; level by project and directory. "
        "The store of a split is the split itself."
    )
    return Protocol("java", load_domain("code"), splits, note, "file")


@dataclass(frozen=True)
class Encyclopedia:
    """
    Where the articles lie, and what their categories are.

    *data* has ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``, in itself or
    in a folder ``wikitext-2`` or ``wikitext-103``.
    """

    data: Path
    categories: Categories
    _: KW_ONLY
    limit: int | None = None
    seed: int = 0


def wikitext(found: Encyclopedia, *, unit: str = SECTION) -> Protocol:
    """
    Read WikiText: articles of each split, and training articles that both stores share.

    Half of the limit goes to a split's own articles, half to training articles.
    """
    half = None if found.limit is None else found.limit // 2
    queried = {
        split: limited_articles(_articles(found, split, unit), half, found.seed)
        for split in (VALID, TEST)
    }
    near = frozenset(c for corpus in queried.values() for d in corpus for c in categories_of(d))
    train = limited_articles(_articles(found, TRAIN, unit), half, found.seed, near)
    note = (
        f"WikiText, a document per {unit}; level by section title and category. Categories: "
        f"{found.categories.report}. The store of a split is the split and training articles."
    )
    return Protocol("wikitext", load_domain("wikitext"), {TRAIN: train, **queried}, note, unit)


def _code(data: Path, split: str, limit: int | None, seed: int) -> AbstractCorpus:
    lines, folder = data / f"{split}.jsonl", data / split
    if lines.is_file():
        return limited_code(JsonLines(lines), limit, seed)
    if not folder.is_dir():
        raise CorpusError(
            f"Expected Java projects in {folder} (a folder each) or documents in {lines.name} "
            f"beside it, found neither. Get them: `vicinal corpus fetch java-github`."
        )
    return limited_code(CodeTree(folder, projects_are_folders=True, comments=False), limit, seed)


def _articles(found: Encyclopedia, split: str, unit: str) -> WikiText:
    folders = (found.data, found.data / "wikitext-103", found.data / "wikitext-2")
    names = (f"wiki.{split}.tokens", f"wiki.{split}.raw")
    files = [folder / name for folder in folders for name in names]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        raise CorpusError(
            f"Expected {' or '.join(names)} in {found.data} or in its folders wikitext-103 or "
            "wikitext-2, found none. Get them: `vicinal corpus fetch wikitext-103`."
        )
    kind = ARTICLE if unit == ARTICLE else SECTION
    return WikiText(file, unit=kind, categories=found.categories)  # type: ignore[arg-type]
