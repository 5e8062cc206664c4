"""
A text without its comments, as models of code are measured in the literature.

A comment leaves nothing behind: not the blanks before it at the end of a line, and not a line on
which nothing else stood. Between two tokens of one line it leaves a blank.

    int/* of */a;  // why        int a;
    /* Nothing                   int b;
       else. */
    int b;

Knows no language; lexemes say what a comment is.
"""

import re
from typing import NamedTuple

from vicinal.corpus.lexing import Kind, lexemes

BLANKS = re.compile(r"[^\S\r\n]*+")
LINE_END = re.compile(r"\r\n?|\n|\Z")


class Run(NamedTuple):
    """Comments ``[start, end)`` on a line, and blanks from *before* them until *after* them."""

    before: int
    start: int
    end: int
    after: int


def without_comments(text: str, language: str) -> str:
    """Take the comments out of a text; where *language* has no lexer, the text stays as it is."""
    kept, done = [], 0
    for run in _runs(text, language):
        kept.append(text[done : run.before])
        starts_line = run.before == 0 or text[run.before - 1] in "\r\n"
        line_end = LINE_END.match(text, run.after)
        if line_end is None:
            blank = "" if starts_line else text[run.end : run.after] or " "
            kept.append(text[run.before : run.start] or blank)
        done = line_end.end() if line_end and starts_line else run.after
    return "".join(kept) + text[done:]


def _runs(text: str, language: str) -> list[Run]:
    """Find the comments; those with nothing but blanks between them are one run."""
    runs: list[Run] = []
    seen = 0
    for kind, start, end in lexemes(text, language):
        if kind is Kind.COMMENT:
            blanks = BLANKS.match(text, end)
            after = blanks.end() if blanks else end
            if runs and runs[-1].after == start:
                runs[-1] = runs[-1]._replace(end=end, after=after)
            else:
                line = 1 + max(text.rfind("\n", seen, start), text.rfind("\r", seen, start))
                runs.append(Run(max(line, seen), start, end, after))
        seen = end
    return runs
