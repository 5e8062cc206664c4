"""
How many mutants of `locality`, `knnlm` and `index` the tests notice, room by room.

    make mutants
    python benchmarks/mutants.py [--share 0.4]

Reads what `mutmut run` left in mutants/. A whole run takes hours where others use the machine, so
part of one may do: of each module a share of the mutants, drawn with a fixed seed.

    mutmut run $(python benchmarks/mutants.py --share 0.4 --names)

With --share, a module counts with all of its mutants if all were run, else with those drawn. A
mutant is noticed if a test fails, if the interpreter crashes, or if it does not end in time.
"""

import argparse
import math
import random
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

SEED = 0
NOTICED = ("killed", "timeout", "segfault")
PENDING = "not checked"
Verdicts = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="of each module's mutants")
    parser.add_argument("--names", action="store_true", help="list the share, run or not")
    arguments = parser.parse_args()
    modules = read_modules()
    if arguments.names:
        print("\n".join(name for m in modules.values() for name in drawn(m, arguments.share)))
        return
    if not modules:
        print("There is no mutation run in mutants/. Start one: make mutants")
        return
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for module, verdicts in modules.items():
        is_whole = PENDING not in verdicts.values()
        counted = verdicts if is_whole else drawn(verdicts, arguments.share)
        found = Counter(verdicts[name] for name in counted)
        print(line(module, found, len(verdicts)))
        rooms[module.split(".")[0]] += found + Counter({"of": len(verdicts)})
    print()
    for room, found in rooms.items():
        print(line(room, found, found.pop("of")))


def read_modules() -> dict[str, Verdicts]:
    """Ask mutmut for the verdict on every mutant, by room and module."""
    mutmut = Path(sys.executable).with_name("mutmut")
    told = subprocess.run([mutmut, "results", "--all", "true"], capture_output=True, text=True)
    modules: dict[str, Verdicts] = defaultdict(dict)
    for row in sorted(told.stdout.split("\n")):
        name, _, verdict = row.strip().partition(": ")
        if verdict:
            modules[".".join(name.split(".")[1:3])][name] = verdict
    return modules


def drawn(verdicts: Verdicts, share: float) -> list[str]:
    """Draw the share of a module's mutants: the same ones for the same names."""
    n = math.ceil(share * len(verdicts))
    return sorted(random.Random(SEED).sample(sorted(verdicts), n))


def line(name: str, found: Counter[str], n_mutants: int) -> str:
    n_run = sum(found[v] for v in found if v not in (PENDING, "of"))
    noticed = sum(found[v] for v in NOTICED)
    score = f"{noticed / n_run:6.1%}" if n_run else "     -"
    parts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(found.items()) if verdict != "of")
    return f"{name:24}{score} of {n_run:4} run, {n_mutants:4} in all: {parts}"


if __name__ == "__main__":
    main()
