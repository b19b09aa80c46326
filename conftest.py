"""Compiled modules are not collected for doctests: Python imports the extension, pytest the .py."""

from pathlib import Path

collect_ignore = [str(types.with_suffix(".py")) for types in Path(__file__).parent.rglob("*.pxd")]
