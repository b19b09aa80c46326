"""Compile the inner loops, and make the README one for PyPI; the rest is in pyproject.toml.

A module with a ``.pxd`` file beside it, which types it for Cython, is compiled. It is plain Python
and runs uncompiled too, only slower: set ``PESSIMAL_PURE=1`` when building to leave it so.
"""

import os
import re
import sys
from pathlib import Path

from setuptools import Extension, setup

# Contracted multiply-adds would make results differ from one processor to the next.
COMPILER_FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-ffp-contract=off"]


def extensions() -> list[Extension]:
    """C extensions of the compiled modules, or none for a pure-Python build."""
    if os.environ.get("PESSIMAL_PURE") == "1":
        return []
    # Imported here, so that a pure build needs no Cython.
    from Cython.Build import cythonize  # noqa: PLC0415

    modules: list[Extension] = cythonize(
        [
            Extension(
                ".".join(types.relative_to("src").with_suffix("").parts),
                [str(types.with_suffix(".py"))],
                extra_compile_args=COMPILER_FLAGS,
            )
            for types in sorted(Path("src").rglob("*.pxd"))
        ],
        build_dir="build",  # keeps the generated C out of the source tree
        quiet=True,
        compiler_directives={
            "language_level": 3,
            "annotation_typing": False,  # the .pxd files hold the types, not the annotations
            "infer_types": True,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "show_performance_hints": False,
        },
    )
    return modules


def description() -> str:
    """Return the README without what PyPI cannot show: files of the repository beside it."""
    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r"!\[[^\]]*\]\((?!https://)[^)]*\)\n\n", "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https://)[^)]*\)", r"\1", text)


setup(
    ext_modules=extensions(),
    long_description=description(),
    long_description_content_type="text/markdown",
)
