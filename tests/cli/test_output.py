"""How results are written: numbers, sizes, tables, JSON."""

import json

import pytest

from vicinal.cli import output


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (1234567, "1,234,567"),
        (0.123456, "0.1235"),
        (-12.34567, "-12.35"),
        (123456.7, "123,457"),
        ("as it is", "as it is"),
    ],
)
def test_values_are_written_as_a_person_would(value, text):
    """Integers are grouped, floats have four digits, and nothing prints as ``None``."""
    assert output.formatted(value) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (2_340_000, "2.34 MB"), (7.1e13, "71 TB")],
)
def test_sizes_have_the_unit_that_suits_them(n, text):
    """A size has at most three digits before its unit."""
    assert output.as_bytes(n) == text


def test_json_is_one_value(capsys):
    """What is printed for machines reads back as it was, letters of all scripts included."""
    output.print_json({"naïve": [1, 2.5, None], "字": "文"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"naïve": [1, 2.5, None], "字": "文"}
    assert "字" in printed


def test_a_table_in_a_pipe_is_not_folded(capsys):
    """A long name stays on its line where no one set a width, and markup is only text."""
    name = "a/very/" + "long/" * 25 + "path[bold].py"
    output.print_table(["file", "tokens"], [(name, 12345), ("b", 7)])
    lines = capsys.readouterr().out.splitlines()
    assert any(name in line and "12,345" in line for line in lines)
    # Numbers end in the same column.
    (long,) = [line for line in lines if "12,345" in line]
    (short,) = [line for line in lines if " 7 " in line]
    assert long.index("12,345") + 6 == short.index(" 7 ") + 2


def test_facts_are_aligned(capsys):
    """Values start in the same column, whatever their names."""
    output.print_facts({"a": 1, "a longer name": None})
    first, second = capsys.readouterr().out.splitlines()
    assert first.index("1") == second.index("-")


def test_progress_is_silent_where_no_one_watches(capsys):
    """Without a terminal, progress writes nothing at all."""
    with output.progress() as bar:
        bar.update(bar.add_task("encoding", total=3, done=""), completed=2)
    assert capsys.readouterr().err == ""
