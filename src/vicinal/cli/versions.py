"""
What a result was made with: of vicinal the version and the commit, of its libraries the versions.

Goes beside every result that is meant to be kept.
"""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import vicinal

LIBRARIES = ("torch", "transformers", "tokenizers", "faiss-cpu", "numpy", "pygments")


def versions() -> dict[str, str | None]:
    """Give the version of everything that a figure may depend on; None for what is not there."""
    return {
        "vicinal": vicinal.__version__,
        "commit": commit(Path(__file__).parent),
        "python": platform.python_version(),
        **{name: _installed(name) for name in LIBRARIES},
    }


def commit(folder: Path) -> str | None:
    """
    Name the commit of the checkout that vicinal runs from, ``+`` after it if *folder* has changes.

    None where it was installed from a wheel: then the version says it all.
    """
    if _git(folder, "ls-files", "--error-unmatch", "versions.py") is None:
        return None  # a checkout of something else, with vicinal installed somewhere below it
    head = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", "..")
    return head and head + ("+" if changed else "")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        told = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.stdout.strip()
