"""Mixed-integer solvers, one file each, found by name.

Gurobi and CPLEX get the tightest tolerances they accept, against leaks through the big Ms. HiGHS
and SCIP keep their own, 1e-6: a leak only weakens the bound and is found and cut off afterwards,
whereas with 1e-9 HiGHS prunes nodes that hold the optimum, which nothing afterwards can find.
"""

from collections.abc import Callable

from pessimal.bilevel.backends.base import Backend, Effort, Handle, SolverResult
from pessimal.bilevel.backends.cplex import Cplex
from pessimal.bilevel.backends.gurobi import Gurobi
from pessimal.bilevel.backends.highs import Highs
from pessimal.bilevel.backends.scip import Scip
from pessimal.errors import InvalidInputError

__all__ = ["SOLVERS", "Backend", "Effort", "Handle", "SolverResult", "find_backend"]

SOLVERS: dict[str, Callable[[], Backend]] = {
    "highs": Highs,
    "scip": Scip,
    "gurobi": Gurobi,
    "cplex": Cplex,
}


def find_backend(name: str) -> Backend:
    """Return the solver of that name, or say what is accepted or missing."""
    if name not in SOLVERS:
        raise InvalidInputError(f"solver is {name!r}; pass one of {', '.join(map(repr, SOLVERS))}")
    return SOLVERS[name]()
