"""``pessimal info``: what this installation has, to tell whoever asks for help."""

from __future__ import annotations

from pessimal.cli.console import say_json, say_table
from pessimal.cli.options import Json

_SOLVERS = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}
_EXTRAS = {"parquet": "pyarrow", "cluster": "distributed", "transfer": "torch"}


def info(json: Json = False) -> None:
    """Say which versions, solvers and data this installation has.

    Example: pessimal info
    """
    found = _installation()
    if json:
        say_json(found)
        return
    for title, facts in found.items():
        say_table(title, [("what", "found"), *facts.items()])


def _installation() -> dict[str, dict[str, str]]:
    from importlib import resources

    from pessimal.environment import describe_environment, installed_version
    from pessimal.reproduction.transfer.images import FASHION, MNIST, find_folder
    from pessimal.solvers.search import tree

    def versions(packages: dict[str, str]) -> dict[str, str]:
        return {name: installed_version(p) or "not installed" for name, p in packages.items()}

    data = resources.files("pessimal.datasets") / "data"
    compiled = not str(tree.__file__).endswith(".py")
    return {
        "environment": {
            **describe_environment(),
            "inner loops": "compiled" if compiled else "not compiled, which is much slower",
        },
        "solvers": versions(_SOLVERS),
        "extras": versions(_EXTRAS),
        "data": {
            "cancer": str(data / "breast_cancer_wisconsin_original.csv"),
            "diabetes": str(data / "pima_indians_diabetes.csv"),
            **{name: str(find_folder(name) or "not found") for name in (MNIST, FASHION)},
        },
    }
