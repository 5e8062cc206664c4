"""
Fetch one file of known SHA-256, going on where an interrupted download stopped.

Knows nothing of models or package indexes. What is not whole lies in a ``.part`` file beside the
target; the target exists only whole and checked.
"""

import hashlib
import os
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx

from vicinal.errors import DownloadError

CHUNK = 1 << 20
TIMEOUT = 60.0
PARTIAL, RANGE_NOT_SATISFIABLE = 206, 416

# Told after each piece: bytes there, bytes in all (0 if the server does not say).
Progress = Callable[[int, int], None]


def download(url: str, target: Path, *, sha256: str, progress: Progress) -> Path:
    """Fetch *url* (http, https or file) to *target*, check its hash, and rename it when whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    if urlsplit(url).scheme == "file":
        shutil.copyfile(url2pathname(urlsplit(url).path), part)
    else:
        _fetch(url, part, progress)
    found = sha256_of(part)
    if found != sha256:
        part.unlink()
        raise DownloadError(
            f"What came from {_shown(url)} has SHA-256 {found}, expected {sha256}. "
            "It was thrown away; try again, or ask who serves it."
        )
    os.replace(part, target)
    return target


def sha256_of(path: Path) -> str:
    """Hash a file without reading it whole into memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(url: str, part: Path, progress: Progress) -> None:
    try:
        with httpx.Client(verify=_certificates(), timeout=TIMEOUT, follow_redirects=True) as client:
            _stream(client, url, part, progress)
    except httpx.HTTPStatusError as error:
        raise DownloadError(
            f"{_shown(url)} answered {error.response.status_code} "
            f"{error.response.reason_phrase}; expected the file."
        ) from error
    except httpx.HTTPError as error:
        raise DownloadError(
            f"{_shown(url)} could not be read: {error or type(error).__name__}. "
            "Are you offline? Run it again: what has come so far is kept."
        ) from error


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


def _certificates() -> ssl.SSLContext:
    """Trust what the system trusts, and what pip or requests were told to trust."""
    context = ssl.create_default_context()
    for name in ("PIP_CERT", "REQUESTS_CA_BUNDLE"):
        if os.path.isfile(os.environ.get(name, "")):
            context.load_verify_locations(os.environ[name])
    return context


def _shown(url: str) -> str:
    """Leave out of a message what may be a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{parts.path}"
