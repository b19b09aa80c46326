"""Compile the inner loops; everything else is declared in pyproject.toml.

The listed modules are plain Python, typed for Cython by the ``.pxd`` file beside each. They run
uncompiled too, only slower: set ``PESSIMAL_PURE=1`` when building to leave them so.
"""

import os
import sys

from setuptools import Extension, setup

COMPILED = (
    "lp.watch",
    "lp.dictionary",
    "lp.simplex",
    "search.sides",
    "search.items",
    "search.node",
    "search.conflict",
    "search.budget",
    "search.incumbent",
    "search.tree",
    "search.heuristic",
    "worst.models",
    "worst.tree",
)

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
                f"pessimal.{name}",
                [f"src/pessimal/{name.replace('.', '/')}.py"],
                extra_compile_args=COMPILER_FLAGS,
            )
            for name in COMPILED
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


setup(ext_modules=extensions())
