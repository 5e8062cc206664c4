"""Downloads go on where they stopped, and only what is whole and right gets its name."""

import hashlib
import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from vicinal.errors import DownloadError
from vicinal.lm.download import download, sha256_of

BODY = bytes(i * 7 % 251 for i in range(3_000_000))
SHA256 = hashlib.sha256(BODY).hexdigest()


class FileServer(BaseHTTPRequestHandler):
    """Serves one body; breaks off, ignores ranges, or answers 404, as told."""

    def __init__(self, settings, *args):
        self.settings = settings
        super().__init__(*args)

    def do_GET(self):
        asked = self.headers.get("Range")
        self.settings["ranges"].append(asked)
        if self.settings.get("status"):
            self.send_error(self.settings["status"])
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        start = start if self.settings.get("knows_ranges", True) else 0
        if start >= len(BODY):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(BODY) - start))
        self.end_headers()
        stop = self.settings.pop("breaks_after", len(BODY))
        self.wfile.write(BODY[start:stop])

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def serve():
    """Start servers on the loopback; stop them in the end."""

    @contextmanager
    def start(**settings):
        settings["ranges"] = []
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(FileServer, settings))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/a.whl", settings
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    return start


def fetch(url, target, sha256=SHA256):
    told = []
    download(url, target, sha256=sha256, progress=lambda *done: told.append(done))
    return told


def test_a_file_comes_whole(serve, tmp_path):
    """The target has the bytes, progress ends at all of them, and no part is left."""
    with serve() as (url, settings):
        told = fetch(url, tmp_path / "deep" / "a.whl")
    assert (tmp_path / "deep" / "a.whl").read_bytes() == BODY
    assert told[-1] == (len(BODY), len(BODY))
    assert told == sorted(told)
    assert settings["ranges"] == [None]
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["a.whl"]


def test_an_interrupted_download_goes_on(serve, tmp_path):
    """After a broken connection the next call asks only for what is missing."""
    target = tmp_path / "a.whl"
    with serve(breaks_after=1_200_000) as (url, settings):
        with pytest.raises(DownloadError, match="what has come so far is kept"):
            fetch(url, target)
        assert not target.exists()
        there = (tmp_path / "a.whl.part").stat().st_size
        assert 0 < there <= 1_200_000
        told = fetch(url, target)
    assert settings["ranges"] == [None, f"bytes={there}-"]
    assert told[0][0] > there
    assert sha256_of(target) == SHA256


def test_a_server_without_ranges_sends_it_again(serve, tmp_path):
    """What a server sends from the start replaces the part instead of following it."""
    (tmp_path / "a.whl.part").write_bytes(b"begun " * 9)
    with serve(knows_ranges=False) as (url, settings):
        fetch(url, tmp_path / "a.whl")
    assert settings["ranges"] == ["bytes=54-"]
    assert (tmp_path / "a.whl").read_bytes() == BODY


def test_a_part_that_is_already_whole_is_taken(serve, tmp_path):
    """If only the renaming was missing, nothing is fetched again."""
    (tmp_path / "a.whl.part").write_bytes(BODY)
    with serve() as (url, _):
        assert fetch(url, tmp_path / "a.whl") == []
    assert (tmp_path / "a.whl").read_bytes() == BODY


def test_a_wrong_hash_is_thrown_away(serve, tmp_path):
    """Other bytes than promised are refused with both hashes, and nothing of them is kept."""
    with serve() as (url, _), pytest.raises(DownloadError, match=f"{SHA256}, expected {'0' * 64}"):
        fetch(url, tmp_path / "a.whl", sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_said(serve, tmp_path):
    """The server's answer is in the message; a password in the address is not."""
    with serve(status=404) as (url, _):
        secret = url.replace("://", "://me:secret@")
        with pytest.raises(DownloadError, match=r"a\.whl answered 404 Not Found") as caught:
            fetch(secret, tmp_path / "a.whl")
    assert "secret" not in str(caught.value)


def test_offline_is_said(tmp_path):
    """Where nobody answers, the message asks whether one is offline."""
    with pytest.raises(DownloadError, match="Are you offline"):
        fetch("http://127.0.0.1:9/a.whl", tmp_path / "a.whl")


def test_a_file_on_disk_is_copied(tmp_path):
    """A file address, as pip gives for a folder of wheels, is copied and checked."""
    source = tmp_path / "a b.whl"
    source.write_bytes(BODY)
    fetch(source.as_uri(), tmp_path / "copy.whl")
    assert (tmp_path / "copy.whl").read_bytes() == BODY
    assert source.exists()
