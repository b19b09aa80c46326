"""What numbers were computed with: packages, Python, machine, and the version of the code."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pessimal

_PACKAGES = (
    "pessimal",
    "numpy",
    "scipy",
    "scikit-learn",
    "highspy",
    "cvxpy",
    "pandas",
    "matplotlib",
    "torch",
    "distributed",
)


def describe_environment() -> dict[str, str]:
    """Describe this process and machine, in words and version numbers."""
    return {
        "machine": ", ".join([processor(), f"{os.cpu_count()} cores", *_memory()]),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **_installed(),
    }


def _installed() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # an extra that this user does without
            continue
    return found


def _memory() -> list[str]:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system says
        return []
    return [f"{size / 2**30:.1f} GB"]


def processor() -> str:
    """Name the processor as the system does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


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
        "reproduction/report",
        "tabular",
        "workflows",
    }
)
"""Parts of the package that no study uses; a test holds the others to that."""


@cache
def code_version() -> str:
    """Return a fingerprint of the sources and data that rows depend on.

    The C types of compiled modules count, the compiled modules do not: they give the rows of their
    sources, bit for bit. Nor does the number of the release, which changes with every commit. The
    files are read once in a process, whose code cannot change any more.
    """
    return fingerprint(_package())


@cache
def measured_version() -> str:
    """Return a fingerprint of all that a time depends on: compiled code, versions, machine."""
    digest = hashlib.sha256(repr(describe_environment()).encode())
    for path in sorted(_package().rglob("*")):
        if path.suffix in (".py", ".so", ".pyd"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _package() -> Path:
    return Path(next(iter(pessimal.__path__)))


def fingerprint(package: Path) -> str:
    """Digest the sources and data of a package folder, names included."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if _counts(path) and not is_shown_only(name):
            digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def is_shown_only(name: str) -> bool:
    """Whether a file or folder, named from the package on, is one that no study computes with."""
    return any(f"{name}/".startswith(f"{part}/") for part in _NOT_COMPUTING)


def _counts(path: Path) -> bool:
    return path.suffix in (".py", ".pxd") or (path.parent.name == "data" and path.is_file())
