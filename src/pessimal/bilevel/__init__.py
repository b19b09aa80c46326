"""Bilevel programs: written in CVXPY or as arrays, in both views; and the paper's two as MILPs.

CVXPY takes a second to import, so `BilevelProblem` and `Follower` are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.backends import SOLVERS
from pessimal.bilevel.certificate import BilevelCertificate
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, Rows
from pessimal.bilevel.solve import MULTIPLIER_CAP, MilpSolver
from pessimal.bilevel.solve_program import solve_program

if TYPE_CHECKING:
    from pessimal.bilevel.problem import BilevelProblem, Follower

__all__ = [
    "MULTIPLIER_CAP",
    "SOLVERS",
    "BilevelCertificate",
    "BilevelProblem",
    "BilevelProgram",
    "BilevelSolution",
    "BilevelStatus",
    "Follower",
    "FollowerProgram",
    "MilpSolver",
    "Rows",
    "solve_program",
]


def __getattr__(name: str) -> Any:
    if name in ("BilevelProblem", "Follower"):
        from pessimal.bilevel import problem  # noqa: PLC0415

        return getattr(problem, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
