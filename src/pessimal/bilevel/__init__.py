"""Linear bilevel programs as mixed-integer programs, and the paper's two with every M proved."""

from pessimal.bilevel.backends import SOLVERS
from pessimal.bilevel.solve import MULTIPLIER_CAP, MilpSolver

__all__ = ["MULTIPLIER_CAP", "SOLVERS", "MilpSolver"]
