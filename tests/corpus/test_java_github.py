"""The paper's Java from a Zenodo: however its files are called and packed, the same documents."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile

import pytest

from local_servers import serving, zenodo_site
from vicinal.corpus.java_github import RECORD, JavaGitHub
from vicinal.corpus.jsonl import JsonLines
from vicinal.corpus.tokenized import Paths
from vicinal.errors import CorpusError, DownloadError

LINES = {
    "train": ["class T0 { }", "class T1 { }", "class T2 { }"],
    "valid": ["class V0 { }"],
    "test": ["class E0 { }", "class E1 { }"],
}
TEXTS = {
    split: "".join(f"<s> {line} </s>\n" for line in lines).encode()
    for split, lines in LINES.items()
}
HUGE = TEXTS["train"] + b"<s> class Huge { } </s>\n"
PLAIN = {
    "java_training_pre": TEXTS["train"],
    "java_training_huge_pre": HUGE,
    "java_validation_pre": TEXTS["valid"],
    "java_test_pre": TEXTS["test"],
    "java_test_pre_enc_bpe_2000": b"cl@@ ass\n",
    "java_codes_2000.zip": b"",
}
CONTENT = f"/api/records/{RECORD}/files/{{}}/content"


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def tarred(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


@pytest.fixture
def make(tmp_path):
    """Make the corpus from a site, in one folder however often."""

    def run(site, *, huge=True, told=None, **settings):
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        with serving(site) as url:
            source = JavaGitHub("java-github", "", huge=huge, server=url, **settings)
            return source.make(folder, lambda *stage: told is not None and told.append(stage))

    return run


def documents(tmp_path, split):
    return [d.text for d in JsonLines(tmp_path / "work" / f"{split}.jsonl")]


def test_plain_files_become_documents(make, tmp_path):
    """The record's own layout: a file for each split, the huge training set; the rest stays."""
    site = zenodo_site(RECORD, PLAIN)
    made = make(site)
    assert documents(tmp_path, "train") == [*LINES["train"], "class Huge { }"]
    assert documents(tmp_path, "valid") == LINES["valid"]
    assert documents(tmp_path, "test") == LINES["test"]
    assert {s: (f.origin, f.n_lines, f.n_documents) for s, f in made.files.items()} == {
        "train": ("java_training_huge_pre", 4, 4),
        "valid": ("java_validation_pre", 1, 1),
        "test": ("java_test_pre", 2, 2),
    }
    for name in ("java_training_pre", "java_test_pre_enc_bpe_2000", "java_codes_2000.zip"):
        assert site.ranges(CONTENT.format(name)) == []
        assert name in made.origin["not used"]
    assert [file["name"] for file in made.origin["files"]] == list(PLAIN)[1:4]


def test_the_small_training_set_can_be_asked_for(make, tmp_path):
    """With huge=False the other training set is fetched, and the huge one is not."""
    site = zenodo_site(RECORD, PLAIN)
    make(site, huge=False)
    assert documents(tmp_path, "train") == LINES["train"]
    assert site.ranges(CONTENT.format("java_training_huge_pre")) == []


def test_only_the_splits_that_are_asked_for_are_fetched(make, tmp_path):
    """Who wants the test set does not wait for the training set."""
    site = zenodo_site(RECORD, PLAIN)
    made = make(site, splits=("test",))
    assert list(made.files) == ["test"]
    assert [path for _, path, _ in site.asked] == [
        f"/api/records/{RECORD}",
        CONTENT.format("java_test_pre"),
    ]
    assert not (tmp_path / "work" / "train.jsonl").exists()


@pytest.mark.parametrize(
    "files",
    [
        {"java.tar.gz": tarred({f"java/{name}": body for name, body in PLAIN.items()})},
        {"java.zip": zipped({f"java/{name}": body for name, body in PLAIN.items()})},
        {f"{name}.gz": gzip.compress(body) for name, body in PLAIN.items()},
        {f"{name}.zip": zipped({"content": body}) for name, body in PLAIN.items()},
        {
            "evaluation.zip": zipped({n: PLAIN[n] for n in ("java_validation_pre",)}),
            "rest.zip": zipped({n: PLAIN[n] for n in ("java_test_pre",)}),
            "java_training_huge_pre": HUGE,
        },
    ],
    ids=["tar", "zip", "gz each", "zip each", "mixed"],
)
def test_packed_in_any_way_it_is_the_same(make, tmp_path, files):
    """One archive, one for each file, or some of both: the documents are the same."""
    made = make(zenodo_site(RECORD, files))
    assert documents(tmp_path, "train") == [*LINES["train"], "class Huge { }"]
    assert documents(tmp_path, "valid") == LINES["valid"]
    assert documents(tmp_path, "test") == LINES["test"]
    assert {s: f.n_documents for s, f in made.files.items()} == {"train": 4, "valid": 1, "test": 2}


def test_without_paths_it_is_said_plainly(make):
    """The note says that there are none, for which splits, and how to give them."""
    (note,) = make(zenodo_site(RECORD, PLAIN)).notes
    assert "text without paths, and none were guessed" in note
    assert "train, valid, test have neither project nor directory" in note
    assert "--paths test=FILE" in note


def test_with_paths_documents_have_their_place(make, tmp_path):
    """A list for one split gives that split its places; the note is about the others."""
    file = tmp_path / "list"
    file.write_text("Clara/src/E0.java\nClara/E1.java\n")
    made = make(zenodo_site(RECORD, PLAIN), paths={"test": Paths.from_file(file)})
    found = list(JsonLines(tmp_path / "work" / "test.jsonl"))
    assert [d.spans[0].attributes["directory"] for d in found] == [("Clara/src",), ("Clara",)]
    assert (made.files["test"].paths, made.files["valid"].paths) == (str(file), "")
    assert "train, valid have neither" in made.notes[0]
    given = {split: Paths(file, ("a/A.java",) * len(LINES[split])) for split in ("valid", "test")}
    assert make(zenodo_site(RECORD, PLAIN), splits=("valid", "test"), paths=given).notes == ()


def test_a_list_that_does_not_fit_costs_no_second_download(make, tmp_path):
    """A list of another length is refused with both numbers; the files are kept."""
    site, file = zenodo_site(RECORD, PLAIN), tmp_path / "list"
    wrong, right = Paths(file, ("a/A.java",)), Paths(file, ("a/A.java", "a/B.java"))
    with pytest.raises(CorpusError, match=r"each of 2 lines, found 1 in"):
        make(site, splits=("test",), paths={"test": wrong})
    make(site, splits=("test",), paths={"test": right})
    assert site.ranges(CONTENT.format("java_test_pre")) == [None]
    assert [d.name for d in JsonLines(tmp_path / "work" / "test.jsonl")] == ["a/A.java", "a/B.java"]


def test_a_broken_connection_is_taken_up_again(make, tmp_path):
    """The second attempt keeps the whole files, and asks for the rest of the broken one."""
    body = b"<s> " + b"long " * 600_000 + b"</s>\n"
    site = zenodo_site(RECORD, PLAIN | {"java_validation_pre": body})
    broken = CONTENT.format("java_validation_pre")
    site.breaks_after[broken] = 1_500_000
    with pytest.raises(DownloadError, match="what has come so far is kept"):
        make(site)
    told = []
    make(site, told=told)
    assert site.ranges(CONTENT.format("java_training_huge_pre")) == [None]
    first, second = site.ranges(broken)
    assert (first, second[:6]) == (None, "bytes=")
    assert int(second[6:-1]) > 1_000_000
    assert documents(tmp_path, "valid") == [("long " * 600_000).strip()]
    assert ("downloading java_validation_pre", len(body), len(body)) in told
    assert told[0] == ("asking Zenodo", 0, 0)
    assert "reading java_validation_pre" in {stage for stage, _, _ in told}


def test_other_bytes_than_promised_are_thrown_away(make, tmp_path):
    """A file whose checksum is not the record's is refused; the next attempt fetches it anew."""
    site = zenodo_site(RECORD, PLAIN)
    where = CONTENT.format("java_test_pre")
    site.files[where] = b"<s> class Evil { } </s>\n"
    promised = hashlib.md5(TEXTS["test"], usedforsecurity=False).hexdigest()
    with pytest.raises(DownloadError, match=f"has MD5 .*, expected {promised}"):
        make(site, splits=("test",))
    site.files[where] = TEXTS["test"]
    make(site, splits=("test",))
    assert site.ranges(where) == [None, None]
    assert documents(tmp_path, "test") == LINES["test"]


def test_a_record_that_changed_is_fetched_again(make, tmp_path):
    """What an earlier attempt left is used only if it is what the record promises today."""
    make(zenodo_site(RECORD, PLAIN), splits=("test",))
    make(zenodo_site(RECORD, PLAIN | {"java_test_pre": TEXTS["valid"]}), splits=("test",))
    assert documents(tmp_path, "test") == LINES["valid"]


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"README": b"", "java_training_huge_pre": b"a\n"}, "valid, test"),
        ({"java.7z": b"7z", "java_test_pre": b"a\n"}, "train, valid"),
        ({"java.zip": zipped({"java/one": b"a\n", "java/java_test_pre": b"a\n"})}, "train, valid"),
        ({}, "train, valid, test"),
    ],
)
def test_if_nothing_matches_it_is_said_what_was_found(make, files, missing):
    """The missing splits are named, and so is everything that was there."""
    with pytest.raises(DownloadError) as caught:
        make(zenodo_site(RECORD, files))
    message = str(caught.value)
    assert f"files named after {missing} (for java-github the huge training set)" in message
    for name in files:
        assert name in message or name == "java.zip"
    assert "java/one" in message or "java.zip" not in files
    assert "nothing" in message or files


def test_a_training_set_that_is_not_huge_is_said(make):
    """Where the record has one training set only, it is taken, and the note says which."""
    files = {name: body for name, body in PLAIN.items() if "huge" not in name}
    notes = make(zenodo_site(RECORD, files)).notes
    assert any("java_training_pre was taken for train" in note for note in notes)


def test_a_hostile_archive_is_refused(make, tmp_path):
    """An archive that tries to write elsewhere is refused, and nothing is written anywhere."""
    evil = tarred({"java/java_test_pre": b"a\n", "../../evil": b"a\n"})
    with pytest.raises(DownloadError, match=r"to stay in it, found: '\.\./\.\./evil'"):
        make(zenodo_site(RECORD, {"java_test_pre.tar.gz": evil}), splits=("test",))
    written = {p.name for p in tmp_path.rglob("*") if p.is_file()}
    assert written == {"java_test_pre.tar.gz"}


def test_bytes_that_are_no_text_are_counted_in_a_note(make):
    """Lines that were not UTF-8 are said with their number."""
    files = PLAIN | {"java_test_pre": b"<s> \xff </s>\n<s> ok </s>\n"}
    notes = make(zenodo_site(RECORD, files), splits=("test",)).notes
    assert notes[1] == "test: 1 lines were not UTF-8; what could not be read is U+FFFD."


def test_lines_are_what_the_reader_expects(make, tmp_path):
    """What is written has text and language, and nothing that was guessed."""
    make(zenodo_site(RECORD, PLAIN), splits=("valid",))
    (line,) = (tmp_path / "work" / "valid.jsonl").read_text().splitlines()
    assert json.loads(line) == {"text": "class V0 { }", "language": "java"}
