"""
Fetch one file of known checksum, going on where an interrupted download stopped.

Knows nothing of what is in the file: models and corpora are fetched alike. What is not whole lies
in a ``.part`` file beside the target; the target exists only whole and checked.
"""

import hashlib
import os
import shutil
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx

from vicinal import __version__
from vicinal.errors import DownloadError

CHUNK = 1 << 20
TIMEOUT = 60.0
PARTIAL, RANGE_NOT_SATISFIABLE = 206, 416
# Zenodo slows down clients that do not say who they are.
USER_AGENT = f"vicinal/{__version__}"
# How people write the names of the checksums that servers give.
CHECKSUMS = MappingProxyType({"sha256": "SHA-256", "md5": "MD5"})

# Told after each piece: bytes there, bytes in all (0 if the server does not say).
Progress = Callable[[int, int], None]


def download(url: str, target: Path, *, checksum: str, progress: Progress) -> Path:
    """
    Fetch *url* (http, https or file) to *target*, check it, and rename it when whole.

    A *checksum* names its algorithm: ``sha256:…`` or ``md5:…``.
    """
    algorithm, expected = _parts(checksum)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    if urlsplit(url).scheme == "file":
        shutil.copyfile(url2pathname(urlsplit(url).path), part)
    else:
        with connected(url) as client:
            _stream(client, url, part, progress)
    found = _digest(part, algorithm)
    if found != expected:
        part.unlink()
        raise DownloadError(
            f"What came from {shown(url)} has {CHECKSUMS[algorithm]} {found}, expected {expected}. "
            "It was thrown away; try again, or ask who serves it."
        )
    os.replace(part, target)
    return target


def is_whole(path: Path, checksum: str) -> bool:
    """Say whether a file is there and has this checksum."""
    algorithm, expected = _parts(checksum)
    return path.is_file() and _digest(path, algorithm) == expected


def sha256_of(path: Path) -> str:
    """Hash a file without reading it whole into memory."""
    return _digest(path, "sha256")


@contextmanager
def connected(url: str) -> Iterator[httpx.Client]:
    """Give a client for *url*; what goes wrong with it is said in one line, without a password."""
    try:
        with httpx.Client(
            verify=_trusted(),
            timeout=TIMEOUT,
            follow_redirects=True,
            headers={"User-Agent": USER_AGENT},
        ) as client:
            yield client
    except httpx.HTTPStatusError as error:
        raise DownloadError(
            f"{shown(url)} answered {error.response.status_code} "
            f"{error.response.reason_phrase}; expected the file."
        ) from error
    except httpx.HTTPError as error:
        raise DownloadError(
            f"{shown(url)} could not be read: {error or type(error).__name__}. "
            "Are you offline? Run it again: what has come so far is kept."
        ) from error


def shown(url: str) -> str:
    """Leave out of a message what may be a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"


def _parts(checksum: str) -> tuple[str, str]:
    algorithm, _, digest = checksum.partition(":")
    if algorithm not in CHECKSUMS or not digest:
        raise DownloadError(
            f"Expected a checksum such as md5:0cc175b9… or sha256:ca978112…, found: {checksum!r}. "
            "What cannot be checked is not fetched."
        )
    return algorithm, digest.lower()


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(
            file, lambda: hashlib.new(algorithm, usedforsecurity=False)
        ).hexdigest()


def _stream(client: httpx.Client, url: str, part: Path, progress: Progress) -> None:
    there = part.stat().st_size if part.exists() else 0
    # Compressed on the way, a range would count other bytes than those on disk.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={there}-"} if there else {})
    with client.stream("GET", url, headers=headers) as answer:
        if there and answer.status_code == RANGE_NOT_SATISFIABLE:
            return  # nothing is missing; the hash will tell whether it is right
        answer.raise_for_status()
        if answer.status_code != PARTIAL:
            there = 0  # the server sends the whole again
        total = there + int(answer.headers.get("Content-Length", -there))
        with part.open("ab" if there else "wb") as file:
            for piece in answer.iter_bytes(CHUNK):
                file.write(piece)
                there += len(piece)
                progress(there, total)


def _trusted() -> ssl.SSLContext:
    """Trust what the system trusts, and what pip or requests were told to trust."""
    named = (os.environ.get(name, "") for name in ("PIP_CERT", "REQUESTS_CA_BUNDLE"))
    return _certificates(frozenset(file for file in named if os.path.isfile(file)))


@cache  # reading them takes longer than fetching a small file
def _certificates(files: frozenset[str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for file in files:
        context.load_verify_locations(file)
    return context
