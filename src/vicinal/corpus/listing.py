"""
Which files a folder has: git's own answer where there is one, else the walk that git would make.

Knows nothing of what is in a file. Paths are relative to the root, in the order of their bytes; one
that ends in a slash is a folder left out whole.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from vicinal.corpus.gitignore import IgnoreRules, walk
from vicinal.corpus.name_patterns import named_like

# Installed packages and caches: other people's code, or no code, even where nothing ignores them.
VENDORED = named_like(
    "node_modules bower_components jspm_packages site-packages dist-packages __pycache__ venv "
    ".venv .tox .nox .eggs .mypy_cache .ruff_cache .pytest_cache .hypothesis .ipynb_checkpoints "
    ".gradle .m2 .svn .hg .bzr .terraform .next .nuxt .parcel-cache .yarn .pnpm-store"
)


def list_files(root: Path, *, include: Iterable[str] = ()) -> list[bytes]:
    """
    List what git has or would add below *root*, and whatever matches *include*, ignored or not.

    Where git lists nothing, its user ignores the very folder that was asked for, and the walk
    decides by the ignore files inside it.
    """
    if not root.is_dir():
        return [os.fsencode(root.name)]
    found = {folded(path) for path in listed_by_git(root)} or set(walk(root, is_passed_over))
    forced = IgnoreRules.from_bytes(os.fsencode("\n".join(include)))
    if forced.patterns:
        found |= {path for path in walk(root, obey=False) if forced.covers(path)}
    return sorted(found)


def folded(path: bytes) -> bytes:
    """Shorten a path that leads through a vendored folder to that folder."""
    parts = os.fsdecode(path).split("/")
    first = next((i for i, part in enumerate(parts[:-1]) if VENDORED.match(part)), None)
    return path if first is None else os.fsencode("/".join(parts[: first + 1]) + "/")


def is_passed_over(folder: bytes) -> bool:
    """Say whether a walk without git leaves out a folder: a vendored or a hidden one."""
    name = os.fsdecode(folder.rpartition(b"/")[2])
    return name.startswith(".") or VENDORED.match(name) is not None


def listed_by_git(root: Path) -> Iterator[bytes]:
    """
    List tracked files and untracked ones that are not ignored, those of work trees inside too.

    Nothing is listed outside a work tree, without git, or where git will not read for this user.
    """
    for path in run_git(root):
        inner = root / os.fsdecode(path)
        if (inner / ".git").exists() and not inner.is_symlink():
            base = path.removesuffix(b"/") + b"/"
            yield from (base + below for below in listed_by_git(inner))
        else:
            yield path


def run_git(root: Path) -> list[bytes]:
    """Run ``git ls-files`` in *root*, whatever repository the environment points at."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    # A foreign repository may name a program as its file monitor: it must not be started.
    command = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        answer = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [path for path in answer.stdout.split(b"\0") if path]
