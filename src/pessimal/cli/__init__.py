"""The command line, ``pessimal``: one module a command, nothing heavy imported before it runs."""

from pessimal.cli.app import main

__all__ = ["main"]
