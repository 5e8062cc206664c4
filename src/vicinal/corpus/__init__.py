"""From files to documents with spans and attributes, whatever the domain."""

from vicinal.corpus.code import CodeTree
from vicinal.corpus.document import AbstractCorpus, Attributes, Decision, Document, Span

__all__ = [
    "AbstractCorpus",
    "Attributes",
    "CodeTree",
    "Decision",
    "Document",
    "Span",
]
