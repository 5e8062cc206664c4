"""
Count the lexical tokens of Java projects, comments out, beside a table's own counts.

    python experiments/java/count.py JAVA_DIR CSV

JAVA_DIR has folders of splits (valid, test) with folders of projects; CSV has for each project its
split, files and lexical_tokens. Our tokens are a compiler's; the table's counts cut some of them:
``<<`` in two, ``.5`` in two, ``1e-5`` in three. The last column is the difference that this leaves.
"""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

from vicinal.corpus import Kind, lexemes

COLUMNS = ("files", "tokens", "table", "difference", "unexplained")


def count(project: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in sorted(project.rglob("*.java")):
        text = file.read_bytes().decode("utf-8", "replace")
        tokens = [text[a:b] for kind, a, b in lexemes(text, "java") if kind is Kind.TOKEN]
        counts.update(files=1, tokens=len(tokens), cuts=sum(map(cuts, tokens)))
    return counts


def cuts(token: str) -> int:
    """Say how often the table cuts one token."""
    if token == "<<":
        return 1
    has_sign = re.fullmatch(r"[0-9.][\w.]*[eEpP][+-]\w+", token)
    return (2 if has_sign else 0) + (1 if re.match(r"\.[0-9]", token) else 0)


def main(java: Path, table: Path) -> None:
    print(f"{'project':40}", *(f"{column:>11}" for column in COLUMNS))
    sums: Counter[str] = Counter()
    with table.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["lexical_tokens"]]
    for row in rows:
        counts = count(java / row["split"] / row["project"])
        counts["table"] = int(row["lexical_tokens"])
        counts["difference"] = counts["tokens"] - counts["table"]
        counts["unexplained"] = counts["difference"] + counts["cuts"]
        show(f"{row['split']}/{row['project']}", counts)
        sums.update(counts)
    show("all", sums)


def show(name: str, counts: Counter[str]) -> None:
    print(f"{name:40}", *(f"{counts[column]:11}" for column in COLUMNS))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
