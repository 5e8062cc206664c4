"""From files to documents with spans and attributes, whatever the domain."""

from vicinal.corpus.categories import Categories, Coverage
from vicinal.corpus.code import CodeTree
from vicinal.corpus.comments import without_comments
from vicinal.corpus.document import AbstractCorpus, Attributes, Decision, Document, Span
from vicinal.corpus.downloading import download, sha256_of
from vicinal.corpus.fetching import SOURCES, fetch, find_source
from vicinal.corpus.jsonl import JsonLines
from vicinal.corpus.lexing import Kind, Lexeme, lexemes
from vicinal.corpus.markdown import MarkdownTree
from vicinal.corpus.mediawiki import MediaWikiSession
from vicinal.corpus.readers import READERS, Joined, read
from vicinal.corpus.source import AbstractSource
from vicinal.corpus.splits import Sampled
from vicinal.corpus.wikidata import WikidataAnswer, WikidataClient
from vicinal.corpus.wikidata_cache import Entity, WikidataCache
from vicinal.corpus.wikitext import WikiText
from vicinal.corpus.zenodo import ZENODO

__all__ = [
    "READERS",
    "SOURCES",
    "ZENODO",
    "AbstractCorpus",
    "AbstractSource",
    "Attributes",
    "Categories",
    "CodeTree",
    "Coverage",
    "Decision",
    "Document",
    "Entity",
    "Joined",
    "JsonLines",
    "Kind",
    "Lexeme",
    "MarkdownTree",
    "MediaWikiSession",
    "Sampled",
    "Span",
    "WikiText",
    "WikidataAnswer",
    "WikidataCache",
    "WikidataClient",
    "download",
    "fetch",
    "find_source",
    "lexemes",
    "read",
    "sha256_of",
    "without_comments",
]
