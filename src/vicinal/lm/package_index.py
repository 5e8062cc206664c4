"""
Ask pip where a wheel is to be had, and fetch that wheel alone.

pip knows what this machine is configured for (another index, a proxy's certificate, a folder of
wheels); it is asked for the address and hash, so that the download can go on after an
interruption. Nothing is installed. Knows nothing of models.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from vicinal.errors import DownloadError


@dataclass(frozen=True)
class Wheel:
    """Where a wheel lies and what it must hash to, if the index says so."""

    url: str
    sha256: str


def locate(requirement: str) -> Wheel:
    """Find the wheel that pip would install for *requirement*, without its dependencies."""
    command = [sys.executable, "-m", "pip", "install", requirement, "--dry-run", "--no-deps"]
    command += ["--ignore-installed", "--only-binary", ":all:", "--quiet", "--report", "-"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise DownloadError(
            f"pip found no wheel for {requirement}: {_last_line(answer.stderr)} "
            "Are you offline? A folder that holds the wheel can be named in PIP_FIND_LINKS."
        )
    return _wheel(json.loads(answer.stdout))


def _wheel(report: dict[str, Any]) -> Wheel:
    (install,) = report["install"]
    info = install["download_info"]
    hashes = info.get("archive_info", {}).get("hashes", {})
    return Wheel(info["url"], hashes.get("sha256", ""))


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it said nothing."])[-1]
