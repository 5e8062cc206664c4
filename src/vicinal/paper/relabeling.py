"""
What the released code stored otherwise: documents cut short or lost, labels off by one or wrong.

Each is a view of a snapshot; nothing on disk changes. Written from notes on what that code does;
nothing of it is copied.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from vicinal.datastore import Snapshot, StoredDocument, StoredSpan, clipped, relabeled
from vicinal.evaluation import units
from vicinal.lm import AbstractLanguageModel
from vicinal.paper.scene import View

LONGEST = 3072  # subtokens of a document that the released code read
MISTAKEN = 0.05  # share of files whose path it guessed wrongly: at least .035 and .076
HEADING_TOKENS = 64
Values = tuple[str, ...]
Attributes = Mapping[str, Values]
Titles = Mapping[int, str]  # by the first entry of a span


def truncated(lm: AbstractLanguageModel, longest: int = LONGEST) -> View:
    """Cut every document after its first subtokens; the rest is neither stored nor scored."""

    def length(snapshot: Snapshot, document: StoredDocument) -> int:
        if document.hi - document.lo <= longest:
            return longest
        entries = np.arange(document.lo, document.hi)
        text = lm.decode(snapshot.values(entries).tolist())
        of_token = units(text, document.language, snapshot.offsets(entries)).of_token
        # Half a full token would count as a whole one.
        return int(np.searchsorted(of_token, of_token[longest]))

    return lambda snapshot: clipped(snapshot, lambda document: length(snapshot, document))


def exact_headings(lm: AbstractLanguageModel) -> View:
    """Compare headings with their ``=`` signs: a title at another depth is another title."""

    def view(snapshot: Snapshot) -> Snapshot:
        titles = headings(snapshot, lm)
        return relabeled(snapshot, lambda d, s: {**s.attributes, "section": (titles[s.lo],)})

    return view


def shifted_sections(lm: AbstractLanguageModel) -> View:
    """Name every section after the next heading of its article; leave its last section out."""

    def view(snapshot: Snapshot) -> Snapshot:
        titles = headings(snapshot, lm)
        shifted = {
            lo: titles[after]
            for (article, lo), (other, after) in pairwise(_sections(snapshot))
            if article == other
        }

        def length(document: StoredDocument) -> int:
            own = snapshot.spans[document.first_span : document.last_span]
            return max((s.hi - document.lo for s in own if s.lo in shifted), default=0)

        kept = clipped(snapshot, length)
        return relabeled(kept, lambda d, s: {**s.attributes, "section": (shifted[s.lo],)})

    return view


def no_category_is_one(snapshot: Snapshot) -> Snapshot:
    """Let all articles without a category share one."""

    def attributes(_: StoredDocument, span: StoredSpan) -> Attributes:
        return {**span.attributes, "categories": span.attributes.get("categories") or ("(none)",)}

    return relabeled(snapshot, attributes)


def mistaken_paths(snapshot: Snapshot, share: float = MISTAKEN, seed: int = 0) -> Snapshot:
    """Give some files, drawn by lot, the project and directory of another."""
    own = {d.name: snapshot.spans[d.first_span].attributes for d in snapshot.documents}
    names = sorted(own)
    others = random.Random(seed).sample(names, len(names))
    wrong = {name: own[o] for name, o in zip(names, others, strict=True) if _lot(name) < share}
    return relabeled(snapshot, lambda d, s: wrong.get(d.name, s.attributes))


def headings(snapshot: Snapshot, lm: AbstractLanguageModel) -> Titles:
    """Read the heading that each span starts with, as it is written."""
    return {span.lo: _heading(snapshot, span, lm) for span in snapshot.spans}


def _heading(snapshot: Snapshot, span: StoredSpan, lm: AbstractLanguageModel) -> str:
    first = np.arange(span.lo, min(span.hi, span.lo + HEADING_TOKENS))
    lines = lm.decode(snapshot.values(first).tolist()).strip().splitlines()
    return lines[0].strip() if lines else ""


def _sections(snapshot: Snapshot) -> Iterator[tuple[tuple[str, Values], int]]:
    """Give every span's article, of its split, and its first entry."""
    for document in snapshot.documents:
        split = document.name.partition("/")[0]
        for span in snapshot.spans[document.first_span : document.last_span]:
            yield (split, span.attributes.get("article", ())), span.lo


def _lot(name: str) -> float:
    """Draw a number in [0, 1) that depends on a name alone."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64
