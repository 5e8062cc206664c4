"""Archives of every kind give the same lines, and hostile ones give one line of refusal."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal.corpus.archives import Limits, Member, member_lines, members, stem
from vicinal.errors import DownloadError

FILES = {
    "java/java_test_pre": b"<s> class A { } </s>\n<s> class B { } </s>\n",
    "java/java_validation_pre": b"one\r\n\xe2\x80\xa8two\n\nfour without an end",
}
TEST = FILES["java/java_test_pre"]


def tar(path, files, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return path


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return path


def tar_with(path, **settings):
    """Write a tar whose second member has these settings."""
    tar(path, FILES)
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo("java/evil")
        for name, value in settings.items():
            setattr(info, name, value)
        archive.addfile(info)
    return path


def zip_with(path, name, mode=0, flags=0):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("java/java_test_pre", TEST)
        archive.writestr(info, b"/etc/passwd")
        archive.filelist[-1].flag_bits |= flags
    return path


def lines_of(body):
    """Cut a text at its line feeds, and nowhere else."""
    return list(io.BytesIO(body))


def read(path, limits=None):
    settings = [limits] if limits else []
    wanted = {member.name for member in members(path, *settings)}
    return {name: list(lines) for name, lines in member_lines(path, wanted, *settings)}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_gives_its_files(tmp_path, mode):
    """However a tar is packed and whatever it is called, its members come with their lines."""
    path = tar(tmp_path / "record", FILES, mode)
    assert members(path) == [Member(path, name, len(body)) for name, body in FILES.items()]
    assert read(path) == {name: lines_of(body) for name, body in FILES.items()}


def test_a_zip_gives_its_files(tmp_path):
    """Members of a zip come with their lines; its folders are no members."""
    path = zipped(tmp_path / "java.zip", {"java/": b"", **FILES})
    assert [member.name for member in members(path)] == list(FILES)
    assert read(path) == {name: lines_of(body) for name, body in FILES.items()}


@pytest.mark.parametrize(
    ("name", "pack", "member"),
    [
        ("java_test_pre", bytes, "java_test_pre"),
        ("java_test_pre.txt", bytes, "java_test_pre.txt"),
        ("java_test_pre.gz", gzip.compress, "java_test_pre"),
        ("java_test_pre.bz2", bz2.compress, "java_test_pre"),
        ("java_test_pre.xz", lzma.compress, "java_test_pre"),
    ],
)
def test_a_single_file_is_its_own_member(tmp_path, name, pack, member):
    """A file that is plain or only packed is called as it would be when unpacked."""
    path = tmp_path / name
    path.write_bytes(pack(TEST))
    assert read(path) == {member: lines_of(TEST)}
    assert members(path)[0].n_bytes == (len(TEST) if pack is bytes else 0)


def test_only_what_is_wanted_is_given(tmp_path):
    """A member that nobody asks for is passed over, also if the one before was not read out."""
    path = tar(tmp_path / "a.tar.gz", {"x": b"1\n2\n", "y": b"3\n", "z": b"4\n"}, "w:gz")
    firsts = [(name, next(lines)) for name, lines in member_lines(path, {"x", "z"})]
    assert firsts == [("x", b"1\n"), ("z", b"4\n")]


@settings(max_examples=30)
@given(st.binary(max_size=2000))
def test_no_byte_is_lost(tmp_path_factory, body):
    """Whatever is in a file, its lines are the file, out of a tar and out of a zip."""
    folder = tmp_path_factory.mktemp("archives")
    for path in (tar(folder / "a", {"f": body}, "w:gz"), zipped(folder / "b", {"f": body})):
        assert b"".join(read(path)["f"]) == body


@pytest.mark.parametrize(
    "hostile",
    [
        {"name": "../evil"},
        {"name": "/tmp/evil"},
        {"name": "java/../../evil"},
        {"name": "..\\evil"},
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.LNKTYPE, "linkname": "java/java_test_pre"},
        {"type": tarfile.CHRTYPE},
        {"type": tarfile.FIFOTYPE},
    ],
)
def test_a_tar_that_leads_elsewhere_is_refused(tmp_path, hostile):
    """A way up, an absolute name, a link or a device: the message names the member."""
    path = tar_with(tmp_path / "evil.tar", **hostile)
    with pytest.raises(DownloadError, match=r"evil\.tar.*'.*evil'.*ask who serves it"):
        members(path)
    assert [p.name for p in tmp_path.iterdir()] == ["evil.tar"]


@pytest.mark.parametrize(
    ("name", "mode", "flags"),
    [("../evil", 0, 0), ("/evil", 0, 0), ("java/evil", 0o120777, 0), ("java/evil", 0, 1)],
)
def test_a_zip_that_leads_elsewhere_is_refused(tmp_path, name, mode, flags):
    """A zip's ways out are refused as a tar's are, and so is a member that is locked."""
    path = zip_with(tmp_path / "evil.zip", name, mode, flags)
    with pytest.raises(DownloadError, match=r"evil\.zip.*'.*evil'.*ask who serves it"):
        members(path)


@pytest.mark.parametrize("kind", ["gz", "zip", "tar"])
def test_a_swelling_archive_is_stopped(tmp_path, kind):
    """What swells to more than its size can hold of code is stopped, long before it is all out."""
    path, body = tmp_path / f"bomb.{kind}", (b"a" * 99 + b"\n") * 40_000
    if kind == "gz":
        path.write_bytes(gzip.compress(body))
    elif kind == "zip":
        zipped(path, {"half": body[:2_000_000], "other": body[2_000_000:]})
    else:
        tar(path, {"f": body}, "w:gz")
    small = path.stat().st_size
    with pytest.raises(DownloadError, match=f"at most {100 * small:,} bytes in bomb.{kind}"):
        read(path, Limits(ratio=100, free=10))
    with pytest.raises(DownloadError, match="at most 3,000,000 bytes"):
        read(path, Limits(n_bytes=3_000_000))
    assert sum(map(len, read(path).values())) == 40_000


def test_a_line_without_end_is_stopped(tmp_path):
    """A line that no source file has is not read into memory."""
    path = tmp_path / "java_test_pre"
    path.write_bytes(b"a" * 2000 + b"\n")
    with pytest.raises(DownloadError, match="lines of at most 1,999 bytes in java_test_pre"):
        read(path, Limits(line=1999))
    assert read(path, Limits(line=2001))


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "zip"])
def test_half_an_archive_is_said_to_be_one(tmp_path, mode):
    """An archive that ends too early is refused with its name, whatever reads it."""
    path, body = tmp_path / "half", {"f": bytes(i * i % 251 for i in range(100_000))}
    zipped(path, body) if mode == "zip" else tar(path, body, mode)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    if mode == "zip":  # without its end it is no zip, and its first line has no end
        assert [member.name for member in members(path)] == ["half"]
        return
    with pytest.raises(DownloadError, match="Expected half to be whole"):
        read(path)


def test_a_damaged_zip_is_refused(tmp_path):
    """A member whose checksum is wrong is refused."""
    path = zipped(tmp_path / "a.zip", {"f": bytes(range(256)) * 40})
    damaged = bytearray(path.read_bytes())
    damaged[60] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(DownloadError, match=r"Expected a\.zip to be whole"):
        read(path)


@pytest.mark.parametrize(
    ("magic", "kind"), [(b"7z\xbc\xaf'\x1c", "7z"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"Rar!", "rar")]
)
def test_what_cannot_be_read_here_is_named(tmp_path, magic, kind):
    """Kinds of archives that are not read are told by their first bytes."""
    path = tmp_path / "java_test_pre"
    path.write_bytes(magic + b"\0" * 100)
    with pytest.raises(DownloadError, match=f"found {kind}: java_test_pre"):
        members(path)


def test_stems():
    """Folders and endings that say how a file is packed are no part of its name."""
    names = ["java_test_pre", "a/java_test_pre.tar.gz", "java_test_pre.txt.gz", "java_test_pre.zip"]
    assert {stem(name) for name in names} == {"java_test_pre"}
    assert stem("v1.0_train_pre") == "v1.0_train_pre"
