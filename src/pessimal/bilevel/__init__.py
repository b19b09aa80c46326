"""Bilevel programs: written in CVXPY, solved in either view; and the paper's two, Ms proved."""

from pessimal.bilevel.backends import SOLVERS
from pessimal.bilevel.problem import BilevelProblem, Follower
from pessimal.bilevel.solve import MULTIPLIER_CAP, MilpSolver

__all__ = ["MULTIPLIER_CAP", "SOLVERS", "BilevelProblem", "Follower", "MilpSolver"]
