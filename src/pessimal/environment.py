"""What numbers were computed with: packages, Python, machine, and the version of the code."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pessimal

_PACKAGE = Path(next(iter(pessimal.__path__)))

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
    installed = {package: installed_version(package) for package in _PACKAGES}
    return {
        "machine": ", ".join([_processor(), f"{os.cpu_count()} cores", *_memory()]),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{package: found for package, found in installed.items() if found},
    }


def installed_version(package: str) -> str | None:
    """Return the version of a package, or None of an extra that this user does without."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _memory() -> list[str]:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system says
        return []
    return [f"{size / 2**30:.1f} GB"]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


_NOT_COMPUTING = (
    "__main__.py",
    "auditing",
    "cli",
    "demo.py",
    "estimators",
    "markup.py",
    "report",
    "reproduction/report",
    "tabular",
    "workflows",
)
"""Parts of the package that no study uses; a test holds the others to that."""


@cache
def code_version() -> str:
    """Return a fingerprint of the sources and data that rows depend on.

    The C types of compiled modules count, the compiled modules do not: they give the rows of their
    sources, bit for bit. Nor does the number of the release, which changes with every commit. The
    files are read once in a process, whose code cannot change any more.
    """
    return fingerprint(_PACKAGE)


@cache
def measured_version() -> str:
    """Return a fingerprint of all that a time depends on: compiled code, versions, machine."""
    digest = hashlib.sha256(repr(describe_environment()).encode())
    for path in sorted(_PACKAGE.rglob("*")):
        if path.suffix in (".py", ".so", ".pyd"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def fingerprint(package: Path) -> str:
    """Digest the sources and data of a package folder, names included."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        data = path.parent.name == "data" and path.is_file()
        if (data or path.suffix in (".py", ".pxd")) and not is_shown_only(name):
            digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def is_shown_only(name: str) -> bool:
    """Whether a file or folder, named from the package on, is one that no study computes with."""
    return any(f"{name}/".startswith(f"{part}/") for part in _NOT_COMPUTING)
