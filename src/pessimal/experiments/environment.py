"""What rows were computed with: packages, Python, machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "pessimal",
    "numpy",
    "scipy",
    "scikit-learn",
    "highspy",
    "pandas",
    "matplotlib",
    "torch",
    "distributed",
)


def describe_environment() -> dict[str, str]:
    """Describe this process and machine, in words and version numbers.

    Examples
    --------
    >>> environment = describe_environment()
    >>> environment["pessimal"] == version("pessimal"), "machine" in environment
    (True, True)
    """
    return {
        "machine": f"{processor()}, {os.cpu_count()} cores",
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


def processor() -> str:
    """Name the processor as the system does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
