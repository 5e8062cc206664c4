import os
import shutil
import subprocess

import pytest

from vicinal.corpus.listing import list_files

FILES = {
    "b.py": "b",
    "a/c.py": "c",
    "a-b/d.py": "d",
    "node_modules/lib/index.js": "x",
    "x/node_modules/lib/index.js": "x",
    "x/.hidden/e.py": "e",
    "out.log": "log",
    ".gitignore": "*.log\n",
}


def git(root, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, "-c", "protocol.file.allow=always", *words]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


def test_without_git_hidden_and_vendored_folders_are_left_out_whole(grow):
    """The order is that of the bytes of the paths; a folder left out ends in a slash."""
    assert list_files(grow(FILES)) == [
        *(b".gitignore", b"a-b/d.py", b"a/c.py", b"b.py"),
        *(b"node_modules/", b"x/.hidden/", b"x/node_modules/"),
    ]


def test_in_a_work_tree_hidden_folders_are_kept(grow):
    """What git would add is listed, but installed packages stay out."""
    listed = list_files(grow(FILES, git=True))
    assert b"x/.hidden/e.py" in listed
    assert b"out.log" not in listed
    assert [p for p in listed if p.endswith(b"/")] == [b"node_modules/", b"x/node_modules/"]


def test_a_subfolder_of_a_work_tree(grow):
    """Paths are relative to the folder, and the rules above it count."""
    root = grow({**FILES, "a/d.log": "log"}, git=True)
    assert list_files(root / "a") == [b"c.py"]


def test_tracked_files_are_listed_though_ignored_and_deleted_ones_too(grow):
    """The index counts: a file once added stays listed."""
    root = grow(FILES, git=True)
    git(root, "add", "-f", "out.log", "b.py")
    (root / "b.py").unlink()
    assert {b"out.log", b"b.py"} <= set(list_files(root))


def test_an_ignored_folder_that_is_asked_for_is_walked(grow):
    """Who points at an ignored folder wants it read."""
    root = grow({".gitignore": "gen/\n", "gen/a.py": "a", "gen/b/c.py": "c", "d.py": "d"}, git=True)
    assert list_files(root / "gen") == [b"a.py", b"b/c.py"]


def test_work_trees_inside_a_work_tree(grow, tmp_path):
    """A submodule's files are listed, and those of a repository that merely lies there."""
    inner = grow({"i.py": "i"}, name="inner", git=True)
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "one")
    root = grow({"a.py": "a"}, git=True)
    git(root, "submodule", "--quiet", "add", str(inner), "sub")
    shutil.copytree(inner, root / "beside")
    (root / "sub" / "new.py").touch()
    listed = list_files(root)
    assert {b"a.py", b"beside/i.py", b"sub/i.py", b"sub/new.py"} <= set(listed)
    assert not any(b".git/" in path for path in listed)


def test_no_git_to_ask(grow, monkeypatch):
    """Without a git command the walk gives the same files."""
    root = grow({**FILES, "a/d.log": "log"}, git=True)
    listed = [p for p in list_files(root) if b".hidden" not in p]
    monkeypatch.setenv("PATH", str(root))
    assert [p for p in list_files(root) if b".hidden" not in p] == listed
    assert list_files(root / "a") == [b"c.py"]


def test_the_environment_points_elsewhere(grow, monkeypatch, tmp_path):
    """Inside a git hook, ``GIT_DIR`` names another repository; it is not asked."""
    root = grow(FILES, git=True)
    git(root, "add", "-f", "out.log")
    other = grow({}, name="other", git=True)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert b"out.log" in list_files(root)


def test_a_repository_cannot_start_a_program(grow, tmp_path):
    """A file monitor that a foreign repository configures is not run."""
    root = grow({"a.py": "a"}, git=True)
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    monitor.chmod(0o755)
    git(root, "add", ".")
    git(root, "config", "core.fsmonitor", str(monitor))
    assert list_files(root) == [b"a.py"]
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("in_git", [True, False])
def test_included_files_are_listed_though_ignored(grow, in_git):
    """Patterns to include reach ignored, hidden and vendored files."""
    root = grow({**FILES, "a/d.log": "log"}, git=in_git)
    listed = list_files(root, include=("*.log", "node_modules/lib/"))
    assert {b"out.log", b"a/d.log", b"node_modules/lib/index.js"} <= set(listed)
    assert b"x/node_modules/lib/index.js" not in listed


def test_a_single_file(grow):
    """A file alone is listed by its name."""
    assert list_files(grow(FILES) / "b.py") == [b"b.py"]


def test_an_unreadable_folder_is_left_out_whole(grow, monkeypatch):
    """A folder that may not be read ends the walk into it, not the walk."""
    root, scan = grow(FILES), os.scandir

    def refuse(folder):
        if folder.endswith(b"/a/"):
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    assert {b"a/", b"b.py"} <= set(list_files(root))
