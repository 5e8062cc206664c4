"""
From a corpus to a store: only what is new or changed is encoded, in pieces that survive a crash.

Knows nothing of where documents come from.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from vicinal.corpus.document import Document
from vicinal.datastore.encoded import EncodedDocument, encoded_document
from vicinal.datastore.store import Datastore
from vicinal.datastore.writer import Writer
from vicinal.errors import StoreError
from vicinal.lm.language_model import AbstractLanguageModel, Tokens

MANY_SEGMENTS = 16

# Told how many documents were looked at and how many tokens were encoded so far.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class BuildOptions:
    """
    How to build.

    *prune* removes documents that the corpus no longer has. *chunk_tokens* is about how many
    tokens are encoded and committed at a time: what a crash can cost.
    """

    prune: bool = False
    chunk_tokens: int = 32_768


@dataclass
class Built:
    """How many documents came to what; *skipped* are those without a token."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    tokens: int = 0

    @property
    def documents(self) -> int:
        """Count the documents that the corpus gave and that are dealt with."""
        return self.added + self.replaced + self.unchanged + self.skipped


@dataclass
class _Run:
    """What a build knows while it goes on."""

    model: AbstractLanguageModel
    progress: Progress
    live: dict[str, str]
    built: Built = field(default_factory=Built)
    seen: set[str] = field(default_factory=set)
    tokenless: list[str] = field(default_factory=list)


def build(
    store: Datastore,
    corpus: Iterable[Document],
    model: AbstractLanguageModel,
    *,
    options: BuildOptions = BuildOptions(),
    progress: Progress = lambda documents, tokens: None,
) -> Built:
    """
    Bring a store to the state of a corpus.

    Documents whose content hash is stored already cost nothing, so an interrupted build goes on
    where it was when it is run again. What was committed stays, whatever happens.
    """
    store.check_fingerprint(model.fingerprint, model.name)
    with store.writer() as writer:
        run = _Run(model, progress, store.content_hashes())
        try:
            for chunk in _chunks(corpus, run, options.chunk_tokens):
                _commit(writer, chunk, run, keep_outputs=store.identity.output_dim is not None)
        except KeyboardInterrupt:
            _interrupted(run.built)
        gone = set(run.live) - run.seen if options.prune else set()
        run.built.removed = writer.remove([*sorted(gone), *run.tokenless])
        if len(store.state().segments) > MANY_SEGMENTS:
            writer.compact(lazy=True)
    return run.built


def _chunks(
    corpus: Iterable[Document], run: _Run, chunk_tokens: int
) -> Iterator[list[tuple[Document, Tokens]]]:
    """Gather new and changed documents until there are enough tokens to encode."""
    chunk: list[tuple[Document, Tokens]] = []
    n_tokens = 0
    for document in _changed(corpus, run):
        tokens = run.model.tokenize(document.text)
        if not len(tokens.ids):
            run.built.skipped += 1
            run.tokenless.append(document.name)
            continue
        chunk.append((document, tokens))
        n_tokens += len(tokens.ids)
        if n_tokens >= chunk_tokens:
            yield chunk
            chunk, n_tokens = [], 0
    if chunk:
        yield chunk


def _changed(corpus: Iterable[Document], run: _Run) -> Iterator[Document]:
    """Pass on the documents that are not in the store as they are."""
    for document in corpus:
        if document.name in run.seen:
            raise StoreError(
                f"Every document should have its own name, found {document.name!r} twice. "
                "Index the two trees from their common parent, or into two stores."
            )
        run.seen.add(document.name)
        if run.live.get(document.name) == document.content_hash:
            run.built.unchanged += 1
            run.progress(run.built.documents, run.built.tokens)
        else:
            yield document


def _commit(
    writer: Writer, chunk: list[tuple[Document, Tokens]], run: _Run, *, keep_outputs: bool
) -> None:
    """Encode a chunk and store it as one segment."""
    built, done = run.built, run.built.tokens

    def on_batch(n_tokens: int) -> None:
        nonlocal done
        done += n_tokens
        run.progress(built.documents, done)

    encodings = run.model.encode([tokens.ids for _, tokens in chunk], on_batch)
    documents = [
        encoded_document(document, tokens, encoding, keep_outputs=keep_outputs)
        for (document, tokens), encoding in zip(chunk, encodings, strict=True)
    ]
    writer.add(documents)
    _count(documents, run)


def _count(documents: list[EncodedDocument], run: _Run) -> None:
    """Book what was committed."""
    replaced = sum(document.name in run.live for document in documents)
    run.built.replaced += replaced
    run.built.added += len(documents) - replaced
    run.built.tokens += sum(len(document) for document in documents)
    run.progress(run.built.documents, run.built.tokens)


def _interrupted(built: Built) -> NoReturn:
    """Say what is safe, and stay a keyboard interrupt."""
    raise KeyboardInterrupt(
        f"Interrupted: {built.added + built.replaced} documents ({built.tokens} tokens) were "
        "stored and stay stored. Run the same command again to go on."
    ) from None
