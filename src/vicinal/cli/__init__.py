"""The command line, one file per command. Loads the other rooms only when a command runs."""

from vicinal.cli.app import app, main

__all__ = ["app", "main"]
