"""Linear bilevel programs as mixed-integer programs, and the paper's two with every M proved."""

from pessimal.bilevel.backends import SOLVERS
from pessimal.bilevel.solve import MULTIPLIER_CAP, solve_optimistic_milp, solve_pessimistic_milp

__all__ = ["MULTIPLIER_CAP", "SOLVERS", "solve_optimistic_milp", "solve_pessimistic_milp"]
