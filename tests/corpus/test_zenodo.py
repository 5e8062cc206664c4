"""Records of a Zenodo: their files as its API lists them, and what it must not make us do."""

import json

import pytest

from local_servers import Site, serving, zenodo_site
from vicinal.corpus.zenodo import Record, RecordFile, find_record
from vicinal.errors import DownloadError

MD5_OF_A = "0cc175b9c0f1b6a831c399e269772661"


def record_of(*entries, **fields):
    return Site({"/api/records/7": json.dumps({"files": list(entries), **fields}).encode()})


def entry(**changes):
    links = {"self": "https://example.org/f"}
    return {"key": "f", "size": 1, "checksum": f"md5:{MD5_OF_A}", "links": links} | changes


def test_a_record_lists_its_files():
    """Name, size, checksum and address are those of the API; relative addresses are resolved."""
    with serving(zenodo_site(7, {"a b": b"a"})) as url:
        found = find_record(7, f"{url}/")
        file = RecordFile("a b", 1, f"md5:{MD5_OF_A}", f"{url}/api/records/7/files/a b/content")
        assert found == Record(7, "Miniature", f"{url}/records/7", (file,))


def test_an_address_elsewhere_is_kept():
    """Files may lie on another server than the record."""
    with serving(record_of(entry())) as url:
        assert find_record(7, url).files[0].url == "https://example.org/f"


def test_a_record_that_is_not_there_is_said():
    """The server's answer and the address are in the message."""
    with (
        serving(Site({})) as url,
        pytest.raises(DownloadError, match=r"/api/records/7 answered 404 Not Found"),
    ):
        find_record(7, url)


def test_a_busy_server_is_said():
    """Being told to come back later is said as it is."""
    site = record_of(entry())
    site.statuses["/api/records/7"] = 429
    with serving(site) as url, pytest.raises(DownloadError, match="answered 429 Too Many"):
        find_record(7, url)


@pytest.mark.parametrize("server", ["http://127.0.0.1:9", "zenodo", "gopher://127.0.0.1"])
def test_no_server_is_said(server):
    """Nobody there, or no address at all, is one line."""
    with pytest.raises(DownloadError, match="could not be read"):
        find_record(7, server)


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[]", b"{}", b'{"files": [{"key": "f"}]}', b'{"files": {}, "metadata": 1}'],
)
def test_what_is_no_record_is_refused(body):
    """An answer without files as Zenodo lists them is shown."""
    with (
        serving(Site({"/api/records/7": body})) as url,
        pytest.raises(DownloadError, match="Is this the address of a Zenodo"),
    ):
        find_record(7, url)


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/b", "..", ".", "", "a\\b", "a\nb", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(name):
    """A file's name becomes a file here: it must be nothing else."""
    with (
        serving(record_of(entry(key=name))) as url,
        pytest.raises(DownloadError, match="to name files, found"),
    ):
        find_record(7, url)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://example.org/f"])
def test_an_address_that_is_not_on_the_web_is_refused(address):
    """A record cannot make us read the machine's own files."""
    with (
        serving(record_of(entry(links={"self": address}))) as url,
        pytest.raises(DownloadError, match="addresses on the web, found"),
    ):
        find_record(7, url)
