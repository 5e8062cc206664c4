"""Folders for the readers of files."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest


@pytest.fixture
def grow(tmp_path) -> Callable[..., Path]:
    """Write a folder from a mapping of paths to texts or bytes; with *git*, in a work tree."""

    def grow(files: Mapping[str, str | bytes], *, name: str = "root", git: bool = False) -> Path:
        root = tmp_path / name
        for path, content in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        root.mkdir(parents=True, exist_ok=True)
        if git:
            subprocess.run(["git", "init", "-q", "--template=", root], check=True)
        return root

    return grow
