"""Servers on the loopback: any site of files, a Zenodo with one record, a hub with one dataset."""

import hashlib
import io
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from vicinal.corpus.hub_wikitext import REPOSITORY, REVISION


@dataclass
class Site:
    """
    What is served, by path, and how badly.

    A path in *breaks_after* breaks off once, after so many bytes; one in *statuses* always answers
    with that. *asked* has what was asked for: method, path, range.
    """

    files: dict[str, bytes]
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    breaks_after: dict[str, int] = field(default_factory=dict)
    knows_ranges: bool = True
    missing: Mapping[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)

    def ranges(self, path: str) -> list[str | None]:
        """List the ranges that were asked of a path."""
        return [wanted for method, name, wanted in self.asked if (method, name) == ("GET", path)]


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD for a site."""

    def __init__(self, site: Site, *args: object) -> None:
        self.site = site
        super().__init__(*args)

    def do_GET(self) -> None:
        path, wanted = unquote(urlsplit(self.path).path), self.headers.get("Range")
        self.site.asked.append((self.command, path, wanted))
        self.site.agents.add(self.headers.get("User-Agent", ""))
        body = self.site.files.get(path)
        if body is None or path in self.site.statuses:
            self.refuse(self.site.statuses.get(path, 404))
            return
        start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        start = start if self.site.knows_ranges else 0
        if start and start >= len(body):
            self.refuse(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        for name, value in self.site.headers.get(path, {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            stop = self.site.breaks_after.pop(path, len(body))
            self.wfile.write(body[start:stop])

    def do_HEAD(self) -> None:
        self.do_GET()

    def refuse(self, status: int) -> None:
        self.send_response(status)
        for name, value in self.site.missing.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving(site: Site) -> Iterator[str]:
    """Serve a site; give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, site))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def zenodo_site(number: int, files: Mapping[str, bytes]) -> Site:
    """Publish files as one record of a Zenodo."""
    folder = f"/api/records/{number}"
    entries = [
        {
            "key": name,
            "size": len(body),
            "checksum": f"md5:{hashlib.md5(body, usedforsecurity=False).hexdigest()}",
            "links": {"self": f"{folder}/files/{name}/content"},
        }
        for name, body in files.items()
    ]
    record = {"id": number, "metadata": {"title": "Miniature"}, "files": entries}
    contents = {f"{folder}/files/{name}/content": body for name, body in files.items()}
    return Site(contents | {folder: json.dumps(record).encode()})


def hub_site(config: str, splits: Mapping[str, list[list[str]]], card: str = "") -> Site:
    """
    Publish a dataset of one column on a hub: of each split the rows of its parquet files.

    Served is as much of the hub's API as the datasets library asks for.
    """
    paths = [f"  - split: {split}\n    path: {config}/{split}-*\n" for split in splits]
    configs = f"configs:\n- config_name: {config}\n  data_files:\n{''.join(paths)}"
    files = {"README.md": f"---\n{card}{configs}---\n".encode()}
    for split, parts in splits.items():
        for n, rows in enumerate(parts):
            name = f"{config}/{split}-{n:05}-of-{len(parts):05}.parquet"
            files[name] = parquet(rows)
    api, folder = f"/api/datasets/{REPOSITORY}", f"/datasets/{REPOSITORY}/resolve/{REVISION}"
    tree = {
        f"{api}/revision/{REVISION}": {"id": REPOSITORY, "sha": REVISION},
        f"{api}/tree/{REVISION}": [listed("README.md", files), listed(config, files)],
        f"{api}/tree/{REVISION}/{config}": [listed(name, files) for name in files if "/" in name],
    }
    site = Site({path: json.dumps(content).encode() for path, content in tree.items()})
    for name, body in files.items():
        etag = hashlib.sha256(body).hexdigest()
        site.files[f"{folder}/{name}"] = body
        site.headers[f"{folder}/{name}"] = {"X-Repo-Commit": REVISION, "ETag": f'"{etag}"'}
    site.missing = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": REVISION}
    return site


def parquet(rows: list[str]) -> bytes:
    """Write rows as a parquet file has them."""
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": rows}), buffer)
    return buffer.getvalue()


def listed(path: str, files: Mapping[str, bytes]) -> dict[str, object]:
    """List a file or folder as the hub's tree does."""
    oid = hashlib.sha256(path.encode()).hexdigest()[:40]
    if path in files:
        return {"type": "file", "oid": oid, "size": len(files[path]), "path": path}
    return {"type": "directory", "oid": oid, "size": 0, "path": path}
