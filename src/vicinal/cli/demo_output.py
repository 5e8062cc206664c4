"""What the demo prints for a person: the ladder, a line for each level, cases in full."""

from typing import TYPE_CHECKING

from rich.text import Text

from vicinal.cli import fitted, output

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.analysis import Case, Report

COLUMNS = ("ppl", "ppl_full_token", "top1", "top5", "helped", "hurt")


def show(found: "Report") -> None:
    """Print all that a report tells, but for its curves."""
    rows = []
    for row in found.result.rows:
        change = row.difference
        interval = f"[{change.interval[0]:+.3f}, {change.interval[1]:+.3f}]" if change else ""
        values = [row.measures[name] for name in COLUMNS]
        rows.append((row.name, *values, f"{change.difference:+.3f}" if change else "", interval))
    output.print_table(["", *COLUMNS, "Δ ppl", "95 %"], rows, "The ladder, each row tested")
    coverage = found.result.rows[0].measures["coverage"]
    counts = {"positions": found.result.positions, "documents": found.result.documents}
    output.print_facts({**counts, "coverage": coverage})
    lines = [row[2:] for row in fitted.table(found.parameters) if row[0] == found.told]
    output.print_table(["level", "w", "b"], lines, "The line of each level, g = w·d + b")
    for number, case in enumerate(found.cases, 1):
        _show_case(number, case)


def _show_case(number: int, case: "Case") -> None:
    from vicinal.analysis import visible

    console, place = output.results(), case.place
    console.print(Text(f"\nCase {number}: {place.document}:{place.line}", style="bold"))
    console.print(Text.assemble(place.before, (visible(place.token), "reverse")))
    told = []
    for t in case.told:
        guesses = "  ".join(f"{visible(guess.token)} {guess.p:.2f}" for guess in t.guesses)
        told.append((t.rung, t.p, guesses))
    output.print_table(["", "p(gold)", "best guesses"], told)
    neighbors = []
    for n in case.neighbors:
        went_on = f"{n.place.before.splitlines()[-1][-30:] if n.place.before else ''}"
        where = f"{n.place.document}:{n.place.line}"
        row = (where, n.level_name, f"{went_on}→{visible(n.place.token)}")
        neighbors.append((*row, n.distance, n.calibrated, n.share))
    output.print_table(["neighbor", "level", "went on", "d", "g", "share"], neighbors)
