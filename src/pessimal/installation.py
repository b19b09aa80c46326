"""What this installation has: versions, solvers, compiled code, data."""

from __future__ import annotations

import importlib.metadata
from importlib import resources

from pessimal.environment import describe_environment
from pessimal.reproduction.transfer.images import FASHION, MNIST, find_folder
from pessimal.solvers.search import tree

_SOLVERS = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}
_EXTRAS = {"parquet": "pyarrow", "cluster": "distributed", "transfer": "torch"}


def installation() -> dict[str, dict[str, str]]:
    """Return what was found, by title."""
    data = resources.files("pessimal.datasets") / "data"
    compiled = not str(tree.__file__).endswith(".py")
    return {
        "environment": {
            **describe_environment(),
            "inner loops": "compiled" if compiled else "not compiled, which is much slower",
        },
        "solvers": {name: _version(package) for name, package in _SOLVERS.items()},
        "extras": {name: _version(package) for name, package in _EXTRAS.items()},
        "data": {
            "cancer": str(data / "breast_cancer_wisconsin_original.csv"),
            "diabetes": str(data / "pima_indians_diabetes.csv"),
            **{name: str(find_folder(name) or "not found") for name in (MNIST, FASHION)},
        },
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
