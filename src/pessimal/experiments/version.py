"""The version of the code that rows come from: an edited package never mixes with old rows."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import pessimal

_NOT_COMPUTING = frozenset(
    {
        "__main__.py",
        "auditing",
        "cli",
        "demo.py",
        "estimators",
        "installation.py",
        "markup.py",
        "report",
        "tabular",
        "workflows",
    }
)
"""Parts of the package that no study uses; a test holds the others to that."""


@cache
def code_version() -> str:
    """Return a fingerprint of the sources and data that rows depend on.

    The C types of compiled modules count, the compiled modules do not: they give the rows of their
    sources, bit for bit. Nor does the
    number of the release, which changes with every commit. The files are read once in a process,
    whose code cannot change any more.

    Examples
    --------
    >>> len(code_version())
    12
    """
    return fingerprint(Path(next(iter(pessimal.__path__))))


def fingerprint(package: Path) -> str:
    """Digest the sources and data of a package folder, names included."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package)
        if name.parts[0] not in _NOT_COMPUTING and _counts(path):
            digest.update(f"{name.as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _counts(path: Path) -> bool:
    return path.suffix in (".py", ".pxd") or (path.parent.name == "data" and path.is_file())
