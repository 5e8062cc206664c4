import pytest

from vicinal.corpus.projects import Projects

FILES = {
    "top.py": "",
    "service/pom.xml": "",
    "service/src/main/A.java": "",
    "service/web/package.json": "",
    "service/web/js/a.js": "",
    "loose/src/b.py": "",
    "net/App.csproj": "",
    "net/src/a.cs": "",
}


@pytest.mark.parametrize(
    ("directory", "project"),
    [
        ("", "root"),
        ("service", "root/service"),
        ("service/src/main", "root/service"),
        ("service/web", "root/service/web"),
        ("service/web/js", "root/service/web"),
        ("loose/src", "root"),
        ("net/src", "root/net"),
    ],
)
def test_the_nearest_marked_folder_is_the_project(grow, directory, project):
    """Looking up from the file, the first marked folder counts, and the root if there is none."""
    assert Projects(str(grow(FILES)), "root").project_of(directory) == project


@pytest.mark.parametrize(
    ("directory", "project"),
    [("", "root"), ("service", "root/service"), ("service/web/js", "root/service")],
)
def test_top_folders_as_projects(grow, directory, project):
    """Where folders are projects, markers mean nothing."""
    assert Projects(str(grow(FILES)), "root", are_folders=True).project_of(directory) == project


def test_nothing_above_the_root_counts(grow):
    """A marker above the root that was asked for makes no project."""
    root = grow({"pom.xml": "", "src/main/A.java": ""})
    assert Projects(str(root / "src"), "src").project_of("main") == "src"


def test_a_repository_inside_is_a_project(grow):
    """A ``.git`` folder, or the file a submodule has in its place, marks a project."""
    root = grow({"lib/.git": "gitdir: elsewhere\n", "lib/src/a.c": ""})
    assert Projects(str(root), "root").project_of("lib/src") == "root/lib"


def test_directory_names_begin_with_the_project(grow):
    """A directory's name holds its project's, so equal directories are equal projects."""
    projects = Projects(str(grow(FILES)), "root")
    for directory in ["", "service/src/main", "service/web/js", "loose/src"]:
        name = projects.directory_name(directory)
        assert f"{name}/".startswith(f"{projects.project_of(directory)}/")
