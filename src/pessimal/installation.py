"""What this installation has: versions, solvers, compiled code, data."""

from __future__ import annotations

import importlib.metadata
import platform
from importlib import resources

from pessimal import __version__
from pessimal.search import tree

_SOLVERS = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "cvxpy", "pandas", "matplotlib", "typer", "rich")
_EXTRAS = {"parquet": "pyarrow", "cluster": "distributed", "transfer": "torch"}


def installation() -> dict[str, dict[str, str]]:
    """Return what was found, by title.

    Examples
    --------
    >>> sorted(installation())
    ['data', 'extras', 'libraries', 'program', 'solvers']
    """
    data = resources.files("pessimal.datasets") / "data"
    return {
        "program": {
            "pessimal": __version__,
            "Python": platform.python_version(),
            "system": platform.platform(terse=True),
            "inner loops": "compiled" if _compiled() else "not compiled: much slower",
        },
        "solvers": {name: _version(package) for name, package in _SOLVERS.items()},
        "libraries": {package: _version(package) for package in _LIBRARIES},
        "extras": {name: _version(package) for name, package in _EXTRAS.items()},
        "data": {
            "cancer": str(data / "breast_cancer_wisconsin_original.csv"),
            "diabetes": str(data / "pima_indians_diabetes.csv"),
        },
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _compiled() -> bool:
    return not str(tree.__file__).endswith(".py")
