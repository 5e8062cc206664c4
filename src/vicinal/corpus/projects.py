"""
Which project a file belongs to: the nearest folder above it that something marks as a project.

Looks at names in folders only, and never above the root that was asked for.
"""

import os
from dataclasses import dataclass, field

from vicinal.corpus.name_patterns import named_like

ROOT_MARKERS = named_like(
    ".git .hg .svn pyproject.toml setup.py setup.cfg pom.xml build.gradle build.gradle.kts "
    "build.xml build.sbt package.json cargo.toml go.mod composer.json gemfile mix.exs rebar.config "
    "package.swift pubspec.yaml deno.json stack.yaml project.clj dune-project "
    "*.csproj *.fsproj *.vcxproj *.sln *.cabal *.gemspec *.nimble"
)


@dataclass(frozen=True)
class Projects:
    """
    The projects below *root*, each named by its path, which begins with the *name* of the root.

    With *are_folders*, each folder directly below the root is a project, whatever lies in it. The
    root is the project of last resort.
    """

    root: str
    name: str
    are_folders: bool = False
    _marked: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    def project_of(self, directory: str) -> str:
        """Name the project of a *directory*, itself given relative to the root (``a/b``)."""
        if self.are_folders:
            return self.directory_name(directory.partition("/")[0])
        while directory and not self.is_marked(directory):
            directory = directory.rpartition("/")[0]
        return self.directory_name(directory)

    def directory_name(self, directory: str) -> str:
        """Name a directory with the root's name in front, so that no two roots share one."""
        return f"{self.name}/{directory}" if directory else self.name

    def is_marked(self, directory: str) -> bool:
        """Say whether a file in *directory* marks it as a project; each is looked at once."""
        if directory not in self._marked:
            self._marked[directory] = has_marker(os.path.join(self.root, directory))
        return self._marked[directory]


def has_marker(folder: str) -> bool:
    """Say whether a folder holds a file or folder that only the top of a project has."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(ROOT_MARKERS.match(name.lower()) for name in names)
