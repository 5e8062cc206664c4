"""
Lines of the files in an archive (tar, zip, gzip, bzip2, xz) or of a plain file, as a stream.

Nothing is ever unpacked to disk, so no member can be written anywhere; an archive that tries (an
absolute name, a way up, a link) is refused all the same, as is one that swells without measure.
Knows nothing of what the lines mean.
"""

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from vicinal.errors import DownloadError

# Endings that say how a file is packed, the longer ones first.
SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar", ".zip", ".gz", ".bz2", ".xz")
_OPENERS: Mapping[bytes, Callable[[io.BufferedReader], io.BufferedIOBase]] = MappingProxyType(
    {
        b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
        b"BZh": bz2.BZ2File,
        b"\xfd7zXZ\x00": lzma.LZMAFile,
    }
)
_UNREADABLE = MappingProxyType({b"7z\xbc\xaf": "7z", b"\x28\xb5\x2f\xfd": "zstd", b"Rar!": "rar"})
_BROKEN = (
    *(tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error),
    *(EOFError, OSError, NotImplementedError),
)
_TAR_HEADER = 512

# Gives the next line, or as many bytes of it as one asks for.
_ReadLine = Callable[[int], bytes]


@dataclass(frozen=True)
class Limits:
    """
    How much may come out of an archive: *n_bytes* in all, and *ratio* times its own size.

    Source code shrinks to a tenth or twentieth. A small archive is not held to the ratio before
    *free* bytes; a line longer than *line* is no source file.
    """

    n_bytes: int = 64 << 30
    ratio: int = 200
    free: int = 64 << 20
    line: int = 64 << 20


@dataclass(frozen=True)
class Member:
    """A file in an archive, or the plain file itself; *n_bytes* is 0 where nobody says."""

    archive: Path
    name: str
    n_bytes: int


LIMITS = Limits()


def members(archive: Path, limits: Limits = LIMITS) -> list[Member]:
    """List the files in an archive; one that is plain or singly packed is its own only member."""
    return [Member(archive, name, n_bytes) for name, n_bytes, _ in _entries(archive, limits)]


def member_lines(
    archive: Path, wanted: Collection[str], limits: Limits = LIMITS
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Give the wanted members of an archive as they come, with their lines, to be read at once."""
    for name, _, read_line in _entries(archive, limits):
        if name in wanted:
            yield name, _lines(archive, name, read_line, limits)


def stem(name: str) -> str:
    """
    Take from a file's name its folder and what says how it is packed.

    >>> stem("java/java_test_pre.tar.gz"), stem("java_test_pre.txt.xz"), stem("java_test_pre")
    ('java_test_pre', 'java_test_pre', 'java_test_pre')
    """
    name = PurePosixPath(name).name
    for suffix in (*SUFFIXES, ".txt"):
        name = name.removesuffix(suffix)
    return name


class _Bounded(io.RawIOBase):
    """A stream of what comes out of an archive, which all its members share the limit of."""

    def __init__(self, give: Callable[[int], bytes], spend: Callable[[int], None]) -> None:
        self.give = give
        self.spend = spend

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer, and count what was put into it."""
        view = memoryview(buffer).cast("B")
        piece = self.give(len(view))
        self.spend(len(piece))
        view[: len(piece)] = piece
        return len(piece)


def _entries(archive: Path, limits: Limits) -> Iterator[tuple[str, int, _ReadLine]]:
    """Open the files in an archive one after the other: name, size, lines."""
    spend = _spender(archive, limits)
    with _readable(archive), archive.open("rb") as file:
        if zipfile.is_zipfile(file):
            yield from _of_zip(archive, file, spend)
            return
        file.seek(0)
        unpack = _unpacker(archive, file)
        give = unpack(file).read if unpack else file.read
        stream = io.BufferedReader(_Bounded(give, spend), 1 << 20)
        if _is_tar(stream.peek(_TAR_HEADER)):
            yield from _of_tar(archive, stream)
        else:
            yield _unpacked(archive.name), 0 if unpack else archive.stat().st_size, stream.readline


def _spender(archive: Path, limits: Limits) -> Callable[[int], None]:
    """Count what comes out of an archive, and stop where it is more than can be meant."""
    packed = archive.stat().st_size
    most = min(limits.n_bytes, max(limits.free, limits.ratio * packed))
    spent = 0

    def spend(n_bytes: int) -> None:
        nonlocal spent
        spent += n_bytes
        if spent > most:
            raise DownloadError(
                f"Expected at most {most:,} bytes in {archive.name} of {packed:,}, found more. "
                "Source code does not shrink so far; ask who serves it."
            )

    return spend


@contextmanager
def _readable(archive: Path) -> Iterator[None]:
    """Say in one line what is wrong with an archive."""
    try:
        yield
    except DownloadError:
        raise
    except _BROKEN as error:
        raise DownloadError(
            f"Expected {archive.name} to be whole, found: {error or type(error).__name__}. "
            f"Delete {archive} and fetch again."
        ) from error


def _unpacker(
    archive: Path, file: io.BufferedReader
) -> Callable[[io.BufferedReader], io.BufferedIOBase] | None:
    """Tell by its first bytes how a file is packed, whatever its name."""
    magic = file.read(6)
    file.seek(0)
    for start, kind in _UNREADABLE.items():
        if magic.startswith(start):
            raise DownloadError(
                f"Expected a tar, zip, gzip, bzip2, xz or plain file, found {kind}: "
                f"{archive.name}. That is not read here; ask for it packed otherwise."
            )
    return next((unpack for start, unpack in _OPENERS.items() if magic.startswith(start)), None)


def _is_tar(head: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(head[:_TAR_HEADER], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _of_tar(archive: Path, stream: io.BufferedIOBase) -> Iterator[tuple[str, int, _ReadLine]]:
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for info in tar:
            _check(archive, info.name, is_plain=info.isfile() or info.isdir())
            content = tar.extractfile(info)
            if content:
                yield info.name, info.size, content.readline


def _of_zip(
    archive: Path, file: io.BufferedReader, spend: Callable[[int], None]
) -> Iterator[tuple[str, int, _ReadLine]]:
    with zipfile.ZipFile(file) as packed:
        for info in packed.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            is_plain = kind in (0, stat.S_IFREG, stat.S_IFDIR) and not info.flag_bits & 1
            _check(archive, info.filename, is_plain=is_plain)
            if not info.is_dir():
                with packed.open(info) as content:
                    stream = io.BufferedReader(_Bounded(content.read, spend))
                    yield info.filename, info.file_size, stream.readline


def _check(archive: Path, name: str, *, is_plain: bool) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise DownloadError(
            f"Expected the files in {archive.name} to stay in it, found: {name!r}. "
            "Nothing of it was used; ask who serves it."
        )
    if not is_plain:
        raise DownloadError(
            f"Expected plain files in {archive.name}, found a link, a device or a locked file: "
            f"{name!r}. Nothing of it was used; ask who serves it."
        )


def _lines(archive: Path, name: str, read_line: _ReadLine, limits: Limits) -> Iterator[bytes]:
    with _readable(archive):
        while line := read_line(limits.line + 1):
            if len(line) > limits.line:
                raise DownloadError(
                    f"Expected lines of at most {limits.line:,} bytes in {name}, found a longer "
                    "one. It should have a source file on each line; ask who serves it."
                )
            yield line


def _unpacked(name: str) -> str:
    suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
    return name.removesuffix(suffix)
