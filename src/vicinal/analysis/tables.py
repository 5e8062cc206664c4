r"""
Tables as values: written as CSV, Markdown and LaTeX, always the same for the same numbers.

A cell is a line of text, a number with its own number of digits, or nothing. Knows nothing of what
the numbers mean.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# In braces what LaTeX would take for an option of the rule or the line end before it; by name what
# its oldest fonts have other signs for.
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "[": "{[}",
    "*": "{*}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "λ": r"$\lambda$",
    "Δ": r"$\Delta$",
    "±": r"$\pm$",
    "−": "$-$",
}
# Cells hold source code: __init__, *args, a|b and <script> are to be read as they stand.
MARKDOWN = {sign: rf"\{sign}" for sign in "\\|`*_~<[&"}


@dataclass(frozen=True)
class Number:
    """A number as a table shows it: *digits* after the point, with a sign, or as a percentage."""

    value: float
    digits: int = 3
    signed: bool = False
    percent: bool = False

    def __str__(self) -> str:
        """Write the number; what is no number is a dash."""
        if math.isnan(self.value):
            return "--"
        sign = "+" if self.signed else ""
        value = 100 * self.value if self.percent else self.value
        text = f"{value:{sign}.{self.digits}f}" + ("%" if self.percent else "")
        # A rounded zero has no sign: -0.00 and 0.00 would differ by the last bit of a sum.
        return text.lstrip("+-") if not text.strip("+-0.%") else text


Cell = str | Number | None


@dataclass(frozen=True)
class Table:
    """
    A table with a title, and a note on what its numbers are.

    *name* is the stem of its files.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    @property
    def cells(self) -> list[list[str]]:
        """Write every cell as text, on one line."""
        return [["" if cell is None else _one_line(str(cell)) for cell in row] for row in self.rows]

    @property
    def head(self) -> list[str]:
        """Name every column, on one line."""
        return [_one_line(name) for name in self.columns]

    def numeric(self, column: int) -> bool:
        """Say whether a column holds numbers, so that it is set to the right."""
        kinds = {type(row[column]) for row in self.rows if row[column] is not None}
        return kinds == {Number}

    def to_csv(self) -> str:
        """Write comma-separated values, numbers as they are shown."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.head)
        writer.writerows(self.cells)
        return file.getvalue()

    def to_markdown(self) -> str:
        """Write a Markdown table with its title and note."""
        rules = ["---:" if self.numeric(i) else "---" for i in range(len(self.columns))]
        head, *body = ([_escaped(c, MARKDOWN) for c in row] for row in [self.head, *self.cells])
        lines = ["| " + " | ".join(row) + " |" for row in [head, rules, *body]]
        return "\n\n".join(filter(None, [f"**{self.title}**", "\n".join(lines), self.note])) + "\n"

    def to_latex(self) -> str:
        """Write a LaTeX table; it needs the package booktabs."""
        places = "".join("r" if self.numeric(i) else "l" for i in range(len(self.columns)))
        head, *body = (" & ".join(map(_latex, row)) for row in [self.head, *self.cells])
        rows = "\n".join(rf"{row} \\" for row in body)
        return (
            f"\\begin{{table}}[t]\n\\centering\n\\caption{{{_latex(self.title)}}}\n"
            f"\\label{{tab:{self.name}}}\n\\begin{{tabular}}{{{places}}}\n\\toprule\n"
            f"{head} \\\\\n\\midrule\n{rows}\n\\bottomrule\n\\end{{tabular}}\n"
            f"{_latex(self.note)}\n\\end{{table}}\n"
        )


def _latex(text: str) -> str:
    return _escaped(text, LATEX)


def _escaped(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
