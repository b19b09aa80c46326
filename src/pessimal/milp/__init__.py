"""The paper's single-level mixed-integer programs, for four solvers, with every M proved."""

from pessimal.milp.solve import MULTIPLIER_CAP, solve_optimistic_milp, solve_pessimistic_milp
from pessimal.milp.solvers import SOLVERS

__all__ = ["MULTIPLIER_CAP", "SOLVERS", "solve_optimistic_milp", "solve_pessimistic_milp"]
