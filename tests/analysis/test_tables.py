"""Tables: what was written is read again, cell by cell, by slow readers of each format."""

import csv
import io
import math
import re
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vicinal.analysis import Number, Table

SIGNS = "\\&%$#_{}~^λΔ±−[]*|<>`\"'-+. \tabü字\n\r\x0b\u2028"
TEXTS = st.text(alphabet=SIGNS, max_size=8)
NUMBERS = st.tuples(st.floats(-1e6, 1e6), st.integers(0, 4), st.booleans(), st.booleans())
CELLS = st.one_of(st.none(), TEXTS, NUMBERS)
# What each of LaTeX's commands prints.
PRINTED = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"$\lambda$": "λ",
    r"$\Delta$": "Δ",
    r"$\pm$": "±",
    "$-$": "−",
    "{[}": "[",
    "{*}": "*",
    **{rf"\{sign}": sign for sign in "&%$#_{}"},
}


@st.composite
def tables(draw):
    """Draw columns and rows, for `made`: one to four columns and no more than four rows."""
    n = draw(st.integers(1, 4))
    columns = draw(st.lists(TEXTS, min_size=n, max_size=n))
    rows = draw(st.lists(st.lists(CELLS, min_size=n, max_size=n), max_size=4))
    return columns, rows


def made(drawn) -> Table:
    """Make the table that was drawn (outside the draw: run-time type checks are random)."""
    columns, rows = drawn
    cells = [[number(*c) if isinstance(c, tuple) else c for c in row] for row in rows]
    return Table("drawn", "A drawn table", columns, cells)


def number(value, digits, signed, percent) -> Number:
    return Number(value, digits, signed=signed, percent=percent)


def line(text: str) -> str:
    """Join the lines of a cell."""
    return " ".join(text.splitlines())


def expected(table: Table) -> list[list[str]]:
    """Write out head and rows, sign by sign as they were given."""
    rows = [["" if c is None else line(str(c)) for c in row] for row in table.rows]
    return [[line(name) for name in table.columns], *rows]


def read_markdown(row: str) -> list[str]:
    """Read a row as a renderer does: a backslash takes the next sign as it is."""
    assert row.startswith("| ")
    assert row.endswith(" |")
    cells, at = [""], 2
    while at < len(row) - 2:
        if row[at] == "\\":
            cells[-1] += row[at + 1]
            at += 2
        elif row[at : at + 3] == " | ":
            cells.append("")
            at += 3
        else:
            assert row[at] not in "|`*_~<[&", f"{row[at]} means something here: {row}"
            cells[-1] += row[at]
            at += 1
    return cells


def read_latex(row: str) -> list[str]:
    r"""Read a row as LaTeX prints it: commands by their names, cells between ``&``."""
    cells, at = [""], 0
    while at < len(row):
        command = next((c for c in PRINTED if row.startswith(c, at)), None)
        if command:
            cells[-1] += PRINTED[command]
            at += len(command)
        elif row.startswith(" & ", at):
            cells.append("")
            at += 3
        else:
            assert row[at] not in "\\&%$#_{}~^[*", f"{row[at]} means something here: {row}"
            cells[-1] += row[at]
            at += 1
    return cells


@given(tables())
def test_csv_reads_back(drawn):
    """Head and cells are what a reader of CSV finds, and every row is one line."""
    table = made(drawn)
    text = table.to_csv()
    assert list(csv.reader(io.StringIO(text, newline=""))) == expected(table)
    assert text.count("\n") == len(text.splitlines()) == 1 + len(table.rows)


@given(tables())
@example((["a|b"], [[r"\|"], ["__init__"], ["<script>"], ["a\r\nb"]]))
def test_markdown_reads_back(drawn):
    """No cell spills into the next, and nothing in a cell is markup."""
    table = made(drawn)
    title, _, *rows = table.to_markdown().splitlines()
    assert title == "**A drawn table**"
    head, rules, *body = rows
    assert [read_markdown(row) for row in (head, *body)] == expected(table)
    assert len(read_markdown(rules)) == len(table.columns)


@given(tables())
@example((["x"], [["[2pt]"], ["*"], [r"\input{x}"], ["100%"], ["a\n\nb"]]))
def test_latex_reads_back(drawn):
    """No cell is a command, a comment or an option of the line end before it."""
    table = made(drawn)
    text = table.to_latex()
    inside = text[text.index("\\toprule\n") + 9 : text.index("\n\\bottomrule")]
    head, body = inside.split("\n\\midrule\n")
    rows = [head, *(body.splitlines() if table.rows else [])]
    assert all(row.endswith(r" \\") for row in rows)
    assert [read_latex(row.removesuffix(r" \\")) for row in rows] == expected(table)


def test_title_note_and_name_are_there():
    """A table says what it is, and can be referred to; without a note nothing is left of it."""
    table = Table("few", "50% & more", ["a"], [["b"]], "A note_.")
    latex = table.to_latex()
    assert r"\caption{50\% \& more}" in latex
    assert r"\label{tab:few}" in latex
    assert latex.endswith("\\end{tabular}\nA note\\_.\n\\end{table}\n")
    assert table.to_markdown() == "**50% & more**\n\n| a |\n| --- |\n| b |\n\nA note_.\n"
    bare = Table("few", "T", ["a"], [["b"]])
    assert bare.to_markdown().endswith("| b |\n")


def test_numbers_are_set_to_the_right():
    """A column is numeric if all that stands in it are numbers; gaps do not count."""
    rows = [[Number(1.0), "a", Number(2.0), None], [None, Number(3.0), Number(4.0), None]]
    table = Table("t", "T", ["gap", "mixed", "full", "empty"], rows)
    assert [table.numeric(i) for i in range(4)] == [True, False, True, False]
    assert "| ---: | --- | ---: | --- |" in table.to_markdown()
    assert r"\begin{tabular}{rlrl}" in table.to_latex()


def slow(shown: Number) -> str:
    """Round by hand, in decimals; a sign stands only where something is left of the number."""
    if math.isnan(shown.value):
        return "--"
    value = Decimal(100 * shown.value if shown.percent else shown.value)
    rounded = value.quantize(Decimal(1).scaleb(-shown.digits), ROUND_HALF_EVEN)
    sign = "-" if rounded < 0 else "+" if rounded > 0 and shown.signed else ""
    return f"{sign}{abs(rounded):f}{'%' if shown.percent else ''}"


@given(st.floats(-1e6, 1e6), st.integers(0, 4), st.booleans(), st.booleans())
@example(-0.0004, 3, True, False)
@example(-0.0, 2, False, True)
@example(math.nan, 2, True, True)
def test_numbers_have_their_digits(value, digits, signed, percent):
    """As many digits as asked, a sign if asked, and no sign before a rounded zero."""
    shown = number(value, digits, signed, percent)
    assert str(shown) == slow(shown)
    assert not re.fullmatch(r"[+-]0*\.?0*%?", str(shown))


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (Number(-0.0004), "0.000"),
        (Number(0.0004, signed=True), "0.000"),
        (Number(-0.0006, signed=True), "-0.001"),
        (Number(12.5, 1, signed=True), "+12.5"),
        (Number(0.1234, 1, percent=True), "12.3%"),
        (Number(-0.00001, 2, signed=True, percent=True), "0.00%"),
        (Number(1234567.0, 0), "1234567"),
        (Number(math.nan), "--"),
        (Number(-math.inf, 2), "-inf"),
    ],
)
def test_numbers_as_they_are_shown(shown, text):
    """A few by hand."""
    assert str(shown) == text
