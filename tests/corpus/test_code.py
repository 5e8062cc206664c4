import os
import subprocess

import pytest

from vicinal.corpus import CodeTree, Decision
from vicinal.errors import CorpusError

SOURCE = "class A {}\r\n"
FILES = {
    "core/pom.xml": "<project/>\n",
    "core/src/A.java": SOURCE,
    "core/src/B.java": "\ufeffclass B {}\n",
    "tools/run.py": "print(1)\n",
    "README.md": "# Read me\n",
    "data.csv": "a,b\n",
    "logo.png": b"\x89PNG\0",
    "deploy.pem": "key\n",
    "empty.py": "",
    "out/gen.py": "gen\n",
    ".gitignore": "out/\n",
}


def names(corpus):
    return [document.name for document in corpus]


def reasons(corpus):
    return {os.path.basename(d.path): d.reason.split(":")[0] for d in corpus.decisions()}


@pytest.mark.parametrize("git", [True, False])
def test_a_tree_becomes_documents(grow, git):
    """Names, order, attributes, language and path of the files that are source."""
    root = grow(FILES, git=git)
    documents = {d.name: d for d in CodeTree(root)}
    assert list(documents) == [
        *("root/.gitignore", "root/README.md", "root/core/pom.xml"),
        *("root/core/src/A.java", "root/core/src/B.java", "root/tools/run.py"),
    ]
    java = documents["root/core/src/A.java"]
    assert java.text == SOURCE
    assert java.spans[0].attributes == {"project": ("root/core",), "directory": ("root/core/src",)}
    assert (java.language, java.path) == ("java", str(root / "core/src/A.java"))
    assert documents["root/core/src/B.java"].text == "class B {}\n"
    assert documents["root/README.md"].language == ""
    assert documents["root/tools/run.py"].spans[0].attributes["project"] == ("root",)


def test_decisions_agree_with_what_is_read(grow):
    """Exactly the files decided for are read, in the same order; the others have a reason."""
    corpus = CodeTree(grow(FILES))
    decisions = list(corpus.decisions())
    assert [d.path for d in decisions if d.kept] == [d.path for d in corpus]
    assert all(bool(d.reason) != d.kept for d in decisions)
    left_out = {name: reason for name, reason in reasons(corpus).items() if reason}
    assert left_out == {
        "data.csv": "data, not source (.csv)",
        "deploy.pem": "looks like a secret, by its name",
        "empty.py": "empty",
        "logo.png": "binary, or text neither in UTF-8 nor mostly ASCII",
    }


def test_reading_twice_gives_the_same(grow):
    """The order and the hashes are stable."""
    corpus = CodeTree(grow(FILES))
    assert [d.content_hash for d in corpus] == [d.content_hash for d in corpus]


def test_documents_come_one_at_a_time(grow, monkeypatch):
    """The second file is not read before the second document is asked for."""
    root = grow({"a.py": "a = 1\n", "b.py": "b = 1\n"})
    documents = iter(CodeTree(root))
    assert next(documents).text == "a = 1\n"
    (root / "b.py").write_text("b = 2\n")
    assert next(documents).text == "b = 2\n"


def test_folders_as_projects(grow):
    """The top folder is the project; files beside the folders belong to the root."""
    corpus = CodeTree(grow(FILES), projects_are_folders=True)
    projects = {d.name: d.spans[0].attributes["project"] for d in corpus}
    assert projects["root/tools/run.py"] == ("root/tools",)
    assert projects["root/core/src/A.java"] == ("root/core",)
    assert projects["root/README.md"] == ("root",)


def test_another_prefix(grow):
    """The prefix stands in the root folder's place in names and attributes."""
    documents = list(CodeTree(grow({"a/b.py": "b\n"}), name_prefix="x/root"))
    assert documents[0].name == "x/root/a/b.py"
    assert documents[0].spans[0].attributes == {"project": ("x/root",), "directory": ("x/root/a",)}


def test_what_to_include_and_exclude(grow):
    """Exclusion has a reason; inclusion reaches data and ignored files, but no secret."""
    root = grow(FILES, git=True)
    corpus = CodeTree(root, include=("*.csv", "out/", "*.pem"), exclude=("tools/", "A.java"))
    assert names(corpus) == [
        *("root/.gitignore", "root/README.md", "root/core/pom.xml", "root/core/src/B.java"),
        *("root/data.csv", "root/out/gen.py"),
    ]
    assert reasons(corpus)["run.py"] == "excluded, as asked"
    assert reasons(corpus)["deploy.pem"] == "looks like a secret, by its name"


COMMENTED = {
    "A.java": "// one\nclass A { /* two */ }  // three\n",
    "B.java": "/* nothing\n else */\n\n",
    "c.py": "#!python\nx = '# no'  # yes\n",
    "notes": "// unknown language\n",
    "README.md": "# Read me\n",
}
BARE = {
    "A.java": "class A { }\n",
    "c.py": "#!python\nx = '# no'\n",
    "notes": "// unknown language\n",
    "README.md": "# Read me\n",
}


def test_comments_can_be_left_out(grow):
    """Documents are those of files that never had comments, hash included; others stay."""
    root, bare = grow(COMMENTED), CodeTree(grow(BARE, name="bare"), name_prefix="root")
    corpus = CodeTree(root, comments=False)
    assert {d.name.removeprefix("root/"): d.text for d in corpus} == BARE
    assert [d.content_hash for d in corpus] == [d.content_hash for d in bare]
    assert [d.spans for d in corpus] == [d.spans for d in bare]
    assert [d.text for d in CodeTree(root)] == [COMMENTED[name] for name in sorted(COMMENTED)]


def test_a_file_of_comments_alone_is_left_out_with_them(grow):
    """It is no document, and the decision says why; with comments it is one."""
    root = grow(COMMENTED)
    assert reasons(CodeTree(root, comments=False)) == {
        **dict.fromkeys(BARE, ""),
        "B.java": "nothing but comments",
    }
    assert "root/B.java" in names(CodeTree(root))
    assert set(reasons(CodeTree(root)).values()) == {""}


def test_a_file_left_out_keeps_its_reason_without_comments(grow):
    """What is wrong with a file is asked before its comments are taken out."""
    corpus = CodeTree(grow(FILES), comments=False)
    assert reasons(corpus) == reasons(CodeTree(corpus.root))


def test_the_largest_file_is_a_setting(grow):
    """A file may be as large as *max_bytes*, and no larger."""
    root = grow({"a.py": "x = 1\n", "b.py": "x = 12\n"})
    assert names(CodeTree(root, max_bytes=6)) == ["root/a.py"]
    assert reasons(CodeTree(root, max_bytes=6))["b.py"] == "huge"


def test_a_hostile_tree(grow):
    """Loops, links out of the root, pipes, null bytes and odd names end in reasons, not crashes."""
    outside = grow({"secret.py": "outside = 1\n"}, name="outside")
    files = {
        "a b.py": "a\n",
        "ü.py": "u\n",
        "new\nline.py": "n\n",
        "/".join("d" * 60) + ".py": "d\n",
    }
    root = grow({**files, "nul.py": b"a\0b", "long.py": "x" * 10**6, "in/ok.py": "ok\n"})
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(outside)
    (root / "out.py").symlink_to(outside / "secret.py")
    (root / os.fsdecode(b"caf\xe9.py")).write_text("c\n")
    os.mkfifo(root / "pipe.py")
    corpus = CodeTree(root)
    assert sorted(names(corpus)) == sorted(f"root/{name}" for name in [*files, "in/ok.py"])
    found = reasons(corpus)
    assert {found["loop"], found["out"], found["out.py"]} == {"symbolic link"}
    assert found["pipe.py"].startswith("not a regular file")
    assert found["caf\\xe9.py"] == "its name is not UTF-8"
    assert found["long.py"] == "minified"


def test_a_tracked_folder_that_became_a_link_leads_nowhere(grow):
    """Git still lists the file; it is not read through the link."""
    outside = grow({"b.py": "outside = 1\n"}, name="outside")
    root = grow({"a/b.py": "inside = 1\n"}, git=True)
    subprocess.run(["git", "add", "a/b.py"], cwd=root, check=True)
    (root / "a" / "b.py").unlink()
    (root / "a").rmdir()
    (root / "a").symlink_to(outside)
    assert names(CodeTree(root)) == []
    assert reasons(CodeTree(root))["b.py"] == "lies behind a symbolic link"


def test_a_root_that_is_a_link_or_has_a_home_sign(grow, tmp_path, monkeypatch):
    """The root itself may be a link or begin with ``~``; it is named after its target."""
    grow({"a.py": "a\n"})
    (tmp_path / "link").symlink_to("root")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert names(CodeTree(tmp_path / "link")) == names(CodeTree("~/root")) == ["root/a.py"]


def test_a_single_file_is_a_tree(grow):
    """A file alone is read with its folder as the root."""
    root = grow(FILES)
    documents = list(CodeTree(root / "core" / "src" / "A.java"))
    assert [d.name for d in documents] == ["src/A.java"]
    assert documents[0].path == str(root / "core" / "src" / "A.java")


def test_folders_left_out_whole_are_one_decision(grow):
    """A folder of installed packages is spoken of once."""
    root = grow({"node_modules/a/b.js": "b\n", "node_modules/c.js": "c\n", "d.js": "d\n"})
    kept, left_out = CodeTree(root).decisions()
    assert kept == Decision(str(root / "d.js"), kept=True)
    assert left_out.path == str(root / "node_modules")
    assert left_out.reason.startswith("folder of installed packages")


def test_a_missing_root(tmp_path):
    """The message names the path."""
    with pytest.raises(CorpusError, match=r"found nothing at: '.*nowhere'\. Check the path"):
        list(CodeTree(tmp_path / "nowhere"))
