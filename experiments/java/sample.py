"""
Cut a laptop-sized sample out of a tree of Java projects, as a tree of its own.

    python experiments/java/sample.py SOURCE DESTINATION [BYTES]

Whole directories of each project, in a seeded random order, at most 25 files each, until the
project has 90 kB (or BYTES); files cut at 9,000 characters. Directories stay whole so that "same
directory" keeps its meaning. Prints files and bytes.
"""

import random
import sys
from pathlib import Path

SEED = 0
FILES_PER_DIRECTORY = 25
BYTES_PER_PROJECT = 90_000
CHARACTERS_PER_FILE = 9_000


def sample_project(project: Path, destination: Path, size: int) -> tuple[int, int]:
    folders = sorted({file.parent for file in project.rglob("*.java")})
    random.Random(f"{SEED} {project.name}").shuffle(folders)
    n_files, n_bytes = 0, 0
    for folder in folders:
        for file in sorted(folder.glob("*.java"))[:FILES_PER_DIRECTORY]:
            text = file.read_bytes().decode("utf-8", "replace")[:CHARACTERS_PER_FILE]
            target = destination / file.relative_to(project.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
            n_files, n_bytes = n_files + 1, n_bytes + len(text.encode())
        if n_bytes >= size:
            break
    return n_files, n_bytes


def main(source: Path, destination: Path, size: int = BYTES_PER_PROJECT) -> None:
    projects = sorted(p for p in source.iterdir() if p.is_dir())
    counts = [sample_project(project, destination, size) for project in projects]
    n_files, n_bytes = (sum(column) for column in zip(*counts, strict=True))
    print(f"{len(projects)} projects, {n_files} files, {n_bytes} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
