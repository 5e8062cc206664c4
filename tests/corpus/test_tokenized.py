"""Lines of pre-processed code become documents that the reader of JSON lines gives back."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vicinal.corpus.jsonl import JsonLines
from vicinal.corpus.tokenized import Paths, Written, text_of, write_json_lines
from vicinal.errors import CorpusError

CODE = b"<s> package a ; class A { } </s>\n<s> class B { } </s>\n"
TOKENS = st.lists(
    st.sampled_from(["class", "{", "}", "<s>", "</s>", "é", "\U0001f600", "\u2028", "<", '"']),
    max_size=6,
)


def paths(tmp_path, *lines, end="\n"):
    file = tmp_path / "java_test_pre.original_path"
    file.write_text("\n".join(lines) + end, "utf-8")
    return Paths.from_file(file)


def write(tmp_path, body, given=None):
    target = tmp_path / "test.jsonl"
    lines = body.splitlines(keepends=True) if isinstance(body, bytes) else body
    return target, write_json_lines(lines, target, language="java", paths=given)


def test_without_paths_a_document_has_no_place(tmp_path):
    """The text is without its marks, in its language, called after its line; nothing is guessed."""
    target, written = write(tmp_path, CODE)
    first, second = JsonLines(target)
    assert (first.text, second.text) == ("package a ; class A { }", "class B { }")
    assert (first.name, first.language) == ("test.jsonl:1", "java")
    assert [dict(span.attributes) for span in first.spans] == [{}]
    assert written == Written(2, 2, 0)


def test_with_paths_a_document_has_its_project_and_directory(tmp_path):
    """The first folder is the project, all of them are the directory, as in a code tree."""
    given = paths(tmp_path, "Clara/demo/src/App.java", "Clara/App.java")
    first, second = JsonLines(write(tmp_path, CODE, given)[0])
    assert first.name == "Clara/demo/src/App.java"
    assert first.spans[0].attributes == {"project": ("Clara",), "directory": ("Clara/demo/src",)}
    assert second.spans[0].attributes == {"project": ("Clara",), "directory": ("Clara",)}


def test_two_lines_of_one_path_are_two_documents(tmp_path):
    """A path that is named again is numbered, so that every document has a name of its own."""
    given = paths(tmp_path, *["Clara/App.java"] * 2)
    found = list(JsonLines(write(tmp_path, CODE, given)[0]))
    assert [d.name for d in found] == ["Clara/App.java", "Clara/App.java #2"]
    assert found[0].spans[0].attributes == found[1].spans[0].attributes


def test_lines_without_text_keep_their_place_in_the_list(tmp_path):
    """A line of nothing but marks is no document, and the next line still has its own path."""
    given = paths(tmp_path, "a/A.java", "a/B.java", "a/C.java", "b/D.java")
    body = b"<s> class A { } </s>\n<s> </s>\n\n<s> class D { } </s>\n"
    target, written = write(tmp_path, body, given)
    assert [d.name for d in JsonLines(target)] == ["a/A.java", "b/D.java"]
    assert written == Written(n_lines=4, n_documents=2, n_repaired=0)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_list_of_another_length_is_refused_with_both_numbers(tmp_path, n):
    """One path too few or too many belongs to other files."""
    file = tmp_path / "list"
    file.touch()
    given = Paths(file, ("a/A.java",) * n)
    with pytest.raises(CorpusError, match=rf"each of 2 lines, found {n} in .*list"):
        write(tmp_path, CODE, given)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("Clara/App.java", "Clara/App.java"),
        ("./Clara//App.java\r", "Clara/App.java"),
        ("Clara/App.java.prep", "Clara/App.java"),
        ("../examples/java/Test-processed/Clara/src/App.java.prep", "Clara/src/App.java"),
        ("/data/Valid-processed/jmeter/gui/Gui.java", "jmeter/gui/Gui.java"),
    ],
)
def test_paths_are_read_as_they_are_found(tmp_path, line, path):
    """A list may be as the paper's authors have it, or plain."""
    assert paths(tmp_path, line).paths == (path,)
    assert paths(tmp_path, line, end="").paths == (path,)


@pytest.mark.parametrize(
    "line", ["App.java", "", "/home/me/Clara/App.java", "../Clara/App.java", "a/../b/C.java", "17"]
)
def test_what_is_no_path_below_a_project_is_refused(tmp_path, line):
    """A line from which no project can be told is shown with its number."""
    with pytest.raises(CorpusError) as caught:
        paths(tmp_path, "Clara/App.java", line)
    assert f"found line 2: {line!r}" in str(caught.value)


def test_only_the_first_faults_are_told(tmp_path):
    """A list that is another kind of file altogether is refused in one line."""
    with pytest.raises(CorpusError, match=r"line 5: '5'\. Correct"):
        paths(tmp_path, *map(str, range(1, 1000)))


def test_a_list_that_cannot_be_read_is_said(tmp_path):
    """A missing list, or one that is no text, is named."""
    with pytest.raises(CorpusError, match=r"list of paths, found .*absent"):
        Paths.from_file(tmp_path / "absent")
    (tmp_path / "image").write_bytes(b"\xff\xfe")
    with pytest.raises(CorpusError, match=r"list of paths, found .*image.*0xff"):
        Paths.from_file(tmp_path / "image")


def test_what_is_not_utf_8_is_counted(tmp_path):
    """A byte that is no text is replaced, and its line counted; the others stay as they are."""
    target, written = write(tmp_path, b"<s> char \xff ; </s>\n<s> char \xc3\xa9 ; </s>\n")
    assert [d.text for d in JsonLines(target)] == ["char \ufffd ;", "char é ;"]
    assert written == Written(2, 2, n_repaired=1)


def test_only_the_marks_of_the_ends_are_taken_off():
    """Marks elsewhere, or one alone, are text like any other."""
    assert text_of(b"<s> a <s> b </s> c </s>") == ("a <s> b </s> c", True)
    assert text_of(b"class A { }") == ("class A { }", True)
    assert text_of(b"<string> </s>\n") == ("<string>", True)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TOKENS, max_size=8))
def test_reading_gives_back_what_was_written(tmp_path, files):
    """Every line with text comes back as a document, in order, with its own path and text."""
    texts = [" ".join(tokens).strip() for tokens in files]
    names = [f"p{n}/F{n}.java" for n in range(len(files))]
    given = Paths(tmp_path, tuple(names))
    lines = [f"<s> {text} </s>\n".encode() for text in texts]
    target, written = write(tmp_path, lines, given)
    found = [(d.name, d.text) for d in JsonLines(target)]
    assert found == [(name, text) for name, text in zip(names, texts, strict=True) if text]
    assert written == Written(len(files), len(found), 0)
