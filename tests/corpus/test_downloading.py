"""Downloads go on where they stopped, and only what is whole and right gets its name."""

import hashlib

import pytest

from local_servers import Site, serving
from vicinal.corpus.downloading import download, is_whole, sha256_of
from vicinal.errors import DownloadError

BODY = bytes(i * 7 % 251 for i in range(3_000_000))
SHA256 = hashlib.sha256(BODY).hexdigest()
MD5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()


def site(**settings):
    return Site({"/a.whl": BODY}, **settings)


def fetch(url, target, checksum=f"sha256:{SHA256}"):
    told = []
    download(url, target, checksum=checksum, progress=lambda *done: told.append(done))
    return told


def test_a_file_comes_whole(tmp_path):
    """The target has the bytes, progress ends at all of them, and no part is left."""
    at = site()
    with serving(at) as url:
        told = fetch(f"{url}/a.whl", tmp_path / "deep" / "a.whl")
    assert (tmp_path / "deep" / "a.whl").read_bytes() == BODY
    assert told[-1] == (len(BODY), len(BODY))
    assert told == sorted(told)
    assert at.ranges("/a.whl") == [None]
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["a.whl"]


def test_a_server_is_told_who_asks(tmp_path):
    """The client gives its own name, not that of its HTTP library."""
    at = site()
    with serving(at) as url:
        fetch(f"{url}/a.whl", tmp_path / "a.whl")
    (agent,) = at.agents
    assert agent.startswith("vicinal/")


def test_an_interrupted_download_goes_on(tmp_path):
    """After a broken connection the next call asks only for what is missing."""
    target, at = tmp_path / "a.whl", site(breaks_after={"/a.whl": 1_200_000})
    with serving(at) as url:
        with pytest.raises(DownloadError, match="what has come so far is kept"):
            fetch(f"{url}/a.whl", target)
        assert not target.exists()
        there = (tmp_path / "a.whl.part").stat().st_size
        assert 0 < there <= 1_200_000
        told = fetch(f"{url}/a.whl", target)
    assert at.ranges("/a.whl") == [None, f"bytes={there}-"]
    assert told[0][0] > there
    assert sha256_of(target) == SHA256


def test_a_server_without_ranges_sends_it_again(tmp_path):
    """What a server sends from the start replaces the part instead of following it."""
    (tmp_path / "a.whl.part").write_bytes(b"begun " * 9)
    at = site(knows_ranges=False)
    with serving(at) as url:
        fetch(f"{url}/a.whl", tmp_path / "a.whl")
    assert at.ranges("/a.whl") == ["bytes=54-"]
    assert (tmp_path / "a.whl").read_bytes() == BODY


def test_a_part_that_is_already_whole_is_taken(tmp_path):
    """If only the renaming was missing, nothing is fetched again."""
    (tmp_path / "a.whl.part").write_bytes(BODY)
    with serving(site()) as url:
        assert fetch(f"{url}/a.whl", tmp_path / "a.whl") == []
    assert (tmp_path / "a.whl").read_bytes() == BODY


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (f"sha256:{'0' * 64}", f"SHA-256 {SHA256}, expected {'0' * 64}"),
        (f"md5:{'0' * 32}", f"MD5 {MD5}, expected {'0' * 32}"),
    ],
)
def test_a_wrong_hash_is_thrown_away(tmp_path, wrong, message):
    """Other bytes than promised are refused with both hashes, and nothing of them is kept."""
    with serving(site()) as url, pytest.raises(DownloadError, match=message):
        fetch(f"{url}/a.whl", tmp_path / "a.whl", wrong)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("checksum", [f"md5:{MD5}", f"md5:{MD5.upper()}", f"sha256:{SHA256}"])
def test_the_checksum_may_be_any_that_servers_give(tmp_path, checksum):
    """MD5 and SHA-256 are checked alike, and a file that is there can be asked for either."""
    with serving(site()) as url:
        fetch(f"{url}/a.whl", tmp_path / "a.whl", checksum)
    assert is_whole(tmp_path / "a.whl", checksum)
    (tmp_path / "a.whl").write_bytes(BODY[:-1])
    assert not is_whole(tmp_path / "a.whl", checksum)
    assert not is_whole(tmp_path / "absent", checksum)


@pytest.mark.parametrize("checksum", ["", SHA256, "md5:", "crc32:cbf43926"])
def test_what_cannot_be_checked_is_not_fetched(tmp_path, checksum):
    """A checksum of no known kind is refused before anything is asked."""
    with pytest.raises(DownloadError, match="such as md5:0cc1"):
        fetch("http://127.0.0.1:9/a.whl", tmp_path / "a.whl", checksum)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_said(tmp_path):
    """The server's answer is in the message; a password in the address is not."""
    with serving(site(statuses={"/a.whl": 404})) as url:
        secret = url.replace("://", "://me:secret@")
        with pytest.raises(DownloadError, match=r"a\.whl answered 404 Not Found") as caught:
            fetch(f"{secret}/a.whl", tmp_path / "a.whl")
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
