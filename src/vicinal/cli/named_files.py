"""Files and folders that a user named: what cannot be read or written is one line."""

from pathlib import Path

from vicinal.errors import CorpusError


def read_text(file: Path) -> str:
    """Read a file that a user named."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"Expected a readable text file, found {file}: {error}.") from error


def write_text(file: Path, text: str) -> None:
    """Write a file that a user named."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"Expected a place to write to, found {file}: {error}.") from error


def make_folder(folder: Path) -> None:
    """Make a folder that a user named, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CorpusError(f"Expected a folder to write to, found {folder}: {error}.") from error
