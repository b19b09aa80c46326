"""``pessimal info``: versions, solvers and data that were found."""

from __future__ import annotations

from pessimal.cli.console import say_json, say_table
from pessimal.cli.options import Json


def info(json: Json = False) -> None:
    """Say which versions, solvers and data this installation has.

    Example: pessimal info
    """
    from pessimal.installation import installation

    found = installation()
    if json:
        say_json(found)
        return
    for title, facts in found.items():
        say_table(title, [("what", "found"), *facts.items()])
