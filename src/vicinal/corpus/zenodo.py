"""
Records of Zenodo: which files one has, with their sizes, checksums and addresses.

Knows the part of Zenodo's API that says so, and nothing of what the files are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from vicinal.corpus.downloading import connected, shown
from vicinal.errors import DownloadError

ZENODO = "https://zenodo.org"


@dataclass(frozen=True)
class RecordFile:
    """A file of a record; its *checksum* names the algorithm (``md5:…``)."""

    name: str
    n_bytes: int
    checksum: str
    url: str


@dataclass(frozen=True)
class Record:
    """What was published under one number and never changes, and the page that shows it."""

    number: int
    title: str
    page: str
    files: tuple[RecordFile, ...]


def find_record(number: int, server: str = ZENODO) -> Record:
    """Ask *server* for a record."""
    server = server.rstrip("/")
    url = f"{server}/api/records/{number}"
    with connected(url) as client:
        answer = client.get(url)
        answer.raise_for_status()
    try:
        content = answer.json()
        title = str(content.get("metadata", {}).get("title", ""))
        files = tuple(_files(content["files"], url))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DownloadError(
            f"Expected from {shown(url)} a record with files that have key, size, checksum and "
            f"links.self, found: {answer.text[:80]!r}. Is this the address of a Zenodo?"
        ) from error
    return Record(number, title, f"{server}/records/{number}", files)


def _files(entries: list[dict[str, Any]], url: str) -> Iterator[RecordFile]:
    for entry in entries:
        name, address = str(entry["key"]), urljoin(url, entry["links"]["self"])
        # A name becomes a file here, and an address is opened: neither may lead elsewhere.
        if name in ("", ".", "..") or not name.isprintable() or {"/", "\\"} & set(name):
            raise DownloadError(f"Expected {shown(url)} to name files, found: {name!r}.")
        if urlsplit(address).scheme not in ("http", "https"):
            raise DownloadError(
                f"Expected {shown(url)} to give addresses on the web, found: {address!r}."
            )
        yield RecordFile(name, int(entry["size"]), str(entry["checksum"]), address)
