r"""
Code cut into lexemes: whole tokens, comments, and prose that only white space cuts further.

Java has a pattern of its own. Other languages are cut by Pygments, whose pieces are made for
coloring and are joined here: those of one literal, and those of one operator.

    text           x + = " a \ n " ;
    pieces        |x|+|=|"|a|\ n|"|;|
    lexemes       |x|+ =|" a \ n "|;|

Knows nothing of documents, nor what lexemes are for.
"""

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from pygments.lexers import get_lexer_by_name
from pygments.token import Token
from pygments.util import ClassNotFound

from vicinal.corpus.java_tokens import JAVA
from vicinal.corpus.operators import OPERATORS

PATTERNS = {"java": JAVA}
LONGEST = 4  # pieces of an operator
# Pygments also calls comments: lines for a preprocessor, ``#!``, the borders of templates.
COMMENTS = frozenset(
    {
        Token.Comment,
        Token.Comment.Single,
        Token.Comment.Singleline,
        Token.Comment.Multiline,
    }
)
# What Rust, PHP and others document with is a comment; what Python does is a literal.
OPENS_COMMENT = ("/", "#")


class Kind(Enum):
    """What a lexeme is; prose are also docstrings, lines for a preprocessor, text among tags."""

    TOKEN = auto()
    COMMENT = auto()
    PROSE = auto()


class Lexeme(NamedTuple):
    """The characters ``[start, end)`` of a text; neither the first nor the last is white space."""

    kind: Kind
    start: int
    end: int


class Sort(Enum):
    """What pieces have in common that may be joined."""

    TEXT = auto()
    DIRECTIVE = auto()
    COMMENT = auto()
    DOC = auto()
    LITERAL = auto()
    OPERATOR = auto()
    OTHER = auto()


PROSE = (Sort.TEXT, Sort.DIRECTIVE, Sort.DOC)


def lexemes(text: str, language: str) -> Iterator[Lexeme]:
    """Cut a text; *language* is a Pygments alias. What has no lexer is one lexeme of prose."""
    pattern = PATTERNS.get(language.lower())
    if pattern is None:
        yield from _by_pygments(text, language)
        return
    for match in pattern.finditer(text):
        kind = Kind.COMMENT if match.lastgroup else Kind.TOKEN
        yield Lexeme(kind, match.start(), match.end())


def _by_pygments(text: str, language: str) -> Iterator[Lexeme]:
    pieces, operators = _pieces(text, language)
    start = 0
    for sort, group in groupby(pieces, key=itemgetter(0)):
        for joined in _joined(sort, [piece for _, piece in group], operators):
            bare = joined.strip()
            if bare:
                first = start + joined.index(bare[0])
                yield Lexeme(_kind(sort, bare), first, first + len(bare))
            start += len(joined)


def _pieces(text: str, language: str) -> tuple[list[tuple[Sort, str]], frozenset[str]]:
    """Cut by Pygments, and say which operators to join; without a lexer all is one piece."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return [(Sort.TEXT, text)], frozenset()
    lines = f"{text}\n"  # many lexers know a comment by the end of its line
    pieces = [(_sort(kind), piece) for _, kind, piece in lexer.get_tokens_unprocessed(lines)]
    if "".join([piece for _, piece in pieces]) != lines:  # a few lexers lose or repeat a part
        return [(Sort.TEXT, text)], frozenset()
    return pieces, OPERATORS.get(lexer.aliases[0], frozenset())


@cache
def _sort(kind: Any) -> Sort:
    if kind in Token.Comment:
        return Sort.COMMENT if kind in COMMENTS else Sort.DIRECTIVE
    if kind in Token.String:
        return Sort.DOC if kind in Token.String.Doc else Sort.LITERAL
    if kind in Token.Operator or kind in Token.Punctuation:
        return Sort.OPERATOR
    return Sort.TEXT if kind in Token.Text else Sort.OTHER


def _kind(sort: Sort, text: str) -> Kind:
    if sort is Sort.COMMENT or (sort is Sort.DOC and text.startswith(OPENS_COMMENT)):
        return Kind.COMMENT
    return Kind.PROSE if sort in PROSE else Kind.TOKEN


def _joined(sort: Sort, pieces: list[str], operators: frozenset[str]) -> Iterable[str]:
    if sort is Sort.OTHER or len(pieces) == 1:
        return pieces
    if sort is Sort.LITERAL:
        return _literals(pieces)
    return _longest(pieces, operators) if sort is Sort.OPERATOR else ["".join(pieces)]


def _literals(pieces: list[str]) -> Iterator[str]:
    """Part literals that touch: one ends where the quote that opened it comes again."""
    start, quote = 0, ""
    for end, piece in enumerate(pieces, 1):
        if piece == quote:
            yield "".join(pieces[start:end])
            start, quote = end, ""
        elif not quote and not piece.isalnum():  # a prefix, as in b"..."
            quote = piece
    if start < len(pieces):
        yield "".join(pieces[start:])


def _longest(pieces: list[str], operators: frozenset[str]) -> Iterator[str]:
    """Take the longest operator that starts and ends where pieces do, or a piece as it is."""
    start = 0
    while start < len(pieces):
        ends = range(min(start + LONGEST, len(pieces)), start + 1, -1)
        end = next((e for e in ends if "".join(pieces[start:e]) in operators), start + 1)
        yield "".join(pieces[start:end])
        start = end
